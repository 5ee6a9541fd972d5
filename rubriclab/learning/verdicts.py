"""Verdicts of two levels: the threshold of the scores, and the agreement of scores and verdicts with people's verdicts.

A label between the levels, such as a share of several raters, counts as their majority's verdict; ties are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.learning.fitting import Recall
from rubriclab.models.evaluation import ReliabilityBin, VerdictAgreement
from rubriclab.models.text import MAX_LEVELS, Scale
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.intervals import Interval, Statistic, estimate, predict_folds, quotient, units, wilson_interval

# Number of bins of the scores, each with the share of its texts that people pass.
BINS = 5
# The name of the raters' agreement with each other.
RATERS = "raters among themselves"

VerdictStatistic = Literal["balanced accuracy", "AUROC", "Brier score"]


def choose_threshold(scores: FloatArray, labels: FloatArray, recall: Recall | None = None) -> float:
    """Return the lowest score that passes: of those that reach the recall, the one with the best balanced accuracy.

    Of equally good thresholds, the nearest to 0.5 is returned; without labels of both levels it is 0.5. `scores` are
    held-out probabilities of level 1, NaN where missing.
    """
    known = ~np.isnan(scores) & (labels != 0.5)
    values, passes = scores[known], labels[known] > 0.5
    if passes.all() or not passes.any():
        return 0.5
    distinct = np.unique(values)
    between = (distinct[1:] + distinct[:-1]) / 2
    # All texts pass at 0; above the highest score, no text does.
    candidates = np.concatenate([[0.0], between, [(distinct[-1] + 1) / 2], [0.5]])
    passing = values >= candidates[:, np.newaxis]
    recalls = np.stack([(~passing[:, ~passes]).mean(axis=1), passing[:, passes].mean(axis=1)])
    quality = recalls.mean(axis=0)
    if recall:
        quality = np.where(recalls[recall.level] >= recall.least - 1e-9, quality, -1.0)
    best = candidates[quality >= quality.max() - 1e-9]
    return float(best[np.argmin(np.abs(best - 0.5))])


def verdicts_at(scores: FloatArray, threshold: float | FloatArray) -> FloatArray:
    return np.where(np.isnan(scores), np.nan, scores >= threshold)


def held_out_thresholds(
    scores: FloatArray, labels: FloatArray, fold: IntArray, recall: Recall | None = None, by_hand: float | None = None
) -> FloatArray:
    """Return the threshold of each text, learned without its fold or set by hand."""
    if by_hand is not None:
        return np.full(len(scores), by_hand)

    def choose(training: BoolArray, held_out: BoolArray) -> FloatArray:
        return np.full(held_out.sum(), choose_threshold(scores[training], labels[training], recall))

    return predict_folds(fold, choose)


def verdict_agreement(
    name: str,
    scores: FloatArray,
    verdicts: FloatArray,
    labels: FloatArray,
    groups: Sequence[str],
    *,
    order: FloatArray | None = None,
) -> VerdictAgreement:
    """Return how scores and verdicts agree with people's verdicts, with 95 % intervals over groups.

    Intervals of shares are Wilson's if each text is a group. For shares of 0 and 1 they are Wilson's too, with groups
    counted instead of texts. Scores are from 0 to 1, verdicts 0 or 1, NaN where missing. `order` are scores for AUROC
    whose order does not depend on the labels of folds, such as scores before calibration.
    """
    is_known = ~np.isnan(scores) & ~np.isnan(verdicts) & (labels != 0.5)
    values, judged, passes = scores[is_known], verdicts[is_known] == 1, labels[is_known] > 0.5
    group_of = _known_groups(groups, is_known)
    texts_are_groups = int(group_of.max(initial=-1)) + 1 == len(values)

    def share(hits: BoolArray, among: BoolArray) -> Interval:
        hit_count, total = int((hits & among).sum()), int(among.sum())
        if texts_are_groups or not total:
            return wilson_interval(hit_count, total).rounded()
        if hit_count in (0, total):
            # Groups that all agree have no spread to estimate from, so each group counts as one text.
            group_count = len(np.unique(group_of[among]))
            return wilson_interval(group_count if hit_count else 0, group_count).rounded()
        return _over_groups(lambda weights: quotient(weights @ (hits & among), weights @ among), group_of, 0)

    def statistic(kind: VerdictStatistic, values: FloatArray) -> Interval:
        return _over_groups(_statistic(kind, values, passes), group_of, 0, mean=kind == "Brier score")

    def kappa(weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=1)
        agreed = quotient(weights @ (judged == passes), total)
        judged_rate, label_rate = quotient(weights @ judged, total), quotient(weights @ passes, total)
        by_chance = judged_rate * label_rate + (1 - judged_rate) * (1 - label_rate)
        return quotient(agreed - by_chance, 1 - by_chance)

    # Bins of about equally many texts, of five or more if there are several bins.
    bin_count = min(BINS, max(len(values) // 5, 1))
    bins = [rows for rows in np.array_split(np.argsort(values, kind="stable"), bin_count) if len(rows)]
    return VerdictAgreement(
        name=name,
        cells=tuple(int(((judged == verdict) & (passes == label)).sum()) for label in (0, 1) for verdict in (0, 1)),
        recalls=(share(~judged, ~passes), share(judged, passes)),
        precisions=(share(~passes, ~judged), share(passes, judged)),
        balanced_accuracy=statistic("balanced accuracy", verdicts[is_known]),
        kappa=_over_groups(kappa, group_of, -1),
        auroc=statistic("AUROC", values if order is None else order[is_known]),
        brier=statistic("Brier score", values),
        reliability=tuple(
            ReliabilityBin(
                n=len(rows),
                score=round(float(values[rows].mean()), 4),
                share=wilson_interval(int(passes[rows].sum()), len(rows)).rounded(),
            )
            for rows in bins
        ),
    )


def verdict_statistic(
    statistic: VerdictStatistic, scores: Sequence[FloatArray], labels: FloatArray, groups: Sequence[str]
) -> Interval:
    """Return a statistic of the first scores, minus that of any second scores, on the texts that have all scores."""
    is_known = ~np.isnan(scores).any(axis=0) & (labels != 0.5)
    statistics = [_statistic(statistic, values[is_known], labels[is_known] > 0.5) for values in scores]

    def value(weights: FloatArray) -> FloatArray:
        return statistics[0](weights) - sum(second(weights) for second in statistics[1:])

    # `mean` gives an interval even if the statistic is the same without any group. The difference of equal scores is 0
    # whatever the labels are; an AUROC that is always 1, or a difference that is always 0, may be so by chance.
    is_difference = len(scores) > 1
    is_mean = statistic == "Brier score" or (is_difference and np.array_equal(scores[0], scores[1], equal_nan=True))
    return _over_groups(value, _known_groups(groups, is_known), -1 if is_difference else 0, mean=is_mean)


def _statistic(statistic: VerdictStatistic, values: FloatArray, passes: BoolArray) -> Statistic:
    if statistic == "Brier score":
        return lambda weights: quotient(weights @ np.square(values - passes), weights.sum(axis=1))
    if statistic == "AUROC":
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


def rater_and_others(
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


def raters_verdicts(annotations: Sequence[Sequence[float]], groups: Sequence[str]) -> VerdictAgreement | None:
    """Return how single raters agree with the majority of a text's other raters; `None` if no text has two raters."""
    ratings, other_means, rated_groups = rater_and_others(annotations, groups)
    return verdict_agreement(RATERS, ratings, ratings, other_means, rated_groups) if rated_groups else None


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Numbers of texts by label and rounded score, and quadratically weighted kappa, for few ordered levels."""

    levels: tuple[float, ...]
    cells: tuple[tuple[int, ...], ...]
    kappa: Interval


def level_agreement(
    scores: FloatArray, labels: FloatArray, groups: Sequence[str], scale: Scale
) -> LevelAgreement | None:
    """Return how rounded scores, NaN where missing, and labels agree; `None` unless there are 3 to 7 whole levels."""
    levels = np.arange(scale.low, scale.high + 1)
    if not (scale.whole and 3 <= len(levels) <= MAX_LEVELS):
        return None
    is_known = ~np.isnan(scores)
    # The index of the nearest level; halves are rounded up.
    judged, labelled = (
        np.clip(np.floor(values[is_known] - scale.low + 0.5), 0, len(levels) - 1).astype(int)
        for values in (scores, labels)
    )
    distance = np.square(judged - labelled).astype(float)
    score_levels, label_levels = np.eye(len(levels))[judged], np.eye(len(levels))[labelled]
    penalties = np.square(levels[:, np.newaxis] - levels)

    def kappa(weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=1)
        by_chance = np.einsum("si,ij,sj->s", weights @ score_levels, penalties, weights @ label_levels)
        return 1 - quotient((weights @ distance) * total, by_chance)

    cells = np.zeros((len(levels), len(levels)), dtype=int)
    np.add.at(cells, (labelled, judged), 1)
    interval = _over_groups(kappa, _known_groups(groups, is_known), -1)
    return LevelAgreement(tuple(levels.tolist()), tuple(map(tuple, cells.tolist())), interval)


def _known_groups(groups: Sequence[str], has_values: BoolArray) -> IntArray:
    return units([group for group, has_value in zip(groups, has_values, strict=True) if has_value])


def _over_groups(statistic: Statistic, group_of: IntArray, lowest: float, *, mean: bool = False) -> Interval:
    """Return a statistic of weighted texts, from `lowest` to 1, with its interval over the groups in `group_of`."""
    clusters = int(group_of.max(initial=-1)) + 1
    interval = estimate(lambda counts: statistic(counts[:, group_of]), clusters, elements=len(group_of), mean=mean)
    return interval.within(lowest, 1).rounded()
