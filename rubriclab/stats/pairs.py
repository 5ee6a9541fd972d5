"""Accuracy of the order that scores give pairs of texts or systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rubriclab.stats.agreement import MEAN_DIGITS, scored_texts
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import Interval, estimate

FLIPS = 1000


@dataclass(frozen=True)
class PairwiseAccuracy:
    """Share of pairs of a group's texts with the human order, where a tie is an order too, averaged over groups.

    Scores that differ by at most a threshold are a tie (Deutsch, Foster & Freitag 2023, "Ties Matter").

    Attributes:
        held_out: the threshold of each group has the best accuracy on the other groups; undefined for a single group.
        optimistic: with the threshold that has the best accuracy on the same texts.
        threshold: the smallest threshold with that accuracy; `None` without pairs.
        pairs: of texts of one group.
        groups: with two texts or more.
    """

    held_out: Interval
    optimistic: float | None
    threshold: float | None
    pairs: int
    groups: int


def pairwise_accuracy(predicted: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str]) -> PairwiseAccuracy:
    """Return the accuracy of pairs within groups; arguments and errors as for `rubriclab.stats.agreement`."""
    texts = scored_texts([predicted], human, groups, None)
    texts = texts.take(np.flatnonzero(texts.sizes[texts.group] > 1))
    members = [slice(start, start + size) for start, size in zip(texts.starts, texts.sizes, strict=True)]
    pairs = [_pairs(texts.predicted[0, each], texts.human[each]) for each in members]
    if not pairs:
        return PairwiseAccuracy(Interval(None), None, None, 0, 0)
    thresholds = np.unique(np.concatenate([[0.0], *(distance for distance, _, _ in pairs)]))
    total = np.sum([_accuracies(pair, thresholds) for pair in pairs], axis=0)
    best = int(np.round(total, MEAN_DIGITS).argmax())
    count, held_out = len(pairs), Interval(None)
    if count > 1:
        found = (_accuracies(pair, thresholds) for pair in pairs)
        accuracies = np.array([own[np.round(total - own, MEAN_DIGITS).argmax()] for own in found])
        held_out = estimate(lambda counts: counts @ accuracies / counts.sum(axis=1), count, elements=count)
    return PairwiseAccuracy(
        held_out.within(0, 1),
        float(total[best] / count),
        float(thresholds[best]),
        sum(len(distance) for distance, _, _ in pairs),
        count,
    )


def soft_pairwise_accuracy(
    predicted: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str], systems: Sequence[str]
) -> float | None:
    """Return 1 minus the mean absolute difference, over pairs of systems, of the p values by scores and by people.

    A p value is that of the one-sided permutation test that the first system is better, which flips signs of the
    systems' differences over the groups that both have (Thompson et al. 2024). `None` if no two systems share a group.
    Arguments and errors as for `rubriclab.stats.agreement`.
    """
    texts = scored_texts([predicted], human, groups, systems)
    shape = (len(texts.sizes), texts.systems)
    number, *sums = (np.zeros(shape) for _ in range(3))
    for table, values in zip((number, *sums), (np.ones(len(texts.human)), *texts.predicted, texts.human), strict=True):
        np.add.at(table, (texts.group, texts.system), values)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(FLIPS, shape[0]))
    apart = []
    for first, second in combinations(range(texts.systems), 2):
        both = np.flatnonzero((number[:, first] > 0) & (number[:, second] > 0))
        if len(both):
            means = ((table[both] / np.maximum(number[both], 1)) for table in sums)
            differences = np.stack([mean[:, first] - mean[:, second] for mean in means], axis=1)
            at_least = np.round(signs[:, both] @ differences - differences.sum(axis=0), MEAN_DIGITS) >= 0
            apart.append(abs(float(np.subtract(*at_least.mean(axis=0)))))
    return 1 - float(np.mean(apart)) if apart else None


def _pairs(predicted: FloatArray, human: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the pairs by ascending distance of their scores, and whether each is right as no tie, and as a tie."""
    first, second = np.triu_indices(len(human), 1)
    difference = np.round(predicted[first] - predicted[second], MEAN_DIGITS)
    order = np.argsort(np.abs(difference))
    signs = np.sign(human[first] - human[second])[order]
    ordered, tied = (np.sign(difference[order]) == signs).astype(float), (signs == 0).astype(float)
    return np.abs(difference[order]), ordered, tied


def _accuracies(pairs: tuple[FloatArray, FloatArray, FloatArray], thresholds: FloatArray) -> FloatArray:
    """Return a group's accuracy at each threshold, shape (thresholds,)."""
    distance, ordered, tied = pairs
    within = np.searchsorted(distance, thresholds, side="right")
    gain = np.concatenate([[0.0], np.cumsum(tied - ordered)])
    accuracies: FloatArray = (ordered.sum() + gain[within]) / len(distance)
    return accuracies
