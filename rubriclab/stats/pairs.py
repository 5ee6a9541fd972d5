"""Latent scores of texts from paired comparisons and scores; pairwise accuracy of scores.

In the model of Bradley & Terry 1952, "Rank analysis of incomplete block designs", the log odds that people prefer one
text to another are the difference of the latent scores. A tie counts as half a win for each (Turner & Firth 2012,
"Bradley-Terry Models in R"). A normal prior keeps the latent scores of texts that never lost finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.agreement import MEAN_DIGITS, scored_texts
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import Interval, estimate

MAX_STEPS = 100
TOLERANCE = 1e-7
RELIABILITIES = np.arange(1, 10) / 10
# A preference compares two noisy impressions (Thurstone 1927, "A law of comparative judgment", case V). With this slope
# the logistic distribution has the standard deviation of the difference of two impressions with noise 1.
PREFERENCE_SLOPE = math.pi / math.sqrt(6)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Numbers of the compared texts, from 0, shape (comparisons,). In a tie, either text may be in `better`."""

    better: IntArray
    worse: IntArray
    ties: npt.NDArray[np.bool_]

    def among(self, texts: IntArray, indices: IntArray) -> Comparisons:
        """Return the comparisons at `indices`, with texts numbered by their position in `texts`, which is ascending."""
        better, worse = (np.searchsorted(texts, side[indices]) for side in (self.better, self.worse))
        return Comparisons(better, worse, self.ties[indices])


@dataclass(frozen=True, eq=False)
class Latents:
    """Latent scores, shape (texts,), NaN for texts without comparisons.

    `reliability` is the share of the scores' variance that is not noise.
    """

    values: FloatArray
    reliability: float


def joint_scores(
    scores: npt.ArrayLike, groups: npt.ArrayLike, comparisons: Comparisons, *, center: float, spread: float
) -> Latents:
    """Return the latent scores of compared texts, on the scale of the scores.

    In the model, latent scores are normal around `center`. A score is the latent score plus normal noise, and the two
    variances sum to `spread` squared. A preference compares two impressions, each with the same noise as a score.
    Latent scores are maximum a posteriori estimates. The reliability is the most probable of `RELIABILITIES` with a
    Beta(2, 2) prior, by Laplace's approximation (MacKay 2003, "Information Theory, Inference, and Learning Algorithms",
    chapter 27).

    In a group without scores only differences are meaningful. Without any score the unit is not identified: latent
    scores then have the standard deviation `spread`.

    Scores and groups have shape (texts,). A score may be NaN; groups are integers. Comparisons are within groups, and
    `spread` is positive.
    """
    numbers, group = np.asarray(scores, dtype=np.float64), np.asarray(groups)
    is_compared = np.zeros(len(numbers), dtype=bool)
    is_compared[comparisons.better] = is_compared[comparisons.worse] = True
    texts_by_group = _split_by_group(np.flatnonzero(is_compared), group[is_compared])
    pairs_by_group = _split_by_group(np.arange(len(comparisons.better)), group[comparisons.better])
    standardized = (numbers - center) / spread
    data_by_group = [
        (standardized[texts], comparisons.among(texts, pairs))
        for texts, pairs in zip(texts_by_group, pairs_by_group, strict=True)
    ]
    fits = [[_fit(*data, reliability) for data in data_by_group] for reliability in RELIABILITIES]
    prior = np.log(RELIABILITIES * (1 - RELIABILITIES))
    best = int(np.argmax(prior + [sum(evidence for _, evidence in fit) for fit in fits]))
    reliability = float(RELIABILITIES[best])
    unit = spread if np.isfinite(numbers).any() else spread / math.sqrt(reliability)
    values = np.full(len(numbers), np.nan)
    for texts, (latent, _) in zip(texts_by_group, fits[best], strict=True):
        values[texts] = center + unit * latent
    return Latents(values, reliability)


def _split_by_group(items: IntArray, group: IntArray) -> list[IntArray]:
    order = np.argsort(group, kind="stable")
    return np.split(items[order], np.flatnonzero(np.diff(group[order])) + 1) if len(items) else []


def _fit(scores: FloatArray, comparisons: Comparisons, reliability: float) -> tuple[FloatArray, float]:
    """Return the latent scores of a group's texts, and the log evidence."""
    noise, has_score = 1 - reliability, np.isfinite(scores)
    precision = np.where(has_score, 1 / noise, 0.0) + 1 / reliability
    target = np.where(has_score, scores, 0.0) / noise / precision
    slope = PREFERENCE_SLOPE / math.sqrt(noise)
    latent, curvature, comparison_loss = _most_probable(comparisons, target, precision, slope)
    squares = np.square(latent).sum() / reliability + (np.square(scores - latent)[has_score] / noise).sum()
    scale = len(scores) * math.log(reliability) + has_score.sum() * math.log(noise)
    return latent, float(-comparison_loss - 0.5 * (squares + scale + np.linalg.slogdet(curvature)[1]))


def _most_probable(
    comparisons: Comparisons, target: FloatArray, precision: FloatArray, slope: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the latent scores, the curvature of the loss there, and the comparisons' negative log likelihood.

    The prior of the latent scores is normal around `target` with `precision`. Newton's method finds them; a step that
    does not lower the loss is halved.
    """
    better, worse, ties = comparisons.better, comparisons.worse, comparisons.ties

    def comparison_loss(latent: FloatArray) -> float:
        log_odds = slope * (latent[better] - latent[worse])
        return float((np.logaddexp(0, -log_odds) + np.where(ties, log_odds / 2, 0)).sum())

    def loss(latent: FloatArray) -> float:
        return comparison_loss(latent) + float(0.5 * (precision * np.square(latent - target)).sum())

    latent, n = target.copy(), len(target)
    for _ in range(MAX_STEPS):
        probability = 0.5 * (1 + np.tanh(slope * (latent[better] - latent[worse]) / 2))
        errors = slope * (probability - np.where(ties, 0.5, 1.0))
        gradient = precision * (latent - target) + np.bincount(better, errors, n) - np.bincount(worse, errors, n)
        weights = slope**2 * probability * (1 - probability)
        curvature = np.diag(precision + np.bincount(better, weights, n) + np.bincount(worse, weights, n))
        np.add.at(curvature, (better, worse), -weights)
        np.add.at(curvature, (worse, better), -weights)
        step = np.linalg.solve(curvature, gradient)
        if np.abs(step).max(initial=0) <= TOLERANCE:
            break
        before = loss(latent)
        while np.abs(step).max() > TOLERANCE and not loss(latent - step) < before:
            step = step / 2
        latent = latent - step
    return latent, curvature, comparison_loss(latent)


@dataclass(frozen=True)
class PairwiseAccuracy:
    """Share of pairs of texts that scores order as people do, within groups and averaged over groups.

    A pair is ordered one way, the other way or as a tie. Scores that differ by at most a threshold are a tie (Deutsch,
    Foster & Freitag 2023, "Ties Matter").

    Attributes:
        held_out: the accuracy if each group's threshold is the best on the other groups; undefined for a single group.
        optimistic: the accuracy with `threshold`.
        threshold: the best threshold on the same texts; the smallest if several are equally good.
        texts, groups: how many are used: groups of two texts or more, even with equal labels, and their texts.
    """

    held_out: Interval
    optimistic: float | None
    threshold: float | None
    pairs: int
    texts: int
    groups: int


def pairwise_accuracy(predicted: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str]) -> PairwiseAccuracy:
    """Return the pairwise accuracy within groups; arguments and errors as for `rubriclab.stats.agreement`."""
    texts = scored_texts([predicted], human, groups, None)
    texts = texts.take(np.flatnonzero(texts.sizes[texts.group] > 1))
    members = [slice(start, start + size) for start, size in zip(texts.starts, texts.sizes, strict=True)]
    pairs = [_pairs(texts.predicted[0, each], texts.human[each]) for each in members]
    if not pairs:
        return PairwiseAccuracy(Interval(None), None, None, 0, 0, 0)
    thresholds = np.unique(np.concatenate([[0.0], *(distance for distance, _, _ in pairs)]))
    total = np.sum([_accuracies(pair, thresholds) for pair in pairs], axis=0)
    best = int(np.round(total, MEAN_DIGITS).argmax())
    count, held_out = len(pairs), Interval(None)
    if count > 1:
        by_group = (_accuracies(pair, thresholds) for pair in pairs)
        accuracies = np.array([own[np.round(total - own, MEAN_DIGITS).argmax()] for own in by_group])
        held_out = estimate(lambda counts: counts @ accuracies / counts.sum(axis=1), count, elements=count, mean=True)
    return PairwiseAccuracy(
        held_out.within(0, 1),
        float(total[best] / count),
        float(thresholds[best]),
        sum(len(distance) for distance, _, _ in pairs),
        len(texts.human),
        count,
    )


def _pairs(predicted: FloatArray, human: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for all pairs, by ascending distance: the distance, 1 if their order is right, 1 if a tie is right."""
    first, second = np.triu_indices(len(human), 1)
    difference = np.round(predicted[first] - predicted[second], MEAN_DIGITS)
    order = np.argsort(np.abs(difference))
    signs = np.sign(human[first] - human[second])[order]
    right_untied, right_tied = (np.sign(difference[order]) == signs).astype(float), (signs == 0).astype(float)
    return np.abs(difference[order]), right_untied, right_tied


def _accuracies(pairs: tuple[FloatArray, FloatArray, FloatArray], thresholds: FloatArray) -> FloatArray:
    distance, right_untied, right_tied = pairs
    number_tied = np.searchsorted(distance, thresholds, side="right")
    gain = np.concatenate([[0.0], np.cumsum(right_tied - right_untied)])
    return np.asarray((right_untied.sum() + gain[number_tied]) / len(distance))
