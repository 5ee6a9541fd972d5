"""The learning curve: agreement with human labels by their number, and when more labels are no longer worth it.

The rubric's weights are refitted to parts of the labelled texts, and each fit is tested on texts of other groups. The
agreement for nine tenths of the labels, and for two thirds and one half of these, is extrapolated by the law

    agreement(n) = ceiling * sqrt(n / (n + half))

which holds if the variance of the errors in the weights is inversely proportional to the number of labels (Daetwyler,
Villanueva & Woolliams 2008, "Accuracy of Predicting the Genetic Risk of Disease Using a Genome-Wide Approach", PLoS ONE
3:e3395, equation 1). The criteria stay the same: the curve does not include that labels also help to find better ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.learning.fitting import fit
from rubriclab.learning.rating_matrix import SAME, RatingMatrix, in_order, left_out
from rubriclab.learning.settings import JointSettings
from rubriclab.stats.bootstrap import percentile_interval, resample_counts
from rubriclab.stats.correlation import FloatArray, IntArray, pearson_rows
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval

# Parts of the labels outside of a fold that the weights are fitted to.
PARTS = (1 / 2, 2 / 3, 1.0)
FOLDS = 10
REPEATS = 4
RESAMPLES = 400
CONFIDENCE = 0.9
# Fewer groups are too few to hold out a fold, and to resample.
FEWEST_GROUPS = 5

# Prior of `half`, the number of labels at which the squared agreement is half of the squared ceiling; the points are
# too close together to determine it. Measured on 20 aspects of four public sets, up to a factor of e.
PRIOR_HALF, PRIOR_LOG_SD = 5.0, 1.0
# Standard deviation of the points around the law, as measured there.
NOISE = 0.05
HALVES = np.concatenate([[0.0], np.geomspace(0.5, 200, 60)])
# Added before taking the logarithm, as 0 is a possible value.
OFFSET = 0.5

# More labels are considered in steps of this many, up to this many in all.
STEP = 10
MAX_LABELS = 300


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Held-out agreement by number of labels.

    Attributes:
        labels: how many there are.
        sizes, measured: the number of labels that weights were fitted to, and the correlation with held-out labels,
            shape (parts,).
        ceiling, half: of the law.
        resampled: these two for resamples of the groups, shape (resamples, 2).
    """

    labels: int
    sizes: FloatArray
    measured: FloatArray
    ceiling: float
    half: float
    resampled: FloatArray

    def at(self, labels: int) -> Interval:
        """Return the expected agreement with so many labels."""
        ceilings, halves = self._laws
        expected = ceilings * np.sqrt(labels / (labels + halves))
        return _interval(expected)

    def gain(self, more: int) -> Interval:
        """Return the expected gain by so many more labels."""
        ceilings, halves = self._laws
        then, now = (n / (n + halves) for n in (self.labels + more, self.labels))
        return _interval(ceilings * (np.sqrt(then) - np.sqrt(now)))

    def worthwhile(self, threshold: float) -> Interval:
        """Return the number of further labels until the next `STEP` add less than `threshold`."""
        ceilings, halves = (values[:, np.newaxis] for values in self._laws)
        more = np.arange(MAX_LABELS + 1)
        now, then = (n / (n + halves) for n in (self.labels + more, self.labels + more + STEP))
        worthwhile = ceilings * (np.sqrt(then) - np.sqrt(now)) >= threshold
        return _interval(worthwhile.cumprod(axis=1).sum(axis=1).clip(max=MAX_LABELS).astype(float))

    @property
    def _laws(self) -> tuple[FloatArray, FloatArray]:
        """The ceilings and halves: of the labels, then of the resamples."""
        return np.append(self.ceiling, self.resampled[:, 0]), np.append(self.half, self.resampled[:, 1])


def learning_curve(table: RatingMatrix, settings: JointSettings, *, seed: int = 0) -> LearningCurve | None:
    """Return the learning curve; `None` if the labels do not determine it.

    They do not with fewer than `FEWEST_GROUPS` groups, if they are constant, or if held-out scores do not track them.
    The order of the texts does not matter.

    Args:
        table: ratings by the candidates that may enter the rubric.
        settings: of its training.
        seed: of the folds, the parts and the resamples.
    """
    ordered = table.rows(in_order(table))
    unit = units(ordered.groups)
    if unit.max(initial=-1) + 1 < FEWEST_GROUPS or np.ptp(ordered.labels) == 0:
        return None
    sizes, scores = _held_out_scores(ordered, settings, seed)
    counts = np.vstack(
        [
            np.ones(len(unit)),
            resample_counts(np.random.default_rng(seed), RESAMPLES, int(unit.max()) + 1)[:, unit],
        ]
    )
    measured = np.stack([_agreement(part, ordered.labels, counts) for part in scores], axis=1)
    if not measured[0].max() > 0:
        return None
    laws = _fit_laws(sizes, measured, np.random.default_rng(seed))
    return LearningCurve(len(unit), sizes, measured[0], float(laws[0, 0]), float(laws[0, 1]), laws[1:])


def _held_out_scores(table: RatingMatrix, settings: JointSettings, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean number of labels, (parts,), and scores without a text's fold, (parts, repeats, texts)."""
    scores = np.zeros((len(PARTS), REPEATS, len(table.labels)))
    sizes = np.zeros(len(PARTS))
    for repeat in range(REPEATS):
        rng = np.random.default_rng((seed, repeat))
        for inside, others in left_out(table, FOLDS, seed + repeat):
            order = _shuffled_groups(units(others.groups), rng)
            for number, part in enumerate(PARTS):
                chosen = others.rows(np.sort(order[: round(part * len(order))]))
                sizes[number] += len(chosen.labels) * inside.mean() / REPEATS
                scores[number, repeat, inside] = _scores(chosen, table.values[inside], settings)
    return sizes, scores


def _shuffled_groups(unit: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the rows of the texts, group after group in random order: a part of the labels is some of the groups."""
    rank = rng.permutation(int(unit.max()) + 1)
    order: IntArray = np.argsort(rank[unit], kind="stable")
    return order


def _scores(labelled: RatingMatrix, values: FloatArray, settings: JointSettings) -> FloatArray:
    """Return scores by weights fitted to labelled texts, standardised by their spread on these; 0 if undefined.

    Standardised scores of different fits are comparable.
    """
    fitted = fit(labelled, settings)
    own_scores = fitted.raw(labelled.values)
    own_scores = own_scores[~np.isnan(own_scores)]
    spread = own_scores.std() if len(own_scores) else 0.0
    raw: FloatArray = np.nan_to_num(fitted.raw(values)) / (spread if spread > SAME else 1.0)
    return raw


def _agreement(scores: FloatArray, labels: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the mean correlation over the repeats, shape (resamples,); an undefined one counts as 0."""
    correlations = [np.nan_to_num(pearson_rows(row, labels, counts)) for row in scores]
    mean: FloatArray = np.mean(correlations, axis=0)
    return mean


def _fit_laws(sizes: FloatArray, measured: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return ceiling and half for each row of `measured`, shape (rows, 2).

    For the first row these are the maximum a posteriori estimates. For the others the prior is resampled too, so that
    together they are a sample of the posterior (randomised maximum a posteriori).
    """
    shapes = np.sqrt(sizes / (sizes + HALVES[:, np.newaxis]))
    ceilings = (measured @ shapes.T / (shapes**2).sum(axis=1)).clip(0.0, 1.0)
    misfit = ((measured[:, np.newaxis] - ceilings[..., np.newaxis] * shapes) ** 2).sum(axis=2) / NOISE**2
    prior = np.log(PRIOR_HALF + OFFSET) + PRIOR_LOG_SD * np.append(0.0, rng.standard_normal(len(measured) - 1))
    penalty = ((np.log(HALVES + OFFSET) - prior[:, np.newaxis]) / PRIOR_LOG_SD) ** 2
    best = np.argmin(misfit + penalty, axis=1)
    return np.column_stack([ceilings[np.arange(len(best)), best], HALVES[best]])


def _interval(values: FloatArray) -> Interval:
    """Return the first value with the percentile interval of the others."""
    low, high = percentile_interval(values[1:], CONFIDENCE) or (None, None)
    return Interval(float(values[0]), low, high)
