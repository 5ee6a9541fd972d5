"""How much scores depend on the order in which a call shows rivals: the same texts rated in two orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rubriclab.data.scale import show
from rubriclab.stats.correlation import FloatArray, floats, spearman
from rubriclab.stats.interval import rounded


@dataclass(frozen=True, slots=True)
class OrderAgreement:
    """Agreement of the scores of the same texts, shown in one order and in the reverse one.

    Attributes:
        calls: number of calls that were repeated in the reverse order.
        texts: number of their texts with a score in both orders.
        spearman: mean over calls of Spearman's correlation between the two scores; `None` if undefined in every call.
        difference: mean absolute difference of the two scores, in points.
        first_over_last: how many points higher a text scores as the first of a call than as its last, by least squares;
            `None` without scores.
    """

    calls: int
    texts: int
    spearman: float | None
    difference: float | None
    first_over_last: float | None

    def describe(self) -> str:
        """Return the agreement in a sentence."""
        if self.difference is None:
            return "two orders of the texts in a call: no text has a score in both"
        about = f"{self.calls} calls with {self.texts} texts" if self.calls > 1 else f"1 call with {self.texts} texts"
        parts = [f"the scores differ by {show(self.difference)} points on average"]
        if self.spearman is not None:
            parts.insert(0, f"Spearman {self.spearman:.2f} within calls")
        if self.first_over_last is not None:
            parts.append(f"the first place of a call adds {self.first_over_last:+.2f} points compared with the last")
        return f"two orders of the texts in {about}: {', '.join(parts)}"


@dataclass(slots=True)
class OrderCheck:
    """The scores of texts in two orders, one call after the other.

    Attributes:
        wanted: number of calls to repeat in the reverse order: the first ones with at least two texts.
        begun: number of those that were begun.
        pairs: for each repeated call the scores in both orders, shape (2, texts), texts in the first order; NaN if
            missing.
    """

    wanted: int
    begun: int = 0
    pairs: list[FloatArray] = field(default_factory=list)

    def begin(self, texts: int) -> bool:
        """Return whether a call about so many texts is to be repeated, and count it."""
        repeat = texts > 1 and self.begun < self.wanted
        self.begun += repeat
        return repeat

    def add(self, first: Sequence[float | None], reverse: Sequence[float | None]) -> None:
        """Add the scores of a call's texts, each in the order in which its call showed them."""
        self.pairs.append(np.stack([floats(first), floats(reversed(reverse))]))

    def agreement(self) -> OrderAgreement | None:
        """Return the agreement of the two orders, `None` if no call was repeated."""
        if not self.pairs:
            return None
        correlations = [_spearman(pair) for pair in self.pairs]
        differences, distances = np.concatenate([_differences(pair) for pair in self.pairs], axis=1)
        defined = [value for value in correlations if not np.isnan(value)]
        squares = float((distances**2).sum())
        return OrderAgreement(
            calls=len(self.pairs),
            texts=len(differences),
            spearman=rounded(float(np.mean(defined))) if defined else None,
            difference=rounded(float(np.abs(differences).mean())) if len(differences) else None,
            first_over_last=rounded(float((differences * distances).sum()) / squares) if squares else None,
        )


def _spearman(pair: FloatArray) -> float:
    there = ~np.isnan(pair).any(axis=0)
    return spearman(*pair[:, there]) if there.sum() > 1 else np.nan


def _differences(pair: FloatArray) -> FloatArray:
    """Return how much higher each text scores in the first order, and how much earlier it stands there.

    Shape (2, texts with both scores). A text that moves from the last place to the first stands 1 earlier.
    """
    places = np.arange(pair.shape[1])
    earlier = (places[::-1] - places) / (pair.shape[1] - 1)
    there = ~np.isnan(pair).any(axis=0)
    return np.array([(pair[0] - pair[1])[there], earlier[there]])
