"""How far single text features and criteria shifted between two samples of texts, and which shifts are significant."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from rubriclab.aggregation import Term
from rubriclab.base_models import FrozenModel
from rubriclab.learning.rating_matrix import centers_and_spreads
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import rounded_number
from rubriclab.transfer.sample import Sample

# The false discovery rate among significant shifts (Benjamini & Hochberg 1995, "Controlling the false discovery rate",
# JRSS B 57).
FALSE_DISCOVERY_RATE = 0.05
# Kolmogorov-Smirnov p-values are exact up to this many groups in a sample, and asymptotic beyond.
MAX_EXACT = 100
# Draws of one text from each group.
DRAWS = 10


class FeatureShift(FrozenModel):
    """The shift of one text feature or criterion between source and target.

    Attributes:
        name: of the feature, or the criterion's id.
        source_mean, target_mean: means.
        standardized_shift: difference of the means in source standard deviations; `None` if constant on the source.
        ks_distance: Kolmogorov-Smirnov distance of the distributions, 0 to 1.
        out_of_range: share of target values outside of the source range.
        p_value: of the distance, adjusted for the number of shifts tested.
        texts: target texts with a value.

    `ks_distance`, `out_of_range` and `p_value` are `None` if only the source means are known.
    """

    name: str
    source_mean: float
    target_mean: float
    standardized_shift: float | None
    ks_distance: float | None = None
    out_of_range: float | None = None
    p_value: float | None = None
    texts: int

    @property
    def significant(self) -> bool:
        """Whether the shift is significant at a false discovery rate of 5 %."""
        return self.p_value is not None and self.p_value <= FALSE_DISCOVERY_RATE


def feature_shifts(names: Sequence[str], source: Sample, target: Sample, seed: int = 0) -> tuple[FeatureShift, ...]:
    """Return the shift of each column, the largest distance first.

    Args:
        names: of the columns, each of which has values in both samples.
        seed: of the texts drawn from their groups for p-values.
    """
    from scipy.stats import false_discovery_control

    if not names:
        return ()
    p_values = false_discovery_control(_p_values(source, target, seed)).tolist()
    distances = _kolmogorov_smirnov(source.values, target.values)[0].tolist()
    columns = zip(names, source.values.T, target.values.T, distances, p_values, strict=True)
    shifts = [_shift(name, _present(before), _present(after), *tests) for name, before, after, *tests in columns]
    return tuple(sorted(shifts, key=lambda shift: (-(shift.ks_distance or 0.0), *_by_size(shift))))


def shifts_from_terms(terms: Sequence[Term], ratings: Mapping[str, FloatArray]) -> tuple[FeatureShift, ...]:
    """Return the shifts of the criteria's means from the centers in a rubric's aggregation, the largest first.

    Args:
        ratings: by criterion, NaN where missing; criteria without any rating are left out.
    """
    columns = [(term, _present(ratings[term.criterion])) for term in terms if term.criterion in ratings]
    shifts = [
        FeatureShift(
            name=term.criterion,
            source_mean=term.center,
            target_mean=rounded_number(column.mean()),
            standardized_shift=rounded_number((column.mean() - term.center) / term.spread),
            texts=len(column),
        )
        for term, column in columns
        if len(column)
    ]
    return tuple(sorted(shifts, key=_by_size))


def _by_size(shift: FeatureShift) -> tuple[float, str]:
    return -abs(shift.standardized_shift or 0.0), shift.name


def _shift(name: str, source: FloatArray, target: FloatArray, distance: float, p_value: float) -> FeatureShift:
    spread = float(centers_and_spreads(source[:, np.newaxis])[1][0])
    return FeatureShift(
        name=name,
        source_mean=rounded_number(source.mean()),
        target_mean=rounded_number(target.mean()),
        standardized_shift=rounded_number((target.mean() - source.mean()) / spread) if spread > 0 else None,
        ks_distance=rounded_number(distance),
        out_of_range=rounded_number(((target < source.min()) | (target > source.max())).mean()),
        p_value=rounded_number(p_value),
        texts=len(target),
    )


def _kolmogorov_smirnov(source: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each column's distance and p-value, shapes (columns,), ignoring NaN; 0 and 1 without any value."""
    from scipy.stats import ks_2samp

    method: Literal["exact", "asymp"] = "exact" if max(len(source), len(target)) <= MAX_EXACT else "asymp"
    with warnings.catch_warnings():
        # scipy warns of columns without values, which are handled here, and if its exact sum exceeds 1 by the last
        # bits; it then returns the asymptotic value, which is near 1 as well.
        warnings.simplefilter("ignore", RuntimeWarning)
        test = ks_2samp(source, target, method=method, axis=0, nan_policy="omit")
    return np.nan_to_num(np.asarray(test.statistic)), np.nan_to_num(np.asarray(test.pvalue), nan=1.0)


def _p_values(source: Sample, target: Sample, seed: int) -> FloatArray:
    """Return the p-value of each column's distance, shape (columns,).

    Texts of a group are dependent, and means over large groups vary less, so each group is represented by one text
    drawn from it; twice the mean over several draws is a valid p-value (Vovk & Wang 2020, "Combining p-values
    via averaging", Biometrika 107).
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros(source.values.shape[1])
    for _ in range(DRAWS):
        drawn = [sample.values[_one_per_unit(sample, rng)] for sample in (source, target)]
        sums += _kolmogorov_smirnov(*drawn)[1]
    return np.minimum(2 * sums / DRAWS, 1.0)


def _one_per_unit(sample: Sample, rng: np.random.Generator) -> IntArray:
    order = rng.permutation(len(sample))
    return order[np.unique(sample.units[order], return_index=True)[1]]


def _present(column: FloatArray) -> FloatArray:
    return np.asarray(column[~np.isnan(column)])
