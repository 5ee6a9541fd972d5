"""Mean, spread and histogram of scores, and why texts have none; kept while scores pass, in 8 bytes a text."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rubriclab.comparison.results import MAX_UNSCORED
from rubriclab.data.scale import Scale
from rubriclab.scoring import Score

BINS = 10
# Different reasons that are counted; others are counted together.
REASONS = 20
OTHER = "another reason"


@dataclass(slots=True)
class ScoreDistribution:
    """The scores of texts on a scale.

    Attributes:
        values: of the texts that have one.
        unscored: the others by reason.
    """

    scale: Scale
    values: array[float] = field(default_factory=lambda: array("d"))
    unscored: Counter[str] = field(default_factory=Counter)

    def add(self, score: Score) -> None:
        """Count one more text."""
        if score.score is not None:
            self.values.append(score.score)
            return
        reason = score.unscored or ""
        self.unscored[reason if reason in self.unscored or len(self.unscored) < REASONS else OTHER] += 1

    @property
    def mean(self) -> float | None:
        """The mean score; `None` without scores."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def standard_deviation(self) -> float | None:
        """The standard deviation with n - 1; `None` for fewer than two scores."""
        if len(self.values) < 2 or self.mean is None:
            return None
        mean = self.mean
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / (len(self.values) - 1))

    @property
    def histogram(self) -> tuple[int, ...]:
        """The numbers of scores in `BINS` bins of equal width over the scale; the ends include what lies beyond."""
        counts = [0] * BINS
        for value in self.values:
            place = int((value - self.scale.low) / self.scale.width * BINS)
            counts[min(max(place, 0), BINS - 1)] += 1
        return tuple(counts)

    def meets(self, threshold: float) -> bool | None:
        """Return whether the mean is at least `threshold`; `None` if too many texts have no score to say so."""
        unscored, mean = sum(self.unscored.values()), self.mean
        if mean is None or unscored > MAX_UNSCORED * (unscored + len(self.values)):
            return None
        return mean >= threshold

    def to_row(self) -> dict[str, Any]:
        """Return the summary as one JSON object."""
        return {
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "histogram": list(self.histogram),
            "unscored_by_reason": dict(self.unscored),
        }


def summarize_scores(scores: Iterable[Score], scale: Scale) -> ScoreDistribution:
    """Return the summary of scores on a scale."""
    summary = ScoreDistribution(scale)
    for score in scores:
        summary.add(score)
    return summary
