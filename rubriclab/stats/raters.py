"""Single raters: how each differs from the others, and whether a judge could replace one of them.

Ratings are a matrix of raters by texts, nan if missing. A rater is compared on the texts that another rater rated too.

The alternative annotator test is from Calderon, Reichart & Dror 2025, "The Alternative Annotator Test for LLM-as-a-
Judge: How to Statistically Justify Replacing Human Annotators with LLMs". Each rater in turn is left out, and rater and
judge are compared with the others on every text; with an advantage for its lower cost, the judge has to be closer than
half of the raters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.bootstrap import batch_size, estimate
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import Interval

# The advantage of a judge. The paper's values are 0.2 against experts, 0.15 against skilled raters, 0.1 against crowd
# workers. The data do not say what the raters are, so this is the strictest.
EPSILON = 0.1
FALSE_DISCOVERIES = 0.05
FEWEST_RATERS = 3
FEWEST_TEXTS = 10
# Below this many texts the paper uses Wilcoxon's signed-rank test instead of the t-test.
FEWEST_FOR_T = 30


@dataclass(frozen=True, slots=True)
class RaterStatistics:
    """A rater compared with the others.

    Attributes:
        n: texts that others rated too.
        severity: mean of the others' mean minus the rating, in points of the scale: positive is strict.
        noise: standard deviation of this difference, which includes the others' noise; `None` below two texts.
        agreement: Pearson correlation with the others' mean; `None` if either is constant.
    """

    n: int
    severity: Interval
    noise: float | None
    agreement: float | None


def rater_statistics(
    ratings: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[RaterStatistics, ...]:
    """Return each rater's statistics, in the order of the rows, severity with a bootstrap interval over the texts.

    Args:
        ratings: shape (raters, texts), nan where missing.
        clusters: the resampling cluster of each text, numbered from 0; by default every text is its own.
        resamples, confidence, seed: of the bootstrap.

    Raises:
        ValueError: `ratings` is no matrix, or holds infinity.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(f"ratings: expected a finite matrix of raters x texts, got shape {table.shape}")
    cluster = np.arange(table.shape[1]) if clusters is None else np.asarray(clusters)
    options = {"resamples": resamples, "seed": seed}
    return tuple(
        _statistics(row, others, cluster, confidence, **options)
        for row, others in zip(table, others_mean(table), strict=True)
    )


def others_mean(ratings: FloatArray) -> FloatArray:
    """Return for each rater and text the mean of the others' ratings, nan without any."""
    present = ~np.isnan(ratings)
    filled = np.where(present, ratings, 0.0)
    others = present.sum(axis=0) - present
    means = np.full(ratings.shape, np.nan)
    np.divide(filled.sum(axis=0) - filled, others, out=means, where=others > 0)
    return means


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """The result of the test.

    Attributes:
        raters: the rows of tested raters: those with enough texts.
        advantages: for each, the share of texts on which the judge is at least as close to the others as the rater.
        rejected: for each, whether the judge is significantly better, with its advantage.
        epsilon: the advantage.
    """

    raters: tuple[int, ...]
    advantages: tuple[float, ...]
    rejected: tuple[bool, ...]
    epsilon: float

    @property
    def winning(self) -> float:
        """The winning rate: the share of the raters that the judge beats."""
        return float(np.mean(self.rejected))

    @property
    def advantage(self) -> float:
        """The average advantage probability."""
        return float(np.mean(self.advantages))

    @property
    def passed(self) -> bool:
        """Whether the judge may replace a rater."""
        return self.winning >= 0.5


def alternative_annotator(
    ratings: npt.ArrayLike, judge: npt.ArrayLike, *, epsilon: float = EPSILON
) -> AlternativeAnnotator | None:
    """Return the test's result; `None` below three raters with ten texts each that another and the judge scored too.

    Closeness to the others is the root mean squared distance from their ratings of the text; equal closeness counts for
    both. The differences over a rater's texts are tested one-sidedly against `epsilon`, by a t-test, or below 30 texts
    by Wilcoxon's signed-rank test, at a false discovery rate of 5 % over the raters (Benjamini & Yekutieli). The tests
    assume independent texts.

    Args:
        ratings: shape (raters, texts), nan where missing.
        judge: shape (texts,), on the raters' scale, nan where unscored.
        epsilon: the judge's advantage.

    Raises:
        ValueError: shapes do not fit.
    """
    table, scores = np.asarray(ratings, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    if table.ndim != 2 or scores.shape != table.shape[1:]:
        raise ValueError(
            f"ratings, judge: expected shapes (raters, texts) and (texts,), got {table.shape}, {scores.shape}"
        )
    compared = {row: outcomes for row in range(len(table)) if len(outcomes := _outcomes(table, scores, row))}
    tested = {row: outcomes for row, outcomes in compared.items() if len(outcomes) >= FEWEST_TEXTS}
    if len(tested) < FEWEST_RATERS:
        return None
    from scipy.stats import false_discovery_control

    chances = [_chance(outcomes[:, 1] - outcomes[:, 0], epsilon) for outcomes in tested.values()]
    adjusted = false_discovery_control(chances, method="by")
    return AlternativeAnnotator(
        tuple(tested),
        tuple(float(outcomes[:, 0].mean()) for outcomes in tested.values()),
        tuple(bool(chance <= FALSE_DISCOVERIES) for chance in adjusted),
        epsilon,
    )


def _statistics(
    ratings: FloatArray,
    others: FloatArray,
    cluster: npt.NDArray[np.int64],
    confidence: float,
    *,
    resamples: int,
    seed: int,
) -> RaterStatistics:
    shared = ~(np.isnan(ratings) | np.isnan(others))
    below = (others - ratings)[shared]
    clusters = int(cluster.max(initial=-1)) + 1
    sums, sizes = (np.bincount(cluster[shared], part, clusters) for part in (below, np.ones(len(below))))

    def severity(counts: FloatArray) -> FloatArray:
        texts = counts @ sizes
        mean = np.full(len(counts), np.nan)
        np.divide(counts @ sums, texts, out=mean, where=texts > 0)
        return mean

    batch = batch_size(clusters)
    strict = estimate(severity, clusters, resamples=resamples, confidence=confidence, seed=seed, batch=batch)
    agreement = pearson(ratings[shared], others[shared])
    noise = float(below.std(ddof=1)) if len(below) > 1 else None
    return RaterStatistics(len(below), strict, noise, None if math.isnan(agreement) else agreement)


def _outcomes(table: FloatArray, scores: FloatArray, row: int) -> FloatArray:
    """Return whether the judge, and whether the rater, is at least as close to the others, shape (texts, 2)."""
    others = np.delete(table, row, axis=0)
    shared = ~(np.isnan(table[row]) | np.isnan(scores) | np.isnan(others).all(axis=0))
    rater, judge = (
        np.sqrt(np.nanmean(np.square(others[:, shared] - ratings[shared]), axis=0)) for ratings in (table[row], scores)
    )
    level = np.isclose(rater, judge, rtol=0, atol=1e-9)
    return np.stack([(judge < rater) | level, (rater < judge) | level], axis=1).astype(np.float64)


def _chance(ahead: FloatArray, epsilon: float) -> float:
    """Return the p-value of a lead of the rater smaller than `epsilon`."""
    from scipy.stats import ttest_1samp, wilcoxon

    if len(ahead) < FEWEST_FOR_T:
        return float(wilcoxon(ahead - epsilon, alternative="less").pvalue)
    if np.ptp(ahead) == 0:  # the t statistic is infinite
        return 0.0 if ahead[0] < epsilon else 1.0
    return float(ttest_1samp(ahead, epsilon, alternative="less").pvalue)
