"""How many more labels would turn an inconclusive comparison into a decision.

The chance of a decision is averaged over possible true differences, given the estimate and a normal prior around 0, and
over possible true standard errors (assurance, O'Hagan, Stevens & Campbell 2005, "Assurance in clinical trial design",
Pharmaceutical Statistics 4).
"""

from __future__ import annotations

import numpy as np

from rubriclab.models import evaluation
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import CONFIDENCE, MIN_GROUPS, Interval

# The prior standard deviation of true differences between a rubric and a baseline.
PRIOR_DEVIATION = 0.2
# `more_labels` returns the numbers of labels, in steps of `LABELS_STEP`, that give these chances of a decision.
EVEN_CHANCE, LIKELY_CHANCE = 0.5, 0.8
LABELS_STEP = 10
# The true standard error is unknown, so chances are averaged over this number of equally likely values.
ERROR_QUANTILES = 9


def more_labels(interval: Interval, n_labels: int, clusters: int) -> evaluation.MoreLabels | None:
    """Return how many labels beyond `n_labels` would decide a difference in correlation; `None` if undefined."""
    if interval.value is None or interval.low is None or interval.high is None or clusters < MIN_GROUPS:
        return None
    more = np.arange(LABELS_STEP, evaluation.MAX_MORE_LABELS + 1, LABELS_STEP, dtype=np.float64)
    chances = decision_chances(interval.value, (interval.high - interval.low) / 2, n_labels, clusters, more)

    def fewest(chance: float) -> int | None:
        enough = more[chances >= chance]
        return int(enough[0]) if len(enough) else None

    return evaluation.MoreLabels(even=fewest(EVEN_CHANCE), likely=fewest(LIKELY_CHANCE))


def decision_chances(value: float, margin: float, n_labels: int, clusters: int, more: FloatArray) -> FloatArray:
    """Return the chance of a decision for each number of `more` labels; `n_labels` labels gave `value` ± `margin`."""
    from scipy.special import chdtri, ndtr, stdtrit

    degrees_of_freedom = clusters - 1
    upper_probability = (1 + CONFIDENCE) / 2
    probabilities = (np.arange(ERROR_QUANTILES) + 0.5) / ERROR_QUANTILES
    true_to_estimated = np.sqrt(degrees_of_freedom / chdtri(degrees_of_freedom, probabilities))
    # Possible true standard errors of `value`, in rows; columns are for the numbers of `more` labels.
    standard_error = (margin / stdtrit(degrees_of_freedom, upper_probability) * true_to_estimated)[:, np.newaxis]
    true_difference_variance = 1 / (1 / PRIOR_DEVIATION**2 + 1 / standard_error**2)
    total_labels = n_labels + more
    share_present = n_labels / total_labels
    total_clusters = clusters * total_labels / n_labels
    # The estimate from all labels is predicted to be normal, with this mean and this standard deviation.
    mean = share_present * value + (1 - share_present) * true_difference_variance * value / standard_error**2
    deviation = (1 - share_present) * np.sqrt(true_difference_variance + standard_error**2 * n_labels / more)
    new_margin = stdtrit(total_clusters - 1, upper_probability) * standard_error * np.sqrt(share_present)
    # The rubric is not better if the upper end is below the smallest effect, or below 0 if groups are too few for that.
    limit = np.where(total_clusters >= evaluation.MIN_GROUPS_TO_RULE_OUT, evaluation.MIN_EFFECT, 0.0)
    better = 1 - ndtr((new_margin - mean) / deviation)
    not_better = ndtr((limit - new_margin - mean) / deviation)
    # An interval narrower than the smallest effect always decides.
    return np.asarray(np.where(2 * new_margin < limit, 1.0, better + not_better).mean(axis=0))
