"""The distribution shift from the training texts: the finding, the largest shifts and the outliers."""

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
    "small": "strong",
    "moderate": "warning",
    "large": "bad",
}
SHIFTED = "shift: of the mean, in standard deviations of the training texts"
OTHERS = (
    "KS: Kolmogorov-Smirnov distance; out of range: share outside the range of the training texts; "
    "significant: at a false discovery rate of 5 %"
)
NUMERIC = ("training", "here", "shift", "KS", "out of range")


def shift_blocks(shift: DistributionShift) -> Iterator[Block]:
    """Yield the finding with its reasons and warning, and the two comparisons."""
    finding = f"The distribution shift from the texts that the rubric was learned from is {shift.severity}."
    yield Paragraph(finding, STYLES[shift.severity])
    yield Indented(paragraphs(shift.reasons))
    if shift.warning:
        yield Paragraph(shift.warning, "strong")
    yield Paragraph(_basis(shift), "quiet")
    yield from _comparison("Text features", shift.text_features)
    yield from _comparison("Criteria", shift.criteria)
    yield Paragraph(f"{SHIFTED}; {OTHERS}" if shift.source_texts else SHIFTED, "quiet")


def _basis(shift: DistributionShift) -> str:
    here = f"{wording.count(shift.target_texts, 'text')} in {wording.count(shift.target_groups, 'group')}"
    if not shift.source_texts:
        return f"{here}, compared with the means and standard deviations that the rubric holds"
    source = f"{wording.count(shift.source_texts, 'training text')} in {wording.count(shift.source_groups, 'group')}"
    return f"{here}, compared with {source}"


def _comparison(title: str, comparison: SampleComparison | None) -> Iterator[Section]:
    if comparison is None:
        return
    features = comparison.feature_shifts
    significant = sum(feature.significant for feature in features)
    known = any(feature.p_value is not None for feature in features)
    beside = f"{significant} of {len(features)} shifted significantly" if known else ""
    blocks: list[Block] = []
    if comparison.auc.value is not None:
        blocks.append(Pairs(tuple(_summary(comparison))))
    if features:
        blocks.append(_features(features[:FEATURES]))
        if (more := len(features) - FEATURES) > 0:
            blocks.append(Paragraph(f"{more} more with smaller shifts", "quiet"))
    yield Section(title, tuple(blocks), beside)


def _summary(comparison: SampleComparison) -> Iterator[tuple[str, Words]]:
    auc = wording.estimate(comparison.auc)
    yield "classifier AUC", f"{auc} (0.50 is chance)"
    if outliers := comparison.outliers:
        yield "outliers", f"{wording.estimate(outliers.share)} ({outliers.expected_share:.2f} expected)"
        if outliers.ids:
            more = len(outliers.ids) - IDS
            yield "outlying texts", quoted(", ".join(outliers.ids[:IDS]) + (f" and {more:,} more" if more > 0 else ""))


def _features(features: tuple[FeatureShift, ...]) -> Table:
    """Return a table of the features, without the columns that need all training values where these are not known."""
    known = any(feature.p_value is not None for feature in features)
    numeric = NUMERIC if known else NUMERIC[:3]
    return table(
        ("", *numeric, *(["significant"] if known else [])), [_row(f, known) for f in features], numeric=numeric
    )


def _row(feature: FeatureShift, known: bool) -> tuple[Words, ...]:
    moved = "" if feature.standardized_shift is None else f"{feature.standardized_shift:+.1f}"
    cells = (quoted(feature.name), show(feature.source_mean), show(feature.target_mean), moved)
    if not known:
        return cells
    significant = "yes" if feature.significant else "no"
    return *cells, wording.figure(feature.ks_distance), wording.figure(feature.out_of_range), significant
