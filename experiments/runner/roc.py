"""How well scores tell texts of two kinds from each other: the area under the ROC curve."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rubriclab.stats import FloatArray, Interval, estimate

# Resamples are weighted one by one; more of them change the interval's ends by less than a hundredth.
RESAMPLES = 500


def auroc(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    *,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the area under the ROC curve, with a bootstrap interval over texts.

    It is the probability that a positive text scores above a negative one, ties counting half. It is None where all
    texts are of one kind.

    Args:
        scores: n scores, nan where there is none; these texts are left out.
        positive: n truth values.

    Raises:
        ValueError: if the lengths differ.
    """
    from sklearn.metrics import roc_auc_score

    values, kinds = np.asarray(scores, dtype=float), np.asarray(positive, dtype=bool)
    if values.shape != kinds.shape:
        raise ValueError(f"positive: expected {len(values)} truth values, one for each score, got {len(kinds)}")
    known = ~np.isnan(values)
    values, kinds = values[known], kinds[known]

    def statistic(counts: FloatArray) -> FloatArray:
        return np.array([_area(weights) for weights in counts], dtype=float)

    def _area(weights: FloatArray) -> float:
        drawn = weights > 0
        if len(set(kinds[drawn].tolist())) < 2:
            return float("nan")
        return float(roc_auc_score(kinds[drawn], values[drawn], sample_weight=weights[drawn]))

    return estimate(statistic, len(values), resamples=resamples, confidence=confidence, seed=seed, batch=50)
