"""Baselines without calls: agreement of text features with the labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.models.text import Example
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT, Features
from rubriclab.models.version import Baseline
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, pearson
from rubriclab.stats.interval import DIGITS

# Columns of a matrix of text features, in the order of the catalogue.
FEATURE_NAMES = tuple(entry.name for entry in CATALOGUE)

CONSTANT = "constant"
WORDS = "word count"
BEST = "best text feature"
ALL = "all text features"


def feature_values(examples: Sequence[Example], names: Sequence[str]) -> FloatArray:
    """Return the named text features of each text, shape (texts, features), NaN where undefined."""
    rows = (Features(example.output, example.source, example.context) for example in examples)
    return np.array([[row[name] for name in names] for row in rows], dtype=float).reshape(-1, len(names))


def best_feature(examples: Sequence[Example], aspect: str) -> Baseline | None:
    """Return the text feature that correlates most with the scores of `aspect`, in either direction.

    Only features defined for every text are considered. `None` if none of them varies with the scores.
    """
    names = [entry.name for entry in CATALOGUE]
    values = feature_values(examples, names)
    labels = np.array([example.scores[aspect] for example in examples], dtype=float)
    correlations: list[tuple[float, str]] = []
    for name, column in zip(names, values.T, strict=True):
        r = math.nan if np.isnan(column).any() else pearson(column, labels)
        if not math.isnan(r):
            correlations.append((r, name))
    if not correlations:
        return None
    r, name = max(correlations, key=lambda pair: (round(abs(pair[0]), DIGITS), pair[1]))
    return Baseline(feature=name, sign=1 if r >= 0 else -1, pearson=round(r, DIGITS))


def held_out_baselines(features: FloatArray, labels: FloatArray, fold: IntArray) -> dict[str, FloatArray]:
    """Return the scores of each text by baselines without calls, fitted only to the labels of the other folds.

    - `constant`: the same score for every text. Its value does not affect a correlation; the mean label of the other
      folds must not be used, as it is high where the fold's own labels are low.
    - `word count`: not fitted.
    - `best text feature`: the one with the largest correlation, in its direction.
    - `all text features`: one component of partial least squares (Wold, Sjostrom & Eriksson 2001, "PLS-regression:
      a basic tool of chemometrics", Chemometrics and Intelligent Laboratory Systems 58).

    The last two are deviations from the mean label of the other folds, in points of the labels' scale, for the same
    reason. A missing feature counts as average; a feature that is missing in any text cannot be the best.

    Args:
        features: shape (texts, features), columns as in `FEATURE_NAMES`, NaN where undefined.
        labels: shape (texts,).
        fold: of each text, shape (texts,).
    """
    best, everything = np.zeros(len(labels)), np.zeros(len(labels))
    for left_out in np.unique(fold):
        inside = fold == left_out
        if not inside.all():
            best[inside], everything[inside] = _fitted_baselines(features, labels, ~inside)[:, inside]
    words = features[:, FEATURE_NAMES.index(WORD_COUNT)]
    return {CONSTANT: np.zeros(len(labels)), WORDS: words, BEST: best, ALL: everything}


def _fitted_baselines(features: FloatArray, labels: FloatArray, others: BoolArray) -> FloatArray:
    """Return the best text feature and all features, fitted to `others`, shape (2, texts); 0 if none correlates."""
    z = standardised(features, *centers_and_spreads(features[others]))
    aims = labels[others] - labels[others].mean()
    covariances = z[others].T @ aims / len(aims)
    complete: BoolArray = ~np.any(np.isnan(features), axis=0)
    place = int(np.argmax(np.abs(covariances) * complete))
    component = z @ covariances
    size = float(component[others] @ component[others])
    slope = float(component[others] @ aims) / size if size > 0 else 0.0
    return np.stack([z[:, place] * covariances[place] * complete[place], component * slope])
