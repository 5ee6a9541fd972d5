"""Held-out agreement of candidate rubrics and of single methods beside the rubric that was chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rubriclab.learning.fitting import fit
from rubriclab.learning.gate import held_out_pearson, paired_difference
from rubriclab.learning.rating_matrix import RatingMatrix, in_order
from rubriclab.learning.selection_path import SelectionPath, Step
from rubriclab.learning.settings import JointSettings
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.correlation_inference import jackknife_error
from rubriclab.stats.interval import DIGITS, rounded
from rubriclab.validation import FrontierPoint, MethodContribution

# How often labels are shuffled to see what noise gives.
SHUFFLES = 40


def frontier(ladder: SelectionPath, table: RatingMatrix, *, seed: int = 0) -> tuple[FrontierPoint, ...]:
    """Return the candidate rubrics worth showing, cheapest first: single methods, the best at each price
    and the one that was made.

    Labels that are all the same give no figure, and no point.
    """
    if np.ptp(table.labels) == 0:
        return ()
    values = [_pearson(step.raw, table)[0] for step in ladder.steps]
    steps = ladder.steps
    best = {
        max((k for k, each in enumerate(steps) if each.calls == one.calls), key=lambda k: values[k]) for one in steps
    }
    shown = {place for place, step in enumerate(steps) if len(step.rung.methods) == 1 and step.rung.pool.most is None}
    places = sorted(shown | best | {ladder.kept, ladder.enough, ladder.best})
    return tuple(_point(ladder, place, table, seed) for place in places)


def added(ladder: SelectionPath, table: RatingMatrix, *, seed: int = 0) -> tuple[MethodContribution, ...]:
    """Return what each method adds to all others asked together; empty where there is only one."""
    all_criteria = [step for step in ladder.steps if step.rung.ask == "by method" and step.rung.pool.most is None]
    every = max(all_criteria, key=lambda step: len(step.rung.methods), default=None)
    if every is None or np.ptp(table.labels) == 0:
        return ()
    contributions = []
    for method in every.rung.methods:
        others = tuple(name for name in every.rung.methods if name != method)
        without = next((step for step in all_criteria if step.rung.methods == others), None)
        if without:
            difference = paired_difference(_there(every), _there(without), table.labels, table.groups, seed=seed)
            contributions.append(MethodContribution(method=method, difference=difference))
    return tuple(contributions)


def noise(ladder: SelectionPath, table: RatingMatrix, settings: JointSettings, *, seed: int = 0) -> float | None:
    """Return the mean Pearson correlation with the labels fitted to, if these are shuffled; `None` where undefined.

    The criteria that the kept rubric might ask are chosen and weighed anew each time.
    """
    linear = settings.model_copy(update={"calibration": "linear"})
    pool, ordered = ladder.steps[ladder.kept].rung.pool, table.rows(in_order(table))
    draw, correlations = np.random.default_rng(seed), []
    for _ in range(SHUFFLES):
        shuffled = replace(ordered, labels=draw.permutation(ordered.labels))
        raw = np.nan_to_num(fit(shuffled, linear, pool, seed=seed).raw(ordered.values))
        correlations.append(pearson(raw, shuffled.labels))
    mean = float(np.mean(correlations))
    return None if np.isnan(mean) else round(mean, DIGITS)


def _point(ladder: SelectionPath, place: int, table: RatingMatrix, seed: int) -> FrontierPoint:
    step, chosen = ladder.steps[place], place == ladder.kept
    value, error = _pearson(step.raw, table)
    own = _there(ladder.steps[ladder.kept])
    point = FrontierPoint(
        name=step.rung.name,
        calls=round(step.calls, DIGITS),
        criteria=step.criteria,
        parts=step.rung.methods,
        pearson=round(value, DIGITS),
        error=rounded(error),
        within=place == ladder.enough,
        chosen=chosen,
    )
    if chosen:
        return point
    ahead = paired_difference(_there(step), own, table.labels, table.groups, seed=seed)
    return point.model_copy(update={"ahead": ahead})


def _pearson(raw: FloatArray, table: RatingMatrix) -> tuple[float, float]:
    """Return the held-out correlation with its jackknife error, NaN where that is undefined.

    A text without a score counts as an average one: candidates are compared on the same texts.
    """
    value, without = held_out_pearson(np.nan_to_num(raw), table.labels, table.groups)
    error = jackknife_error(without[:, np.newaxis])[0] if len(without) > 1 else np.nan
    return float(np.nan_to_num(value)), float(error)


def _there(step: Step) -> FloatArray:
    return np.nan_to_num(step.raw)
