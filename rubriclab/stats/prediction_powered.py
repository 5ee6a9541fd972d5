"""The mean human score of many scored texts, estimated from the few that people have labelled.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, "Prediction-powered inference",
Science 382) corrects the mean of the judge's scores by the labelled texts' mean error. The scores are first multiplied
by a factor from 0 to 1 with which the estimate is most precise (Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient
Prediction-Powered Inference", section 6), so that scores without information do no harm.

The estimate is of these very texts, not of a population that they are drawn from. Its error is therefore that of two
means of the residuals, over the labelled texts and over these. The factor is the slope of the labels over the scores of
the labelled texts; PPI++'s, which also uses the variance of the other scores, approaches it for many texts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import CONFIDENCE, FEWEST_GROUPS
from rubriclab.stats.paired import standard_error

UNLIKE = 0.01
"""Scores are unlike those of the labelled texts if chance would make them so with at most this probability."""


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Texts with a label, and scores that were given without it.

    Attributes:
        labels, scores: of the same texts, shape (n,), without NaN.
        unit: the group of each, numbered from 0 without gaps.
    """

    labels: FloatArray
    scores: FloatArray
    unit: IntArray

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def factor(self) -> float:
        """What scores are multiplied by; 0 if they do not vary."""
        variance = float(self.scores.var())
        covariance = float(((self.scores - self.scores.mean()) * self.labels).mean())
        return min(max(covariance / variance, 0.0), 1.0) if variance > 0 else 0.0

    @property
    def residuals(self) -> FloatArray:
        """The labels less the multiplied scores."""
        return self.labels - self.factor * self.scores


def corrected_mean(
    mean: float, texts: int, groups: int, labelled: LabelledScores, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean human score of texts that are scored, with Student's interval over groups.

    Without at least `FEWEST_GROUPS` groups of labelled texts there is neither.

    Args:
        mean: of the scores of `texts` texts in `groups` groups.
        labelled: texts like them.
        confidence: of the interval.
    """
    from scipy.special import stdtrit

    if labelled.groups < FEWEST_GROUPS or not texts:
        return Interval(None)
    value = labelled.factor * mean + float(labelled.residuals.mean())
    # Residuals of a group are alike, so the mean over these texts varies by groups or by texts, whichever are fewer.
    ratio = max(labelled.groups / groups, len(labelled.labels) / texts)
    error = standard_error(labelled.residuals, labelled.unit) * math.sqrt(1 + ratio)
    # The residuals' mean and the factor are estimated.
    margin = float(stdtrit(labelled.groups - 2, (1 + confidence) / 2)) * error
    return Interval(value, value - margin, value + margin)


def labels_for_margin(labelled: LabelledScores, margin: float) -> int:
    """Return about how many labels give an interval of `margin` on either side, for many texts at 95 %."""
    error = standard_error(labelled.residuals, labelled.unit)
    return math.ceil(len(labelled.labels) * (1.96 * error / margin) ** 2)


def unlike(scores: FloatArray, groups: int, labelled: LabelledScores) -> bool:
    """Return whether scores of texts in so many groups are distributed unlike those of the labelled texts.

    By the test of Kolmogorov and Smirnov, which counts groups instead of texts, as texts of a group are alike.
    """
    from scipy.special import kolmogorov

    ends = np.concatenate([scores, labelled.scores])
    first, second = (
        np.searchsorted(np.sort(each), ends, side="right") / len(each) for each in (scores, labelled.scores)
    )
    distance = float(np.abs(first - second).max())
    return bool(kolmogorov(math.sqrt(groups * labelled.groups / (groups + labelled.groups)) * distance) <= UNLIKE)
