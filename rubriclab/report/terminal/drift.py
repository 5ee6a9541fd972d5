"""What changes from one version or judge to another: limits first, then scores, ranks, texts that flip, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from rubriclab.data.scale import show
from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, pairs, text

if TYPE_CHECKING:
    from rubriclab.drift.criteria import CriterionState
    from rubriclab.drift.limits import LimitCheck, LimitOutcome
    from rubriclab.drift.results import CriterionDrift, CriterionEffect, Drift, ScoreSummary

# Criteria that are shown, those that moved scores most.
CRITERIA = 12
TRAIT = 40
LIMITS: Mapping[str, str] = {
    "max_shift": "the mean score moves by {found} points; --max-shift allows {allowed}",
    "max_flips": "a share of {found} of the texts flips; --max-flips allows {allowed}",
    "min_rank": "the rankings correlate by {found}; --min-rank asks for {allowed}",
}
OUTCOMES: Mapping[LimitOutcome, tuple[str, str]] = {
    "within": ("Within the limit", "green"),
    "beyond": ("Beyond the limit", "bold red"),
    "unknown": ("Cannot be told", "bold yellow"),
}
STATES: Mapping[CriterionState, str] = {"kept": "", "changed": "changed", "removed": "removed", "added": "added"}


def drift_view(found: Drift, checks: Sequence[LimitCheck] = ()) -> RenderableType:
    """Return tables of what drift found, and above them what became of the limits that were given."""
    return Group(
        *_title(found),
        *map(_limit, checks),
        *_sides(found),
        *_scores(found),
        *_flips(found),
        *_criteria(found),
        *_movers(found),
    )


def _title(found: Drift) -> Iterator[RenderableType]:
    yield text(f"{_name(found.before)} to {_name(found.after)}", "bold")
    basis = f"{wording.count(found.compared, 'text')} scored by both"
    of = f"of {wording.count(found.texts, 'text')} in {wording.count(found.groups, 'group')}"
    yield text(f"{basis}, {of}, on {found.scale.describe()}", QUIET)
    if not found.compared:
        yield text("No text was scored by both sides: nothing can be compared.", "bold red")


def _name(side: ScoreSummary) -> str:
    return f"{side.rubric} by {side.judge}"


def _limit(check: LimitCheck) -> RenderableType:
    outcome, style = OUTCOMES[check.outcome]
    found = "an undefined figure" if check.value is None else show(check.value)
    return text(f"{outcome}: {LIMITS[check.limit].format(found=found, allowed=show(check.allowed))}", style)


def _sides(found: Drift) -> Iterator[RenderableType]:
    yield heading("Scores")
    table = columns("", "", "scored", "unscored", "mean", "sd", numeric=("scored", "unscored", "mean", "sd"))
    for name, side in (("before", found.before), ("after", found.after)):
        cells = (
            f"{side.scored:,}",
            f"{side.unscored:,}",
            wording.figure(side.mean),
            wording.figure(side.standard_deviation),
        )
        table.add_row(*map(text, (name, _name(side), *cells)))
    yield table
    for side in (found.before, found.after):
        if side.unscored_reason:
            yield text(f"unscored by {_name(side)}, the latest reason: {wording.excerpt(side.unscored_reason)}", QUIET)


def _scores(found: Drift) -> Iterator[RenderableType]:
    if not found.compared:
        return
    yield heading("What moves", "after less before; in brackets, 95 % bootstrap intervals over groups")
    yield pairs(_shift(found))
    if found.intervals:
        yield pairs(_intervals(found))


def _shift(found: Drift) -> Iterator[tuple[str, str]]:
    shift = found.shift
    spreads = "" if shift.standardized is None else f", {shift.standardized:+.2f} spreads"
    yield "mean score", f"{wording.estimate(shift.mean)} points{spreads}"
    yield "single scores", f"{wording.figure(shift.mean_absolute)} points either way"
    if shift.share_moved is not None:
        yield "moved visibly", f"{shift.share_moved:.0%} of the texts, by more than {show(shift.tolerance)}"
    for ranks in found.ranks:
        name = "ranks" if len(found.ranks) == 1 else f"ranks {wording.LEVELS[ranks.level]}"
        yield name, f"Spearman {wording.estimate(ranks.spearman)}, Kendall {wording.estimate(ranks.kendall)}"


def _intervals(found: Drift) -> Iterator[tuple[str, str]]:
    if (both := found.intervals) is None:
        return
    apart = f"{both.disjoint:,} of {both.texts:,} do not overlap, {both.outside:,} scores leave the interval before"
    yield "intervals", f"{apart}; mean width {wording.figure(both.width_before)} to {wording.figure(both.width_after)}"


def _flips(found: Drift) -> Iterator[RenderableType]:
    flips = found.flips
    if flips.share.value is None:
        return
    yield heading(f"Texts that flip at {show(flips.threshold)}", f"{flips.up:,} up, {flips.down:,} down")
    yield text(f"{flips.texts:,} of {found.compared:,}, a share of {wording.estimate(flips.share)}")
    if not flips.largest:
        return
    table = columns("text", "before", "after", "moved there by", numeric=("before", "after"))
    for flip in flips.largest:
        causes = ", ".join(_cause(cause, found) for cause in flip.effects) or "not known"
        table.add_row(*map(text, (flip.id, show(round(flip.before, 2)), show(round(flip.after, 2)), causes)))
    yield table
    if (more := flips.texts - len(flips.largest)) > 0:
        yield text(f"and {more:,} more that moved less far; -o FILE writes all with reasons", QUIET)


def _cause(cause: CriterionEffect, found: Drift) -> str:
    state = STATES.get(cause.state)
    return f"{cause.criterion} {_amount(cause.change, found)}{f' ({state})' if state else ''}"


def _amount(value: float | None, found: Drift) -> str:
    if value is None:
        return ""
    return f"{value:+.2f}" if found.effect_unit == "contribution" else f"{100 * value:+.0f} %"


def _criteria(found: Drift) -> Iterator[RenderableType]:
    moved = [each for each in found.criteria if each.mean_absolute or each.state in ("added", "removed")]
    if not moved:
        return
    known = {
        "contribution": "points that each contributes to a score",
        "rating": "each one's own scores, as a share of what they can be; what they contribute is not known",
    }
    yield heading("Criteria that did it", known[found.effect_unit])
    figures = ("mean", "either way", *(("all texts",) if found.effect_unit == "contribution" else ()), "flips")
    table = columns("", *figures, "", numeric=figures)
    for each in moved[:CRITERIA]:
        table.add_row(*_criterion(each, found))
    yield table
    if (more := len(moved) - CRITERIA) > 0:
        yield text(f"and {wording.counted(more, 'criterion')} that moved scores less; --json gives all", QUIET)
    yield text("flips: texts that it moved there most", QUIET)


def _criterion(each: CriterionDrift, found: Drift) -> Iterator[RenderableType]:
    yield text(each.name)
    yield text(_amount(each.mean, found))
    yield text(_amount(each.mean_absolute, found).removeprefix("+"))
    if found.effect_unit == "contribution":
        yield text("" if each.total is None else f"{each.total:+.1f}")
    yield text(f"{each.flips:,}" if each.flips else "")
    state = STATES.get(each.state)
    yield text(f"{f'{state}: ' if state else ''}{wording.excerpt(each.trait, TRAIT)}", QUIET)


def _movers(found: Drift) -> Iterator[RenderableType]:
    if not found.rank_changes:
        return
    yield heading("Largest changes of rank", f"over {wording.count(found.compared, 'text')}, 1 is the best")
    table = columns("text", "before", "after", "rank", "", numeric=("before", "after", "rank"))
    for each in found.rank_changes:
        scores = (show(round(each.before, 2)), show(round(each.after, 2)))
        table.add_row(*map(text, (each.id, *scores, show(each.rank_before), f"to {show(each.rank_after)}")))
    yield table
