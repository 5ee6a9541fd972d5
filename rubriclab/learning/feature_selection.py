"""Selection of the columns that a rubric can use, and the reasons why candidates are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.learning.weighting import DesignMatrix
from rubriclab.stats.correlation import FloatArray


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
