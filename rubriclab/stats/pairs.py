"""Latent scores of texts from paired comparisons and scores.

In the model of Bradley & Terry 1952, "Rank analysis of incomplete block designs", the log odds that people prefer one
text to another are the difference of the latent scores. A tie counts as half a win for each (Turner & Firth 2012,
"Bradley-Terry Models in R"). A normal prior keeps the latent scores of texts that never lost finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import FloatArray, IntArray

# Newton's method ends after `MAX_STEPS`, or if a step changes no latent score (of variance about 1) by more than this.
MAX_STEPS = 100
TOLERANCE = 1e-7
RELIABILITIES = np.arange(1, 10) / 10  # candidate values of `LatentScores.reliability`
# A preference compares two noisy impressions (Thurstone 1927, "A law of comparative judgment", case V). With this slope
# the logistic distribution has the standard deviation of the difference of two impressions whose noise has variance 1.
PREFERENCE_SLOPE = math.pi / math.sqrt(6)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Indices of the compared texts, shape (comparisons,). In a tie, either text may be in `better`."""

    better: IntArray
    worse: IntArray
    ties: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LatentScores:
    """Latent scores, shape (texts,), NaN for texts without comparisons."""

    values: FloatArray
    reliability: float  # the variance of latent scores divided by the variance of scores


def joint_scores(
    scores: npt.ArrayLike, groups: npt.ArrayLike, comparisons: Comparisons, *, center: float, spread: float
) -> LatentScores:
    """Return the latent scores of compared texts, on the scale of the scores.

    In the model, latent scores are normal around `center`. A score is the latent score plus normal noise, and the two
    variances sum to `spread` squared. A preference compares two impressions, each with the same noise as a score.
    Latent scores are maximum a posteriori estimates. The reliability is the most probable of `RELIABILITIES` with a
    Beta(2, 2) prior, by Laplace's approximation (MacKay 2003, "Information Theory, Inference, and Learning Algorithms",
    chapter 27).

    In a group without scores only differences are meaningful. Without any score the scale is not identified: latent
    scores then have the standard deviation `spread`.

    Scores (may be NaN) and groups (integers) have shape (texts,). Comparisons are within groups; `spread` is positive.
    """
    scores, group = np.asarray(scores, dtype=np.float64), np.asarray(groups)
    is_compared = np.zeros(len(scores), dtype=bool)
    is_compared[comparisons.better] = is_compared[comparisons.worse] = True
    texts_by_group = _split_by_group(np.flatnonzero(is_compared), group[is_compared])
    pairs_by_group = _split_by_group(np.arange(len(comparisons.better)), group[comparisons.better])
    standardized = (scores - center) / spread
    data_by_group = []
    for texts, pairs in zip(texts_by_group, pairs_by_group, strict=True):
        # Within the group, a text's number is its position in `texts`, which is ascending.
        better, worse = (np.searchsorted(texts, side[pairs]) for side in (comparisons.better, comparisons.worse))
        data_by_group.append((standardized[texts], Comparisons(better, worse, comparisons.ties[pairs])))
    fits = [[_fit(*data, reliability) for data in data_by_group] for reliability in RELIABILITIES]
    log_prior = np.log(RELIABILITIES * (1 - RELIABILITIES))
    log_evidence = np.array([sum(evidence for _, evidence in group_fits) for group_fits in fits])
    best = int(np.argmax(log_prior + log_evidence))
    reliability = float(RELIABILITIES[best])
    points_per_latent_unit = spread if np.isfinite(scores).any() else spread / math.sqrt(reliability)
    values = np.full(len(scores), np.nan)
    for texts, (latent, _) in zip(texts_by_group, fits[best], strict=True):
        values[texts] = center + points_per_latent_unit * latent
    return LatentScores(values, reliability)


def _split_by_group(items: IntArray, group: IntArray) -> list[IntArray]:
    order = np.argsort(group, kind="stable")
    return np.split(items[order], np.flatnonzero(np.diff(group[order])) + 1) if len(items) else []


def _fit(scores: FloatArray, comparisons: Comparisons, reliability: float) -> tuple[FloatArray, float]:
    """Return the latent scores of a group's texts, and the log evidence for `reliability`."""
    noise_variance, has_score = 1 - reliability, np.isfinite(scores)
    # Before the comparisons, latent scores are normal around `prior_mean` with this precision.
    precision = np.where(has_score, 1 / noise_variance, 0.0) + 1 / reliability
    prior_mean = np.where(has_score, scores, 0.0) / noise_variance / precision
    slope = PREFERENCE_SLOPE / math.sqrt(noise_variance)
    latent, curvature, comparison_loss = _most_probable(comparisons, prior_mean, precision, slope)
    squares = np.square(latent).sum() / reliability + (np.square(scores - latent)[has_score] / noise_variance).sum()
    log_variances = len(scores) * math.log(reliability) + has_score.sum() * math.log(noise_variance)
    return latent, float(-comparison_loss - 0.5 * (squares + log_variances + np.linalg.slogdet(curvature).logabsdet))


def _most_probable(
    comparisons: Comparisons, prior_mean: FloatArray, precision: FloatArray, slope: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the latent scores, the curvature of the loss there, and the comparisons' negative log likelihood.

    Before comparisons, latent scores are normal around `prior_mean`. Steps that raise the loss are halved.
    """
    better, worse, ties = comparisons.better, comparisons.worse, comparisons.ties

    def comparison_loss(latent: FloatArray) -> float:
        log_odds = slope * (latent[better] - latent[worse])
        return float((np.logaddexp(0, -log_odds) + np.where(ties, log_odds / 2, 0)).sum())

    def loss(latent: FloatArray) -> float:
        return comparison_loss(latent) + float(0.5 * (precision * np.square(latent - prior_mean)).sum())

    latent, n = prior_mean.copy(), len(prior_mean)
    for _ in range(MAX_STEPS):
        probability = 0.5 * (1 + np.tanh(slope * (latent[better] - latent[worse]) / 2))
        errors = slope * (probability - np.where(ties, 0.5, 1.0))
        gradient = precision * (latent - prior_mean) + np.bincount(better, errors, n) - np.bincount(worse, errors, n)
        weights = slope**2 * probability * (1 - probability)
        curvature = np.diag(precision + np.bincount(better, weights, n) + np.bincount(worse, weights, n))
        np.add.at(curvature, (better, worse), -weights)
        np.add.at(curvature, (worse, better), -weights)
        step = np.linalg.solve(curvature, gradient)
        if np.abs(step).max(initial=0) <= TOLERANCE:
            break
        previous_loss = loss(latent)
        while np.abs(step).max() > TOLERANCE and not loss(latent - step) < previous_loss:
            step = step / 2
        latent = latent - step
    return latent, curvature, comparison_loss(latent)
