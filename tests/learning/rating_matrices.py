"""Rating matrices of invented judgments of known quality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from rubriclab.learning.baselines import FEATURE_NAMES
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import FloatArray

SCALE = Scale(low=1, high=5, whole=False)


def matrix(values: FloatArray, labels: FloatArray, groups: Iterable[str], **given: Any) -> RatingMatrix:
    """Return texts by hypotheses, on a scale from -5 to 5."""
    n, m = values.shape
    nothing = np.zeros(m, dtype=bool)
    usual = {
        "methods": ("hypoeval",) * m,
        "is_feature": nothing,
        "is_question": nothing,
        "holistic": nothing,
        "prior_weights": np.ones(m),
        "is_from_own_group": np.zeros((n, m), dtype=bool),
        "scale": Scale(low=-5, high=5, whole=False),
    }
    return RatingMatrix(values=values, labels=labels, groups=tuple(groups), **{**usual, **given})


def follow(rng: np.random.Generator, target: FloatArray, r: float) -> FloatArray:
    """Return a column that correlates with a standard normal target at about r."""
    return r * target + np.sqrt(1 - r**2) * rng.normal(size=len(target))


def table(seed: int = 0, *, n: int = 40, rivals: int = 2, quality: tuple[float, ...] = (0.6, 0.5, 0.4)) -> RatingMatrix:
    """Return n texts, `rivals` to a group, with `direct` as the first candidate and hypotheses as the others."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=n)
    values = np.column_stack([follow(rng, labels, r) for r in quality])
    groups, m = (f"g{place // rivals:03d}" for place in range(n)), len(quality)
    return matrix(values, labels, groups, methods=("direct", *("hypoeval",) * (m - 1)), holistic=np.arange(m) == 0)


def measures(seed: int, n: int, **given: FloatArray) -> FloatArray:
    """Return text features of n texts: noise, but for those given by name."""
    noise = np.random.default_rng([seed, 1]).normal(size=(n, len(FEATURE_NAMES)))
    for name, values in given.items():
        noise[:, FEATURE_NAMES.index(name)] = values
    return noise


def made_up(
    seed: int = 0, *, texts: int = 30, groups: int = 10, informed: int = 4, idle: int = 4, measures: int = 0
) -> RatingMatrix:
    """Return a table of candidates of two methods, of which some follow the labels with noise, and some nothing.

    Three judged scores in a hundred are missing. Measures follow the labels downwards and cost nothing.
    """
    rng = np.random.default_rng(seed)
    labels = rng.normal(3, 1, texts).clip(1, 5).round(2)
    judged = informed + idle
    is_feature = np.arange(judged + measures) >= judged
    own = labels[:, np.newaxis] + rng.normal(0, 1, (texts, informed))
    noise = rng.normal(3, 1, (texts, idle))
    values = np.hstack([own, noise, -labels[:, np.newaxis] + rng.normal(0, 1, (texts, measures))])
    values[:, :judged][rng.random((texts, judged)) < 0.03] = np.nan
    return matrix(
        values,
        labels,
        (f"g{number % groups}" for number in range(texts)),
        methods=(*("hypoeval" if place % 2 else "direct" for place in range(judged)), *("text_features",) * measures),
        is_feature=is_feature,
        prior_weights=np.where(is_feature, -1.0, 1.0),
        scale=SCALE,
    )


def with_whole(table: RatingMatrix) -> RatingMatrix:
    """Return a table whose first candidate is a score of the whole text."""
    return replace(table, holistic=np.arange(len(table.methods)) == 0)
