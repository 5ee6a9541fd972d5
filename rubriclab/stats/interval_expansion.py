"""What a percentile interval has to cover among few resamples' clusters for the coverage that is asked for."""

from __future__ import annotations

import math

# The quantiles of the resamples are the least and the largest from here on.
MOST = 1 - 1e-9


def expanded_confidence(confidence: float, clusters: int) -> float:
    """The share of the resamples that an interval has to hold to cover the truth with `confidence`.

    A bootstrap of few clusters varies less than the data did: by a factor sqrt((n - 1) / n), and as if the spread were
    known. Hesterberg 2015 ("What Teachers Should Know About the Bootstrap", The American Statistician 69, section 3,
    "expanded percentile interval") moves the quantiles outwards to those of Student's t. With many clusters nothing
    changes; with fewer than two there is nothing to expand.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    from scipy.special import ndtr, stdtrit

    if not 0 < confidence < 1:
        raise ValueError(f"confidence: expected a share between 0 and 1, such as 0.95, got {confidence}")
    if clusters < 2:
        return confidence
    reach = math.sqrt(clusters / (clusters - 1)) * float(stdtrit(clusters - 1, (1 + confidence) / 2))
    return min(1 - 2 * float(ndtr(-reach)), MOST)
