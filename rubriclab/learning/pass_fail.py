"""Decisions whether a text passes or fails: the threshold of scores, and the agreement with people's decisions.

Labels have two levels here: 1 for a pass, 0 for a fail. A label between them is the share of a text's raters who let it
pass; it counts as the decision of their majority, and a tie (0.5) is left out. Scores are probabilities of a pass.
Only `confusion_matrix` is for labels of more levels: it rounds scores to the levels of the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import numpy as np

from rubriclab.learning.fitting import RecallGoal
from rubriclab.models.evaluation import DecisionAgreement, ReliabilityBin
from rubriclab.models.text import MAX_LEVELS, Scale
from rubriclab.stats import intervals
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.intervals import Interval, Statistic, cluster_numbers, estimate, predict_folds, quotient

# Maximum number of bins of texts with similar scores, and minimum number of texts in a bin, if there are several bins.
MAX_BINS, MIN_BIN_TEXTS = 5, 5
RATERS = "raters among themselves"  # the `name` of the raters' `DecisionAgreement`

TwoLevelStatistic = Literal["balanced accuracy", "AUROC", "Brier score"]


def choose_threshold(scores: FloatArray, labels: FloatArray, goal: RecallGoal | None = None) -> float:
    """Return the threshold with the best balanced accuracy; a text with a score at or above it passes.

    If `goal` is given, only thresholds that reach it are considered. Of equally good thresholds, the nearest to 0.5
    is returned; without labels of both levels it is 0.5. `scores` are held-out, NaN where missing.
    """
    is_comparable = ~np.isnan(scores) & (labels != 0.5)
    values, label_passes = scores[is_comparable], labels[is_comparable] > 0.5
    if label_passes.all() or not label_passes.any():
        return 0.5
    distinct = np.unique(values)
    midpoints = (distinct[1:] + distinct[:-1]) / 2
    # All texts pass at 0; above the highest score, no text does.
    candidates = np.concatenate([[0.0], midpoints, [(distinct[-1] + 1) / 2], [0.5]])
    score_passes = values >= candidates[:, np.newaxis]
    recall_of_fails = (~score_passes[:, ~label_passes]).mean(axis=1)
    recalls = np.stack([recall_of_fails, score_passes[:, label_passes].mean(axis=1)])
    balanced_accuracy = recalls.mean(axis=0)
    if goal:
        balanced_accuracy = np.where(recalls[goal.level] >= goal.min_share - 1e-9, balanced_accuracy, -1.0)
    best = candidates[balanced_accuracy >= balanced_accuracy.max() - 1e-9]
    return float(best[np.argmin(np.abs(best - 0.5))])


def decisions_at(scores: FloatArray, threshold: float | FloatArray) -> FloatArray:
    """Return 1 for a pass and 0 for a fail, NaN without a score."""
    return np.where(np.isnan(scores), np.nan, scores >= threshold)


def held_out_thresholds(
    scores: FloatArray, labels: FloatArray, fold_numbers: IntArray, goal: RecallGoal | None, by_hand: float | None
) -> FloatArray:
    """Return the threshold of each text, learned without its fold or set by hand."""
    if by_hand is not None:
        return np.full(len(scores), by_hand)

    def choose(training: BoolArray, held_out: BoolArray) -> FloatArray:
        return np.full(held_out.sum(), choose_threshold(scores[training], labels[training], goal))

    return predict_folds(fold_numbers, choose)


def decision_agreement(
    name: str,
    scores: FloatArray,
    decisions: FloatArray,
    labels: FloatArray,
    groups: Sequence[str],
    *,
    ranking_scores: FloatArray | None = None,
) -> DecisionAgreement:
    """Return how scores and decisions agree with people's decisions, with 95 % intervals over groups.

    Scores and decisions are NaN where missing. AUROC is computed from `ranking_scores` if given, else from `scores`.
    """
    is_compared = ~np.isnan(scores) & ~np.isnan(decisions) & (labels != 0.5)
    values, passes, label_passes = scores[is_compared], decisions[is_compared] == 1, labels[is_compared] > 0.5
    compared_labels, compared_groups = labels[is_compared], list(compress(groups, is_compared))
    group_numbers = cluster_numbers(compared_groups)
    texts_are_groups = int(group_numbers.max(initial=-1)) + 1 == len(values)

    def share_with(has_property: BoolArray, among: BoolArray) -> Interval:
        has_both = has_property & among
        count, total = int(has_both.sum()), int(among.sum())
        if texts_are_groups or not total:
            return intervals.wilson_interval(count, total).rounded()
        if count in (0, total):
            # Groups with equal shares have no spread to estimate from, so each group counts as one text.
            group_count = len(np.unique(group_numbers[among]))
            return intervals.wilson_interval(group_count if count else 0, group_count).rounded()
        return _interval(lambda weights: quotient(weights @ has_both, weights @ among), group_numbers, lowest=0)

    def statistic(name: TwoLevelStatistic, values: FloatArray) -> Interval:
        return two_level_statistic(name, [values[is_compared]], compared_labels, compared_groups)

    def kappa(weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=1)
        agreed = quotient(weights @ (passes == label_passes), total)
        pass_rate, label_rate = quotient(weights @ passes, total), quotient(weights @ label_passes, total)
        by_chance = pass_rate * label_rate + (1 - pass_rate) * (1 - label_rate)
        return quotient(agreed - by_chance, 1 - by_chance)

    cells = [int(((label_passes == label) & (passes == decision)).sum()) for label in (0, 1) for decision in (0, 1)]
    bin_count = min(MAX_BINS, max(len(values) // MIN_BIN_TEXTS, 1))
    bins = [rows for rows in np.array_split(np.argsort(values, kind="stable"), bin_count) if len(rows)]
    reliability = []
    for rows in bins:
        share = intervals.wilson_interval(int(label_passes[rows].sum()), len(rows)).rounded()
        reliability.append(ReliabilityBin(n=len(rows), score=round(float(values[rows].mean()), 4), share=share))
    return DecisionAgreement(
        name=name,
        cells=tuple(cells),
        recalls=(share_with(~passes, among=~label_passes), share_with(passes, among=label_passes)),
        precisions=(share_with(~label_passes, among=~passes), share_with(label_passes, among=passes)),
        balanced_accuracy=statistic("balanced accuracy", decisions),
        kappa=_interval(kappa, group_numbers, lowest=-1),
        auroc=statistic("AUROC", scores if ranking_scores is None else ranking_scores),
        brier=statistic("Brier score", scores),
        reliability=tuple(reliability),
    )


def two_level_statistic(
    name: TwoLevelStatistic, scores: Sequence[FloatArray], labels: FloatArray, groups: Sequence[str]
) -> Interval:
    """Return the statistic of one array of scores, or the first array's statistic minus the second array's.

    Two arrays are compared on the texts with both scores. For the balanced accuracy, `scores` are decisions.
    """
    is_compared = ~np.isnan(scores).any(axis=0) & (labels != 0.5)
    is_pair = len(scores) == 2
    statistics = [_weighted_statistic(name, values[is_compared], labels[is_compared] > 0.5) for values in scores]

    def statistic(weights: FloatArray) -> FloatArray:
        values = [each(weights) for each in statistics]
        return values[0] - values[1] if is_pair else values[0]

    # A statistic may by chance stay the same whichever group is left out, such as an AUROC of 1. Then it has an
    # interval only if it is a mean, as the Brier score is.
    group_numbers = cluster_numbers(list(compress(groups, is_compared)))
    return _interval(statistic, group_numbers, lowest=-1 if is_pair else 0, is_mean=name == "Brier score")


def _weighted_statistic(name: TwoLevelStatistic, values: FloatArray, passes: BoolArray) -> Statistic:
    if name == "Brier score":
        return lambda weights: quotient(weights @ np.square(values - passes), weights.sum(axis=1))
    if name == "AUROC":
        better, worse = values[passes][:, np.newaxis], values[~passes]
        above = (better > worse) + 0.5 * (better == worse)

        def auroc(weights: FloatArray) -> FloatArray:
            passing, failing = weights[:, passes], weights[:, ~passes]
            return quotient(((passing @ above) * failing).sum(axis=1), passing.sum(axis=1) * failing.sum(axis=1))

        return auroc

    def balanced_accuracy(weights: FloatArray) -> FloatArray:
        recall_of_passes = quotient(weights @ ((values == 1) & passes), weights @ passes)
        recall_of_fails = quotient(weights @ ((values != 1) & ~passes), weights @ ~passes)
        return (recall_of_fails + recall_of_passes) / 2

    return balanced_accuracy


def ratings_and_other_means(
    annotations: Sequence[Sequence[float]], groups: Sequence[str]
) -> tuple[FloatArray, FloatArray, list[str]]:
    """Return each rating of texts with several ratings, the mean of the text's other ratings, and the text's group."""
    ratings, other_means, rated_groups = list[float](), list[float](), list[str]()
    for scores, group in zip(annotations, groups, strict=True):
        if len(scores) > 1:
            ratings += scores
            other_means += [(sum(scores) - score) / (len(scores) - 1) for score in scores]
            rated_groups += [group] * len(scores)
    return np.array(ratings, dtype=float), np.array(other_means, dtype=float), rated_groups


def rater_decision_agreement(annotations: Sequence[Sequence[float]], groups: Sequence[str]) -> DecisionAgreement | None:
    """Return how single raters agree with the majority of a text's other raters; `None` if no text has two raters."""
    ratings, other_means, rated_groups = ratings_and_other_means(annotations, groups)
    return decision_agreement(RATERS, ratings, ratings, other_means, rated_groups) if rated_groups else None


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """Numbers of texts by label (row) and rounded score (column), and quadratically weighted kappa."""

    levels: tuple[float, ...]
    cells: tuple[tuple[int, ...], ...]
    kappa: Interval


def confusion_matrix(
    scores: FloatArray, labels: FloatArray, groups: Sequence[str], scale: Scale
) -> ConfusionMatrix | None:
    """Return the confusion matrix; `None` unless the scale has 3 to 7 whole levels. Missing scores are NaN."""
    levels = np.arange(scale.low, scale.high + 1)
    if not (scale.whole and 3 <= len(levels) <= MAX_LEVELS):
        return None
    has_score = ~np.isnan(scores)
    # The index of the nearest level; halves are rounded up.
    score_level, label_level = (
        np.clip(np.floor(values[has_score] - scale.low + 0.5), 0, len(levels) - 1).astype(int)
        for values in (scores, labels)
    )
    text_penalties = np.square(score_level - label_level).astype(float)
    has_score_level, has_label_level = np.eye(len(levels))[score_level], np.eye(len(levels))[label_level]
    level_penalties = np.square(levels[:, np.newaxis] - levels)

    def kappa(weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=1)
        expected = np.einsum("si,ij,sj->s", weights @ has_score_level, level_penalties, weights @ has_label_level)
        return 1 - quotient((weights @ text_penalties) * total, expected)

    cells = np.zeros((len(levels), len(levels)), dtype=int)
    np.add.at(cells, (label_level, score_level), 1)
    interval = _interval(kappa, cluster_numbers(list(compress(groups, has_score))), lowest=-1)
    return ConfusionMatrix(tuple(levels.tolist()), tuple(map(tuple, cells.tolist())), interval)


def _interval(statistic: Statistic, text_groups: IntArray, *, lowest: float, is_mean: bool = False) -> Interval:
    """Return a statistic of weighted texts, from `lowest` to 1, with its jackknife interval over groups."""
    n_groups, n = int(text_groups.max(initial=-1)) + 1, len(text_groups)
    mean_range = (lowest, 1.0) if is_mean else None
    interval = estimate(lambda weights: statistic(weights[:, text_groups]), n_groups, n_values=n, mean_range=mean_range)
    return interval.within(lowest, 1).rounded()
