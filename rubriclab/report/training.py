"""What is said of how a rubric was trained and how far it can be trusted, the same in a terminal and on a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubriclab.aggregation import Term
from rubriclab.data.scale import show
from rubriclab.methods.names import PartName
from rubriclab.report import describe
from rubriclab.report.wording import LEVELS, count, counted, estimate, figure
from rubriclab.rubric import Criterion
from rubriclab.validation import EvaluatorAgreement, FrontierPoint, Interval, Raters, Shortcut, Validation

if TYPE_CHECKING:
    from rubriclab.store.version import Version

OURS = "this rubric"
RATERS, RUBRIC = "raters", "rubric"
REASON_ONLY = "shown as a reason; does not change the score"
# The alternative annotator test is passed by who could replace half of the raters (Calderon et al. 2025, section 3).
PASSED = 0.5


@dataclass(frozen=True, slots=True)
class Weighed:
    """A criterion with what it counts for.

    Attributes:
        method: that asks it.
        warning: that it takes a shortcut; empty where it takes none, or that was not looked into.
    """

    criterion: Criterion
    method: PartName
    term: Term
    warning: str

    @property
    def percent(self) -> Interval:
        """The weight with its interval, in percent of the whole."""
        return Interval(value=100 * self.term.weight, low=100 * self.term.low, high=100 * self.term.high)


def weighed(version: Version) -> list[Weighed]:
    """Return the criteria of a rubric that combines several methods, those that count most first."""
    found = describe.terms(version.rubric)
    known = {shortcut.name: shortcut for shortcut in shortcuts(version)}
    rows = [
        Weighed(criterion, part.method, found[criterion.id], _warning(known.get(criterion.id), known.get(RATERS)))
        for part in version.rubric.parts
        for criterion in part.criteria
        if criterion.id in found
    ]
    return sorted(rows, key=lambda row: -abs(row.term.weight))


def weight_interval(version: Version) -> str:
    """Return what the interval of a weight is, as `90 % posterior interval`."""
    confidence = version.provenance.settings.get("joint", {}).get("confidence")
    share = f"{100 * confidence:.4g} % " if isinstance(confidence, float) else ""
    return f"{share}posterior interval"


def by_kind(validation: Validation) -> list[tuple[str, list[EvaluatorAgreement]]]:
    """Return the evaluators as a table groups them: the rubric, what is asked at a price, and floors; best first."""
    kinds = {"rubric": "", "judged": "at a price:", "floor": "floors:"}
    grouped = ((title, [each for each in validation.evaluators if each.kind == kind]) for kind, title in kinds.items())
    return [(title, evaluators) for title, evaluators in grouped if evaluators]


def ladder(validation: Validation) -> list[EvaluatorAgreement]:
    """Return the evaluators by their held-out Pearson correlation, best first, those without one last."""
    return sorted(
        validation.evaluators, key=lambda each: math.inf if each.pearson.value is None else -each.pearson.value
    )


def shortcuts(version: Version) -> list[Shortcut]:
    """Return what the raters, the rubric and each of its criteria follow; empty where that was not looked into."""
    validation = version.provenance.validation
    known = {RATERS, RUBRIC} | {criterion.id for criterion in version.rubric.criteria}
    return [shortcut for shortcut in validation.shortcuts if shortcut.name in known] if validation else []


def name(evaluator_agreement: EvaluatorAgreement) -> str:
    """Return what an evaluator is called in a table."""
    return OURS if evaluator_agreement.kind == "rubric" else evaluator_agreement.name


def calls(number: float) -> str:
    """Return calls per text, with one decimal where they are no whole number."""
    return show(round(number, 1))


def basis(validation: Validation) -> str:
    """Return what the held-out figures rest on."""
    return (
        f"{count(validation.n, 'text')} in {count(validation.groups, 'group')}, put into "
        f"{count(validation.folds, 'part')}: the texts "
        "of each part are scored by what the labels of the others alone choose and weigh, and averaged over several "
        "divisions into parts. Correlations are "
        f"taken {LEVELS[validation.level]}; in brackets 95 % bootstrap intervals over groups."
    )


def optimism(validation: Validation) -> str:
    """Return how the agreement on the labels that the rubric was fitted to compares with the held-out one."""
    fitted, held_out = validation.training.pearson, ours(validation).pearson
    told = (
        f"On the labels that it was fitted to, the rubric reaches Pearson {estimate(fitted)}, on labels that were held "
        f"out {estimate(held_out)}"
    )
    by_noise = f" Shuffled labels, fitted in the same way, give {figure(validation.noise)}." if validation.noise else ""
    if fitted.value is None or held_out.value is None or fitted.value <= held_out.value:
        return f"{told}.{by_noise}"
    return f"{told}: the first flatters by {figure(fitted.value - held_out.value)}.{by_noise}"


def ours(validation: Validation) -> EvaluatorAgreement:
    """Return the rubric's own held-out agreement."""
    return next(
        evaluator_agreement for evaluator_agreement in validation.evaluators if evaluator_agreement.kind == "rubric"
    )


def best_floor(validation: Validation) -> EvaluatorAgreement | None:
    """Return what agrees best of all that costs nothing; `None` if no floor's correlation is defined."""
    floors = [each for each in validation.evaluators if each.kind == "floor" and each.pearson.value is not None]
    return max(floors, key=lambda floor: floor.pearson.value or 0.0, default=None)


def ceiling(validation: Validation) -> float | None:
    """Return the correlation with the labels that a perfect judge could reach; `None` where that is not known."""
    return validation.raters.ceiling if validation.raters else None


def asked(point: FrontierPoint) -> str:
    """Return what a candidate rubric asks, with the number of its criteria."""
    return f"{point.name} ({counted(point.criteria, 'criterion')})"


def marks(point: FrontierPoint) -> str:
    """Return what is to be said of a price: that it is the rubric's own, or the least that is nearly as good."""
    said = ("this rubric" if point.chosen else "", "smallest within one standard error" if point.within else "")
    return ", ".join(filter(None, said))


def choice_sentences(validation: Validation) -> Iterator[str]:
    """Yield what was chosen, what the next dearer rubric would add, and what each method added to the others."""
    chosen = next((point for point in validation.frontier if point.chosen), None)
    if chosen is None:
        return
    why = "the smallest within one standard error of the best" if chosen.within else "the best on held-out labels"
    yield f"Chosen: {asked(chosen)}, {_for(chosen.calls)}: {why}."
    dearer = [point for point in validation.frontier if point.calls > chosen.calls]
    if dearer:
        price = min(point.calls for point in dearer)
        best = max((point for point in dearer if point.calls == price), key=lambda point: point.pearson)
        yield (
            f"The next dearer one ({best.name}, {_for(best.calls)}) would add {estimate(best.ahead)} in held-out "
            "Pearson."
        )
    if validation.added:
        parts = (f"{each.method} {estimate(each.difference)}" for each in validation.added)
        yield f"Asked beside all others, each method adds in held-out Pearson: {'; '.join(parts)}."


def _for(number: float) -> str:
    return f"{calls(number)} {'call' if number == 1 else 'calls'} per text"


def follows(shortcut: Shortcut) -> str:
    """Return what an evaluator's scores go with, as `length 0.58, copied share 0.11`."""
    return ", ".join(f"{what} {figure(value)}" for what, value in shortcut.follows.items())


def forgone(validation: Validation) -> str:
    """Return what leaving out shortcuts cost; empty where that was not asked for."""
    if validation.forgone is None:
        return ""
    change = (
        f"cost {figure(validation.forgone)}" if validation.forgone >= 0 else f"gained {figure(-validation.forgone)}"
    )
    return (
        f"Criteria that take shortcuts were left out of the choice, which {change} in held-out Pearson over all texts."
    )


def rater_sentences(raters: Raters) -> Iterator[str]:
    """Yield how far the raters agree, what that allows at most, and whether the rubric could replace one of them."""
    mean = "" if raters.icc_mean is None else f", of the mean of a text's raters {figure(raters.icc_mean)}"
    yield (
        f"Intraclass correlation of single scores {estimate(raters.icc)}{mean}; Krippendorff's alpha "
        f"{estimate(raters.alpha)}."
    )
    if raters.ceiling is not None:
        yield f"The raters differ so much that a perfect judge would reach a Pearson of about {figure(raters.ceiling)}."
    if raters.winning is not None:
        yield _replacement(raters, raters.winning)


def untrusted(version: Version) -> str:
    """Return why nothing is known of how far a version can be trusted."""
    if version.rubric.aggregation is None:
        return (
            f"Whether {version.ref} deserves trust was not tested: it was learned by one method, and only a rubric of "
            "several methods is held against floors on labels that had no part in it."
        )
    return f"Whether {version.ref} deserves trust was not tested when it was made."


def unrecorded(version: Version) -> str:
    """Return why there is no record of the texts that a version was learned from."""
    if version.rubric.aggregation is None:
        return (
            f"{version.ref} was learned by one method: texts and ratings are recorded for rubrics of several methods "
            "only."
        )
    return (
        f"No texts and ratings are kept with {version.ref}: they stay in the store in which it was learned unless they "
        "are deleted there, and are no part of a pack."
    )


def _warning(shortcut: Shortcut | None, raters: Shortcut | None) -> str:
    """Return the remark on what takes a shortcut: the one that it follows furthest beyond the raters."""
    if shortcut is None or not (shortcut.marked and shortcut.follows):
        return ""
    usual = raters.follows if raters else {}
    beyond = {what: abs(value) - abs(usual.get(what, 0.0)) for what, value in shortcut.follows.items()}
    return f"shortcut: follows {max(beyond, key=lambda what: beyond[what])} more than the raters do"


def _replacement(raters: Raters, winning: float) -> str:
    epsilon = "" if raters.epsilon is None else f" (epsilon {show(raters.epsilon)})"
    advantage = "" if raters.advantage is None else f", with an average advantage probability of {raters.advantage:.2f}"
    passed = "so it could replace a rater" if winning >= PASSED else "so it could not replace a rater"
    people = len(raters.raters)
    return (
        f"By the alternative annotator test{epsilon} the rubric does as well as {round(winning * people)} of "
        f"{count(people, 'rater')}{advantage}, {passed}."
    )


def exact(value: float) -> Interval:
    """Return a figure that has no interval."""
    return Interval(value=value)
