"""Tables of invented judgments of known quality, for tests of the gate."""

from __future__ import annotations

import numpy as np

from rubriclab.learning.baselines import FEATURE_NAMES
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import FloatArray


def follow(rng: np.random.Generator, target: FloatArray, r: float) -> FloatArray:
    """Return a column that correlates with a standard normal target at about r."""
    return r * target + np.sqrt(1 - r**2) * rng.normal(size=len(target))


def table(
    seed: int = 0, *, n: int = 40, rivals: int = 2, quality: tuple[float, ...] = (0.6, 0.5, 0.4), **columns: FloatArray
) -> RatingMatrix:
    """Return n texts, `rivals` to a group, with `direct` as the first candidate and hypotheses as the others."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=n)
    values = np.column_stack([*(follow(rng, labels, r) for r in quality), *columns.values()])
    m = values.shape[1]
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=tuple(f"g{place // rivals:03d}" for place in range(n)),
        methods=("direct", *("hypoeval",) * (m - 1)),
        signed=np.zeros(m, dtype=bool),
        unit=np.zeros(m, dtype=bool),
        holistic=np.arange(m) == 0,
        prior_direction=np.ones(m),
        seen=np.zeros((n, m), dtype=bool),
        scale=Scale(low=-5, high=5, whole=False),
    )


def measures(seed: int, n: int, **given: FloatArray) -> FloatArray:
    """Return text features of n texts: noise, but for those given by name."""
    noise = np.random.default_rng([seed, 1]).normal(size=(n, len(FEATURE_NAMES)))
    for name, values in given.items():
        noise[:, FEATURE_NAMES.index(name)] = values
    return noise
