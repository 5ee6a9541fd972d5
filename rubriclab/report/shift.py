"""How far texts lie from those of training: the finding, then what moved most and which texts lie outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from rubriclab.data.scale import show
from rubriclab.report import wording
from rubriclab.report.model import (
    Block,
    Indented,
    Pairs,
    Paragraph,
    Section,
    Table,
    View,
    Words,
    paragraphs,
    quoted,
    table,
)

if TYPE_CHECKING:
    from rubriclab.transfer.distribution_shift import DistributionShift, SampleComparison, ShiftSeverity
    from rubriclab.transfer.feature_shift import FeatureShift

# How many of each kind are shown; the rest is in the JSON.
FEATURES, IDS = 8, 10
STYLES: Mapping[ShiftSeverity, Literal["strong", "warning", "bad"]] = {
    "inside": "strong",
    "near the edge": "warning",
    "outside": "bad",
}
PLACES: Mapping[ShiftSeverity, str] = {
    "inside": "inside",
    "near the edge": "near the edge of",
    "outside": "outside",
}
MOVED = "moved: of the mean, in standard deviations of training"
OTHERS = (
    "distance: Kolmogorov-Smirnov; beyond: share outside the range of training; chance: whether chance may explain the "
    "distance"
)
NUMERIC = ("training", "here", "moved", "distance", "beyond")


def shift_view(shift: DistributionShift) -> View:
    """Return how far texts lie from those of training."""
    return View((), tuple(shift_blocks(shift)), "rubriclab transfer")


def shift_blocks(shift: DistributionShift) -> Iterator[Block]:
    """Yield the finding with its reasons and warning, and the two comparisons."""
    place = f"These texts lie {PLACES[shift.finding]} the distribution that the rubric was learned from."
    yield Paragraph(place, STYLES[shift.finding])
    yield Indented(paragraphs(shift.reasons))
    if shift.warning:
        yield Paragraph(shift.warning, "strong")
    yield Paragraph(_basis(shift), "quiet")
    yield from _comparison("Surface measures", shift.measures)
    yield from _comparison("Criteria", shift.criteria)
    yield Paragraph(f"{MOVED}; {OTHERS}" if shift.home else MOVED, "quiet")


def _basis(shift: DistributionShift) -> str:
    here = f"{wording.count(shift.target, 'text')} in {wording.count(shift.target_groups, 'group')}"
    if not shift.home:
        return f"{here}, compared with the means and standard deviations that the rubric holds"
    home = f"{wording.count(shift.home, 'text')} of training in {wording.count(shift.home_groups, 'group')}"
    return f"{here}, compared with {home}"


def _comparison(title: str, comparison: SampleComparison | None) -> Iterator[Section]:
    if comparison is None:
        return
    features = comparison.movements
    beyond_chance = sum(feature.more_than_chance for feature in features)
    known = any(feature.chance is not None for feature in features)
    beside = f"{beyond_chance} of {len(features)} moved by more than chance" if known else ""
    blocks: list[Block] = []
    if comparison.apart.value is not None:
        blocks.append(Pairs(tuple(_summary(comparison))))
    if features:
        blocks.append(_features(features[:FEATURES]))
        if (more := len(features) - FEATURES) > 0:
            blocks.append(Paragraph(f"and {more} more that moved less; --json gives all", "quiet"))
    yield Section(title, tuple(blocks), beside)


def _summary(comparison: SampleComparison) -> Iterator[tuple[str, Words]]:
    auc = wording.estimate(comparison.apart)
    yield "domain classifier", f"AUC {auc} (0.50: the sets cannot be distinguished; 1.00: always)"
    if outliers := comparison.outlying:
        yield "texts outside", f"{wording.estimate(outliers.share)} ({outliers.usual:.2f} would be usual)"
        if outliers.ids:
            more = len(outliers.ids) - IDS
            yield "such as", quoted(", ".join(outliers.ids[:IDS]) + (f" and {more:,} more" if more > 0 else ""))


def _features(features: tuple[FeatureShift, ...]) -> Table:
    """Return a table of the features, without the columns that need all training values where these are not known."""
    known = any(feature.chance is not None for feature in features)
    numeric = NUMERIC if known else NUMERIC[:3]
    return table(("", *numeric, *(["chance"] if known else [])), [_row(f, known) for f in features], numeric=numeric)


def _row(feature: FeatureShift, known: bool) -> tuple[Words, ...]:
    moved = "" if feature.moved is None else f"{feature.moved:+.1f}"
    cells = (quoted(feature.name), show(feature.home), show(feature.target), moved)
    if not known:
        return cells
    chance = "no" if feature.more_than_chance else "may be"
    return *cells, wording.figure(feature.distance), wording.figure(feature.beyond), chance
