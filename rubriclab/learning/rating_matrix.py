"""The rating matrix: labelled texts by candidate criteria, its folds, and its columns on a common scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rubriclab.data.scale import Scale
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.training_record import Candidate

BoolArray = npt.NDArray[np.bool_]

# A column whose values differ by less than this, relative to their size, differs by rounding alone.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """The candidates' scores of the labelled texts.

    Attributes:
        values: shape (texts, candidates), NaN where there is no score. Questions 0 to 1, measures in their own units,
            everything else on the raters' scale.
        labels: human scores, shape (texts,).
        groups: of each text.
        methods: of each candidate, the one it came from.
        signed: of each candidate, whether more of it may be worse; false where its wording says which end is better.
        unit: of each candidate, whether its scores are shares, 0 to 1, rather than points of the scale.
        whole: of each candidate, whether it is a score of the whole aspect.
        usual: of each candidate, what is believed of its weight before any label, relative to others of its kind: 1 for
            judged ones, for signed ones from -1 to 1.
        bundles: of each candidate, what it is asked about together with: candidates of one bundle share a call.
            The empty string for those that cost no call.
        seen: shape (texts, candidates), true where the text's label had a part in making the candidate.
        scale: the raters'.
        places: of each column, which of the candidates found it is; one may be rated both by its method and in one call
            about all of them.
    """

    values: FloatArray
    labels: FloatArray
    groups: tuple[str, ...]
    methods: tuple[str, ...]
    signed: BoolArray
    unit: BoolArray
    whole: BoolArray
    usual: FloatArray
    bundles: tuple[str, ...]
    seen: BoolArray
    scale: Scale
    places: tuple[int, ...]

    def rows(self, chosen: BoolArray | IntArray) -> RatingMatrix:
        """Return the table of some of the texts, by a mask or by their places in the order wanted."""
        return replace(
            self,
            values=self.values[chosen],
            labels=self.labels[chosen],
            groups=tuple(np.array(self.groups, dtype=object)[chosen].tolist()),
            seen=self.seen[chosen],
        )

    def columns(self, chosen: Sequence[int]) -> RatingMatrix:
        """Return the table of some of the candidates, in the order given."""
        places = list(chosen)
        return replace(
            self,
            values=self.values[:, places],
            methods=tuple(self.methods[place] for place in places),
            signed=self.signed[places],
            unit=self.unit[places],
            whole=self.whole[places],
            usual=self.usual[places],
            bundles=tuple(self.bundles[place] for place in places),
            seen=self.seen[:, places],
            places=tuple(self.places[place] for place in places),
        )

    def beside(self, other: RatingMatrix) -> RatingMatrix:
        """Return the table with the columns of another one of the same texts after its own."""
        return replace(
            self,
            values=np.hstack([self.values, other.values]),
            methods=(*self.methods, *other.methods),
            signed=np.concatenate([self.signed, other.signed]),
            unit=np.concatenate([self.unit, other.unit]),
            whole=np.concatenate([self.whole, other.whole]),
            usual=np.concatenate([self.usual, other.usual]),
            bundles=(*self.bundles, *other.bundles),
            seen=np.hstack([self.seen, other.seen]),
            places=(*self.places, *other.places),
        )

    @property
    def on_scale(self) -> FloatArray:
        """Scores of judged candidates in points of the scale; those of signed ones as they are."""
        shares = self.scale.low + self.scale.width * self.values
        points: FloatArray = np.where(self.unit, shares, self.values)
        return points


def candidate_table(
    candidates: Sequence[Candidate],
    values: FloatArray,
    labels: FloatArray,
    *,
    texts: Sequence[tuple[str, str]],
    bundles: Sequence[str],
    scale: Scale,
    usual: Mapping[str, float] | None = None,
) -> RatingMatrix:
    """Return the scores of labelled texts by candidates as numbers, with what choosing and weighing need to know.

    Args:
        values, labels: as in `RatingMatrix`.
        texts: id and group of each.
        bundles: of each candidate.
        usual: by the id of a measure, which way it usually goes, from -1 to 1; 0 for one that is not named.
    """
    known = usual or {}
    criteria = [candidate.criterion for candidate in candidates]
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=tuple(group for _, group in texts),
        methods=tuple(candidate.method for candidate in candidates),
        signed=np.array([criterion.kind == "measure" for criterion in criteria], dtype=bool),
        unit=np.array([criterion.kind == "question" for criterion in criteria], dtype=bool),
        whole=np.array([criterion.kind == "score" for criterion in criteria], dtype=bool),
        usual=np.array([known.get(each.id, 0.0) if each.kind == "measure" else 1.0 for each in criteria], dtype=float),
        bundles=tuple(bundles),
        seen=_seen(candidates, texts),
        scale=scale,
        places=tuple(range(len(candidates))),
    )


def _seen(candidates: Sequence[Candidate], texts: Sequence[tuple[str, str]]) -> BoolArray:
    """Return which labels had a part in which candidate, shape (texts, candidates).

    Whole groups count: who has seen one of the texts about a source has seen the source as well.
    """
    of = dict(texts)
    groups = np.array([group for _, group in texts], dtype=object)
    columns = [np.isin(groups, [of[name] for name in candidate.made_from]) for candidate in candidates]
    return np.array(columns, dtype=bool).reshape(len(candidates), len(texts)).T


def left_out(table: RatingMatrix, folds: int, seed: int) -> Iterator[tuple[BoolArray, RatingMatrix]]:
    """Yield for each fold which texts it holds, and the table of all others.

    Candidates that one of the fold's texts had a part in making have no score there: they could know its label. A fold
    of all texts there are is left out.
    """
    fold = grouped_folds(table.groups, folds, seed)
    for number in range(int(fold.max(initial=-1)) + 1):
        inside: BoolArray = fold == number
        if not inside.all():
            told = np.flatnonzero(table.seen[inside].any(axis=0)).tolist()
            yield inside, without_columns(table, told).rows(~inside)


def without_columns(table: RatingMatrix, columns: Sequence[int]) -> RatingMatrix:
    """Return the table as if these columns had no score; places stay as they are."""
    values = table.values.copy()
    values[:, list(columns)] = np.nan
    return replace(table, values=values)


def in_order(table: RatingMatrix) -> IntArray:
    """Return the texts' places in canonical order, independent of the order of the input.

    Sums then come out the same to the last bit. Labels come last: a text's own label moves it among texts with the
    same scores at most.
    """
    group = np.unique(np.array(table.groups, dtype=str), return_inverse=True)[1]
    keys = [table.labels, *table.seen.T, *table.values.T, group]
    order: IntArray = np.lexsort(keys)
    return order


def centers_and_spreads(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column's defined values, shapes (m,) each.

    A column that does not vary has the spread 0; one without any value the center 0 too.
    """
    there = ~np.isnan(values)
    counts = np.maximum(there.sum(axis=0), 1)
    centers: FloatArray = np.where(there, values, 0.0).sum(axis=0) / counts
    off = np.where(there, values - centers, 0.0)
    spreads: FloatArray = np.sqrt((off**2).sum(axis=0) / counts)
    size = np.abs(np.where(there, values, 0.0)).max(axis=0, initial=0.0)
    return centers, np.where(spreads > SAME * size, spreads, 0.0)


def standardised(values: FloatArray, centers: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return (values - centers) / spreads, 0 where a value is missing or its column does not vary."""
    z: FloatArray = (values - centers) / np.where(spreads > 0, spreads, np.inf)
    return np.where(np.isnan(z), 0.0, z)
