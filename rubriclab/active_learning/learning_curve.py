"""How agreement with people grows with labels, from the labels that there are, and when more are no longer worth it.

The rubric's numbers are fitted anew to parts of the labelled texts, and each time tested on texts whose groups had no
part in it. What this gives for all that setting aside a tenth leaves, and for two thirds and a half of that, is
extended by the law

    agreement(n) = ceiling * sqrt(n / (n + half))

which holds where the variance of the errors in the weights falls with the number of labels (Daetwyler, Villanueva &
Woolliams 2008, "Accuracy of Predicting the Genetic Risk of Disease Using a Genome-Wide Approach", PLoS ONE 3:e3395,
equation 1). The criteria stay as they are: labels also help to find better ones, and of that the curve knows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.learning.fitting import fit
from rubriclab.learning.folds import in_order, left_out
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.standardise import SAME
from rubriclab.stats.bootstrap import percentile_interval, resample_counts
from rubriclab.stats.correlation import FloatArray, IntArray, pearson_rows
from rubriclab.stats.folds import units
from rubriclab.validation import Interval

# Parts of the labels outside of a fold that the numbers are fitted to.
PARTS = (1 / 2, 2 / 3, 1.0)
FOLDS = 10
REPEATS = 4
RESAMPLES = 400
CONFIDENCE = 0.9
# With fewer groups than this, too little is left to fit once some are set aside, and too few are there to draw again.
FEWEST_GROUPS = 5

# How many labels bring half of the square of the ceiling. Points so close together say little about a bend, so the
# estimate is drawn to what was measured on 20 aspects of four public sets, as if known to a factor of e.
USUAL_HALF, FACTOR = 5.0, 1.0
# Standard deviation of the points about the law, as measured there.
NOISE = 0.05
HALVES = np.concatenate([[0.0], np.geomspace(0.5, 200, 60)])
# The logarithm is taken of this much more, as 0 is a value too.
OFFSET = 0.5

# Worth is told by steps of this many labels, up to the most that anybody is advised to give.
STEP = 10
MOST = 300


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Held-out agreement by number of labels.

    Attributes:
        labels: how many there are.
        sizes, measured: to how many labels the numbers were fitted, and how their scores then correlated with the
            labels set aside, shape (parts,).
        ceiling, half: of the law.
        resampled: these two, by resamples of the groups, shape (resamples, 2).
    """

    labels: int
    sizes: FloatArray
    measured: FloatArray
    ceiling: float
    half: float
    resampled: FloatArray

    def at(self, labels: int) -> Interval:
        """Return the agreement to be expected with so many labels."""
        ceilings, halves = self._laws
        expected = ceilings * np.sqrt(labels / (labels + halves))
        return _interval(expected)

    def gain(self, more: int) -> Interval:
        """Return what so many more labels are expected to add."""
        ceilings, halves = self._laws
        then, now = (n / (n + halves) for n in (self.labels + more, self.labels))
        return _interval(ceilings * (np.sqrt(then) - np.sqrt(now)))

    def worth(self, threshold: float) -> Interval:
        """Return how many more labels to give until `STEP` further ones add less than `threshold`."""
        ceilings, halves = (each[:, np.newaxis] for each in self._laws)
        more = np.arange(MOST + 1)
        now, then = (n / (n + halves) for n in (self.labels + more, self.labels + more + STEP))
        worth = ceilings * (np.sqrt(then) - np.sqrt(now)) >= threshold
        return _interval(worth.cumprod(axis=1).sum(axis=1).clip(max=MOST).astype(float))

    @property
    def _laws(self) -> tuple[FloatArray, FloatArray]:
        """The ceilings and halves: of the labels as they are, then of the resamples."""
        return np.append(self.ceiling, self.resampled[:, 0]), np.append(self.half, self.resampled[:, 1])


def learning_curve(table: RatingMatrix, settings: JointSettings, *, seed: int = 0) -> LearningCurve | None:
    """Return how agreement grows with labels; `None` where the labels cannot tell.

    They cannot with fewer than `FEWEST_GROUPS` groups, with labels that are all the same, or where no score of a text
    set aside tracks its label. The order of the texts does not matter.

    Args:
        table: the candidates that may enter the rubric.
        settings: those that the rubric was trained with.
        seed: of the folds, the parts and the resamples.
    """
    ordered = table.rows(in_order(table))
    unit = units(ordered.groups)
    if unit.max(initial=-1) + 1 < FEWEST_GROUPS or np.ptp(ordered.labels) == 0:
        return None
    sizes, scores = _set_aside(ordered, settings, seed)
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


def _set_aside(table: RatingMatrix, settings: JointSettings, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean number of labels by part, and scores fitted without a text's fold: (parts, repeats, texts)."""
    scores = np.zeros((len(PARTS), REPEATS, len(table.labels)))
    sizes = np.zeros(len(PARTS))
    for repeat in range(REPEATS):
        rng = np.random.default_rng((seed, repeat))
        for inside, others in left_out(table, FOLDS, seed + repeat):
            order = _by_groups(units(others.groups), rng)
            for place, part in enumerate(PARTS):
                chosen = others.rows(np.sort(order[: round(part * len(order))]))
                sizes[place] += len(chosen.labels) * inside.mean() / REPEATS
                scores[place, repeat, inside] = _scores(chosen, table.values[inside], settings)
    return sizes, scores


def _by_groups(unit: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the texts' places, group after group in a drawn order: a part of the labels is some of the groups."""
    rank = rng.permutation(int(unit.max()) + 1)
    order: IntArray = np.argsort(rank[unit], kind="stable")
    return order


def _scores(labelled: RatingMatrix, values: FloatArray, settings: JointSettings) -> FloatArray:
    """Return scores by numbers fitted to labelled texts, in units of their spread among these; 0 where there is none.

    In such units scores by different fits can be compared.
    """
    found = fit(labelled, settings)
    fitted = found.raw(labelled.values)
    fitted = fitted[~np.isnan(fitted)]
    spread = fitted.std() if len(fitted) else 0.0
    raw: FloatArray = np.nan_to_num(found.raw(values)) / (spread if spread > SAME else 1.0)
    return raw


def _agreement(scores: FloatArray, labels: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the mean correlation over the repeats, shape (resamples,); one that is undefined counts as 0."""
    found = [np.nan_to_num(pearson_rows(row, labels, counts)) for row in scores]
    mean: FloatArray = np.mean(found, axis=0)
    return mean


def _fit_laws(sizes: FloatArray, measured: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return ceiling and half for each row of what was measured, shape (rows, 2).

    For the first row the most probable ones. For the others what is known beforehand is drawn too, so that together
    they are a sample of what is possible (randomised maximum a posteriori).
    """
    shapes = np.sqrt(sizes / (sizes + HALVES[:, np.newaxis]))
    ceilings = (measured @ shapes.T / (shapes**2).sum(axis=1)).clip(0.0, 1.0)
    off = ((measured[:, np.newaxis] - ceilings[..., np.newaxis] * shapes) ** 2).sum(axis=2) / NOISE**2
    usual = np.log(USUAL_HALF + OFFSET) + FACTOR * np.append(0.0, rng.standard_normal(len(measured) - 1))
    unusual = ((np.log(HALVES + OFFSET) - usual[:, np.newaxis]) / FACTOR) ** 2
    best = np.argmin(off + unusual, axis=1)
    return np.column_stack([ceilings[np.arange(len(best)), best], HALVES[best]])


def _interval(values: FloatArray) -> Interval:
    """Return the first value with the interval of the others."""
    low, high = percentile_interval(values[1:], CONFIDENCE) or (None, None)
    return Interval(value=float(values[0]), low=low, high=high)
