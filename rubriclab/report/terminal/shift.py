"""How far texts lie from those of training: the finding in words, then what moved most and which texts lie outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table

from rubriclab.data.scale import show
from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, indented, pairs, text

if TYPE_CHECKING:
    from rubriclab.transfer.distribution_shift import DistributionShift, SampleComparison, ShiftSeverity
    from rubriclab.transfer.feature_shift import FeatureShift

# What of each kind is shown; the rest is in the JSON.
MOVEMENTS = 8
IDS = 10
STYLES: Mapping[ShiftSeverity, str] = {"inside": "bold", "near the edge": "bold yellow", "outside": "bold red"}
MOVED = "moved: of the mean, in spreads of training"
OTHERS = (
    "distance: Kolmogorov-Smirnov; beyond: share outside of the range of training; chance: whether chance may explain "
    "the distance"
)
NUMERIC = ("training", "here", "moved", "distance", "beyond")


def shift_view(found: DistributionShift) -> RenderableType:
    """Return the finding with its reasons and warning, and the two comparisons."""
    return Group(*_lines(found))


def _lines(found: DistributionShift) -> Iterator[RenderableType]:
    yield text(f"These texts lie {_place(found.finding)} what the rubric was learned from.", STYLES[found.finding])
    for reason in found.reasons:
        yield indented(text(reason))
    if found.warning:
        yield text(found.warning, "bold")
    yield text(_basis(found), QUIET)
    yield from _comparison("Surface measures", found.measures)
    yield from _comparison("Criteria", found.criteria)
    yield ""
    yield text(f"{MOVED}; {OTHERS}" if found.home else MOVED, QUIET)


def _place(finding: ShiftSeverity) -> str:
    return {"inside": "inside of", "near the edge": "near the edge of", "outside": "outside of"}[finding]


def _basis(found: DistributionShift) -> str:
    here = f"{wording.count(found.target, 'text')} in {wording.count(found.target_groups, 'group')}"
    if not found.home:
        return f"{here}, beside the means and spreads that the rubric holds"
    return (
        f"{here}, beside {wording.count(found.home, 'text')} of training in {wording.count(found.home_groups, 'group')}"
    )


def _comparison(title: str, found: SampleComparison | None) -> Iterator[RenderableType]:
    if found is None:
        return
    sure = sum(each.more_than_chance for each in found.movements)
    known = any(each.chance is not None for each in found.movements)
    beside = f"{sure} of {len(found.movements)} moved by more than chance" if known else ""
    yield heading(title, beside)
    if found.apart.value is not None:
        yield pairs(_summary(found))
    if found.movements:
        yield _movements(found.movements[:MOVEMENTS])
        if (more := len(found.movements) - MOVEMENTS) > 0:
            yield text(f"and {more} more that moved less; --json gives all", QUIET)


def _summary(found: SampleComparison) -> Iterator[tuple[str, RenderableType]]:
    yield "told apart", f"{wording.estimate(found.apart)} (0.50 is a guess, 1.00 always)"
    if found.outlying:
        yield "texts outside", f"{wording.estimate(found.outlying.share)} ({found.outlying.usual:.2f} would be usual)"
        if found.outlying.ids:
            more = len(found.outlying.ids) - IDS
            yield "of these", ", ".join(found.outlying.ids[:IDS]) + (f" and {more:,} more" if more > 0 else "")


def _movements(found: tuple[FeatureShift, ...]) -> Table:
    """Return a table of the movements, without the columns that take home values one by one where none are known."""
    known = any(each.chance is not None for each in found)
    figures = NUMERIC if known else NUMERIC[:3]
    table = columns("", *figures, *(["chance"] if known else []), numeric=figures)
    for each in found:
        moved = "" if each.moved is None else f"{each.moved:+.1f}"
        cells = [show(each.home), show(each.target), moved]
        if known:
            cells += [wording.figure(each.distance), wording.figure(each.beyond), _chance(each)]
        table.add_row(text(each.name), *map(text, cells))
    return table


def _chance(found: FeatureShift) -> str:
    return "no" if found.more_than_chance else "may be"
