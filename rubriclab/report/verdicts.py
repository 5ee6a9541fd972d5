"""How far a rubric agrees with people, in sentences: the gate's verdict and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rubriclab.models.characters import count
from rubriclab.models.text import format_score
from rubriclab.models.version import (
    VERDICTS,
    WHOLE,
    EvaluatorAgreement,
    Validation,
)
from rubriclab.report.describe import labels_proposed, percent
from rubriclab.report.wording import LEVELS, estimate, figure
from rubriclab.stats.agreement import ScoreErrors
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.models.version import Version

# What tables and sentences call evaluators whose names do not tell.
BASELINES: Mapping[str, str] = {
    WHOLE: "its scores of the whole alone",
    "all text features": "a model of all text features",
    "best text feature": "the text feature chosen in each fold",
}
RUBRIC = "this rubric"


def baseline_name(against: str) -> str:
    """Return what an evaluator that the gate names is called where it is shown."""
    return BASELINES.get(against, against)


def procedure(validation: Validation) -> str:
    """Return the level and the procedure that the held-out agreement is measured by, and the labels it rests on."""
    return (
        f"{LEVELS[validation.level]}, cross-validated on its {count(validation.n, 'training text')} of "
        f"{count(validation.groups, 'group')}"
    )


def rubric_agreement(validation: Validation) -> EvaluatorAgreement:
    """Return the rubric's own held-out agreement."""
    return next(evaluator for evaluator in validation.evaluators if evaluator.kind == "rubric")


class RecordedAgreement(NamedTuple):
    """The agreement that a version records, the same wherever one figure is shown.

    Attributes:
        name: the statistic, its level and how it was measured.
        n: labels that it rests on.
        errors: measured in the same way; `None` where they were not.
    """

    name: str
    value: Interval
    n: int
    errors: ScoreErrors | None = None


# Appended to cross-validated figures of criteria that were proposed from labels of all groups.
OPTIMISTIC = " (optimistic: labels of all groups helped to propose the criteria)"


def recorded_agreement(version: Version) -> RecordedAgreement | None:
    """Return the least optimistic agreement that a version records, `None` if it records none."""
    made = version.provenance
    if made.validation:
        if made.validation.verdict_agreements:
            name = "balanced accuracy of verdicts, cross-validated"
            return RecordedAgreement(name, made.validation.verdict_agreements[0].balanced_accuracy, made.validation.n)
        name = f"{made.validation.measures.order}, {LEVELS[made.validation.level]}, cross-validated"
        rubric = rubric_agreement(made.validation)
        return RecordedAgreement(name, rubric.order, made.validation.n, rubric.errors)
    if made.agreement is None:
        return None
    if made.agreement.optimistic:
        still = OPTIMISTIC if labels_proposed(version.rubric) else ""
        name = f"Spearman, {LEVELS['dataset']}, cross-validated{still}"
        return RecordedAgreement(name, made.agreement.reselected, made.agreement.n)
    name = f"Spearman, {LEVELS['dataset']}, on labels not learned from"
    return RecordedAgreement(name, made.agreement.spearman, made.agreement.n)


def errors_words(errors: ScoreErrors) -> str:
    """Return mean absolute error, bias, and the share of texts near their labels."""
    near = f"{percent(errors.near)} within {within(errors)}"
    return f"mean absolute error {estimate(errors.absolute)} points, bias {errors.bias:+.2f}, {near}"


def within(errors: ScoreErrors) -> str:
    """Return how far from its label a score is still near."""
    return "one point" if errors.point == 1 else f"{errors.point:g} points (a fifth of the scale)"


def raters_errors(errors: ScoreErrors | None) -> str:
    """Return the errors of single raters in a sentence; empty where they are not known."""
    return f" Single raters, each against the mean of the others: {errors_words(errors)}." if errors else ""


def ceiling(validation: Validation) -> float | None:
    """Return the correlation with the labels that a perfect judge could reach; `None` where that is not known."""
    return validation.raters.ceiling if validation.raters else None


def name(evaluator: EvaluatorAgreement) -> str:
    """Return what an evaluator is called in a table."""
    return RUBRIC if evaluator.kind == "rubric" else baseline_name(evaluator.name)


def calls(number: float) -> str:
    """Return calls per text, with one decimal where they are no whole number; with two below one call."""
    return format_score(round(number, 1 if number >= 1 else 2))


def basis(validation: Validation) -> str:
    """Return what the held-out figures rest on."""
    return (
        f"{count(validation.n, 'text')} in {count(validation.groups, 'group')}, by cross-validation in "
        f"{count(validation.folds, 'fold')}: the texts of each fold are scored by a rubric that is selected and "
        "weighted with the labels of the other folds only, and scores are averaged over several divisions into "
        f"folds. {'AUROC is' if validation.measures == VERDICTS else 'Correlations are'} taken "
        f"{LEVELS[validation.level]}; in brackets 95 % intervals over groups."
    )


def optimism(validation: Validation) -> str:
    """Return how the agreement on the labels that the rubric was fitted to compares with the held-out one."""
    fitted, held_out = validation.training.order, rubric_agreement(validation).order
    both = (
        f"On the labels that it was fitted to, the rubric reaches {validation.measures.order} {estimate(fitted)}, on "
        f"held-out labels {estimate(held_out)}"
    )
    if fitted.value is None or held_out.value is None or fitted.value <= held_out.value:
        return f"{both}."
    return f"{both}: the former is too high by {figure(fitted.value - held_out.value)}."


def per_text(number: float) -> str:
    """Return a price, as `1 call per text`."""
    return f"{calls(number)} {'call' if number == 1 else 'calls'} per text"


def not_validated(version: Version) -> str:
    """Return why it is not known how well a version agrees with held-out labels."""
    if not version.provenance.examples:
        return f"{version.ref} was not validated: it was made without labels, so its agreement with people is unknown."
    if version.rubric.aggregation is None:
        return (
            f"{version.ref} was not validated: it was learned by one method, and only rubrics of several methods are "
            "compared with baselines on held-out labels."
        )
    return f"{version.ref} was not validated when it was made."


def unrecorded(version: Version) -> str:
    """Return why there is no record of the texts that a version was learned from."""
    if version.rubric.aggregation is None:
        return (
            f"{version.ref} was learned by one method: texts and ratings are recorded for rubrics of several methods "
            "only."
        )
    return (
        f"The store has no training record of {version.ref}: texts and ratings stay in the store in which a rubric was "
        "learned unless they are deleted there, and are not part of a pack."
    )
