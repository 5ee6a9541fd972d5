"""The conclusion of a training run: a badge, one sentence with the figures behind it, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rubriclab.judges.connect import EMBEDDED
from rubriclab.learning.gate import CALIBRATED, DIRECT
from rubriclab.option_names import by_reader, command
from rubriclab.report import describe, verdicts
from rubriclab.report.edit import edited_sentence
from rubriclab.report.model import Badge, Block, Bullets, Paragraph, Section, Words, quoted
from rubriclab.report.verdict_agreement import asked_directly, verdict_sentence
from rubriclab.report.wording import count, estimate, figure
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import FEWEST_GROUPS
from rubriclab.validation import MATTERS, MOST_LABELS, EvaluatorAgreement, GateVerdict, Outcome, Validation

if TYPE_CHECKING:
    from rubriclab.store.version import Version

BADGES: Mapping[Outcome, Badge] = {
    "better": Badge("better", "good"),
    "inconclusive": Badge("inconclusive", "warning"),
    "not better": Badge("not better", "bad"),
}
UNKNOWN = Badge("not validated", "warning")
OFFLINE = (
    "Offline judge: the criteria were rated by text features, not by a language model. Use this result to try the "
    "commands, not to judge a rubric."
)


def verdict_line(version: Version) -> tuple[Block, ...]:
    """Return the verdict of learning in one line, for results of a version, and the warning about an offline judge."""
    validation = version.provenance.validation
    badge = UNKNOWN if validation is None else badge_of(validation)
    verdict = quoted(f"{badge.words} {badge.remark}".strip(), "strong")
    line = Paragraph(("Verdict on the rubric ", quoted(version.ref), ": ", verdict), "quiet")
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
        *(Paragraph(words, "lead") for words in (against_direct(version),) if words),
        badge_of(validation),
        Paragraph(_summary(version, validation), "lead"),
        *(Paragraph(remark, "strong") for remark in remarks if remark),
    )


def badge_of(validation: Validation) -> Badge:
    """Return the outcome of the gate as a badge, completed by what the rubric is compared with."""
    badge = BADGES[validation.outcome]
    comparison = {"better": "than", "inconclusive": "compared with", "not better": "than"}[validation.outcome]
    return Badge(badge.words, badge.tone, f"{comparison} {verdicts.baseline_name(validation.verdicts[0].against)}")


def _summary(version: Version, validation: Validation) -> Words:
    rubric, decisive = verdicts.rubric_agreement(validation), validation.verdicts[0]
    if (names := version.rubric.scores_on.names) and validation.verdict_agreements:
        found = verdict_sentence(validation.verdict_agreements[0], names)
        direct = asked_directly(validation)
        judge = quoted(describe.judge(version), "strong")
        return "With the judge ", judge, f", {found}, {verdicts.procedure(validation)}. {direct}"
    other = next((evaluator for evaluator in validation.evaluators if evaluator.name == decisive.against), None)
    reached = f" ({estimate(other.pearson)})" if other and other.pearson.value is not None else ""
    most = verdicts.ceiling(validation)
    perfect = "" if most is None else f" A perfect judge would reach about {figure(most)}, because the raters disagree."
    return (
        "With the judge ",
        quoted(describe.judge(version), "strong"),
        f", the scores reach Pearson {estimate(rubric.pearson)} {verdicts.procedure(validation)}. The best free "
        "baseline is ",
        quoted(verdicts.baseline_name(decisive.against), "strong"),
        f"{reached}; {_compared(decisive.difference, validation.outcome)}{perfect}",
    )


def _compared(difference: Interval, outcome: Outcome) -> str:
    shown = f"the difference is {estimate(difference)}"
    match outcome:
        case "better":
            return f"{shown}, which is above 0."
        case "not better":
            return f"{shown}, so a gain of {MATTERS} or more is ruled out."
        case _ if difference.low is None:
            return f"{shown}, without an interval, because there are too few groups."
        case _:
            return f"{shown}, so it is inconclusive whether the rubric is better."


def actions(version: Version) -> Iterator[str]:
    """Yield what to do next, the most useful action first."""
    validation = version.provenance.validation
    offline = version.provenance.judge == EMBEDDED
    if offline:
        learn = command("learn", "…", judge="MODEL")
        yield f"Use a language model: `{learn}`. This result was obtained with the offline judge."
    if validation is None:
        yield f"Measure the agreement on held-out labels: `{_with_rubric('evaluate', 'HELDOUT', version)}`."
        return
    if validation.outcome == "inconclusive":
        yield _more_labels(version, validation)
    if validation.outcome == "not better" and not offline:
        yield "Score with the baseline instead, which needs no judge, or learn with another judge."
    yield from _without_rubric(version, validation)
    if validation.outcome == "better":
        yield f"Score texts: `{_with_rubric('score', 'TEXTS', version)}`."
        yield f"Confirm the agreement on labels of other texts: `{_with_rubric('evaluate', 'HELDOUT', version)}`."


def _with_rubric(operation: str, data: str, version: Version) -> str:
    return by_reader(
        python=f"lab.{operation}({data.lower()}, {version.ref!r})",
        command_line=f"rubriclab {operation} {data} --rubric {version.ref}",
    )


def _more_labels(version: Version, validation: Validation) -> str:
    decisive = validation.verdicts[0]
    planned = f"; `{_with_rubric('plan', 'TEXTS', version)}` selects them"
    if decisive.few_groups is not None:
        groups = max(FEWEST_GROUPS - decisive.few_groups, 1)
        return f"Label texts of at least {count(groups, 'more group')} (sources){planned}."
    if decisive.more_labels is None or decisive.more_labels.even is None:
        return (
            f"A decision would take more than {MOST_LABELS} more labels. Treat the rubric and the baseline as equal, "
            "or try another judge or definition."
        )
    labels = verdicts.labels_range(decisive.more_labels)
    chances = "the lower number decides with an even chance, the upper one in four of five cases"
    return f"Label {labels} more texts from new sources ({chances}){planned}."


def against_direct(version: Version) -> str:
    """Return how the rubric compares with the same judge asked directly; empty for a rubric without a judge.

    The gate compares a rubric with what costs nothing. Whether the rubric is better than the plain question to the same
    judge is what its users want to know first: it stands before the verdict, which it does not change.
    """
    validation = version.provenance.validation
    if validation is None or {part.method for part in version.rubric.parts} <= {DIRECT, "text_features"}:
        return ""
    verdict, direct = _direct(validation)
    if verdict is None or direct is None:
        return _not_compared(version, validation)
    rubric = verdicts.rubric_agreement(validation)
    found = (
        f"Pearson {figure(rubric.pearson.value)} instead of {figure(direct.pearson.value)} "
        f"({_direction(verdict.difference)})"
    )
    if rubric.errors is None or direct.errors is None or verdict.less_error is None:
        return f"Against the same judge asked directly: {found}."
    calibrated = next((each.errors for each in validation.evaluators if each.name == CALIBRATED), None)
    fitted = (
        f" Calibrated on the same labels, the plain question has an error of {figure(calibrated.absolute.value)}."
        if calibrated
        else ""
    )
    return (
        f"Against the same judge asked directly: mean absolute error {figure(rubric.errors.absolute.value)} instead of "
        f"{figure(direct.errors.absolute.value)} points ({_direction(verdict.less_error)}), {found}.{fitted}"
    )


def _direction(gain: Interval) -> str:
    if gain.low is None or gain.high is None:
        return "too few groups to tell"
    return "better" if gain.low > 0 else "worse" if gain.high < 0 else "no clear difference"


def _direct(validation: Validation) -> tuple[GateVerdict | None, EvaluatorAgreement | None]:
    verdict = next((each for each in validation.verdicts if each.against == DIRECT), None)
    alone = next((each for each in validation.evaluators if each.name == DIRECT), None)
    defined = verdict is not None and verdict.difference.value is not None
    return (verdict, alone) if defined else (None, None)


def _not_compared(version: Version, validation: Validation) -> str:
    if version.provenance.edit and version.parent:
        return (
            "Not compared with the same judge without a rubric, which has not rated these texts for the edited "
            f"version; of its parent: `{command('gate', version.parent)}`."
        )
    if not any(each.kind == "judged" for each in validation.evaluators):
        return ""
    learn = command("learn", "…", methods=DIRECT)
    return f"Not compared with the same judge without a rubric: learn that by `{learn}`, and evaluate both."


def _without_rubric(version: Version, validation: Validation) -> Iterator[str]:
    """Yield what to consider where the rubric does not agree better than the same judge without a rubric."""
    verdict, alone = _direct(validation)
    if verdict is None or alone is None or {part.method for part in version.rubric.parts} <= {DIRECT, "text_features"}:
        return
    low, high = verdict.difference.low, verdict.difference.high
    learn = command("learn", "…", methods=DIRECT)
    cheap = f"`{learn}` makes a version that scores without a rubric, with {verdicts.per_text(alone.calls)}."
    if high is not None and high < 0:
        yield f"Consider the same judge without a rubric, which agrees better: {cheap}"
    elif verdict.less_error and (verdict.less_error.low or 0) > 0:
        return
    elif low is not None and high is not None and low <= 0:
        shown = f"a gain of {MATTERS} or more is ruled out" if high < MATTERS else "these labels show no gain"
        yield (
            "Keep the rubric if you need its criteria and reasons, not for its agreement: compared with the same "
            f"judge without a rubric, {shown}. {cheap}"
        )
