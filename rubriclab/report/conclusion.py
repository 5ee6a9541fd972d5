"""The conclusion of a training run: a badge, one sentence with the figures behind it, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from rubriclab.judges.connect import EMBEDDED
from rubriclab.models.characters import count
from rubriclab.models.version import (
    CALIBRATED,
    DIRECT,
    MAX_LABELS,
    MIN_EFFECT,
    VERDICTS,
    EvaluatorAgreement,
    Outcome,
    Validation,
    below_zero,
)
from rubriclab.report import describe, verdicts
from rubriclab.report.edit import edited_sentence
from rubriclab.report.model import Badge, Block, Bullets, Paragraph, Section, Words, quoted
from rubriclab.report.verdict_agreement import verdict_sentence
from rubriclab.report.wording import estimate, figure
from rubriclab.stats.intervals import MIN_GROUPS, Interval

if TYPE_CHECKING:
    from rubriclab.models.version import Version

TONES: Mapping[Outcome, Literal["good", "warning", "bad"]] = {
    "better": "good",
    "inconclusive": "warning",
    "not better": "bad",
}
UNKNOWN = Badge("not validated", "warning")
ASKED_DIRECTLY = "the same judge asked directly"
OFFLINE = (
    "Offline judge: the criteria were rated by text features, not by a language model. Use this result to try the "
    "commands, not to judge a rubric."
)


def verdict_line(version: Version) -> tuple[Block, ...]:
    """Return the verdict of learning in one line, for results of a version, and the warning about an offline judge."""
    line = Paragraph(("Verdict on the rubric ", quoted(version.ref), ": ", quoted(verdict(version), "strong")), "quiet")
    return (line, *offline_banner(version))


def offline_banner(version: Version) -> tuple[Paragraph, ...]:
    """Return the warning that a version was learned with the offline judge; nothing for any other judge."""
    return (Paragraph(OFFLINE, "warning"),) if version.provenance.judge == EMBEDDED else ()


def conclusion(version: Version) -> tuple[Block, ...]:
    """Return the badge, the sentence with the figures, and what to do next."""
    return (*outcome(version), Section("What to do next", (Bullets(tuple(actions(version))),)))


def outcome(version: Version) -> tuple[Block, ...]:
    """Return the badge and the sentence with the figures."""
    validation = version.provenance.validation
    if validation is None:
        return UNKNOWN, Paragraph(quoted(verdicts.not_validated(version)), "lead")
    evaluate = _with_rubric("evaluate", "HELDOUT", version)
    imported = f"The verdict is as the exporter recorded it; `{evaluate}` measures agreement with labels of your own."
    remarks = (edited_sentence(version), imported if version.imported else "")
    return (
        badge_of(version),
        Paragraph(_summary(version, validation), "lead"),
        *(Paragraph(remark, "strong") for remark in remarks if remark),
    )


def verdict(version: Version) -> str:
    """Return the verdict in words: the same wherever it stands."""
    badge = badge_of(version)
    return f"{badge.words[0].upper()}{badge.words[1:]} {badge.remark}".strip()


def badge_of(version: Version) -> Badge:
    """Return the outcome of the gate as a badge, completed by the comparisons behind it, the deciding one first."""
    validation = version.provenance.validation
    if validation is None:
        return UNKNOWN
    outcome, direct, free = validation.outcome, _against_direct(version, validation), _against_free(validation)
    link = "compared with" if outcome == "inconclusive" else "than"
    if validation.against(DIRECT) is None:
        remark = f"{link} {free}. {direct}"
    else:
        decides = "the best free baseline. " if validation.deciding is validation.free else ""
        remark = f"{link} {decides}{direct} The best free baseline is {free}."
    return Badge(outcome, TONES[outcome], remark.strip())


def _against_direct(version: Version, validation: Validation) -> str:
    """Return how the rubric compares with the same judge asked directly; why it does not, where it was not asked.

    Whether the rubric is better than the plain question is what its users want to know first.
    """
    found, compared = validation.against(DIRECT), _by_name(validation)
    if found is None:
        return _not_compared(version)
    rubric, direct, measures = verdicts.rubric_agreement(validation), compared[DIRECT], validation.measures
    correlation = (
        f"{measures.order} {figure(rubric.order.value)} instead of {figure(direct.order.value)} "
        f"({_found(found.outcome, found.difference)})"
    )
    if rubric.error is None or direct.error is None or found.less_error is None:
        words = f"{ASKED_DIRECTLY}: {correlation}."
    else:
        words = (
            f"{ASKED_DIRECTLY}: {measures.error} {figure(rubric.error.value)} instead of "
            f"{figure(direct.error.value)}{measures.unit} ({_found(found.error_outcome, found.less_error)}), "
            f"{correlation}.{_against_calibrated(validation)}"
        )
    return words if validation.deciding is found else f"Compared with {words}"


def _against_calibrated(validation: Validation) -> str:
    found = validation.against(CALIBRATED)
    error = _by_name(validation)[CALIBRATED].error if found else None
    if found is None or found.less_error is None or error is None:
        return ""
    what = "a Brier score" if validation.measures == VERDICTS else "an error"
    return (
        f" Calibrated on the same labels, the plain question has {what} of {figure(error.value)} "
        f"({_found(found.error_outcome, found.less_error)})."
    )


def _against_free(validation: Validation) -> str:
    free = validation.free
    other = _by_name(validation).get(free.against)
    order = figure(other.order.value if other else None)
    reached = f"{verdicts.baseline_name(free.against)}, {validation.measures.order} {order}"
    return f"{reached} (difference {estimate(free.difference)}: {_found(free.outcome, free.difference)})"


def _by_name(validation: Validation) -> dict[str, EvaluatorAgreement]:
    return {each.name: each for each in validation.evaluators}


def _found(outcome: Outcome | None, difference: Interval) -> str:
    """Return in a word what a comparison found."""
    if difference.low is None:
        return "too few groups to tell"
    return "worse" if below_zero(difference) else outcome or ""


def _summary(version: Version, validation: Validation) -> Words:
    rubric = verdicts.rubric_agreement(validation)
    judge = quoted(describe.judge(version), "strong")
    if (names := version.rubric.scores_on.names) and validation.verdict_agreements:
        found = verdict_sentence(validation.verdict_agreements[0], names)
        return "With the judge ", judge, f", {found}, {verdicts.procedure(validation)}."
    most, raters = verdicts.ceiling(validation), validation.raters
    perfect = "" if most is None else f" A perfect judge would reach about {figure(most)}, because the raters disagree."
    errors = f"; {verdicts.errors_words(rubric.errors)}" if rubric.errors else ""
    reached = f", the scores reach Pearson {estimate(rubric.pearson)} {verdicts.procedure(validation)}{errors}."
    return "With the judge ", judge, f"{reached}{perfect}{verdicts.raters_errors(raters.errors if raters else None)}"


def actions(version: Version) -> Iterator[str]:
    """Yield what to do next, the most useful action first."""
    validation = version.provenance.validation
    offline = version.provenance.judge == EMBEDDED
    if offline:
        learn = "rubriclab learn … --judge MODEL"
        yield f"Use a language model: `{learn}`. This result was obtained with the offline judge."
    if validation is None:
        yield f"Measure the agreement on held-out labels: `{_with_rubric('evaluate', 'HELDOUT', version)}`."
        return
    if validation.outcome == "inconclusive":
        yield f"{more_labels(validation)}; `{_with_rubric('plan', 'TEXTS', version)}` selects texts."
    if validation.free.outcome == "not better" and not offline:
        yield "Score with the baseline instead, which needs no judge, or learn with another judge."
    yield from _without_rubric(validation)
    if validation.against(DIRECT) is None and not version.provenance.edit and not offline:
        learn = f"rubriclab learn … --method {DIRECT}"
        yield f"Learn what the judge says without a rubric, and evaluate both: `{learn}`."
    if validation.outcome == "better":
        yield f"Score texts: `{_with_rubric('score', 'TEXTS', version)}`."
        yield f"Confirm the agreement on labels of other texts: `{_with_rubric('evaluate', 'HELDOUT', version)}`."


def _with_rubric(operation: str, data: str, version: Version) -> str:
    return f"rubriclab {operation} {data} --rubric {version.ref}"


def more_labels(validation: Validation) -> str:
    """Return what to label for a decision, as a sentence without its full stop."""
    deciding = validation.deciding
    if deciding.few_groups is not None:
        return f"Label texts of at least {count(max(MIN_GROUPS - deciding.few_groups, 1), 'more group')} (sources)"
    if deciding.outcome != "inconclusive":
        return "Label more texts from new sources: these cannot tell the errors apart"
    if deciding.more_labels is None or deciding.more_labels.even is None:
        return (
            f"A decision would take more than {MAX_LABELS} more labels: treat the rubric and what it is compared with "
            "as equal, or try another judge or definition"
        )
    even, likely = deciding.more_labels.even, deciding.more_labels.likely
    labels = f"about {even}" if even == likely else f"about {even} to {likely or f'more than {MAX_LABELS}'}"
    chances = "the lower number decides with an even chance, the upper one in four of five cases"
    return f"Label {labels} more texts from new sources ({chances})"


def _not_compared(version: Version) -> str:
    if version.provenance.edit and version.parent:
        return (
            f"Not compared with {ASKED_DIRECTLY}, which has not rated these texts for the edited version: see the "
            f"verdict on its parent, {version.parent}."
        )
    if {part.method for part in version.rubric.parts} == {"text_features"}:
        return ""
    return f"Not compared with {ASKED_DIRECTLY}, as it was not asked while learning."


def _without_rubric(validation: Validation) -> Iterator[str]:
    """Yield what to consider where the rubric is not better than the same judge without a rubric."""
    found = validation.against(DIRECT)
    if found is None or found.difference.low is None or found.overall == "better":
        return
    learn = f"rubriclab learn … --method {DIRECT}"
    calls = verdicts.per_text(_by_name(validation)[DIRECT].calls)
    cheap = f"`{learn}` makes a version that scores without a rubric, with {calls}."
    if below_zero(found.difference):
        yield f"Consider the same judge without a rubric, which agrees better: {cheap}"
        return
    shown = (
        f"a gain of {MIN_EFFECT} or more is ruled out" if found.outcome == "not better" else "these labels show no gain"
    )
    yield (
        "Keep the rubric if you need its criteria and reasons, not for its agreement: compared with the same judge "
        f"without a rubric, {shown}. {cheap}"
    )
