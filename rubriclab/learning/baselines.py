"""Baselines: how well surface measures, which understand no text, agree with the labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.data.example import Example
from rubriclab.learning.rating_matrix import BoolArray, centers_and_spreads, standardised
from rubriclab.provenance import Baseline
from rubriclab.stats.correlation import FloatArray, IntArray, pearson
from rubriclab.stats.interval import DIGITS
from rubriclab.text_features import CATALOGUE, WORD_COUNT, extract_features

# Every measure of the catalogue, in its order: the columns of what is called `surface` in the training phase.
SURFACE = tuple(entry.name for entry in CATALOGUE)

CONSTANT = "constant"
WORDS = "word count"
BEST = "best surface measure"
ALL = "all surface measures"


def measure_values(examples: Sequence[Example], names: Sequence[str]) -> FloatArray:
    """Return the named surface measures of each text, shape (texts, measures), NaN where undefined."""
    rows = (extract_features(example.output, example.source, example.context) for example in examples)
    return np.array([[row[name] for name in names] for row in rows], dtype=float).reshape(-1, len(names))


def best_measure(examples: Sequence[Example], aspect: str) -> Baseline | None:
    """Return the measure that correlates most with the scores of `aspect`, in either direction.

    Only measures defined for every text compete. `None` if none of them varies with the scores.
    """
    names = [entry.name for entry in CATALOGUE]
    values = measure_values(examples, names)
    labels = np.array([example.scores[aspect] for example in examples], dtype=float)
    correlations: list[tuple[float, str]] = []
    for name, column in zip(names, values.T, strict=True):
        r = math.nan if np.isnan(column).any() else pearson(column, labels)
        if not math.isnan(r):
            correlations.append((r, name))
    if not correlations:
        return None
    r, name = max(correlations, key=lambda pair: (round(abs(pair[0]), DIGITS), pair[1]))
    return Baseline(measure=name, sign=1 if r >= 0 else -1, pearson=round(r, DIGITS))


def held_out_baselines(surface: FloatArray, labels: FloatArray, fold: IntArray) -> dict[str, FloatArray]:
    """Return what evaluators that cost nothing say of each text, fitted to the labels of the other folds alone.

    - `constant`: the same of every text. What its value is makes no difference to a correlation, and the means of the
      other folds' labels must not stand for it: they are high where the fold's own labels are low.
    - `word count`: which takes no fit.
    - `best surface measure`: the one with the largest correlation, in its direction.
    - `all surface measures`: one component of partial least squares (Wold, Sjostrom & Eriksson 2001, "PLS-regression:
      a basic tool of chemometrics", Chemometrics and Intelligent Laboratory Systems 58).

    The last two are in points of the labels' scale above the mean of the other folds, without that mean, for the same
    reason. Measures missing in a text count there as average; those missing in some text cannot be the best.

    Args:
        surface: shape (texts, measures), columns as in `SURFACE`, NaN where undefined.
        labels: shape (texts,).
        fold: of each text, shape (texts,).
    """
    best, everything = np.zeros(len(labels)), np.zeros(len(labels))
    for left_out in np.unique(fold):
        inside = fold == left_out
        if not inside.all():
            best[inside], everything[inside] = _fitted_baselines(surface, labels, ~inside)[:, inside]
    words = surface[:, SURFACE.index(WORD_COUNT)]
    return {CONSTANT: np.zeros(len(labels)), WORDS: words, BEST: best, ALL: everything}


def _fitted_baselines(surface: FloatArray, labels: FloatArray, others: BoolArray) -> FloatArray:
    """Return the best measure and all measures, fitted to `others`: shape (2, texts); 0 where nothing tracks them."""
    z = standardised(surface, *centers_and_spreads(surface[others]))
    aims = labels[others] - labels[others].mean()
    covariances = z[others].T @ aims / len(aims)
    complete: BoolArray = ~np.any(np.isnan(surface), axis=0)
    place = int(np.argmax(np.abs(covariances) * complete))
    component = z @ covariances
    size = float(component[others] @ component[others])
    slope = float(component[others] @ aims) / size if size > 0 else 0.0
    return np.stack([z[:, place] * covariances[place] * complete[place], component * slope])
