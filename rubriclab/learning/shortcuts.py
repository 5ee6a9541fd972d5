"""Shortcuts: criteria that correlate more with surface features of a text than the raters' scores do.

Raters may reward length. A criterion that follows length more than they do measures something other than its wording
says, and is easily gamed. The features are length, the share copied from the source, and the amount of formatting.
Correlations are at the gate's level: within groups where enough groups can be compared, else over all texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rubriclab.learning.baselines import SURFACE
from rubriclab.learning.gate import RESAMPLES, gate_level
from rubriclab.learning.rating_matrix import BoolArray, RatingMatrix, centers_and_spreads, standardised
from rubriclab.stats.correlation import FloatArray, partial_correlation, pearson
from rubriclab.stats.correlation_inference import DependentCorrelation, dependent_correlation
from rubriclab.stats.folds import unit_sums, units
from rubriclab.stats.interval import DIGITS, rounded
from rubriclab.stats.levels import MEAN_DIGITS
from rubriclab.validation import Shortcut

RATERS = "raters"
RUBRIC = "rubric"

# By the name a person reads, the measure of the catalogue. Layout is headings, list items, bold, code and links.
MEASURES: Mapping[str, str] = {"length": "log_words", "copied share": "copied_share", "formatting": "markup"}

# The share of those marked that may be marked by chance.
FALSE_MARKS = 0.05


def shortcuts(
    table: RatingMatrix, names: Sequence[str], surface: FloatArray, held_out: FloatArray, *, seed: int = 0
) -> tuple[Shortcut, ...]:
    """Return what the raters, the rubric and each candidate follow, and what is left of their agreement without it.

    Left is the correlation with the labels when length, copied share and formatting are held constant together; those
    that are undefined or the same for all texts are left out, and one missing in a single text counts there as average.

    Marked is what follows one of these further than the raters do, in either direction, by more than chance: a test of
    dependent correlations for each (`rubriclab.stats.correlation_inference`); at most `FALSE_MARKS` of them are false
    on average (Benjamini & Hochberg 1995, "Controlling the false discovery rate", JRSS B 57).

    Args:
        table: all candidates, shape (texts, candidates).
        names: the candidates' ids.
        surface: measures of the texts, shape (texts, measures), columns as in `rubriclab.learning.baselines.SURFACE`.
        held_out: the rubric's scores, each text's without the labels of its own group.
        seed: of the resamples.
    """
    scores = _compared(np.column_stack([table.labels, held_out, table.values]), table)
    counted = _counted(table, surface)
    correlations = _followings(scores, counted, table.groups, seed)
    marked = _marked(list(correlations.values()), scores.shape[1])
    held = np.column_stack([np.zeros(len(scores)), *counted.values()])
    controls = standardised(held, *centers_and_spreads(held))
    return tuple(
        Shortcut(
            name=name,
            agreement=rounded(_agreement(scores[:, place], scores[:, 0], None)),
            left=rounded(_agreement(scores[:, place], scores[:, 0], controls)),
            follows={
                what: round(float(each.r[place]), DIGITS) for what, each in correlations.items() if each.defined[place]
            },
            marked=bool(marked[place]),
        )
        for place, name in enumerate((RATERS, RUBRIC, *names))
    )


def shortcut_columns(table: RatingMatrix, surface: FloatArray, *, seed: int = 0) -> frozenset[int]:
    """Return the columns of the candidates that would be marked; arguments as for `shortcuts`.

    Marks depend on the labels only through what the raters follow, not on how well a candidate agrees.
    """
    scores = _compared(np.column_stack([table.labels, table.values]), table)
    correlations = _followings(scores, _counted(table, surface), table.groups, seed)
    marked = _marked(list(correlations.values()), scores.shape[1])
    return frozenset(np.flatnonzero(marked[1:]).tolist())


def _compared(values: FloatArray, table: RatingMatrix) -> FloatArray:
    """Return the columns as the gate's level compares them: among rivals, less the mean of the text's group."""
    if gate_level(table.labels, table.groups) == "dataset":
        return values
    unit = units(table.groups)
    there: BoolArray = ~np.isnan(values)
    sums, counts = (unit_sums(part, unit) for part in (np.where(there, values, 0.0), there.astype(float)))
    means = sums / np.maximum(counts, 1.0)
    among: FloatArray = np.round(values - means[unit], MEAN_DIGITS)
    return among


def _counted(table: RatingMatrix, surface: FloatArray) -> dict[str, FloatArray]:
    """Return what may be followed, by name, as the level compares it; without what is the same for all texts."""
    columns = [SURFACE.index(measure) for measure in MEASURES.values()]
    values = _compared(surface[:, columns], table)
    varies = centers_and_spreads(values)[1] > 0
    return {what: values[:, place] for place, what in enumerate(MEASURES) if varies[place]}


def _followings(
    scores: FloatArray, counted: Mapping[str, FloatArray], groups: Sequence[str], seed: int
) -> dict[str, DependentCorrelation]:
    """Return how far each column follows each of what is counted, the first column being the raters."""
    return {
        what: dependent_correlation(scores, scores[:, 0], target, units(groups), resamples=RESAMPLES, seed=seed)
        for what, target in counted.items()
    }


def _marked(correlations: Sequence[DependentCorrelation], columns: int) -> BoolArray:
    """Return which columns follow something further than the first does; the first itself has no part in it."""
    from scipy.stats import false_discovery_control

    marked = np.zeros(columns, dtype=bool)
    if correlations and columns > 1:
        further = np.stack([each.further for each in correlations])[:, 1:]
        adjusted = false_discovery_control(np.stack([each.p for each in correlations])[:, 1:], axis=None)
        marked[1:] = np.any(further & (adjusted.reshape(further.shape) <= FALSE_MARKS), axis=0)
    return marked


def _agreement(scores: FloatArray, labels: FloatArray, controls: FloatArray | None) -> float:
    """Return the correlation of what is there, with the controls held constant if there are any."""
    there: BoolArray = ~np.isnan(scores)
    if controls is None:
        return pearson(scores[there], labels[there])
    return partial_correlation(scores[there], labels[there], controls[there])
