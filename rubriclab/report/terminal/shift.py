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
STYLES: Mapping[ShiftSeverity, str] = {"small": "bold", "moderate": "bold yellow", "large": "bold red"}
SHIFTED = "shift: of the mean, in standard deviations of training"
OTHERS = (
    "KS: Kolmogorov-Smirnov distance; out of range: share outside of the range of training; significant: at a false "
    "discovery rate of 5 %"
)
NUMERIC = ("training", "here", "shift", "KS", "out of range")


def shift_view(found: DistributionShift) -> RenderableType:
    """Return the finding with its reasons and warning, and the two comparisons."""
    return Group(*_lines(found))


def _lines(found: DistributionShift) -> Iterator[RenderableType]:
    yield text(
        f"The distribution shift from the texts that the rubric was learned from is {found.severity}.",
        STYLES[found.severity],
    )
    for reason in found.reasons:
        yield indented(text(reason))
    if found.warning:
        yield text(found.warning, "bold")
    yield text(_basis(found), QUIET)
    yield from _comparison("Text features", found.text_features)
    yield from _comparison("Criteria", found.criteria)
    yield ""
    yield text(f"{SHIFTED}; {OTHERS}" if found.source_texts else SHIFTED, QUIET)


def _basis(found: DistributionShift) -> str:
    here = f"{wording.count(found.target_texts, 'text')} in {wording.count(found.target_groups, 'group')}"
    if not found.source_texts:
        return f"{here}, beside the means and spreads that the rubric holds"
    training = wording.count(found.source_texts, "text")
    return f"{here}, compared with {training} of training in {wording.count(found.source_groups, 'group')}"


def _comparison(title: str, found: SampleComparison | None) -> Iterator[RenderableType]:
    if found is None:
        return
    sure = sum(each.significant for each in found.feature_shifts)
    known = any(each.p_value is not None for each in found.feature_shifts)
    beside = f"{sure} of {len(found.feature_shifts)} shifted significantly" if known else ""
    yield heading(title, beside)
    if found.auc.value is not None:
        yield pairs(_summary(found))
    if found.feature_shifts:
        yield _movements(found.feature_shifts[:MOVEMENTS])
        if (more := len(found.feature_shifts) - MOVEMENTS) > 0:
            yield text(f"and {more} more with a smaller shift; --json gives all", QUIET)


def _summary(found: SampleComparison) -> Iterator[tuple[str, RenderableType]]:
    yield "classifier AUC", f"{wording.estimate(found.auc)} (0.50 is chance)"
    if found.outliers:
        yield (
            "outliers",
            f"{wording.estimate(found.outliers.share)} ({found.outliers.expected_share:.2f} would be expected)",
        )
        if found.outliers.ids:
            more = len(found.outliers.ids) - IDS
            yield "outlying texts", ", ".join(found.outliers.ids[:IDS]) + (f" and {more:,} more" if more > 0 else "")


def _movements(found: tuple[FeatureShift, ...]) -> Table:
    """Return a table of the movements, without the columns that take home values one by one where none are known."""
    known = any(each.p_value is not None for each in found)
    figures = NUMERIC if known else NUMERIC[:3]
    table = columns("", *figures, *(["significant"] if known else []), numeric=figures)
    for each in found:
        moved = "" if each.standardized_shift is None else f"{each.standardized_shift:+.1f}"
        cells = [show(each.source_mean), show(each.target_mean), moved]
        if known:
            cells += [wording.figure(each.ks_distance), wording.figure(each.out_of_range), _significant(each)]
        table.add_row(text(each.name), *map(text, cells))
    return table


def _significant(found: FeatureShift) -> str:
    return "yes" if found.significant else "no"
