"""One of two samples of texts that are compared, as a table of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.folds import units

# Beyond this, more texts in one sample do not make an estimate more certain if the other has thirty.
MAX_TEXTS = 1000


@dataclass(frozen=True, eq=False)
class Sample:
    """Texts of the source or of the target.

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
        """The resampling unit of each text, from 0: its group, or the text itself if there is only one group."""
        return units(self.groups)

    @property
    def present(self) -> BoolArray:
        """Whether there is a value, shape (texts, columns)."""
        return ~np.isnan(self.values)

    def columns(self, columns: IntArray) -> Sample:
        """Return the sample with these columns only."""
        return Sample(self.values[:, columns], self.groups)

    def rows(self, rows: IntArray) -> Sample:
        """Return the sample with these texts only."""
        return Sample(self.values[rows], tuple(self.groups[row] for row in rows.tolist()))

    def capped(self, seed: int) -> Sample:
        """Return the sample, or `MAX_TEXTS` of its texts drawn by the seed, in their order."""
        if len(self) <= MAX_TEXTS:
            return self
        return self.rows(np.sort(np.random.default_rng(seed).choice(len(self), MAX_TEXTS, replace=False)))
