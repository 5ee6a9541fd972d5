"""Shortcuts: criteria that correlate more with text features than the raters' scores do.

Raters may reward length. A criterion that correlates with length more than their scores do does not measure what its
wording says, and is easily gamed. The features are length, the share copied from the source, and the amount of
formatting. Correlations are at the gate's level: within groups if enough groups can be compared, else over all texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rubriclab.learning.baselines import FEATURE_NAMES
from rubriclab.learning.gate import gate_level
from rubriclab.learning.rating_matrix import RatingMatrix, centers_and_spreads, standardised
from rubriclab.stats.correlation import BoolArray, FloatArray, partial_correlation, pearson
from rubriclab.stats.folds import unit_sums, units
from rubriclab.stats.interval import DIGITS, rounded
from rubriclab.stats.jackknife_correlations import DependentCorrelation, dependent_correlation
from rubriclab.stats.levels import MEAN_DIGITS
from rubriclab.validation import Shortcut

RATERS = "raters"
RUBRIC = "rubric"

# By displayed name, the text feature. Formatting is headings, list items, bold, code and links.
FEATURES: Mapping[str, str] = {"length": "log_words", "copied share": "copied_share", "formatting": "markup"}

# The false discovery rate of marks.
FALSE_MARKS = 0.05


def shortcuts(
    table: RatingMatrix, names: Sequence[str], features: FloatArray, held_out: FloatArray
) -> tuple[Shortcut, ...]:
    """Return the correlations of raters, rubric and candidates with the features, and their agreement controlling for
    these.

    `left` is the partial correlation with the labels, controlling for length, copied share and formatting. Features
    that are undefined or constant are left out; a missing value counts as average.

    A candidate is marked if it correlates with a feature significantly more than the raters do, in absolute value, by a
    test of dependent correlations (`rubriclab.stats.jackknife_correlations`) at the false discovery rate `FALSE_MARKS`
    (Benjamini & Hochberg 1995, "Controlling the false discovery rate", JRSS B 57).

    Args:
        table: all candidates, shape (texts, candidates).
        names: the candidates' ids.
        features: of the texts, shape (texts, features), columns as in `rubriclab.learning.baselines.FEATURE_NAMES`.
        held_out: the rubric's held-out scores, shape (texts,).
    """
    scores = _compared(np.column_stack([table.labels, held_out, table.values]), table)
    text_features = _text_features(table, features)
    correlations = _feature_correlations(scores, text_features, table.groups)
    p = _adjusted(list(correlations.values()), scores.shape[1])
    marked = _marked(list(correlations.values()), p)
    held = np.column_stack([np.zeros(len(scores)), *text_features.values()])
    controls = standardised(held, *centers_and_spreads(held))
    return tuple(
        Shortcut(
            name=name,
            agreement=rounded(_agreement(scores[:, place], scores[:, 0], None)),
            left=rounded(_agreement(scores[:, place], scores[:, 0], controls)),
            follows={
                feature: round(float(correlation.r[place]), DIGITS)
                for feature, correlation in correlations.items()
                if correlation.defined[place]
            },
            marked=bool(marked[place]),
            p={
                feature: round(float(p[row, place]), DIGITS)
                for row, (feature, correlation) in enumerate(correlations.items())
                if place and correlation.defined[place]
            },
        )
        for place, name in enumerate((RATERS, RUBRIC, *names))
    )


def _compared(values: FloatArray, table: RatingMatrix) -> FloatArray:
    """Return the columns at the gate's level: within groups, minus the mean of the text's group."""
    if gate_level(table.labels, table.groups) == "dataset":
        return values
    unit = units(table.groups)
    there: BoolArray = ~np.isnan(values)
    sums, counts = (unit_sums(part, unit) for part in (np.where(there, values, 0.0), there.astype(float)))
    means = sums / np.maximum(counts, 1.0)
    among: FloatArray = np.round(values - means[unit], MEAN_DIGITS)
    return among


def _text_features(table: RatingMatrix, features: FloatArray) -> dict[str, FloatArray]:
    """Return the features by name, at the gate's level, without constant ones."""
    columns = [FEATURE_NAMES.index(name) for name in FEATURES.values()]
    values = _compared(features[:, columns], table)
    varies = centers_and_spreads(values)[1] > 0
    return {what: values[:, place] for place, what in enumerate(FEATURES) if varies[place]}


def _feature_correlations(
    scores: FloatArray, counted: Mapping[str, FloatArray], groups: Sequence[str]
) -> dict[str, DependentCorrelation]:
    """Return the correlation of each column of `scores` with each feature; the first column is the raters' scores."""
    return {
        what: dependent_correlation(scores, scores[:, 0], target, units(groups)) for what, target in counted.items()
    }


def _adjusted(correlations: Sequence[DependentCorrelation], columns: int) -> FloatArray:
    """Return adjusted p-values, shape (features, columns); 1 for the first column, the raters, which is not tested."""
    from scipy.stats import false_discovery_control

    p = np.ones((len(correlations), columns))
    if correlations and columns > 1:
        tested = np.stack([correlation.p for correlation in correlations])[:, 1:]
        p[:, 1:] = false_discovery_control(tested, axis=None).reshape(tested.shape)
    return p


def _marked(correlations: Sequence[DependentCorrelation], p: FloatArray) -> BoolArray:
    """Return which columns correlate with a feature significantly more than the first, the raters, does."""
    if not correlations:
        return np.zeros(p.shape[1], dtype=bool)
    further = np.stack([correlation.further for correlation in correlations])
    marked: BoolArray = np.any(further & (p <= FALSE_MARKS), axis=0)
    return marked


def _agreement(scores: FloatArray, labels: FloatArray, controls: FloatArray | None) -> float:
    """Return the correlation with the labels, ignoring NaN, controlling for `controls` if given."""
    there: BoolArray = ~np.isnan(scores)
    if controls is None:
        return pearson(scores[there], labels[there])
    return partial_correlation(scores[there], labels[there], controls[there])
