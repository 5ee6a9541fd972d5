"""Baselines that make no calls, and rubrics that are made without labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.errors import DataError
from rubriclab.learning.fitting import fixed_terms, round_significant
from rubriclab.learning.matrix import centers_and_spreads, standardise
from rubriclab.methods.holistic import BaselineSettings, TextFeatureSettings, feature_criterion, whole_aspect
from rubriclab.models.aggregation import Aggregation, Calibration
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Assignment, Example
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT, Features, prior_directions
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
    """Return the text feature, defined for every text, that correlates most with the scores of `aspect`."""
    labels, values = [example.scores[aspect] for example in examples], feature_values(examples, FEATURE_NAMES)
    correlations = [
        (r, name)
        for name, column in zip(FEATURE_NAMES, values.T, strict=True)
        if not np.isnan(column).any() and not math.isnan(r := pearson(column, labels))
    ]
    if not correlations:
        return None
    r, name = max(correlations, key=lambda pair: (round(abs(pair[0]), DIGITS), pair[1]))
    return Baseline(feature=name, sign=1 if r >= 0 else -1, pearson=round(r, DIGITS))


def held_out_baselines(features: FloatArray, labels: FloatArray, fold: IntArray) -> dict[str, FloatArray]:
    """Return each text's scores by baselines that make no calls, fitted only to the labels of the other folds.

    The baseline of all text features is the first component of partial least squares (Wold, Sjostrom & Eriksson 2001,
    "PLS-regression: a basic tool of chemometrics", Chemometrics and Intelligent Laboratory Systems 58). Fitted scores
    leave out the mean label of the other folds, which is high where the fold's own labels are low.

    Args:
        features: shape (texts, features), columns as in `FEATURE_NAMES`; NaN where undefined, which counts as average.
        fold: the fold of each text, shape (texts,).
    """
    best, component_scores = np.zeros(len(labels)), np.zeros(len(labels))
    complete: BoolArray = ~np.any(np.isnan(features), axis=0)
    for left_out in np.unique(fold):
        inside, others = fold == left_out, fold != left_out
        if not others.any():
            continue
        z = standardise(features, *centers_and_spreads(features[others]))
        deviations = labels[others] - labels[others].mean()
        covariances = z[others].T @ deviations / len(deviations)
        strongest = int(np.argmax(np.abs(covariances) * complete))
        best[inside] = (z[:, strongest] * covariances[strongest] * complete[strongest])[inside]
        component = z @ covariances
        squares = float(component[others] @ component[others])
        component_scores[inside] = component[inside] * (
            float(component[others] @ deviations) / squares if squares > 0 else 0.0
        )
    words = features[:, FEATURE_NAMES.index(WORD_COUNT)]
    return {
        CONSTANT: np.zeros(len(labels)),
        "word count": words,
        "best text feature": best,
        "all text features": component_scores,
    }


# Texts for means and standard deviations of features: fewer are an error, and of more, scoring takes the first.
MIN_TEXTS, MAX_FEATURE_TEXTS = 5, 1000
# The standard deviation of scores as a share of the scale's width. It is 0.2 to 0.3 for labels of public data sets.
SPREAD = 0.25


def plain_question_rubric(assignment: Assignment) -> Rubric:
    """Return the rubric that asks the judge for one score of the text, without criteria."""
    criterion = whole_aspect(assignment, assignment.aspect.definition)
    part = Part(method="direct", settings=BaselineSettings().model_dump(mode="json"), criteria=(criterion,))
    return Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=(part,))


def text_feature_rubric(assignment: Assignment, examples: Sequence[Example]) -> Rubric:
    """Return the rubric of text features with prior weights; their centers and spreads are those of `examples`.

    Raises DataError for fewer than `MIN_TEXTS` texts, or if no text feature with a prior weight varies among them.
    """
    if len(examples) < MIN_TEXTS:
        raise DataError(
            f"Without labels and a language model, texts are compared with each other; got {len(examples)} usable,",
            f"expected at least {MIN_TEXTS}. Give more texts, or name a language model with `judge`.",
        )
    aspect, scale = assignment.aspect, assignment.scale
    prior = prior_directions(aspect.name, aspect.definition, assignment.words.task)
    values = feature_values(examples, FEATURE_NAMES)
    centers, spreads = (round_significant(column) for column in centers_and_spreads(values))
    weights = np.array([prior[name] for name in FEATURE_NAMES]) * (spreads > 0)
    weights = (weights / (np.abs(weights).sum() or 1.0)).round(DIGITS)
    raw = standardise(values, centers, spreads) @ weights
    if not raw.std() > 0:
        raise DataError(
            f"No text feature that is known to matter for {aspect.name!r} varies over the {len(examples)} texts.",
            "Give other texts, or name a language model with `judge`.",
        )
    middle, reach = (scale.low + scale.high) / 2, SPREAD * scale.width
    line = Calibration(
        kind="linear",
        x=tuple(round_significant(raw.mean() + raw.std() * np.array([-1.0, 1.0])).tolist()),
        y=(middle - reach, middle + reach),
    )
    kept = np.flatnonzero(weights)
    names = [FEATURE_NAMES[place] for place in kept]
    terms = fixed_terms(names, weights[kept], centers[kept], spreads[kept])
    criteria, settings = tuple(map(feature_criterion, names)), TextFeatureSettings().model_dump(mode="json")
    part = Part(method="text_features", settings=settings, criteria=criteria)
    aggregation = Aggregation(terms=terms, calibration=line)
    return Rubric(task=assignment.words.task, aspect=aspect, scale=scale, parts=(part,), aggregation=aggregation)
