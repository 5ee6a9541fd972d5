"""From a table of scores to a rubric's numbers, and how well such rubrics do on texts that had no part in them.

`held_out` takes every step anew for each fold, so that no label of a fold has a part in what the fold is measured with
(Varma & Simon 2006, "Bias in error estimation when using cross-validation for model selection", BMC Bioinformatics
7:91). A criterion that a fold's labels had a part in making is left out there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.aggregation import MOST_MISSING, Calibration
from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.learning.calibration import Kind, as_judged, calibrate, chosen_kind, straight
from rubriclab.learning.feature_selection import DroppedColumn, distinct, unvaried
from rubriclab.learning.rating_matrix import BoolArray, RatingMatrix, in_order, standardised
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.weighting import DesignMatrix, Moments, Posterior, design, posterior, tracking
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds, units
from rubriclab.stats.interval import DIGITS

# Centers and spreads are kept at this many significant digits: a measure's may be tiny or huge.
SIGNIFICANT = DIGITS + 3


@dataclass(frozen=True, eq=False)
class Weighting:
    """Criteria with their weights, as plain numbers.

    Attributes:
        columns: of the table it was fitted to, ascending; none where no candidate tells any two texts apart.
        weights, centers, spreads: of these, shape (columns,); the sizes of the weights sum to 1. A criterion
            of weight 0 is shown as a reason only.
        low, high: interval of each weight.
        dropped: for every other column of the table, why.
    """

    columns: tuple[int, ...]
    weights: FloatArray
    centers: FloatArray
    spreads: FloatArray
    low: FloatArray
    high: FloatArray
    dropped: Mapping[int, DroppedColumn]

    def raw(self, values: FloatArray) -> FloatArray:
        """Return the weighted sums of standardised scores, shape (n,), from values of shape (n, all columns).

        NaN where the criteria with a score have half of the weight or less, and everywhere if there is no criterion.
        """
        own = values[:, list(self.columns)]
        if not self.columns:
            return np.full(len(values), np.nan)
        missing = np.isnan(own) @ np.abs(self.weights)
        sums = standardised(own, self.centers, self.spreads) @ self.weights
        found: FloatArray = np.where(missing >= MOST_MISSING - 1e-9, np.nan, sums)
        return found


@dataclass(frozen=True, eq=False)
class Fit(Weighting):
    """A weighing with the map onto the raters' scale, fitted to the same texts."""

    calibration: Calibration

    def scores(self, values: FloatArray, scale: Scale) -> FloatArray:
        """Return each text's score within the scale, shape (n,), NaN where `raw` is."""
        scores: FloatArray = np.clip(self.calibration.apply(self.raw(values)), scale.low, scale.high)
        return scores


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The training texts as rubrics score them that were fitted without their groups.

    Attributes:
        scores, raw: shape (n,), NaN where there is none; means over the repetitions.
        folds: each text's fold, from 0, in each repetition, shape (repetitions, n).
        fits: by repetition and fold, fitted to the texts of the other folds; none for a single text.
    """

    scores: FloatArray
    raw: FloatArray
    folds: IntArray
    fits: tuple[tuple[Fit, ...], ...]


@dataclass(frozen=True)
class CandidatePool:
    """What a rubric may ask.

    Attributes:
        columns: candidates, of which the `most` best are taken; all if `None`.
        always: columns that are asked in any case.
        reasons: whether criteria of no weight stay, as their call is paid for anyway.
    """

    columns: tuple[int, ...]
    always: tuple[int, ...] = ()
    most: int | None = None
    reasons: bool = False

    @property
    def every(self) -> tuple[int, ...]:
        """All columns that it may ask."""
        return tuple(sorted({*self.columns, *self.always}))


def everything(table: RatingMatrix) -> CandidatePool:
    """Return the pool of all columns."""
    return CandidatePool(tuple(range(len(table.methods))))


def fit(table: RatingMatrix, settings: JointSettings, pool: CandidatePool | None = None, *, seed: int = 0) -> Fit:
    """Return the rubric's numbers, learned from all texts of the table; the order of the texts does not matter.

    With labels that are all the same, or a single text, weights are what is believed before any label; where no column
    varies there is no column at all.

    Args:
        pool: what it may ask; every column by default.
        seed: of the folds in which maps onto the scale are compared.

    Raises:
        SettingsError: if `calibration` is `none` with signed candidates.
    """
    matrix = design(table.rows(in_order(table)), float(settings.repeated))
    pool = pool or everything(table)
    held_out_raw = None
    if settings.calibration == "chosen":
        held_out_raw = held_out(
            table, settings.model_copy(update={"calibration": "linear", "repeats": 1}), pool, seed=seed
        ).raw
        held_out_raw = held_out_raw[in_order(table)]
    every = np.ones(len(table.labels), dtype=bool)
    return fit_part(matrix, every, matrix.moments(every), pool, settings, held_out_raw=held_out_raw, seed=seed)


def fit_part(
    matrix: DesignMatrix,
    rows: BoolArray,
    moments: Moments,
    pool: CandidatePool,
    settings: JointSettings,
    *,
    barred: Sequence[int] = (),
    held_out_raw: FloatArray | None = None,
    seed: int = 0,
) -> Fit:
    """Return the rubric's numbers from some texts of a design.

    Args:
        rows, moments: the texts, and what `made.moments` says of them.
        barred: columns that may not be used.
        told: raw values of all texts of the design, each without its own label, by which the kind of map is chosen;
            without them it is straight.
    """
    left = [place for place in pool.every if place not in set(barred)]
    columns, dropped = usable(matrix, tracking(matrix.table, moments), _within(pool, left))
    weights = posterior(matrix.table, moments, columns)
    weighing = _weighing(matrix, weights, pool, settings)
    kept = set(weighing.columns)
    why = {
        place: dropped.get(place, DroppedColumn("weightless" if place in columns else "not asked")) for place in left
    }
    others = {place: DroppedColumn("not asked") for place in range(len(matrix.table.methods))}
    calibration = _calibration(matrix, rows, weighing, weights, settings, held_out_raw, seed)
    return Fit(
        **{name: getattr(weighing, name) for name in ("columns", "weights", "centers", "spreads", "low", "high")},
        dropped={place: reason for place, reason in {**others, **why}.items() if place not in kept},
        calibration=calibration,
    )


def _within(pool: CandidatePool, left: Sequence[int]) -> CandidatePool:
    allowed = set(left)
    columns, always = (tuple(each for each in own if each in allowed) for own in (pool.columns, pool.always))
    return replace(pool, columns=columns, always=always)


def usable(matrix: DesignMatrix, toward: FloatArray, pool: CandidatePool) -> tuple[list[int], dict[int, DroppedColumn]]:
    """Return the columns of a pool to weigh, ascending, and why not those that tell nothing or repeat another one.

    Args:
        toward: of every column of the table, as `tracking` gives it.
    """
    dropped = unvaried(matrix, pool.every)
    always, repeated = distinct(matrix, [place for place in pool.always if place not in dropped], toward)
    always = _one_whole_each(matrix.table, always)
    others = [place for place in pool.columns if place not in dropped and place not in pool.always]
    best, twice = distinct(matrix, others, toward, pool.most)
    return sorted({*always, *best}), {**dropped, **repeated, **twice}


def _one_whole_each(table: RatingMatrix, ranked: Sequence[int]) -> list[int]:
    """Return the columns with the first score of the whole of each method alone: two explanations say much the same."""
    first = {table.methods[place]: place for place in reversed(ranked) if table.whole[place]}
    return [place for place in ranked if not table.whole[place] or first[table.methods[place]] == place]


def _weighing(
    matrix: DesignMatrix, posterior_weights: Posterior, pool: CandidatePool, settings: JointSettings
) -> Weighting:
    """Return the weights as shares, with their intervals; what weighs nothing leaves, unless it is a reason."""
    from scipy.special import ndtri

    total = float(np.abs(posterior_weights.mean).sum()) or 1.0
    shares, reach = (
        (posterior_weights.mean / total).round(DIGITS),
        float(ndtri((1 + settings.confidence) / 2)) * posterior_weights.errors / total,
    )
    columns = np.array(posterior_weights.columns, dtype=int)
    lowest = np.where(matrix.table.signed[columns], -1.0, 0.0)
    asked = np.isin(columns, pool.columns) & pool.reasons
    kept = (np.abs(shares) > 0) | asked
    return Weighting(
        columns=tuple(columns[kept].tolist()),
        weights=shares[kept],
        centers=significant(matrix.centers[columns[kept]]),
        spreads=significant(matrix.spreads[columns[kept]]),
        low=np.maximum(shares - reach, lowest)[kept],
        high=np.minimum(np.maximum(shares + reach, lowest), 1.0)[kept],
        dropped={},
    )


def _calibration(  # noqa: PLR0917
    matrix: DesignMatrix,
    rows: BoolArray,
    weighing: Weighting,
    weights: Posterior,
    settings: JointSettings,
    held_out_raw: FloatArray | None,
    seed: int,
) -> Calibration:
    """Return the map onto the scale; with nothing to map it gives every text the labels' mean."""
    table = matrix.table
    raw = weighing.raw(table.values)
    there = rows & ~np.isnan(raw)
    if not there.any():
        return straight(0.0, 0.0, weights.average if weights.columns or rows.any() else table.scale.low)
    line = straight(weights.spread * float(np.abs(weights.mean).sum()), float(raw[there].mean()), weights.average)
    kept = list(weighing.columns)
    judged = None
    if not table.signed[kept].any():
        judged = as_judged(weighing.weights, weighing.centers, weighing.spreads, table.unit[kept], table.scale)
    if settings.calibration == "none" and judged is None:
        raise SettingsError(
            "Calibration `none` is the mean of what the judge said, which surface measures have no part in;",
            "choose another calibration, or leave the measures out.",
        )
    kind: Kind = "linear" if settings.calibration == "chosen" else settings.calibration
    if settings.calibration == "chosen" and held_out_raw is not None:
        kind = _kind(table.rows(there), held_out_raw[there] / _steepness(line), settings, seed, judged)
    return line if kind == "linear" else calibrate(kind, raw[there], table.labels[there], judged)


def _kind(
    table: RatingMatrix, held_out_raw: FloatArray, settings: JointSettings, seed: int, judged: Calibration | None
) -> Kind:
    """Return the kind of map that suits raw values of texts that had no part in their weights."""
    fold, unit = grouped_folds(table.groups, settings.folds, seed), units(table.groups)
    return chosen_kind(np.nan_to_num(held_out_raw), table.labels, unit, fold, judged=judged, scale=table.scale)


def held_out(
    table: RatingMatrix, settings: JointSettings, pool: CandidatePool | None = None, *, seed: int = 0
) -> HeldOut:
    """Return each text's score by rubrics fitted to the texts of other folds, averaged over repeated divisions.

    Arguments and errors as for `fit`; the folds are those of `divisions`.
    """
    order = in_order(table)
    matrix, pool = design(table.rows(order), float(settings.repeated)), pool or everything(table)
    back = np.argsort(order)
    folds = divisions(matrix.table.groups, settings, seed)
    total = matrix.moments(np.ones(len(order), dtype=bool))
    scores, raws, fits = [], [], []
    for fold in folds:
        score, raw, fold_fits = np.full(len(fold), np.nan), np.full(len(fold), np.nan), []
        for inside in insides(fold):
            each = fit_part(
                matrix,
                ~inside,
                total - matrix.moments(inside),
                pool,
                settings,
                barred=told_by(matrix.table, inside),
                seed=seed,
            )
            values = matrix.table.values[inside]
            score[inside], raw[inside] = each.scores(values, table.scale), in_labels(each.raw(values), each)
            fold_fits.append(each)
        scores.append(score)
        raws.append(raw)
        fits.append(tuple(fold_fits))
    return HeldOut(mean_of(scores)[back], mean_of(raws)[back], folds[:, back], tuple(fits))


def divisions(groups: Sequence[str], settings: JointSettings, seed: int) -> IntArray:
    """Return each text's fold in each repetition, shape (repetitions, texts).

    Where every group is a fold of its own a repetition would say the same again, and there is one.
    """
    count = len(set(units(groups).tolist()))
    repeats = 1 if count <= settings.folds else settings.repeats
    return np.stack([grouped_folds(groups, settings.folds, seed + repeat) for repeat in range(repeats)])


def insides(fold: IntArray) -> list[BoolArray]:
    """Return which texts each fold holds; a fold of all texts there are is left out."""
    masks = [fold == number for number in range(int(fold.max(initial=-1)) + 1)]
    return [mask for mask in masks if not mask.all()]


def told_by(table: RatingMatrix, inside: BoolArray) -> list[int]:
    """Return the columns that labels of these texts had a part in making: they could know these labels."""
    columns: list[int] = np.flatnonzero(table.seen[inside].any(axis=0)).tolist()
    return columns


def in_labels(raw: FloatArray, fitted: Fit) -> FloatArray:
    """Return raw values in points of the labels, without their mean: in this unit folds can be compared.

    The mean label of the other folds is left out, as it is high where the fold's own labels are low.
    """
    scaled: FloatArray = raw * (_steepness(fitted.calibration) if fitted.calibration.kind == "linear" else 1.0)
    return scaled


def _steepness(line: Calibration) -> float:
    slope = (line.y[-1] - line.y[0]) / (line.x[-1] - line.x[0])
    return slope if slope > 0 else 1.0


def mean_of(repeated: Sequence[FloatArray]) -> FloatArray:
    """Return the mean of what is there in each place, NaN where nothing is."""
    stacked = np.stack(repeated)
    there = ~np.isnan(stacked)
    mean: FloatArray = np.where(there, stacked, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there.any(axis=0), mean, np.nan)


def significant(values: FloatArray) -> FloatArray:
    """Return the values as they are written down."""
    return np.array([float(f"{value:.{SIGNIFICANT}g}") for value in values.tolist()], dtype=float)
