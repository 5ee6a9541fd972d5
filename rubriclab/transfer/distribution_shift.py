"""How far target texts are from the texts that a rubric was learned from, without any labels.

Two samples are compared three ways, by text features and by the criteria's ratings:

- how well a simple classifier distinguishes them, with texts of one group never on both sides of a fold (a classifier
  two-sample test: Lopez-Paz & Oquab 2017, "Revisiting classifier two-sample tests", ICLR);
- how far each feature and criterion shifted, and which shifts are significant;
- which target texts are outliers among the source texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from rubriclab.aggregation import Term
from rubriclab.base_models import FrozenModel
from rubriclab.data.example import Example
from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval
from rubriclab.transfer.domain_classifier import domain_auc
from rubriclab.transfer.feature_shift import FeatureShift, feature_shifts, shifts_from_terms
from rubriclab.transfer.outliers import Outliers, find_outliers
from rubriclab.transfer.sample import Sample

ShiftSeverity = Literal["small", "moderate", "large"]

SEVERITIES: tuple[ShiftSeverity, ...] = ("small", "moderate", "large")

# The thresholds were set by draws of 30 and 60 source texts from public sets of rated summaries, stories and dialogue
# turns, by their text features. Against the other half of their set, split by group: 9 % outliers on average, 25 % at
# most. Stories against dialogue, in either direction: at least 76 %.
LARGE_OUTLIER_SHARE, MODERATE_OUTLIER_SHARE = 0.5, 0.3
# Lower end of the interval of the area under the curve. Between halves it stayed below 0.57; between sets above 0.88.
MODERATE_AUC, CHANCE_AUC = 0.65, 0.5
# Weighted mean of the criteria's standardized shifts, if nothing else is known. With three rubrics learned from 30
# texts: 0.1, 0.1 and 0.5 on their own set, 0.9 to 1.8 on other kinds of text.
LARGE_MEAN_SHIFT, MODERATE_MEAN_SHIFT = 1.0, 0.6
# A column needs this many values to be compared. It belongs to a sample if defined for half of its texts, and is absent
# from it if defined for less than a tenth.
FEWEST_VALUES, PRESENT, ABSENT = 5, 0.5, 0.1


class SampleComparison(FrozenModel):
    """Source and target compared by the same columns.

    Attributes:
        auc: area under the ROC curve of a classifier of the two; 0.5 if it cannot distinguish them.
        feature_shifts: the largest first.
        outliers: target texts that are outliers on the source; `None` if unknown.
        one_sided: columns that only one of the samples has.
    """

    auc: Interval
    feature_shifts: tuple[FeatureShift, ...]
    outliers: Outliers | None
    one_sided: tuple[str, ...] = ()


class DistributionShift(FrozenModel):
    """The distance of the target from the source.

    Attributes:
        severity: the overall result.
        reasons: the results behind it, a sentence each.
        source_texts, source_groups, target_texts, target_groups: numbers of texts and groups.
        text_features: comparison by text features; `None` without source texts.
        criteria: comparison by the criteria's ratings; `None` if no criterion was rated on both sides.
    """

    severity: ShiftSeverity
    reasons: tuple[str, ...]
    source_texts: int
    source_groups: int
    target_texts: int
    target_groups: int
    text_features: SampleComparison | None
    criteria: SampleComparison | None

    @property
    def warning(self) -> str | None:
        """A warning to users of the rubric on the target; `None` for a small shift."""
        if self.severity == "small":
            return None
        if self.severity == "moderate":
            return "These texts differ from those that the rubric was learned from: check some of its scores by hand."
        return (
            "These texts are unlike those that the rubric was learned from, so its agreement with people is unknown: "
            "label some of them before relying on its scores."
        )


def distribution_shift(
    source: Sequence[Example],
    target: Sequence[Example],
    source_ratings: Mapping[str, FloatArray],
    target_ratings: Mapping[str, FloatArray],
    *,
    terms: Sequence[Term] = (),
    seed: int = 0,
) -> DistributionShift:
    """Return how far `target` is from `source`, by text features and by the criteria's ratings.

    Without source texts, as for a version from a pack, only the criteria's means are compared with the centers in
    `terms`.

    Args:
        source_ratings, target_ratings: by criterion, shape (texts,) in the order of the texts, NaN where missing.
            Criteria of one side only are left out.
        terms: of the rubric's aggregation.
        seed: of folds and resamples.

    Raises:
        ValueError: if there is no target text, or the numbers of ratings and texts differ.
    """
    _check(source, target, source_ratings, target_ratings)
    by_features = by_criteria = None
    if source:
        features = (
            _sample(feature_values(source, FEATURE_NAMES), source),
            _sample(feature_values(target, FEATURE_NAMES), target),
        )
        by_features = _compare(FEATURE_NAMES, features, [example.id for example in target], seed)
        by_criteria = _compare_ratings(source, target, source_ratings, target_ratings, seed)
    elif shifts := shifts_from_terms(terms, target_ratings):
        by_criteria = SampleComparison(auc=Interval(None), feature_shifts=shifts, outliers=None)
    findings = [*_findings("text features", by_features), *_findings("criteria", by_criteria)]
    if by_criteria and not source:
        findings += _mean_shift_finding(by_criteria, terms)
    severity, reasons = _most_severe(findings)
    return DistributionShift(
        severity=severity,
        reasons=reasons,
        source_texts=len(source),
        source_groups=len({example.group for example in source}),
        target_texts=len(target),
        target_groups=len({example.group for example in target}),
        text_features=by_features,
        criteria=by_criteria,
    )


def _check(
    source: Sequence[Example],
    target: Sequence[Example],
    source_ratings: Mapping[str, FloatArray],
    target_ratings: Mapping[str, FloatArray],
) -> None:
    if not target:
        raise ValueError("target: expected at least one text, got none")
    for name, texts, ratings in (
        ("source_ratings", source, source_ratings),
        ("target_ratings", target, target_ratings),
    ):
        for criterion, column in ratings.items():
            if np.shape(column) != (len(texts),):
                raise ValueError(
                    f"{name}[{criterion!r}]: expected {len(texts)} ratings, one per text, got shape {np.shape(column)}"
                )


def _sample(values: FloatArray, texts: Sequence[Example]) -> Sample:
    return Sample(values, tuple(example.group for example in texts))


def _compare_ratings(
    source: Sequence[Example],
    target: Sequence[Example],
    source_ratings: Mapping[str, FloatArray],
    target_ratings: Mapping[str, FloatArray],
    seed: int,
) -> SampleComparison | None:
    shared = [name for name in source_ratings if name in target_ratings]
    if not shared:
        return None
    samples = (
        _sample(np.stack([np.asarray(source_ratings[name], dtype=float) for name in shared], axis=1), source),
        _sample(np.stack([np.asarray(target_ratings[name], dtype=float) for name in shared], axis=1), target),
    )
    return _compare(shared, samples, [example.id for example in target], seed)


def _compare(names: Sequence[str], samples: tuple[Sample, Sample], ids: Sequence[str], seed: int) -> SampleComparison:
    shares = np.array([sample.present.mean(axis=0) for sample in samples])
    enough = [sample.present.sum(axis=0) >= min(FEWEST_VALUES, len(sample)) for sample in samples]
    shared = np.flatnonzero((shares.min(axis=0) >= ABSENT) & enough[0] & enough[1])
    one_sided = np.flatnonzero((shares.max(axis=0) >= PRESENT) & (shares.min(axis=0) < ABSENT))
    source, target = (sample.columns(shared) for sample in samples)
    return SampleComparison(
        auc=domain_auc(source, target, seed),
        feature_shifts=feature_shifts([names[column] for column in shared.tolist()], source, target, seed),
        outliers=find_outliers(source, target, ids, seed),
        one_sided=tuple(names[column] for column in one_sided.tolist()),
    )


def _most_severe(findings: Sequence[tuple[ShiftSeverity, str]]) -> tuple[ShiftSeverity, tuple[str, ...]]:
    """Return the highest severity, and the sentences of all findings above `small`, or of all if none is."""
    if not findings:
        return "moderate", ("The texts that the rubric was learned from are unknown.",)
    worst = max((severity for severity, _ in findings), key=SEVERITIES.index)
    return worst, tuple(sentence for severity, sentence in findings if severity != "small" or worst == "small")


def _findings(columns: str, comparison: SampleComparison | None) -> Iterator[tuple[ShiftSeverity, str]]:
    """Yield the severity by each result of a comparison, in a sentence."""
    if comparison is None:
        return
    outliers, auc = comparison.outliers, comparison.auc
    if outliers and (share := outliers.share.value) is not None:
        expected = f"{outliers.expected_share:.0%} is expected for similar texts"
        yield (
            _severity(share, MODERATE_OUTLIER_SHARE, LARGE_OUTLIER_SHARE),
            f"By {columns}, {share:.0%} of the texts are outliers relative to the training texts; {expected}.",
        )
    if auc.value is not None:
        clearly = auc.low is not None and auc.low >= MODERATE_AUC
        ends = "" if auc.low is None or auc.high is None else f" [{auc.low:.2f}, {auc.high:.2f}]"
        verb = _distinguishes(auc.low, clearly=clearly)
        yield (
            "moderate" if clearly else "small",
            f"By {columns}, a classifier {verb} the texts from the training texts: area under the curve "
            f"{auc.value:.2f}{ends}, where 0.50 is chance and an interval above {MODERATE_AUC:.2f} is a shift.",
        )
    if comparison.one_sided:
        yield "moderate", f"Only on one side are there values of these {columns}: {', '.join(comparison.one_sided)}."


def _distinguishes(low: float | None, *, clearly: bool) -> str:
    if clearly:
        return "clearly distinguishes"
    return "somewhat distinguishes" if low is not None and low > CHANCE_AUC else "does not distinguish"


def _mean_shift_finding(comparison: SampleComparison, terms: Sequence[Term]) -> Iterator[tuple[ShiftSeverity, str]]:
    weights = {term.criterion: abs(term.weight) for term in terms}
    total = math.fsum(weights[shift.name] for shift in comparison.feature_shifts)
    if total:
        shifts = comparison.feature_shifts
        mean = math.fsum(weights[shift.name] * abs(shift.standardized_shift or 0.0) for shift in shifts) / total
        yield (
            _severity(mean, MODERATE_MEAN_SHIFT, LARGE_MEAN_SHIFT),
            f"The criteria's means shifted by {mean:.2f} standard deviations in the weighted mean; nothing else can "
            "be compared, because the training texts are not in this store.",
        )


def _severity(value: float, moderate: float, large: float) -> ShiftSeverity:
    return "large" if value >= large else "moderate" if value >= moderate else "small"
