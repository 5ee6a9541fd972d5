"""What each criterion weighs: a linear Gaussian model with a prior mean, in closed form.

Labels y and scores z are standardised, y = z v + e, and the weights v are normal around what is believed before any
label: scores of the whole have most of the weight, judged criteria share the rest equally, and surface measures
point in their usual directions (Lindley & Smith 1972, "Bayes estimates for the linear model", JRSS B 34). How far each
of these three composites can be believed is uncertain, and so is each single weight; thirty labels change both a
little. Strong shrinkage agreed best with people on texts of other groups, see `experiments/weighing`.

A score of a text whose label had a part in making the criterion counts as missing here: it agrees by construction.

All that the model needs of the texts are sums over them (`Moments`), so a fold is left out by subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from rubriclab.learning.rating_matrix import SAME, BoolArray, RatingMatrix, centers_and_spreads, standardised
from rubriclab.stats.correlation import FloatArray

# In units of the labels' standard deviation. Chosen on 220 learning sets of 20 aspects with the offline judge and three
# recorded ones of a language model (`experiments/weighing`); agreement on other groups changes by 0.01 to 0.02
# between half and twice of each.
NOISE = 0.9
PRIOR_SPREAD = 0.5
COMPOSITE_ERROR = 0.3
WEIGHT_VARIANCE = 0.25
# Relative belief in each kind of column; those that are there share it. A language model's score of the whole, given
# after the criteria in the same call, agreed better than what the criteria add to it: with 0.5 and 0.5 the rubric of
# one live training lost 0.024 on withheld texts; the recorded sets say 0.65 to 0.8, and the offline judge, which
# understands no text as a whole, 0.5.
WHOLE, JUDGED, MEASURED = 0.75, 0.25, 0.2
# Beyond so many standard deviations a score says no more.
FURTHEST = 3.0
# Composites of criteria that cancel each other out are not blown up beyond this.
LEAST_SPREAD = 0.15
# Labels that say of each correlation that it is the usual one of its kind.
USUAL_LABELS = 30.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over texts of standardised scores z and labels y; those of parts of the texts add up.

    Attributes:
        n, y, yy: texts, and sums of the labels and of their squares.
        z, zy: shape (columns,). zz: shape (columns, columns).
        counted, counted_y, counted_yy: n, y and yy over the texts that count for a column, shape (columns,).
    """

    n: FloatArray
    y: FloatArray
    yy: FloatArray
    z: FloatArray
    zy: FloatArray
    zz: FloatArray
    counted: FloatArray
    counted_y: FloatArray
    counted_yy: FloatArray

    def __sub__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))

    @property
    def correlations(self) -> FloatArray:
        """Each column's correlation with the labels over the texts that count, 0 where undefined; shape (columns,)."""
        n = np.maximum(self.counted, 1.0)
        along = self.zy - self.z * self.counted_y / n
        across = (self.zz.diagonal() - self.z**2 / n) * (self.counted_yy - self.counted_y**2 / n)
        defined = across > SAME * np.maximum(self.zz.diagonal() * self.counted_yy, SAME)
        r: FloatArray = np.divide(along, np.sqrt(np.where(defined, across, 1.0)), out=np.zeros_like(n), where=defined)
        return r.clip(-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """A table as the model sees it.

    Attributes:
        table: with its texts in canonical order.
        centers, spreads: of its columns; they see no label, so they are those of all texts in every fold.
        z: shape (texts, columns), 0 where a score is missing.
        counts: whether a cell has a part in learning: a score, not of a text that the criterion was made from.
        alike: correlations of the columns with each other.
        twins: which are so high that the second column says nothing new.
    """

    table: RatingMatrix
    centers: FloatArray
    spreads: FloatArray
    z: FloatArray
    counts: BoolArray
    alike: FloatArray
    twins: BoolArray

    def moments(self, rows: BoolArray) -> Moments:
        """Return the sums over some of the texts."""
        counts = self.counts[rows].astype(float)
        z, y = np.clip(self.z[rows], -FURTHEST, FURTHEST) * counts, self.table.labels[rows]
        return Moments(
            n=np.array(float(len(y))),
            y=np.array(y.sum()),
            yy=np.array(y @ y),
            z=z.sum(axis=0),
            zy=z.T @ y,
            zz=z.T @ z,
            counted=counts.sum(axis=0),
            counted_y=counts.T @ y,
            counted_yy=counts.T @ (y * y),
        )


def design(table: RatingMatrix, repeated: float = 0.95) -> DesignMatrix:
    """Return the table as the model sees it; columns that correlate by `repeated` or more say the same."""
    centers, spreads = centers_and_spreads(table.values)
    z = standardised(table.values, centers, spreads)
    lengths = np.sqrt((z**2).sum(axis=0))
    unit = z / np.where(lengths > 0, lengths, 1.0)
    alike = (unit.T @ unit).round(9)
    near = np.where(table.signed | table.signed[:, np.newaxis], np.abs(alike), alike) >= repeated
    counts: BoolArray = ~np.isnan(table.values) & ~table.seen
    return DesignMatrix(table, centers, spreads, z, counts, alike, near & ~np.eye(len(alike), dtype=bool))


def tracking(table: RatingMatrix, moments: Moments) -> FloatArray:
    """Return how far more of each column is better: its correlation, drawn to the mean of its kind; shape (columns,).

    Of signed columns it is the size.
    """
    r, n = moments.correlations, moments.counted
    r = np.where(table.signed, np.abs(r), r)
    drawn = np.zeros_like(r)
    for kind in (table.whole, table.signed, table.unit, ~(table.whole | table.signed | table.unit)):
        usual = float(n[kind] @ r[kind]) / max(float(n[kind].sum()), 1.0)
        drawn[kind] = (n[kind] * r[kind] + USUAL_LABELS * usual) / (n[kind] + USUAL_LABELS)
    return drawn.round(9)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Weights of some columns, in standard deviations of the labels for each of the column.

    Attributes:
        columns: of the table.
        mean: shape (columns,); 0 for judged columns that the labels speak against.
        errors: standard deviation of each weight.
        spread, average: of the labels that it was learned from.
    """

    columns: tuple[int, ...]
    mean: FloatArray
    errors: FloatArray
    spread: float
    average: float


def posterior(table: RatingMatrix, moments: Moments, columns: Sequence[int]) -> Posterior:
    """Return what the weights of these columns are after the labels; labels that are all the same change nothing."""
    places, n = list(columns), max(float(moments.n), 1.0)
    gram = moments.zz[np.ix_(places, places)] - np.outer(moments.z[places], moments.z[places]) / n
    along = moments.zy[places] - moments.z[places] * float(moments.y) / n
    average = float(moments.y) / n
    spread = np.sqrt(max(float(moments.yy) / n - average**2, 0.0))
    prior, precision = _prior(table, places, gram / n)
    varied = spread > SAME * max(1.0, abs(average))
    covariance = np.linalg.inv(precision + gram / NOISE**2 * varied)
    shift = (along / spread - gram @ prior) / NOISE**2 if varied else np.zeros(len(places))
    mean, variance = _not_below_zero(prior + covariance @ shift, covariance, ~table.signed[places])
    if not np.abs(mean).sum() > SAME:
        mean = prior
    return Posterior(tuple(places), mean, np.sqrt(variance), float(spread) if varied else 0.0, average)


def _prior(table: RatingMatrix, columns: Sequence[int], gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and precision of the weights before any label."""
    places = list(columns)
    kinds = (table.whole[places], ~(table.whole | table.signed)[places], table.signed[places])
    units, shares = [], []
    for kind, share in zip(kinds, (WHOLE, JUDGED, MEASURED), strict=True):
        composite = np.where(kind, table.usual[places], 0.0)
        if (size := np.abs(composite).sum()) > 0:
            composite = composite / size
            units.append(composite / max(_size(composite, gram), LEAST_SPREAD))
            shares.append(share)
    single = len(places) / WEIGHT_VARIANCE
    if not units:
        return np.zeros(len(places)), single * np.eye(len(places))
    composites, weights = np.stack(units), np.array(shares) / sum(shares)
    mean = weights @ composites
    mean = mean * PRIOR_SPREAD / max(_size(mean, gram), LEAST_SPREAD)
    # The inverse of the identity over `single` plus the outer products of the composites (Woodbury's formula).
    inner = np.eye(len(units)) / COMPOSITE_ERROR**2 + single * composites @ composites.T
    return mean, single * np.eye(len(places)) - single**2 * composites.T @ np.linalg.solve(inner, composites)


def _size(weights: FloatArray, gram: FloatArray) -> float:
    """Return the standard deviation of a weighted sum; rounding may leave less than nothing of a variance of 0."""
    return float(np.sqrt(max(float(weights @ gram @ weights), 0.0)))


def _not_below_zero(mean: FloatArray, covariance: FloatArray, judged: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return means and variances given that judged weights which would be negative are 0.

    The wording of a judged criterion says which end is better, and thirty labels do not refute it.
    """
    out = np.zeros(len(mean), dtype=bool)
    adjusted = mean
    while (negative := judged & ~out & (adjusted < -SAME)).any():
        out |= negative
        pull = np.linalg.solve(covariance[np.ix_(out, out)], mean[out])
        adjusted = np.where(out, 0.0, mean - covariance[:, out] @ pull)
    return adjusted, covariance.diagonal()
