"""Tables of scores made up for the tests of choosing and weighing."""

from __future__ import annotations

import numpy as np

from rubriclab.learning.matrix import RatingMatrix
from rubriclab.models.text import Scale

SCALE = Scale(low=1, high=5, whole=False)


def made_up(
    seed: int = 0, *, texts: int = 30, groups: int = 10, informed: int = 4, idle: int = 4, measures: int = 0
) -> RatingMatrix:
    """Return a table of candidates of two methods, of which some follow the labels with noise, and some nothing.

    Every third judged score in a hundred is missing. Measures follow the labels downwards and cost nothing.
    """
    rng = np.random.default_rng(seed)
    labels = np.round(np.clip(rng.normal(3, 1, texts), 1, 5), 2)
    judged = informed + idle
    follow = labels[:, np.newaxis] + rng.normal(0, 1, (texts, informed))
    values = np.hstack(
        [follow, rng.normal(3, 1, (texts, idle)), -labels[:, np.newaxis] + rng.normal(0, 1, (texts, measures))]
    )
    values[:, :judged][rng.random((texts, judged)) < 0.03] = np.nan
    methods = tuple("hypoeval" if place % 2 else "direct" for place in range(judged))
    return RatingMatrix(
        values=values,
        labels=labels,  # type: ignore[arg-type]
        groups=tuple(f"g{number % groups}" for number in range(texts)),
        methods=methods + ("text_features",) * measures,
        signed=np.arange(judged + measures) >= judged,
        unit=np.zeros(judged + measures, dtype=bool),
        holistic=np.zeros(judged + measures, dtype=bool),
        prior_direction=np.where(np.arange(judged + measures) >= judged, -1.0, 1.0),
        seen=np.zeros((texts, judged + measures), dtype=bool),
        scale=SCALE,
    )
