"""One of two sets of texts that are compared, as a table of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.learning.rating_matrix import BoolArray
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import units

# More texts of one side make a figure no surer where the other side has thirty.
MOST_TEXTS = 1000


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of texts that are compared with others.

    Attributes:
        values: shape (texts, columns), NaN where missing.
        groups: of the texts.
    """

    values: FloatArray
    groups: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def units(self) -> IntArray:
        """What each text is drawn or left out with, numbered from 0: its group, or itself where there is only one."""
        return units(self.groups)

    @property
    def there(self) -> BoolArray:
        """Where there is a value, shape (texts, columns)."""
        return ~np.isnan(self.values)

    def columns(self, places: IntArray) -> Sample:
        """Return the side with these columns only."""
        return Sample(self.values[:, places], self.groups)

    def rows(self, places: IntArray) -> Sample:
        """Return the side with these texts only."""
        return Sample(self.values[places], tuple(self.groups[place] for place in places.tolist()))


def some_texts(side: Sample, seed: int) -> Sample:
    """Return the texts, or `MOST_TEXTS` of them, drawn by the seed, in their order."""
    if len(side) <= MOST_TEXTS:
        return side
    return side.rows(np.sort(np.random.default_rng(seed).choice(len(side), MOST_TEXTS, replace=False)))
