"""Strengths from paired comparisons together with scores, and pairwise accuracy.

Bradley & Terry 1952, "Rank analysis of incomplete block designs": one text is preferred to another with the log odds of
the difference of their strengths. A tie counts as half a win for each, as in Turner & Firth 2012, "Bradley-Terry Models
in R: The BradleyTerry2 Package". A normal prior on the strengths makes them finite for texts that never lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rubriclab.stats.agreement import MEAN_DIGITS, scored_texts
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import Interval, estimate

MAX_STEPS = 100
TOLERANCE = 1e-7
RELIABILITIES = np.arange(1, 10) / 10
# A preference compares two noisy impressions (Thurstone 1927, "A law of comparative judgment", case V). The slope of
# the logistic curve with the standard deviation of a difference of two impressions with noise 1.
STEEPNESS = math.pi / math.sqrt(6)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairs of texts, by their numbers from 0, shape (comparisons,) each; in a tie the order has no meaning."""

    better: IntArray
    worse: IntArray
    ties: npt.NDArray[np.bool_]

    def among(self, texts: IntArray, kept: IntArray) -> Comparisons:
        """Return the comparisons `kept`, all between `texts` (ascending), with the texts renumbered."""
        better, worse = (np.searchsorted(texts, side[kept]) for side in (self.better, self.worse))
        return Comparisons(better, worse, self.ties[kept])


@dataclass(frozen=True, eq=False)
class Latents:
    """Latent scores, shape (texts,), NaN without comparisons, and the share of scores' variance that is not noise."""

    values: FloatArray
    reliability: float


def joint_scores(
    scores: npt.ArrayLike, groups: npt.ArrayLike, comparisons: Comparisons, *, center: float, spread: float
) -> Latents:
    """Return the latent scores of compared texts, on the scale of the scores, from scores and comparisons together.

    The model: latent scores are normal around `center`, a score is the latent score plus normal noise, both variances
    sum to `spread` squared, and a preference compares two impressions with the same noise as a score. Latent scores are
    maximum a posteriori estimates. The reliability is the most probable of `RELIABILITIES` with a Beta(2, 2) prior (by
    Laplace's approximation, MacKay 2003, "Information Theory, Inference, and Learning Algorithms", chapter 27).

    In a group without scores only differences are meaningful. Without any score the unit is not identified: latent
    scores then have the standard deviation `spread`.

    Scores and groups, whole numbers, have shape (texts,); a score may be NaN. Raises ValueError if a comparison goes
    from one group to another, or `spread` is not positive.
    """
    numbers, group = np.asarray(scores, dtype=np.float64), np.asarray(groups)
    if np.any(group[comparisons.better] != group[comparisons.worse]):
        raise ValueError("comparisons: expected pairs within one group, got a pair between two groups")
    if not spread > 0:
        raise ValueError(f"spread: expected a positive number, got {spread}")
    compared = np.zeros(len(numbers), dtype=bool)
    compared[comparisons.better] = compared[comparisons.worse] = True
    places = _by_number(np.flatnonzero(compared), group[compared])
    standard = (numbers - center) / spread
    by_group = _by_number(np.arange(len(comparisons.better)), group[comparisons.better])
    parts = [
        (place, standard[place], comparisons.among(place, kept)) for place, kept in zip(places, by_group, strict=True)
    ]
    fits = [[_fit(scored, pairs, reliability) for _, scored, pairs in parts] for reliability in RELIABILITIES]
    prior = np.log(RELIABILITIES * (1 - RELIABILITIES))
    best = int(np.argmax(prior + [sum(evidence for _, evidence in fit) for fit in fits]))
    reliability = float(RELIABILITIES[best])
    unit = spread if np.isfinite(numbers).any() else spread / math.sqrt(reliability)
    values = np.full(len(numbers), np.nan)
    for place, (worth, _) in zip(places, fits[best], strict=True):
        values[place] = center + unit * worth
    return Latents(values, reliability)


def _by_number(items: IntArray, numbers: IntArray) -> list[IntArray]:
    order = np.argsort(numbers, kind="stable")
    return np.split(items[order], np.flatnonzero(np.diff(numbers[order])) + 1) if len(items) else []


def _fit(scores: FloatArray, comparisons: Comparisons, reliability: float) -> tuple[FloatArray, float]:
    """Return the latent scores of a group's texts, and the log evidence."""
    noise, scored = 1 - reliability, np.isfinite(scores)
    precision = np.where(scored, 1 / noise, 0.0) + 1 / reliability
    target = np.where(scored, scores, 0.0) / noise / precision
    worth, curvature, preferring = _most_likely(comparisons, target, precision, STEEPNESS / math.sqrt(noise))
    away = np.square(worth).sum() / reliability + (np.square(scores - worth)[scored] / noise).sum()
    scale = len(scores) * math.log(reliability) + scored.sum() * math.log(noise)
    return worth, float(-preferring - 0.5 * (away + scale + np.linalg.slogdet(curvature)[1]))


def _most_likely(
    comparisons: Comparisons, target: FloatArray, precision: FloatArray, slope: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the strengths, the curvature there, and the negative log likelihood of the comparisons.

    Strengths are normal around `target` with `precision`. By Newton's method with steps halved if they overshoot.
    """
    better, worse, ties = comparisons.better, comparisons.worse, comparisons.ties

    def surprise(strength: FloatArray) -> float:
        apart = slope * (strength[better] - strength[worse])
        return float((np.logaddexp(0, -apart) + np.where(ties, apart / 2, 0)).sum())

    def loss(strength: FloatArray) -> float:
        return surprise(strength) + float(0.5 * (precision * np.square(strength - target)).sum())

    strength, n = target.copy(), len(target)
    for _ in range(MAX_STEPS):
        odds = 0.5 * (1 + np.tanh(slope * (strength[better] - strength[worse]) / 2))
        missed = slope * (odds - np.where(ties, 0.5, 1.0))
        gradient = precision * (strength - target) + np.bincount(better, missed, n) - np.bincount(worse, missed, n)
        weight = slope**2 * odds * (1 - odds)
        curvature = np.diag(precision + np.bincount(better, weight, n) + np.bincount(worse, weight, n))
        np.add.at(curvature, (better, worse), -weight)
        np.add.at(curvature, (worse, better), -weight)
        step = np.linalg.solve(curvature, gradient)
        if np.abs(step).max(initial=0) <= TOLERANCE:
            break
        before = loss(strength)
        while np.abs(step).max() > TOLERANCE and not loss(strength - step) < before:
            step = step / 2
        strength = strength - step
    return strength, curvature, surprise(strength)


FLIPS = 1000


@dataclass(frozen=True)
class PairwiseAccuracy:
    """Share of pairs of a group's texts with the human order, where a tie is an order too, averaged over groups.

    Scores that differ by at most a threshold are a tie (Deutsch, Foster & Freitag 2023, "Ties Matter").

    Attributes:
        held_out: the threshold of each group has the best accuracy on the other groups; undefined for a single group.
        optimistic: with the threshold that has the best accuracy on the same texts; `threshold` is the smallest such.
        groups: those with two texts or more.
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
        held_out = estimate(lambda counts: counts @ accuracies / counts.sum(axis=1), count, elements=count, mean=True)
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

    A p value is of the one-sided permutation test that the first system is better, which flips signs of differences
    over the groups that both have (Thompson et al. 2024). `None` if no two systems share a group. Arguments and errors
    as for `rubriclab.stats.agreement`.
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
    distance, ordered, tied = pairs
    within = np.searchsorted(distance, thresholds, side="right")
    gain = np.concatenate([[0.0], np.cumsum(tied - ordered)])
    return np.asarray((ordered.sum() + gain[within]) / len(distance))
