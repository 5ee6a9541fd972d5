"""Held-out agreement of candidate rubrics and of single methods, compared with the selected rubric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rubriclab.learning.fitting import fit
from rubriclab.learning.gate import held_out_pearson, paired_difference
from rubriclab.learning.rating_matrix import RatingMatrix, in_order
from rubriclab.learning.selection_path import SelectionPath, Step
from rubriclab.learning.settings import JointSettings
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import DIGITS, rounded
from rubriclab.stats.jackknife_correlations import jackknife_error
from rubriclab.validation import FrontierPoint, MethodContribution

# Number of permutations of the labels that estimate the correlation by chance.
SHUFFLES = 40


def frontier(path: SelectionPath, table: RatingMatrix, *, seed: int = 0) -> tuple[FrontierPoint, ...]:
    """Return the candidate rubrics to show, the cheapest first: single methods, the best at each price, the selected.

    Empty if the labels are constant.
    """
    if np.ptp(table.labels) == 0:
        return ()
    values = [_pearson(step.raw, table)[0] for step in path.steps]
    steps = path.steps
    best = {
        max(
            (number for number, other in enumerate(steps) if other.calls == step.calls),
            key=lambda number: values[number],
        )
        for step in steps
    }
    shown = {
        place for place, step in enumerate(steps) if len(step.rubric.methods) == 1 and step.rubric.pool.most is None
    }
    places = sorted(shown | best | {path.kept, path.cheapest, path.best})
    return tuple(_point(path, place, table, seed) for place in places)


def added(path: SelectionPath, table: RatingMatrix, *, seed: int = 0) -> tuple[MethodContribution, ...]:
    """Return what each method adds to all others together; empty if there is only one method."""
    all_criteria = [step for step in path.steps if step.rubric.ask == "by method" and step.rubric.pool.most is None]
    every = max(all_criteria, key=lambda step: len(step.rubric.methods), default=None)
    if every is None or np.ptp(table.labels) == 0:
        return ()
    contributions = []
    for method in every.rubric.methods:
        others = tuple(name for name in every.rubric.methods if name != method)
        without = next((step for step in all_criteria if step.rubric.methods == others), None)
        if without:
            difference = paired_difference(_filled(every), _filled(without), table.labels, table.groups, seed=seed)
            contributions.append(MethodContribution(method=method, difference=difference))
    return tuple(contributions)


def noise(path: SelectionPath, table: RatingMatrix, settings: JointSettings, *, seed: int = 0) -> float | None:
    """Return the mean Pearson correlation with shuffled labels that the rubric was fitted to; `None` if undefined.

    The criteria available to the selected rubric are selected and weighted again for each permutation.
    """
    linear = settings.model_copy(update={"calibration": "linear"})
    pool, ordered = path.steps[path.kept].rubric.pool, table.rows(in_order(table))
    draw, correlations = np.random.default_rng(seed), []
    for _ in range(SHUFFLES):
        shuffled = replace(ordered, labels=draw.permutation(ordered.labels))
        raw = np.nan_to_num(fit(shuffled, linear, pool, seed=seed).raw(ordered.values))
        correlations.append(pearson(raw, shuffled.labels))
    mean = float(np.mean(correlations))
    return None if np.isnan(mean) else round(mean, DIGITS)


def _point(path: SelectionPath, place: int, table: RatingMatrix, seed: int) -> FrontierPoint:
    step, chosen = path.steps[place], place == path.kept
    value, error = _pearson(step.raw, table)
    selected = _filled(path.steps[path.kept])
    point = FrontierPoint(
        name=step.rubric.name,
        calls=round(step.calls, DIGITS),
        criteria=step.criteria,
        parts=step.rubric.methods,
        pearson=round(value, DIGITS),
        error=rounded(error),
        within=place == path.cheapest,
        chosen=chosen,
    )
    if chosen:
        return point
    ahead = paired_difference(_filled(step), selected, table.labels, table.groups, seed=seed)
    return point.model_copy(update={"ahead": ahead})


def _pearson(raw: FloatArray, table: RatingMatrix) -> tuple[float, float]:
    """Return the held-out correlation with its jackknife error, NaN if undefined.

    A text without a score counts as average, so that candidates are compared on the same texts.
    """
    value, without = held_out_pearson(np.nan_to_num(raw), table.labels, table.groups)
    error = jackknife_error(without[:, np.newaxis])[0] if len(without) > 1 else np.nan
    return float(np.nan_to_num(value)), float(error)


def _filled(step: Step) -> FloatArray:
    return np.nan_to_num(step.raw)
