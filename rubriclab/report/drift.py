"""What changes from one version or judge to another: limits first, then scores, ranks, texts that flip, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rubriclab.data.scale import show
from rubriclab.option_names import by_reader, option
from rubriclab.report import wording
from rubriclab.report.model import Block, Pairs, Paragraph, Section, View, Words, line, quiet, quoted, table

if TYPE_CHECKING:
    from rubriclab.comparison.drift import CriterionDrift, CriterionEffect, Drift, ScoreSummary
    from rubriclab.comparison.limits import LimitCheck, LimitOutcome
    from rubriclab.comparison.scorer_pair import CriterionState

# Criteria that are shown, those that moved scores most.
CRITERIA, TRAIT = 12, 40
LIMITS: Mapping[str, str] = {
    "max_shift": "the mean score moves by {found} points; {option} allows {allowed}",
    "max_flips": "a share of {found} of the texts flips; {option} allows {allowed}",
    "min_rank": "the rankings correlate by {found}; {option} requires {allowed}",
}
OUTCOMES: Mapping[LimitOutcome, tuple[str, Literal["", "bad", "warning"]]] = {
    "within": ("Within the limit", ""),
    "beyond": ("Beyond the limit", "bad"),
    "unknown": ("Inconclusive", "warning"),
}
STATES: Mapping[CriterionState, str] = {"kept": "", "changed": "changed", "removed": "removed", "added": "added"}
BASES = {
    "contribution": "change of each contribution to the score, in points",
    "rating": "change of the criterion's ratings, as a share of their range; contributions are unknown",
}


def drift_view(drift: Drift, checks: Sequence[LimitCheck] = ()) -> View:
    """Return what changed between two sides, and above it whether the limits that were given hold."""
    title = (quoted(_name(drift.before)), " to ", quoted(_name(drift.after)))
    blocks = (
        *_summary(drift),
        *_basis(drift),
        *(map(_limit, checks) if checks else _no_limit()),
        _scores(drift),
        *_changes(drift),
        *_flips(drift),
        *_criteria(drift),
    )
    return View(title, blocks, "rubriclab drift")


def _summary(drift: Drift) -> Iterator[Paragraph]:
    """Yield the change of the mean, of the ranking and of the texts across the threshold in one sentence."""
    mean = drift.shift.mean
    if mean.value is None:
        return
    if mean.low is None or mean.high is None:
        shift = f"The mean score changes by {wording.estimate(mean)} points (too few groups for an interval)"
    elif mean.low > 0 or mean.high < 0:
        shift = f"Scores {'rise' if mean.low > 0 else 'fall'} by {wording.estimate(mean)} points on average"
    else:
        shift = f"No change of the mean score is distinguishable from 0 ({wording.estimate(mean)} points)"
    ranks = f"; the rankings correlate by {wording.figure(drift.ranks[0].spearman.value)}" if drift.ranks else ""
    flips = f"; {drift.flips.texts:,} of {wording.count(drift.compared, 'text')} cross {show(drift.flips.threshold)}"
    yield Paragraph(f"{shift}{ranks}{flips}.", "lead")


def _no_limit() -> Iterator[Paragraph]:
    limits = " or ".join(option(name) for name in LIMITS)
    code = by_reader(python="the outcome is `within`", command_line="the exit code is 0")
    yield Paragraph(f"No limit was given ({limits}), so {code}.", "quiet")


def _basis(drift: Drift) -> Iterator[Paragraph]:
    basis = f"{wording.count(drift.compared, 'text')} scored by both"
    total = f"of {wording.count(drift.texts, 'text')} in {wording.count(drift.groups, 'group')}"
    yield Paragraph(f"{basis}, {total}, on {drift.scale.describe()}", "quiet")
    if not drift.compared:
        yield Paragraph("No text was scored by both sides, so nothing can be compared.", "bad")


def _name(side: ScoreSummary) -> str:
    return f"{side.rubric} with {side.judge}"


def _limit(check: LimitCheck) -> Paragraph:
    outcome, style = OUTCOMES[check.outcome]
    figure = "an undefined figure" if check.value is None else show(check.value)
    words = LIMITS[check.limit].format(found=figure, option=option(check.limit), allowed=show(check.allowed))
    return Paragraph(f"{outcome}: {words}", style)


def _scores(drift: Drift) -> Section:
    numeric = ("scored", "unscored", "mean", "sd")
    sides = (("before", drift.before), ("after", drift.after))
    rows = [
        (
            name,
            quoted(_name(s)),
            f"{s.scored:,}",
            f"{s.unscored:,}",
            wording.figure(s.mean),
            wording.figure(s.standard_deviation),
        )
        for name, s in sides
    ]
    reasons = (
        Paragraph(
            quoted(f"unscored by {_name(side)}, the latest reason: {wording.excerpt(side.unscored_reason)}"), "quiet"
        )
        for _, side in sides
        if side.unscored_reason
    )
    return Section("Scores", (table(("", "scored by", *numeric), rows, numeric=numeric), *reasons))


def _changes(drift: Drift) -> Iterator[Section]:
    if drift.compared:
        beside = "after minus before; in brackets, 95 % bootstrap intervals over groups"
        yield Section("Changes", (Pairs(tuple(_shift(drift))),), beside)


def _shift(drift: Drift) -> Iterator[tuple[str, str]]:
    shift = drift.shift
    yield "mean score", f"{wording.estimate(shift.mean)} points"
    yield "single scores", f"{wording.figure(shift.mean_absolute)} points in either direction"
    for ranks in drift.ranks:
        name = "ranks" if len(drift.ranks) == 1 else f"ranks {wording.LEVELS[ranks.level]}"
        yield name, f"Spearman {wording.estimate(ranks.spearman)}, Kendall {wording.estimate(ranks.kendall)}"


def _flips(drift: Drift) -> Iterator[Section]:
    flips = drift.flips
    if flips.share.value is None:
        return
    share = f"{flips.texts:,} of {drift.compared:,}, a share of {wording.estimate(flips.share)}"
    blocks: list[Block] = [Paragraph(share)]
    if flips.largest:
        rows = [
            (quoted(flip.id), show(round(flip.before, 2)), show(round(flip.after, 2)), _causes(flip.effects, drift))
            for flip in flips.largest
        ]
        blocks.append(table(("text", "before", "after", "mostly because of"), rows, numeric=("before", "after")))
        if (more := flips.texts - len(flips.largest)) > 0:
            blocks.append(Paragraph(f"{more:,} more that changed less", "quiet"))
    yield Section(f"Texts that flip at {show(flips.threshold)}", tuple(blocks), f"{flips.up:,} up, {flips.down:,} down")


def _causes(causes: Sequence[CriterionEffect], drift: Drift) -> Words:
    shown = (f"{each.criterion} {_amount(each.change, drift)}{_state(each.state)}" for each in causes)
    return quoted(", ".join(shown) or "not known")


def _state(state: CriterionState) -> str:
    return f" ({STATES[state]})" if STATES.get(state) else ""


def _amount(value: float | None, drift: Drift) -> str:
    if value is None:
        return ""
    return f"{value:+.2f}" if drift.effect_unit == "contribution" else f"{100 * value:+.0f} %"


def _criteria(drift: Drift) -> Iterator[Section]:
    moved = [each for each in drift.criteria if each.mean_absolute or each.state in ("added", "removed")]
    if not moved:
        return
    numeric = ("mean", "absolute", "flips")
    blocks: list[Block] = [table(("", *numeric, ""), [_criterion(e, drift) for e in moved[:CRITERIA]], numeric=numeric)]
    if (more := len(moved) - CRITERIA) > 0:
        rest = f"and {wording.counted(more, 'criterion')} that changed scores less"
        blocks.append(Paragraph(rest, "quiet"))
    blocks.append(Paragraph("flips: number of flipped texts for which the criterion changed most", "quiet"))
    yield Section("Criteria that changed scores", tuple(blocks), BASES[drift.effect_unit])


def _criterion(each: CriterionDrift, drift: Drift) -> tuple[Words, ...]:
    state = STATES.get(each.state)
    return (
        quoted(each.name),
        _amount(each.mean, drift),
        _amount(each.mean_absolute, drift).removeprefix("+"),
        f"{each.flips:,}" if each.flips else "",
        line(quiet(f"{state}:") if state else "", quoted(wording.excerpt(each.trait, TRAIT), "quiet")),
    )
