"""Labelled texts by candidate criteria, as numbers: what choosing, weighing and calibrating see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rubriclab.data.scale import Scale
from rubriclab.stats.correlation import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """The candidates' scores of the labelled texts.

    Attributes:
        values: shape (texts, candidates), NaN where there is no score. Questions 0 to 1, measures in their own units,
            everything else on the raters' scale.
        labels: human scores, shape (texts,).
        groups: of each text.
        methods: of each candidate, the one it came from.
        signed: of each candidate, whether more of it may be worse; false where its wording says which end is better.
        unit: of each candidate, whether its scores are shares, 0 to 1, rather than points of the scale.
        bundles: of each candidate, what it is asked about together with: candidates of one bundle share a call.
            The empty string for those that cost no call.
        seen: shape (texts, candidates), true where the text's label had a part in making the candidate.
        scale: the raters'.
    """

    values: FloatArray
    labels: FloatArray
    groups: tuple[str, ...]
    methods: tuple[str, ...]
    signed: BoolArray
    unit: BoolArray
    bundles: tuple[str, ...]
    seen: BoolArray
    scale: Scale

    def rows(self, chosen: BoolArray | IntArray) -> Table:
        """Return the table of some of the texts, by a mask or by their places in the order wanted."""
        return replace(
            self,
            values=self.values[chosen],
            labels=self.labels[chosen],
            groups=tuple(np.array(self.groups, dtype=object)[chosen].tolist()),
            seen=self.seen[chosen],
        )

    def columns(self, chosen: Sequence[int]) -> Table:
        """Return the table of some of the candidates, in the order given."""
        places = list(chosen)
        return replace(
            self,
            values=self.values[:, places],
            methods=tuple(self.methods[place] for place in places),
            signed=self.signed[places],
            unit=self.unit[places],
            bundles=tuple(self.bundles[place] for place in places),
            seen=self.seen[:, places],
        )

    @property
    def on_scale(self) -> FloatArray:
        """Scores of judged candidates in points of the scale; those of signed ones as they are."""
        shares = self.scale.low + self.scale.width * self.values
        points: FloatArray = np.where(self.unit, shares, self.values)
        return points
