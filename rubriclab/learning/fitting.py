"""The form of a rubric that several methods learn together, the fit to a rating matrix, and its cross-validation.

The rubric has a few criteria as reasons, then the aspect as a whole. The criteria are those whose ratings correlate
most with the labels, shrunken, without redundant ones; weights and the map onto the raters' scale are fitted to all
labels. Thirty labels cannot tell sizes, methods and ways of asking apart: a choice among them by held-out labels agreed
less with people (`docs/decisions`).

`held_out` repeats every step for each fold, so that a fold's scores do not depend on its labels (Varma & Simon 2006,
"Bias in error estimation when using cross-validation for model selection", BMC Bioinformatics 7:91; Cawley & Talbot
2010, "On over-fitting in model selection", JMLR 11). Criteria that were generated from a fold's labels are left out
there.

`refitted_agreement` gives standard errors that include the variance of learning. A held-out score depends on two random
samples: the text, and the texts that its rubric was learned from. Resampling final scores covers only the first, and
with thirty labels the second is as large: intervals are too narrow (Bates, Hastie & Tibshirani 2024, "Cross-validation:
what does it estimate and how well does it do it?", JASA 119). So groups are left out here, and the rubrics of all folds
are refitted without them: a jackknife of the whole procedure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rubriclab.errors import SettingsError
from rubriclab.learning.calibration import calibrate, linear_map, logistic, mean_rating_map
from rubriclab.learning.matrix import RatingMatrix, in_order, standardised
from rubriclab.learning.weighting import (
    DesignMatrix,
    Moments,
    Posterior,
    design,
    posterior,
    shrunken_correlations,
    within_rounding,
)
from rubriclab.methods.prompting import Whole
from rubriclab.models.aggregation import MOST_MISSING, Ask, Calibration, RivalLimits
from rubriclab.models.text import Scale
from rubriclab.option_names import option
from rubriclab.stats.agreement import Level, agreement_value
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, pearson_rows, spearman_rows
from rubriclab.stats.intervals import CONFIDENCE, DIGITS, Interval, grouped_folds, student_interval, units

# Of the intervals of single texts and of weights.
INTERVAL_CONFIDENCE = 0.9

Asking = Literal["in one call", "with rivals", "by method"]


@dataclass(frozen=True)
class Recall:
    """The level of verdicts, 0 or 1, whose recall a threshold keeps, and the least share of its texts to be found."""

    level: int
    least: float


class JointSettings(BaseModel):
    """Hyperparameters of selection, weighting and calibration; stored in the version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    criteria: Whole = Field(default=8, ge=1, le=30)
    """Maximum number of criteria beside the scores of the whole aspect."""

    calibration: Literal["linear", "isotonic", "none"] = "linear"
    """The map of the weighted sum onto the raters' scale."""

    ask: Asking = "in one call"
    """Whether scoring calls the judge once for all criteria of a text, once for those of several texts of a group, or
    for each method. If a method cannot share a call, each has its own."""

    rivals_per_call: Whole = Field(default=10, ge=2, le=100)
    """Maximum number of texts in a call about texts of one group."""

    prefer_recall_of: str = Field(default="", pattern=r"^$|^.+=(0?\.\d+|1(\.0*)?)$")
    """For labels of two levels: the level and the share of its texts that the threshold must find, `fail=0.95`.
    Default: the threshold of the best balanced accuracy."""

    folds: Whole = Field(default=10, ge=2, le=100)
    """Number of folds for cross-validation over groups; at most the number of groups."""

    repeats: Whole = Field(default=3, ge=1, le=50)
    """Repetitions of cross-validation with other folds; held-out scores are means over the repetitions."""

    def recall(self, names: tuple[str, str]) -> Recall | None:
        """Return the recall that a threshold must keep; `names` are those of the levels.

        Raises:
            SettingsError: if there is no such level.
        """
        name, _, share = self.prefer_recall_of.rpartition("=")
        if not name:
            return None
        if name.strip().casefold() not in names:
            raise SettingsError(
                f"{option('prefer_recall_of', self.prefer_recall_of)}: the labels have no level {name.strip()!r}.",
                f"The levels are {names[0]!r} and {names[1]!r}.",
            )
        return Recall(names.index(name.strip().casefold()), float(share))

    @property
    def rivals(self) -> RivalLimits | None:
        """The size of calls about several texts; `None` if each text is asked about by itself."""
        return RivalLimits(texts=self.rivals_per_call) if self.ask == "with rivals" else None


@dataclass(frozen=True)
class DroppedColumn:
    """Why a candidate is not in the rubric.

    Attributes:
        why: it has no score; it is constant; it is redundant; its weight is 0; or others track the labels better.
        like: the column that it duplicates, with the correlation in `alike`.
    """

    why: Literal["unscored", "constant", "repeated", "weightless", "outranked"]
    like: int = -1
    alike: float = 0.0

    def words(self, names: Sequence[str]) -> str:
        """Return the reason in words; `names` are the names of the table's columns."""
        if self.why == "repeated":
            return f"says what {names[self.like]} says (r = {self.alike:.2f}), and tracks the labels no better"
        return {
            "unscored": "has no score for any training text",
            "constant": "has the same score for every training text",
            "weightless": "weighs nothing beside the others",
            "outranked": "tracks the labels less than the criteria that are kept",
        }[self.why]


def constant_columns(matrix: DesignMatrix, columns: Sequence[int]) -> dict[int, DroppedColumn]:
    """Return the columns with no score, or the same score for every text, with the reason."""
    values = matrix.table.values
    return {
        place: DroppedColumn("unscored" if np.isnan(values[:, place]).all() else "constant")
        for place in columns
        if matrix.spreads[place] == 0
    }


def distinct(
    matrix: DesignMatrix, columns: Sequence[int], shrunken: FloatArray, most: int | None = None
) -> tuple[list[int], dict[int, DroppedColumn]]:
    """Return the columns that are not redundant, the best first, at most `most`; and the redundant ones.

    Args:
        shrunken: correlation of each column with the labels; of two redundant columns the higher one is kept.
    """
    kept: list[int] = []
    repeated: dict[int, DroppedColumn] = {}
    places = np.array(columns, dtype=int)
    ordered: list[int] = places[np.lexsort([places, -shrunken[places]])].tolist()
    if not matrix.twins[np.ix_(ordered, ordered)].any():
        return ordered[:most], repeated
    for place in ordered:
        if most is not None and len(kept) >= most:
            break
        first = next((other for other in kept if matrix.twins[place, other]), None)
        if first is None:
            kept.append(place)
        else:
            repeated[place] = DroppedColumn("repeated", like=first, alike=float(matrix.alike[place, first]))
    return kept, repeated


# Significant digits of stored centers and spreads, as a text feature's can be tiny or huge.
SIGNIFICANT = DIGITS + 3


@dataclass(frozen=True, eq=False)
class Weighting:
    """Criteria with their weights, as plain numbers.

    Attributes:
        columns: of the table it was fitted to, ascending; empty if none is usable.
        weights, centers, spreads: of these, shape (columns,); absolute weights sum to 1. A criterion of weight 0 is
            only shown as a reason.
        low, high: interval of each weight.
        dropped: for every other column of the table, the reason.
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

        NaN if the criteria with a score have half of the weight or less, and everywhere without any criterion.
        """
        selected = values[:, list(self.columns)]
        if not self.columns:
            return np.full(len(values), np.nan)
        missing = np.isnan(selected) @ np.abs(self.weights)
        sums = standardised(selected, self.centers, self.spreads) @ self.weights
        raw: FloatArray = np.where(missing >= MOST_MISSING - 1e-9, np.nan, sums)
        return raw


@dataclass(frozen=True, eq=False)
class Fit(Weighting):
    """Weights with the map onto the raters' scale, fitted to the same texts."""

    calibration: Calibration

    def scores(self, values: FloatArray, scale: Scale) -> FloatArray:
        """Return each text's score, clipped to the scale, shape (n,), NaN where `raw` is NaN."""
        scores: FloatArray = np.clip(self.calibration.apply(self.raw(values)), scale.low, scale.high)
        return scores


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of the training texts by rubrics fitted without their groups.

    Attributes:
        scores, raw: means over the repetitions, shape (n,), NaN where missing.
        folds: each text's fold, from 0, in each repetition, shape (repetitions, n).
        fits: by repetition and fold, fitted to the texts of the other folds; empty for a single text.
    """

    scores: FloatArray
    raw: FloatArray
    folds: IntArray
    fits: tuple[tuple[Fit, ...], ...]


@dataclass(frozen=True)
class CandidatePool:
    """The columns that a rubric is selected from.

    Attributes:
        columns: candidates, of which the `most` best are selected; all if `None`.
        always: columns that are always selected.
        reasons: whether to keep criteria of weight 0, as they need no additional call.
    """

    columns: tuple[int, ...]
    always: tuple[int, ...] = ()
    most: int | None = None
    reasons: bool = False

    @property
    def every(self) -> tuple[int, ...]:
        """All columns of the pool."""
        return tuple(sorted({*self.columns, *self.always}))


def everything(table: RatingMatrix) -> CandidatePool:
    """Return the pool of all columns."""
    return CandidatePool(tuple(range(len(table.methods))))


def fit(table: RatingMatrix, settings: JointSettings, pool: CandidatePool | None = None) -> Fit:
    """Return the weights and calibration fitted to all texts of the table, independent of their order.

    With constant labels, or a single text, the weights are the prior.

    Args:
        pool: columns to select from; all by default.

    Raises:
        SettingsError: if `calibration` is `none` with signed candidates.
    """
    matrix = design(table.rows(in_order(table)))
    every = np.ones(len(table.labels), dtype=bool)
    return fit_part(matrix, every, matrix.moments(every), pool or everything(table), settings)


def fit_part(
    matrix: DesignMatrix,
    rows: BoolArray,
    moments: Moments,
    pool: CandidatePool,
    settings: JointSettings,
    *,
    excluded: Sequence[int] = (),
) -> Fit:
    """Return the weights and calibration fitted to some texts of a design.

    Args:
        rows, moments: the texts, and their `matrix.moments(rows)`.
        excluded: columns that may not be used.
    """
    left = [place for place in pool.every if place not in set(excluded)]
    columns, dropped = usable(matrix, shrunken_correlations(matrix.table, moments), _within(pool, left))
    weights = posterior(matrix.table, moments, columns)
    weighting = _weighting(matrix, weights, pool)
    kept = set(weighting.columns)
    why = {
        place: dropped.get(place, DroppedColumn("weightless" if place in columns else "outranked")) for place in left
    }
    others = {place: DroppedColumn("outranked") for place in range(len(matrix.table.methods))}
    calibration = _calibration(matrix.table, rows, weighting, weights, settings)
    return Fit(
        **{name: getattr(weighting, name) for name in ("columns", "weights", "centers", "spreads", "low", "high")},
        dropped={place: reason for place, reason in {**others, **why}.items() if place not in kept},
        calibration=calibration,
    )


def _within(pool: CandidatePool, left: Sequence[int]) -> CandidatePool:
    allowed = set(left)
    columns, always = (
        tuple(column for column in pool_columns if column in allowed) for pool_columns in (pool.columns, pool.always)
    )
    return replace(pool, columns=columns, always=always)


def usable(
    matrix: DesignMatrix, shrunken: FloatArray, pool: CandidatePool
) -> tuple[list[int], dict[int, DroppedColumn]]:
    """Return the usable columns of a pool, ascending, and the reasons why the constant and redundant ones are dropped.

    If every column is constant over several texts, the first judged one is usable, a score of the whole if there is
    one: by it every text has the mean label.

    Args:
        shrunken: `shrunken_correlations` of the table.
    """
    dropped = constant_columns(matrix, pool.every)
    always, repeated = distinct(matrix, [place for place in pool.always if place not in dropped], shrunken)
    always = _one_whole_each(matrix.table, always)
    others = [place for place in pool.columns if place not in dropped and place not in pool.always]
    best, twice = distinct(matrix, others, shrunken, pool.most)
    reasons = {**dropped, **repeated, **twice}
    if not (always or best) and len(matrix.table.labels) > 1:
        judged = [place for place, why in dropped.items() if why.why == "constant" and not matrix.table.signed[place]]
        return sorted(judged, key=lambda place: not matrix.table.holistic[place])[:1], reasons
    return sorted({*always, *best}), reasons


def _one_whole_each(table: RatingMatrix, ranked: Sequence[int]) -> list[int]:
    """Return the columns with only the first holistic score of each method, as such scores are highly correlated."""
    first = {table.methods[place]: place for place in reversed(ranked) if table.holistic[place]}
    return [place for place in ranked if not table.holistic[place] or first[table.methods[place]] == place]


def _weighting(matrix: DesignMatrix, posterior_weights: Posterior, pool: CandidatePool) -> Weighting:
    """Return the weights as shares with their intervals, without criteria of weight 0 unless they are reasons."""
    from scipy.special import ndtri

    total = float(np.abs(posterior_weights.mean).sum()) or 1.0
    shares, reach = (
        (posterior_weights.mean / total).round(DIGITS),
        float(ndtri((1 + INTERVAL_CONFIDENCE) / 2)) * posterior_weights.errors / total,
    )
    columns = np.array(posterior_weights.columns, dtype=int)
    spreads = matrix.spreads[columns]
    lowest, highest = matrix.table.weight_limits[columns].T
    if matrix.table.limits is not None:
        shares = within_rounding(shares, lowest, highest)
    reason = np.isin(columns, pool.columns) & pool.reasons
    kept = (np.abs(shares) > 0) | reason
    return Weighting(
        columns=tuple(columns[kept].tolist()),
        weights=shares[kept],
        centers=significant(matrix.centers[columns[kept]]),
        spreads=significant(np.where(spreads > 0, spreads, 1.0)[kept]),
        low=np.maximum(shares - reach, lowest)[kept],
        high=np.minimum(np.maximum(shares + reach, lowest), highest)[kept],
        dropped={},
    )


def _calibration(
    table: RatingMatrix, rows: BoolArray, weighting: Weighting, weights: Posterior, settings: JointSettings
) -> Calibration:
    """Return the map onto the scale; without any raw value, or with equal ones only, it is the mean label."""
    raw = weighting.raw(table.values)
    there = rows & ~np.isnan(raw)
    if not there.any():
        return linear_map(0.0, 0.0, weights.average if weights.columns or rows.any() else table.scale.low)
    if settings.calibration == "linear" and table.scale.names:
        return logistic(raw[there], table.labels[there])
    if settings.calibration == "linear":
        slope = weights.spread * float(np.abs(weights.mean).sum()) if np.nanmax(raw) > np.nanmin(raw) else 0.0
        return linear_map(slope, float(raw[there].mean()), weights.average)
    kept = list(weighting.columns)
    judged = None
    if not table.signed[kept].any():
        judged = mean_rating_map(weighting.weights, weighting.centers, weighting.spreads, table.unit[kept], table.scale)
    if settings.calibration == "none" and judged is None:
        raise SettingsError(
            "Calibration `none` is the mean of the judge's ratings, which is undefined for text features;",
            "choose another calibration, or leave the text features out.",
        )
    return calibrate(settings.calibration, raw[there], table.labels[there], judged)


def held_out(
    table: RatingMatrix, settings: JointSettings, pool: CandidatePool | None = None, *, seed: int = 0
) -> HeldOut:
    """Return each text's score by rubrics fitted to the texts of other folds, averaged over repetitions.

    Arguments and errors as for `fit`; the folds are from `divisions`.
    """
    order = in_order(table)
    matrix, pool = design(table.rows(order)), pool or everything(table)
    back = np.argsort(order)
    folds = divisions(matrix.table.groups, settings, seed)
    total = matrix.moments(np.ones(len(order), dtype=bool))
    scores, raws, fits = [], [], []
    for fold in folds:
        score, raw, fold_fits = np.full(len(fold), np.nan), np.full(len(fold), np.nan), []
        for inside in fold_masks(fold):
            fold_fit = fit_part(
                matrix,
                ~inside,
                total - matrix.moments(inside),
                pool,
                settings,
                excluded=leaking_columns(matrix.table, inside),
            )
            values = matrix.table.values[inside]
            score[inside], raw[inside] = (
                fold_fit.scores(values, table.scale),
                in_label_units(fold_fit.raw(values), fold_fit),
            )
            fold_fits.append(fold_fit)
        scores.append(score)
        raws.append(raw)
        fits.append(tuple(fold_fits))
    return HeldOut(mean_over_repetitions(scores)[back], mean_over_repetitions(raws)[back], folds[:, back], tuple(fits))


def divisions(groups: Sequence[str], settings: JointSettings, seed: int) -> IntArray:
    """Return each text's fold in each repetition, shape (repetitions, texts).

    There is a single repetition if every group is a fold, as the others would be the same.
    """
    count = len(set(units(groups).tolist()))
    repeats = 1 if count <= settings.folds else settings.repeats
    return np.stack([grouped_folds(groups, settings.folds, seed + repeat) for repeat in range(repeats)])


def fold_masks(fold: IntArray) -> list[BoolArray]:
    """Return a mask of each fold's texts; a fold of all texts is left out."""
    masks = [fold == number for number in range(int(fold.max(initial=-1)) + 1)]
    return [mask for mask in masks if not mask.all()]


def leaking_columns(table: RatingMatrix, inside: BoolArray) -> list[int]:
    """Return the columns generated from labels of these texts, which they could leak."""
    columns: list[int] = np.flatnonzero(table.seen[inside].any(axis=0)).tolist()
    return columns


def in_label_units(raw: FloatArray, fitted: Fit) -> FloatArray:
    """Return raw values in points of the labels, without their mean: in this unit folds are comparable.

    The mean label of the other folds is not added, as it is high where the fold's own labels are low.
    """
    scaled: FloatArray = raw * (
        _steepness(fitted.calibration) if fitted.calibration.kind in ("linear", "logistic") else 1.0
    )
    return scaled


def _steepness(line: Calibration) -> float:
    slope = (line.y[-1] - line.y[0]) / (line.x[-1] - line.x[0])
    return slope if slope > 0 else 1.0


def mean_over_repetitions(repeated: Sequence[FloatArray]) -> FloatArray:
    """Return the mean of each element over the arrays, ignoring NaN; NaN if all are."""
    stacked = np.stack(repeated)
    there = ~np.isnan(stacked)
    mean: FloatArray = np.where(there, stacked, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there.any(axis=0), mean, np.nan)


def significant(values: FloatArray) -> FloatArray:
    """Return the values with the stored number of significant digits."""
    return np.array([float(f"{value:.{SIGNIFICANT}g}") for value in values.tolist()], dtype=float)


@dataclass(frozen=True, eq=False)
class SelectedRubric:
    """A rubric fitted to all labels, and held-out scores by the same procedure."""

    fit: Fit
    held_out: HeldOut


def candidate_pool(table: RatingMatrix, most: int, ask: Ask) -> CandidatePool:
    """Return what a rubric is selected from: the `most` best criteria, all scores of the whole, and text features.

    Criteria that need no call of their own are kept as reasons, even with a weight of 0.
    """
    always = tuple(np.flatnonzero(table.holistic | table.signed).tolist())
    others = tuple(place for place in range(len(table.methods)) if place not in always)
    return CandidatePool(others, always, most, reasons=ask == "in one call")


def select_rubric(table: RatingMatrix, settings: JointSettings, ask: Ask, *, seed: int = 0) -> SelectedRubric:
    """Return the rubric selected and fitted by all labels, with held-out scores; the order of the texts is irrelevant.

    Args:
        seed: of the folds.
    """
    pool = candidate_pool(table, settings.criteria, ask)
    return SelectedRubric(fit(table, settings, pool), held_out(table, settings, pool, seed=seed))


def chosen_shares(selected: SelectedRubric, table: RatingMatrix) -> FloatArray:
    """Return for each column of the rubric the share of the folds' rubrics with its criterion, shape (columns,).

    Folds with labels that the criterion was generated from do not count; the share is 1 if there are no others.
    """
    columns = list(selected.fit.columns)
    have, may = np.zeros(len(columns)), np.zeros(len(columns))
    for fold, fits in zip(selected.held_out.folds, selected.held_out.fits, strict=True):
        for number, fold_fit in enumerate(fits):
            free = ~table.seen[fold == number].any(axis=0)[columns]
            may += free
            have += free & np.isin(columns, fold_fit.columns)
    shares: FloatArray = np.divide(have, may, out=np.ones(len(columns)), where=may > 0)
    return shares


# With more groups, this many bundles of groups are left out one by one: the delete-a-group jackknife.
MOST_BUNDLES = 50


def refitted_agreement(
    table: RatingMatrix, nested: HeldOut, *, level: Level, seed: int = 0, confidence: float = CONFIDENCE
) -> Mapping[str, Interval]:
    """Return the held-out `spearman` and `pearson` agreement with intervals.

    The rubric selected in each fold is refitted without each group.

    Args:
        nested: held-out scores from `held_out` or `select_rubric`, of the same table.
        level: of the agreement, as in `rubriclab.stats.agreement`.
        seed: of the bundles, if there are more than `MOST_BUNDLES` groups.
        confidence: of the intervals.
    """
    every = [nested.raw, *_raw_without(table, nested, grouped_folds(table.groups, MOST_BUNDLES, seed))]
    return {
        name: _interval(
            [agreement_value(raw, table.labels, table.groups, level=level, coefficient=rows) for raw in every],
            confidence,
        )
        for name, rows in (("spearman", spearman_rows), ("pearson", pearson_rows))
    }


def _interval(values: Sequence[float], confidence: float) -> Interval:
    value, *without = values
    if math.isnan(value):
        return Interval(None)
    return student_interval(value, np.array(without), correlation=True, confidence=confidence)


def _raw_without(table: RatingMatrix, folds: HeldOut, bundle: IntArray) -> FloatArray:
    """Return held-out raw values without each bundle, shape (bundles, texts), NaN for the bundle's own texts.

    Only the first repetition is used: the variance that repetitions average out is not an error of learning.
    """
    matrix = design(table)
    every = matrix.moments(np.ones(len(bundle), dtype=bool))
    parts = [matrix.moments(bundle == left) for left in range(int(bundle.max(initial=-1)) + 1)]
    raw = np.full((len(parts), len(bundle)), np.nan)
    for number, fold_fit in enumerate(folds.fits[0]):
        inside = folds.folds[0] == number
        rest = every - matrix.moments(inside)
        for left in range(len(parts)):
            others = ~inside & (bundle != left)
            if others.any() and fold_fit.columns:
                moments = rest - parts[left] if not (inside & (bundle == left)).any() else matrix.moments(others)
                weights = posterior(table, moments, fold_fit.columns)
                raw[left, inside] = matrix.z[inside][:, list(fold_fit.columns)] @ weights.mean * (weights.spread or 1.0)
    raw[bundle, np.arange(len(bundle))] = np.nan
    # Equal up to rounding is a tie for Spearman.
    rounded: FloatArray = raw.round(9)
    return rounded
