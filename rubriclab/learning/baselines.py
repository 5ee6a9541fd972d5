"""Baselines that make no calls, and the rubric of the plain question."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.learning.matrix import centers_and_spreads, standardise
from rubriclab.methods.holistic import BaselineSettings, whole_aspect
from rubriclab.models.evaluation import ALL_FEATURES
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Assignment, Example
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

    It has the model of all text features of `held_out_baselines`, fitted to all labels.
    """
    labels, values = [example.scores[aspect] for example in examples], feature_values(examples, FEATURE_NAMES)
    complete = [
        (name, column) for name, column in zip(FEATURE_NAMES, values.T, strict=True) if not np.isnan(column).any()
    ]
    correlations = [(pearson(column, labels), name) for name, column in complete]
    defined = [(r, name) for r, name in correlations if not math.isnan(r)]
    if not defined:
        return None
    r, name = max(defined, key=lambda pair: (round(abs(pair[0]), DIGITS), pair[1]))
    centers, spreads = centers_and_spreads(values)
    z, deviations = standardise(values, centers, spreads), np.array(labels) - np.mean(labels)
    weights = np.divide(z.T @ deviations, spreads, out=np.zeros(len(spreads)), where=spreads > 0)
    model = {
        each: (float(f"{center:.6g}"), float(f"{weight:.6g}"))
        for each, center, weight in zip(FEATURE_NAMES, centers, weights, strict=True)
        if weight
    }
    return Baseline(feature=name, sign=1 if r >= 0 else -1, pearson=round(r, DIGITS), model=model)


def held_out_baselines(features: FloatArray, labels: FloatArray, fold: IntArray) -> dict[str, FloatArray]:
    """Return each text's scores by baselines that make no calls, fitted only to the labels of the other folds.

    The baseline of all text features is the first component of partial least squares (Wold, Sjostrom & Eriksson 2001,
    "PLS-regression: a basic tool of chemometrics", Chemometrics and Intelligent Laboratory Systems 58). Fitted scores
    leave out the mean label of the other folds, since it is high where the fold's own labels are low.

    Args:
        features: shape (texts, features), columns as in `FEATURE_NAMES`; NaN where undefined, which counts as average.
        fold: the fold of each text, shape (texts,).
    """
    best, component_scores = np.zeros(len(labels)), np.zeros(len(labels))
    complete: BoolArray = ~np.any(np.isnan(features), axis=0)
    for left_out in np.unique(fold):
        in_fold, training = fold == left_out, fold != left_out
        if not training.any():
            continue
        z = standardise(features, *centers_and_spreads(features[training]))
        deviations = labels[training] - labels[training].mean()
        covariances = z[training].T @ deviations / len(deviations)
        strongest = int(np.argmax(np.abs(covariances) * complete))
        best[in_fold] = (z[:, strongest] * covariances[strongest] * complete[strongest])[in_fold]
        component = z @ covariances
        squares = float(component[training] @ component[training])
        slope = float(component[training] @ deviations) / squares if squares > 0 else 0.0
        component_scores[in_fold] = component[in_fold] * slope
    words = features[:, FEATURE_NAMES.index(WORD_COUNT)]
    return {
        CONSTANT: np.zeros(len(labels)),
        "word count": words,
        "best text feature": best,
        ALL_FEATURES: component_scores,
    }


def plain_question_rubric(assignment: Assignment) -> Rubric:
    """Return the rubric that asks the judge for one score of the text, without criteria."""
    criterion = whole_aspect(assignment, assignment.aspect.definition)
    part = Part(method="direct", settings=BaselineSettings().model_dump(mode="json"), criteria=(criterion,))
    return Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=(part,))
