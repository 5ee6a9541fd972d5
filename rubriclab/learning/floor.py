"""The floor: how far surface measures get that never understand a text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.data.example import Example
from rubriclab.measures import CATALOGUE, measure
from rubriclab.rubric import DIGITS, Floor
from rubriclab.stats.correlation import FloatArray, pearson


def measure_values(examples: Sequence[Example], names: Sequence[str]) -> FloatArray:
    """Return the named surface measures of each text, shape (texts, measures), NaN where undefined."""
    rows = (measure(example.output, example.source, example.context) for example in examples)
    return np.array([[row[name] for name in names] for row in rows], dtype=float).reshape(-1, len(names))


def best_measure(examples: Sequence[Example], aspect: str) -> Floor | None:
    """Return the measure that correlates most with the scores of `aspect`, in either direction.

    Only measures defined for every text compete. `None` if none of them varies with the scores.
    """
    names = [entry.name for entry in CATALOGUE]
    values = measure_values(examples, names)
    labels = np.array([example.scores[aspect] for example in examples], dtype=float)
    found: list[tuple[float, str]] = []
    for name, column in zip(names, values.T, strict=True):
        r = math.nan if np.isnan(column).any() else pearson(column, labels)
        if not math.isnan(r):
            found.append((r, name))
    if not found:
        return None
    r, name = max(found, key=lambda pair: (round(abs(pair[0]), DIGITS), pair[1]))
    return Floor(measure=name, sign=1 if r >= 0 else -1, pearson=round(r, DIGITS))
