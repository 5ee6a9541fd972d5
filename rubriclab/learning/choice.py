"""Which candidates a rubric keeps, and in words why not the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.learning.recipes import centers_and_spreads, standardised
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import BoolArray, Table
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import units
from rubriclab.stats.jackknife import correlation_intervals

# Correlations are compared at this many digits: equal ones must not part ways in the last bits of a sum.
COMPARED = 9


@dataclass(frozen=True)
class Dropped:
    """Why a candidate is not in the rubric.

    Attributes:
        why: it has no score; the same for every text; cannot be told from noise; tracks the labels the wrong way;
            says what another one says; weighs nothing beside the others; or its call is beyond the bound.
        r: its correlation with the labels.
        low, high: what that is above, and below, each with `confidence`.
        like: the column of the one that it repeats, and their correlation in `alike`.
    """

    why: Literal["unscored", "constant", "uncertain", "wrong way", "repeated", "weightless", "beyond the bound"]
    r: float = 0.0
    low: float = 0.0
    high: float = 0.0
    confidence: float = 0.0
    like: int = -1
    alike: float = 0.0

    def words(self, names: Sequence[str]) -> str:
        """Return the reason as a person reads it; `names` are those of the table's candidates."""
        surely = f"with {100 * self.confidence:g} % confidence"
        if self.why == "repeated":
            return f"says what {names[self.like]} says (r = {self.alike:.2f}), and tracks the labels no better"
        return {
            "unscored": "has no score for any training text",
            "constant": "has the same score for every training text",
            "uncertain": f"cannot be told from noise by these labels: r = {self.r:.2f}, above {self.low:.2f} {surely}",
            "wrong way": f"tracks the labels the wrong way: r = {self.r:.2f}, below {self.high:.2f} {surely}",
            "weightless": "weighs nothing beside the others",
            "beyond the bound": "asking it would take more calls per text than the rubric may",
        }[self.why]


@dataclass(frozen=True)
class Choice:
    """What is kept of a table's candidates.

    Attributes:
        kept: columns, ascending; none if no candidate tells any two texts apart.
        uncertain: those among them that cannot be told from noise.
        dropped: the reason for every other column.
    """

    kept: tuple[int, ...]
    uncertain: tuple[int, ...]
    dropped: Mapping[int, Dropped]


def choose(table: Table, settings: JointSettings) -> Choice:
    """Return the candidates worth weighing.

    One stays if its correlation with the labels is above 0 with `settings.confidence`, one-sided, as its wording says
    which end is better; for a signed one, if the two-sided interval leaves out 0; both by the jackknife over groups.
    With `keep_uncertain` this does not matter. Of two that correlate by `settings.repeated` or more the one that tracks
    the labels less leaves. If nothing is left, the one that comes nearest to the labels stays, as uncertain.

    Measured with the offline judge (120 learning sets of 30 texts, 20 aspects), leaving out what is uncertain costs
    0.003 to 0.009 of rank correlation and spares a third of the criteria.
    """
    centers, spreads = centers_and_spreads(table.values)
    z = standardised(table.values, centers, spreads)
    tracking = track(table, z, settings.confidence)
    varies: BoolArray = spreads > 0
    stays = varies & (tracking.certain | settings.keep_uncertain)
    if varies.any() and not stays.any():
        stays[np.argmax(np.where(varies, tracking.toward, -np.inf))] = True
    repeats = _repeats(z, tracking.toward, stays, table.signed, settings.repeated)
    kept = tuple(place for place in np.flatnonzero(stays).tolist() if place not in repeats)
    dropped = {
        place: tracking.reason(place, table.signed) if varies[place] else _unvaried(table.values[:, place])
        for place in np.flatnonzero(~stays).tolist()
    }
    return Choice(kept, tuple(place for place in kept if not tracking.certain[place]), dropped | repeats)


@dataclass(frozen=True, eq=False)
class Tracking:
    """How each column tracks the labels.

    Attributes:
        r, low, high: its correlation, and what this is above and below, each with `confidence`.
        toward: how far more of it is better, or for a signed one the size of its correlation.
        certain: whether it can be told from noise.
    """

    r: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    toward: FloatArray
    certain: BoolArray

    def reason(self, place: int, signed: BoolArray) -> Dropped:
        """Return why a column that varies leaves."""
        low, high = float(self.low[place]), float(self.high[place])
        wrong = high < 0 and not signed[place]
        return Dropped("wrong way" if wrong else "uncertain", float(self.r[place]), low, high, self.confidence)


def _unvaried(values: FloatArray) -> Dropped:
    return Dropped("unscored" if np.isnan(values).all() else "constant")


def track(table: Table, z: FloatArray, confidence: float) -> Tracking:
    """Where the correlation is undefined, as with labels that are all the same, it is 0 and anything."""
    one_sided = np.where(table.signed, confidence, 2 * confidence - 1)
    found = correlation_intervals(z, table.labels, units(table.groups), one_sided)
    r, low, high = (np.where(np.isnan(v), other, v).round(COMPARED) for v, other in zip(found, (0, -1, 1), strict=True))
    toward = np.where(table.signed, np.abs(r), r)
    certain: BoolArray = np.where(table.signed, np.maximum(low, -high), low) > 0
    return Tracking(r, low, high, confidence, toward, certain)


def _repeats(
    z: FloatArray, toward: FloatArray, stays: BoolArray, signed: BoolArray, limit: float
) -> dict[int, Dropped]:
    """Return those among the columns that stay which say what one says that tracks the labels more, or comes before."""
    alike = _alike(z)
    alike = np.where(signed | signed[:, np.newaxis], np.abs(alike), alike)
    order = sorted(np.flatnonzero(stays).tolist(), key=lambda place: (-toward[place], place))
    kept: list[int] = []
    repeats: dict[int, Dropped] = {}
    for place in order:
        like = max(kept, key=lambda other: alike[place, other], default=-1)
        if like >= 0 and alike[place, like] >= limit:
            repeats[place] = Dropped("repeated", float(toward[place]), like=like, alike=float(alike[place, like]))
        else:
            kept.append(place)
    return repeats


def _alike(z: FloatArray) -> FloatArray:
    """Return the correlations of standardised columns with each other, 0 for those that do not vary."""
    lengths = np.sqrt((z**2).sum(axis=0))
    unit = z / np.where(lengths > 0, lengths, 1.0)
    alike: FloatArray = (unit.T @ unit).round(COMPARED)
    return alike
