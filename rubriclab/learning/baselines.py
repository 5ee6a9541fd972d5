"""Baselines that make no calls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.learning.matrix import centers_and_spreads, standardize
from rubriclab.models.evaluation import ALL_FEATURES
from rubriclab.models.text import Example
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT, Features
from rubriclab.models.version import Baseline
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, pearson
from rubriclab.stats.intervals import DIGITS

# Columns of a matrix of text features, in the order of the catalogue.
FEATURE_NAMES = tuple(entry.name for entry in CATALOGUE)

CONSTANT = "constant"


def feature_values(examples: Sequence[Example], names: Sequence[str]) -> FloatArray:
    """Return the named text features of each text, shape (texts, features), NaN where undefined."""
    rows = (Features(example.output, example.source, example.context) for example in examples)
    return np.array([[row[name] for name in names] for row in rows], dtype=float).reshape(-1, len(names))


def best_feature(examples: Sequence[Example], aspect: str) -> Baseline | None:
    """Return the text feature, defined for every text, that correlates most with the labels of `aspect`.

    `None` if no correlation is defined. The baseline's `model` is a formula of all text features, fitted to all labels.
    """
    labels = [example.scores[aspect] for example in examples]
    values = feature_values(examples, FEATURE_NAMES)
    correlation_of: dict[str, float] = {}
    for name, column in zip(FEATURE_NAMES, values.T, strict=True):
        r = math.nan if np.isnan(column).any() else pearson(column, labels)
        if not math.isnan(r):
            correlation_of[name] = r
    if not correlation_of:
        return None
    # Rounded, so that the last bits of a sum do not decide ties.
    best = max(correlation_of, key=lambda name: (round(abs(correlation_of[name]), DIGITS), name))
    centers, spreads = centers_and_spreads(values)
    z, deviations = standardize(values, centers, spreads), np.array(labels) - np.mean(labels)
    weights = np.divide(z.T @ deviations, spreads, out=np.zeros(len(spreads)), where=spreads > 0)
    formula = {
        name: (float(f"{center:.6g}"), float(f"{weight:.6g}"))
        for name, center, weight in zip(FEATURE_NAMES, centers, weights, strict=True)
        if weight
    }
    sign = 1 if correlation_of[best] >= 0 else -1
    return Baseline(feature=best, sign=sign, pearson=round(correlation_of[best], DIGITS), model=formula)


def held_out_baselines(features: FloatArray, labels: FloatArray, fold_numbers: IntArray) -> dict[str, FloatArray]:
    """Return each text's scores by baselines that make no calls, fitted only to the labels of the other folds.

    The baseline of all text features is the first component of partial least squares (Wold, Sjostrom & Eriksson 2001,
    "PLS-regression: a basic tool of chemometrics", Chemometrics and Intelligent Laboratory Systems 58). The mean
    label of the other folds is not added to fitted scores, since it is high where the fold's own labels are low.

    Args:
        features: shape (texts, features), columns as in `FEATURE_NAMES`; NaN where undefined, which counts as average.
        fold_numbers: the fold of each text, shape (texts,).
    """
    best_feature_scores, component_scores = np.zeros(len(labels)), np.zeros(len(labels))
    is_complete: BoolArray = ~np.any(np.isnan(features), axis=0)
    for left_out in np.unique(fold_numbers):
        in_fold, training = fold_numbers == left_out, fold_numbers != left_out
        if not training.any():
            continue
        z = standardize(features, *centers_and_spreads(features[training]))
        deviations = labels[training] - labels[training].mean()
        covariances = z[training].T @ deviations / len(deviations)
        strongest = int(np.argmax(np.abs(covariances) * is_complete))
        if is_complete[strongest]:
            best_feature_scores[in_fold] = z[in_fold, strongest] * covariances[strongest]
        component = z @ covariances
        squares = float(component[training] @ component[training])
        slope = float(component[training] @ deviations) / squares if squares > 0 else 0.0
        component_scores[in_fold] = component[in_fold] * slope
    return {
        CONSTANT: np.zeros(len(labels)),
        "word count": features[:, FEATURE_NAMES.index(WORD_COUNT)],
        "best text feature": best_feature_scores,
        ALL_FEATURES: component_scores,
    }
