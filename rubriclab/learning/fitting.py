"""Selection of criteria, the fit of a rubric to a rating matrix, and its cross-validation.

A rating matrix has a row for each labelled text and a column for each candidate criterion. The fit selects columns,
weighs them, and calibrates: it maps the weighted sum of the standardized ratings (the raw value) to the labels' scale.
It selects the criteria that rate a text as a whole (holistic), the text features, and the other criteria whose ratings
correlate most with the labels. How many other criteria is a setting: thirty labels are too few to choose the number.

`cross_validate` repeats every step with each fold left out, so a fold's scores do not depend on its labels (Varma &
Simon 2006, "Bias in error estimation when using cross-validation for model selection", BMC Bioinformatics 7:91; Cawley
& Talbot 2010, "On over-fitting in model selection", JMLR 11).

`refitted_agreement` gives confidence intervals that include the variance of learning. Resampling only the final scores
would give too narrow ones (Bates, Hastie & Tibshirani 2024, "Cross-validation: what does it estimate and how well does
it do it?", JASA 119).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rubriclab.errors import SettingsError
from rubriclab.learning import weighting
from rubriclab.learning.calibration import fit_logistic, linear_map
from rubriclab.learning.matrix import RatingMatrix, canonical_order, default_bounds, standardize
from rubriclab.methods.prompting import WholeNumber
from rubriclab.models.aggregation import TOO_MUCH_MISSING_WEIGHT, Calibration, CallGrouping, RivalLimits
from rubriclab.models.base import CriteriaBounds, RecallGoalText
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, pearson_rows, spearman_rows
from rubriclab.stats.intervals import DIGITS, Interval, cluster_numbers, grouped_folds, jackknife_interval
from rubriclab.stats.score_agreement import Level, agreement_value

INTERVAL_CONFIDENCE = 0.9  # of the confidence intervals of single scores and of weights
SIGNIFICANT_DIGITS = DIGITS + 3  # of stored centers and spreads; those of text features can be tiny or huge
# Decimal places of scores that are ranked, so that equal scores stay equal despite rounding errors of linear algebra.
SCORE_DIGITS = 9
# `refitted_agreement` leaves out one bundle of groups at a time: a single group if there are at most this many groups.
MAX_BUNDLES = 50


@dataclass(frozen=True)
class RecallGoal:
    """The rubric must put at least the share `min_share` of the texts labelled `level` (0 or 1) at this level."""

    level: int
    min_share: float


class JointSettings(BaseModel):
    """Settings of joint training, stored in the version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    criteria: Annotated[WholeNumber, CriteriaBounds] = 8
    """Maximum number of criteria, not counting holistic criteria and text features."""

    ask: Literal["in one call", "with rivals", "by method"] = "in one call"
    """Whether scoring calls the judge once for all criteria of a text, once for several texts of a group, or once for
    each method. If a method cannot share a call, each method has calls of its own."""

    rivals_per_call: WholeNumber = Field(default=10, ge=2, le=100)
    """Maximum number of texts in a call about texts of one group."""

    prefer_recall_of: RecallGoalText = ""
    """For labels of two levels, such as `fail=0.95`: the threshold must put 95 % of the texts labelled `fail` at this
    level. Default: the threshold of the best balanced accuracy."""

    folds: WholeNumber = Field(default=10, ge=2, le=100)
    """Number of folds for cross-validation over groups; at most the number of groups."""

    repeats: WholeNumber = Field(default=10, ge=1, le=50)
    """Number of repetitions of cross-validation, each with other folds; held-out scores are means over repetitions."""

    @classmethod
    def from_record(cls, values: Mapping[str, object]) -> Self:
        """Return the recorded settings of a version, without those that are no longer used."""
        return cls.model_validate({name: value for name, value in values.items() if name in cls.model_fields})

    def recall_goal(self, level_names: tuple[str, str]) -> RecallGoal | None:
        """Return the recall that a threshold must reach; SettingsError if its level is not one of `level_names`."""
        if not self.prefer_recall_of:
            return None
        name, _, share = self.prefer_recall_of.rpartition("=")
        level = name.strip()
        if level.casefold() not in level_names:
            raise SettingsError(
                f"`prefer_recall_of={self.prefer_recall_of}`: the labels have no level {level!r}.",
                f"The levels are {level_names[0]!r} and {level_names[1]!r}.",
            )
        return RecallGoal(level_names.index(level.casefold()), float(share))

    @property
    def group_limits(self) -> RivalLimits | None:
        """The limits of calls about several texts; `None` if each call is about one text."""
        return RivalLimits(texts=self.rivals_per_call) if self.ask == "with rivals" else None


@dataclass(frozen=True)
class DroppedColumn:
    """Why a candidate is not in the rubric; if `repeated`, it has this `correlation` with the column `original`."""

    cause: Literal["unscored", "constant", "repeated", "weightless", "outranked"]
    original: int = -1
    correlation: float = 0.0

    def reason(self, ids: Sequence[str]) -> str:
        if self.cause == "repeated":
            return f"says what {ids[self.original]} says (r = {self.correlation:.2f}), and tracks the labels no better"
        return {
            "unscored": "has no score for any training text",
            "constant": "has the same score for every training text",
            "weightless": "weighs nothing beside the others",
            "outranked": "tracks the labels less than the criteria that are kept",
        }[self.cause]


@dataclass(frozen=True, eq=False)
class Fit:
    """Selected columns with their weights, and the calibration, fitted to the same texts.

    Attributes:
        columns: the selected columns of the rating matrix, ascending; empty if none is usable.
        weights: of the selected columns; the absolute weights sum to 1.
        centers, spreads: what the selected columns are standardized by.
        low, high: the ends of the confidence interval of each weight.
        dropped: why each other column was dropped.
    """

    columns: tuple[int, ...]
    weights: FloatArray
    centers: FloatArray
    spreads: FloatArray
    low: FloatArray
    high: FloatArray
    calibration: Calibration
    dropped: Mapping[int, DroppedColumn]

    def raw_values(self, values: FloatArray) -> FloatArray:
        """Return each text's raw value, NaN if ratings with half of the weight are missing; shape (texts,)."""
        sums = _weighted_sums(values[:, list(self.columns)], self.weights, self.centers, self.spreads)
        return np.asarray(sums.round(SCORE_DIGITS))

    def scores(self, values: FloatArray, scale: Scale) -> FloatArray:
        return np.asarray(np.clip(self.calibration.apply(self.raw_values(values)), scale.low, scale.high))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of the training texts by rubrics that were fitted without their folds.

    Attributes:
        scores: the mean over the repetitions of each text's score, shape (texts,), NaN where missing.
        ranking_scores: as `scores`, but without the mean label, which differs by fold and is part of the calibration.
        folds_by_repetition: each text's fold, from 0, shape (repetitions, texts).
        fits: by repetition and by fold, the fit to the other folds; no fit if there is only one text.
    """

    scores: FloatArray
    ranking_scores: FloatArray
    folds_by_repetition: IntArray
    fits: tuple[tuple[Fit, ...], ...]


@dataclass(frozen=True)
class CandidatePool:
    """The columns of the rating matrix from which a rubric is selected.

    Attributes:
        columns: of these, the `max_selected` (by default all) that correlate most with the labels are selected.
        always_selected: columns that are selected if they are usable.
        keep_weightless: whether the rubric keeps selected `columns` of weight 0, to show the judge's reasons.
    """

    columns: tuple[int, ...]
    always_selected: tuple[int, ...] = ()
    max_selected: int | None = None
    keep_weightless: bool = False


@dataclass(frozen=True, eq=False)
class SelectedRubric:
    """A rubric fitted to all labels, and held-out scores by rubrics that were selected in the same way."""

    fit: Fit
    held_out: HeldOut


def select_rubric(table: RatingMatrix, settings: JointSettings, grouping: CallGrouping) -> SelectedRubric:
    """Return the rubric of the holistic criteria, the text features and the best other criteria."""
    is_always_selected = table.holistic | table.is_feature
    always_selected = tuple(np.flatnonzero(is_always_selected).tolist())
    others = tuple(np.flatnonzero(~is_always_selected).tolist())
    pool = CandidatePool(others, always_selected, settings.criteria, keep_weightless=grouping == "in one call")
    return SelectedRubric(fit(table, pool), cross_validate(table, settings, pool))


def selection_shares(rubric: SelectedRubric, table: RatingMatrix) -> FloatArray:
    """Return for each criterion of the rubric the share of the held-out fits that select it.

    Fits that leave out a label used to propose the criterion do not count. If no fit counts, the share is 1.
    """
    columns = list(rubric.fit.columns)
    n_selections, n_fits = np.zeros(len(columns)), np.zeros(len(columns))
    for fold_numbers, fits in zip(rubric.held_out.folds_by_repetition, rubric.held_out.fits, strict=True):
        for fold, fold_fit in enumerate(fits):
            is_counted = ~table.is_from_own_group[fold_numbers == fold].any(axis=0)[columns]
            n_fits += is_counted
            n_selections += is_counted & np.isin(columns, fold_fit.columns)
    return np.asarray(np.divide(n_selections, n_fits, out=np.ones(len(columns)), where=n_fits > 0))


def fit(table: RatingMatrix, pool: CandidatePool | None = None, *, redundant_r: float = weighting.REDUNDANT_R) -> Fit:
    """Return the fit to all texts; of columns that correlate by `redundant_r` or more, only one is kept."""
    design = weighting.design_matrix(table.select_rows(canonical_order(table)), redundant_r)
    all_rows = np.ones(len(table.labels), dtype=bool)
    pool = pool or CandidatePool(tuple(range(len(table.methods))))
    return _fit_rows(design, all_rows, design.moments(all_rows), pool)


def cross_validate(table: RatingMatrix, settings: JointSettings, pool: CandidatePool | None = None) -> HeldOut:
    """Return the held-out scores of the texts; `settings` define the folds."""
    pool = pool or CandidatePool(tuple(range(len(table.methods))))
    order = canonical_order(table)
    folds = folds_by_repetition(table.select_rows(order).groups, settings)[:, np.argsort(order)]
    return fit_folds(table, folds, lambda _repetition, _fold: pool)


def fit_folds(
    table: RatingMatrix,
    folds: IntArray,
    pool_of: Callable[[int, int], CandidatePool],
    *,
    redundant_r: float = weighting.REDUNDANT_R,
) -> HeldOut:
    """Return the held-out scores of the texts; `pool_of` returns the pool for a repetition and a fold."""
    order = canonical_order(table)
    design = weighting.design_matrix(table.select_rows(order), redundant_r)
    all_moments = design.moments(np.ones(len(order), dtype=bool))
    scores, ranking_scores, fits = np.full(folds.shape, np.nan), np.full(folds.shape, np.nan), []
    for repetition, fold_numbers in enumerate(folds[:, order]):
        fold_fits = []
        for fold in range(int(fold_numbers.max(initial=-1)) + 1):
            in_fold = fold_numbers == fold
            if in_fold.all():  # there is only one text, so none is left to fit to
                continue
            # Columns that were generated from labels of the fold are left out.
            pool, leaks = pool_of(repetition, fold), design.table.is_from_own_group[in_fold].any(axis=0)
            columns = tuple(column for column in pool.columns if not leaks[column])
            always_selected = tuple(column for column in pool.always_selected if not leaks[column])
            pool = replace(pool, columns=columns, always_selected=always_selected)
            fold_fit = _fit_rows(design, ~in_fold, all_moments - design.moments(in_fold), pool)
            values = design.table.values[in_fold]
            scores[repetition, in_fold] = fold_fit.scores(values, table.scale)
            # Raw values do not contain the mean label. The calibration's slope converts them to points of the labels.
            x, y = fold_fit.calibration.x, fold_fit.calibration.y
            slope = (y[1] - y[0]) / (x[1] - x[0])
            ranking_scores[repetition, in_fold] = fold_fit.raw_values(values) * (slope if slope > 0 else 1.0)
            fold_fits.append(fold_fit)
        fits.append(tuple(fold_fits))
    inverse = np.argsort(order)
    return HeldOut(_column_means(scores)[inverse], _column_means(ranking_scores)[inverse], folds, tuple(fits))


def folds_by_repetition(groups: Sequence[str], settings: JointSettings) -> IntArray:
    """Return each text's fold in each repetition, shape (repetitions, texts); one row if every group is a fold."""
    cluster_count = len(set(cluster_numbers(groups).tolist()))  # a cluster is a group or, if there is only one, a text
    repeats = 1 if cluster_count <= settings.folds else settings.repeats
    return np.stack([grouped_folds(groups, settings.folds, repeat) for repeat in range(repeats)])


def _column_means(scores: FloatArray) -> FloatArray:
    defined = ~np.isnan(scores)
    mean = np.where(defined, scores, 0.0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
    return np.where(defined.any(axis=0), mean.round(SCORE_DIGITS), np.nan)


def _fit_rows(design: weighting.DesignMatrix, rows: BoolArray, moments: weighting.Moments, pool: CandidatePool) -> Fit:
    """Return the fit of columns of the pool to the texts in `rows`; `moments` are the sums over these texts."""
    from scipy.special import ndtri

    # Select columns, and estimate their weights; the absolute weights sum to 1.
    table = design.table
    usable_columns, dropped = _usable_columns(design, weighting.shrunken_correlations(table, moments), pool)
    posterior = weighting.posterior(table, moments, usable_columns)
    weight_sum = float(np.abs(posterior.mean).sum()) or 1.0
    weights = (posterior.mean / weight_sum).round(DIGITS)
    margins = float(ndtri((1 + INTERVAL_CONFIDENCE) / 2)) * posterior.errors / weight_sum
    columns = np.array(usable_columns, dtype=int)
    bounds = default_bounds(table.is_feature) if table.weight_bounds is None else table.weight_bounds
    lowest, highest = bounds[columns].T
    if table.weight_bounds is not None:
        clipped = np.clip(weights, lowest, highest)
        # Correct only rounding errors: in some folds no weights can meet all bounds, so some weights stay outside.
        weights = np.where(np.abs(clipped - weights) <= 2 * 10.0**-DIGITS, clipped, weights)
    # Drop columns without weight, and calibrate the weighted sums of the others.
    is_kept = (np.abs(weights) > 0) | (np.isin(columns, pool.columns) & pool.keep_weightless)
    kept_columns, weights = columns[is_kept].tolist(), weights[is_kept]
    centers = round_significant(design.centers[kept_columns])
    spreads = round_significant(np.where(design.spreads > 0, design.spreads, 1.0)[kept_columns])
    raw = _weighted_sums(table.values[:, kept_columns], weights, centers, spreads)
    has_score = rows & ~np.isnan(raw)
    if not has_score.any():
        calibration = linear_map(0.0, 0.0, posterior.label_mean if rows.any() else table.scale.low)
    elif table.scale.has_two_levels:
        calibration = fit_logistic(raw[has_score], table.labels[has_score])
    else:
        slope = posterior.label_spread * float(np.abs(posterior.mean).sum()) if np.nanmax(raw) > np.nanmin(raw) else 0.0
        calibration = linear_map(slope, float(raw[has_score].mean()), posterior.label_mean)
    # A usable column that is not kept has no weight. A column that is neither usable nor in `dropped` is outranked.
    reasons = dict.fromkeys(range(len(table.methods)), DroppedColumn("outranked"))
    reasons |= dict.fromkeys(usable_columns, DroppedColumn("weightless")) | dropped
    return Fit(
        columns=tuple(kept_columns),
        weights=weights,
        centers=centers,
        spreads=spreads,
        low=np.maximum(weights - margins[is_kept], lowest[is_kept]),
        high=np.clip(weights + margins[is_kept], lowest[is_kept], highest[is_kept]),
        calibration=calibration,
        dropped={column: reason for column, reason in reasons.items() if column not in kept_columns},
    )


def _weighted_sums(values: FloatArray, weights: FloatArray, centers: FloatArray, spreads: FloatArray) -> FloatArray:
    if not len(weights):
        return np.full(len(values), np.nan)
    missing_weight = np.isnan(values) @ np.abs(weights)
    sums: FloatArray = standardize(values, centers, spreads) @ weights
    return np.where(missing_weight >= TOO_MUCH_MISSING_WEIGHT - 1e-9, np.nan, sums)


def _usable_columns(
    design: weighting.DesignMatrix, label_correlations: FloatArray, pool: CandidatePool
) -> tuple[list[int], dict[int, DroppedColumn]]:
    """Return the usable columns of a pool, ascending, and for other columns why they are dropped."""
    table = design.table
    unusable = {
        column: DroppedColumn("unscored" if np.isnan(table.values[:, column]).all() else "constant")
        for column in sorted({*pool.columns, *pool.always_selected})
        if design.spreads[column] == 0
    }
    always, repeated = _distinct_columns(design, set(pool.always_selected) - unusable.keys(), label_correlations)
    # Only one holistic column of each method is used: the first, which correlates most with the labels.
    best_holistic = {table.methods[column]: column for column in reversed(always) if table.holistic[column]}
    always = [column for column in always if not table.holistic[column] or column in best_holistic.values()]
    others = [column for column in pool.columns if column not in unusable and column not in pool.always_selected]
    best, repeated_others = _distinct_columns(design, others, label_correlations, pool.max_selected)
    reasons = {**unusable, **repeated, **repeated_others}
    # If all columns are constant, one judged column is usable: the rubric then gives every text the mean label.
    if not (always or best) and len(table.labels) > 1:
        judged = [each for each, why in unusable.items() if why.cause == "constant" and not table.is_feature[each]]
        holistic_first = sorted(judged, key=lambda column: not table.holistic[column])
        return holistic_first[:1], reasons
    return sorted({*always, *best}), reasons


def _distinct_columns(
    design: weighting.DesignMatrix, columns: Collection[int], label_correlations: FloatArray, limit: int | None = None
) -> tuple[list[int], dict[int, DroppedColumn]]:
    """Return the `limit` distinct columns that correlate most with the labels, and why redundant ones are dropped."""
    distinct_columns: list[int] = []
    repeated: dict[int, DroppedColumn] = {}
    for column in sorted(columns, key=lambda column: (-label_correlations[column], column)):
        if limit is not None and len(distinct_columns) >= limit:
            break
        original = next((other for other in distinct_columns if design.is_redundant[column, other]), None)
        if original is None:
            distinct_columns.append(column)
        else:
            repeated[column] = DroppedColumn("repeated", original, float(design.column_correlations[column, original]))
    return distinct_columns, repeated


def round_significant(values: FloatArray) -> FloatArray:
    return np.array([float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in values.tolist()], dtype=float)


def refitted_agreement(table: RatingMatrix, held_out: HeldOut, *, level: Level) -> Mapping[str, Interval]:
    """Return the `spearman` and `pearson` agreement of held-out scores, with jackknife intervals over groups.

    For each group, the rubric of each fold is fitted again without the group. Only the first repetition of `held_out`
    is used: repetitions differ by how texts fall into folds, which is no sampling error.
    """
    design = weighting.design_matrix(table)
    bundle = grouped_folds(table.groups, MAX_BUNDLES, 0)  # the number of each text's bundle of groups
    all_moments = design.moments(np.ones(len(bundle), dtype=bool))
    bundle_moments = [design.moments(bundle == number) for number in range(int(bundle.max(initial=-1)) + 1)]
    scores_without = np.full((len(bundle_moments), len(bundle)), np.nan)  # shape (left-out bundles, texts)
    for fold, fold_fit in enumerate(held_out.fits[0]):
        in_fold, columns = held_out.folds_by_repetition[0] == fold, list(fold_fit.columns)
        moments_outside_fold = all_moments - design.moments(in_fold)
        for left_out, moments_left_out in enumerate(bundle_moments):
            training = ~in_fold & (bundle != left_out)
            if not columns or not training.any():
                continue
            moments = moments_outside_fold - moments_left_out
            if (in_fold & (bundle == left_out)).any():
                # Texts that are in both the fold and the bundle would be subtracted twice.
                moments = design.moments(training)
            posterior = weighting.posterior(table, moments, columns)
            sums = design.z[in_fold][:, columns] @ posterior.mean
            scores_without[left_out, in_fold] = sums * (posterior.label_spread or 1.0)
    # The agreement without a bundle is computed on the texts of the other bundles that have a held-out score.
    scores_without[bundle, np.arange(len(bundle))] = np.nan
    scores_without[:, np.isnan(held_out.ranking_scores)] = np.nan
    intervals = {}
    for name, coefficient in (("spearman", spearman_rows), ("pearson", pearson_rows)):
        value, *values_without = (
            agreement_value(scores, table.labels, table.groups, level=level, coefficient=coefficient)
            for scores in (held_out.ranking_scores, *scores_without.round(SCORE_DIGITS))
        )
        defined_value = None if math.isnan(value) else value
        intervals[name] = jackknife_interval(defined_value, np.array(values_without), is_correlation=True)
    return intervals
