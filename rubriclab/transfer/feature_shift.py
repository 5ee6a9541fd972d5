"""How far single measures and criteria moved from one set of texts to another, and which movements are no chance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from rubriclab.aggregation import Term
from rubriclab.base_models import FrozenModel
from rubriclab.learning.standardise import centers_and_spreads
from rubriclab.rubric import DIGITS
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.transfer.sample import Sample

# The share of false ones among the movements that are called more than chance (Benjamini & Hochberg 1995, "Controlling
# the false discovery rate", JRSS B 57).
FALSE_DISCOVERIES = 0.05
# Exact probabilities of the Kolmogorov-Smirnov distance up to so many groups a side; beyond, the limit is close enough.
MOST_EXACT = 100
# Drawn texts that stand for their groups, so often.
DRAWS = 10


class FeatureShift(FrozenModel):
    """How one measure's or criterion's values differ between home and target.

    Attributes:
        name: of the measure, or the criterion's id.
        home, target: means.
        moved: how far the mean moved, in units of the home spread; `None` where it does not vary at home.
        distance: between the two distributions, by Kolmogorov and Smirnov, 0 to 1.
        beyond: share of the target's values outside of the range at home.
        chance: how often chance alone puts the values as far apart, adjusted for how many movements are looked at.
        texts: target texts that have a value.

    `distance`, `beyond` and `chance` are `None` where the home values are not known one by one.
    """

    name: str
    home: float
    target: float
    moved: float | None
    distance: float | None = None
    beyond: float | None = None
    chance: float | None = None
    texts: int

    @property
    def more_than_chance(self) -> bool:
        """Whether the movement is one of those of which at most one in twenty is expected to be chance."""
        return self.chance is not None and self.chance <= FALSE_DISCOVERIES


def movements(names: Sequence[str], home: Sample, target: Sample, seed: int = 0) -> tuple[FeatureShift, ...]:
    """Return how each column moved, the largest distance first.

    Args:
        names: of the columns, each of which has values on both sides.
        seed: of the texts that stand for their groups where chance is asked.
    """
    from scipy.stats import false_discovery_control

    if not names:
        return ()
    chances = false_discovery_control(_chances(home, target, seed)).tolist()
    distances = _kolmogorov_smirnov(home.values, target.values)[0].tolist()
    columns = zip(names, home.values.T, target.values.T, distances, chances, strict=True)
    found = [_movement(name, _there(ours), _there(theirs), *told) for name, ours, theirs, *told in columns]
    return tuple(sorted(found, key=lambda each: (-(each.distance or 0.0), -abs(each.moved or 0.0), each.name)))


def movements_from(terms: Sequence[Term], scores: Mapping[str, FloatArray]) -> tuple[FeatureShift, ...]:
    """Return how the criteria's means moved from what a rubric says of them, what moved most first.

    Args:
        scores: by criterion, NaN where missing; criteria without any score are left out.
    """
    there = [(term, _there(scores[term.criterion])) for term in terms if term.criterion in scores]
    found = [
        FeatureShift(
            name=term.criterion,
            home=term.center,
            target=_rounded(column.mean()),
            moved=_rounded((column.mean() - term.center) / term.spread),
            texts=len(column),
        )
        for term, column in there
        if len(column)
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.moved or 0.0), each.name)))


def _movement(name: str, home: FloatArray, target: FloatArray, distance: float, chance: float) -> FeatureShift:
    spread = float(centers_and_spreads(home[:, np.newaxis])[1][0])
    return FeatureShift(
        name=name,
        home=_rounded(home.mean()),
        target=_rounded(target.mean()),
        moved=_rounded((target.mean() - home.mean()) / spread) if spread > 0 else None,
        distance=_rounded(distance),
        beyond=_rounded(((target < home.min()) | (target > home.max())).mean()),
        chance=_rounded(chance),
        texts=len(target),
    )


def _kolmogorov_smirnov(home: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each column's distance and how often chance makes one as large, shapes (columns,); NaN is left out.

    Where a side has no value at all nothing speaks against chance.
    """
    from scipy.stats import ks_2samp

    method: Literal["exact", "asymp"] = "exact" if max(len(home), len(target)) <= MOST_EXACT else "asymp"
    with warnings.catch_warnings():
        # scipy warns of columns without values, which are seen to here, and where its exact sum comes out above 1 by
        # the last bits; it then gives the limit, which is near 1 as well.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ks_2samp(home, target, method=method, axis=0, nan_policy="omit")
    return np.nan_to_num(np.asarray(found.statistic)), np.nan_to_num(np.asarray(found.pvalue), nan=1.0)


def _chances(home: Sample, target: Sample, seed: int) -> FloatArray:
    """Return how often chance puts each column's values as far apart, shape (columns,).

    Texts of a group are alike, and their mean is the steadier the more there are, so one text drawn from each group
    stands for it; twice the mean over several draws is a valid probability (Vovk & Wang 2020, "Combining p-values via
    averaging", Biometrika 107).
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros(home.values.shape[1])
    for _ in range(DRAWS):
        ours, theirs = (side.values[_one_each(side, rng)] for side in (home, target))
        sums += _kolmogorov_smirnov(ours, theirs)[1]
    return np.minimum(2 * sums / DRAWS, 1.0)


def _one_each(side: Sample, rng: np.random.Generator) -> IntArray:
    """Return the place of one text of each unit, drawn at random."""
    order = rng.permutation(len(side))
    return order[np.unique(side.units[order], return_index=True)[1]]


def _there(column: FloatArray) -> FloatArray:
    return np.asarray(column[~np.isnan(column)])


def _rounded(value: float | np.floating) -> float:
    return round(float(value), DIGITS) + 0.0
