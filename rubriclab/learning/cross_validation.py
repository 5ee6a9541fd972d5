"""Held-out scores of the labelled texts, each without the labels of its group, for the gate and for intervals.

There are two ways. `reweighed` keeps the criteria, and selects, weighs and calibrates them anew for each fold; criteria
made from labels of the fold are left out there, so its figures are conservative, the more so the fewer groups there
are. `relearned` runs the methods anew for each fold: its figures are of the whole training, and it costs about as many
trainings as there are folds, less the calls that are cached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rubriclab.aggregation import Ask, disagreement
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import SURFACE, measure_values
from rubriclab.learning.candidates import Candidates, Plan, find_candidates
from rubriclab.learning.fitting import HeldOut, Weighting, fit, held_out, in_labels, mean_of
from rubriclab.learning.rating_matrix import RatingMatrix, standardised
from rubriclab.learning.selection_path import SelectionPath, climb
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.shortcuts import shortcut_columns
from rubriclab.learning.single_call import asked_in_one_call
from rubriclab.methods.method import Progress
from rubriclab.rubric import Part
from rubriclab.scoring.score import ratings_of
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds

# The gate has these from the table and from the texts.
COMPARED_ELSEWHERE = ("direct", "surface")


@dataclass(frozen=True, eq=False)
class CrossValidatedScores:
    """Scores without one's own labels; all of shape (texts,), NaN where there is none.

    Attributes:
        fold: of each text.
        raw, scores: by the rubric of all that may enter, before and after calibration.
        hardness: how far the criteria disagree about the text.
        alone: by method, what its own criteria come to before calibration.
    """

    fold: IntArray
    raw: FloatArray
    scores: FloatArray
    hardness: FloatArray
    alone: Mapping[str, FloatArray]


def reweighed(
    ladder: SelectionPath, table: RatingMatrix, every: RatingMatrix, settings: JointSettings, seed: int
) -> CrossValidatedScores:
    """Return the texts' scores by the same candidates, chosen, weighed and calibrated without each fold.

    Args:
        ladder: of `table`, whose columns may enter the rubric.
        every: all candidates, whether they may or not.
    """
    nested = ladder.held_out
    hard = held_out_hardness(nested, table)
    alone = {name: held_out(part, _straight(settings), seed=seed).raw for name, part in tables_by_method(every).items()}
    return CrossValidatedScores(nested.folds[0], nested.raw, nested.scores, hard, alone)


async def relearned(
    plans: Sequence[Plan], settings: JointSettings, *, judge: Judge, generator: Judge, seed: int, on_progress: Progress
) -> CrossValidatedScores:
    """Return the texts' scores by trainings that each left one fold out, in the order of the examples' ids.

    Raises:
        JudgeError: if a method could learn nothing without one of the folds.
    """
    assignment = plans[0].training_input.assignment
    texts = sorted(plans[0].training_input.examples, key=lambda example: example.id)
    fold = grouped_folds([text.group for text in texts], settings.relearned, seed)
    count = int(fold.max(initial=0)) + 1
    raw, scores, hard = (np.full(len(texts), np.nan) for _ in range(3))
    alone: dict[str, FloatArray] = {}
    for number in range(count):
        inside = fold == number
        others = tuple(text for text, left in zip(texts, inside, strict=True) if not left)
        plans_left = [replace(plan, training_input=replace(plan.training_input, examples=others)) for plan in plans]

        def tell(doing: str, share: float, number: int = number) -> None:
            on_progress(f"without part {number + 1} of {count}: {doing}", (number + share) / count)

        candidates = await find_candidates(
            plans_left, judge=judge, generator=generator, seed=seed, ask=settings.ask, on_progress=tell
        )
        if settings.ask != "by method":
            candidates = await asked_in_one_call(candidates, assignment, judge)
        rows = [text for text, left in zip(texts, inside, strict=True) if left]
        rate = partial(_values, found=candidates, rows=rows, assignment=assignment, judge=judge)
        every = candidates.table(assignment, "by method")
        allowed = allowed_columns(every, measure_values(candidates.examples, SURFACE), settings, seed)
        table = offered(candidates, assignment, settings, allowed)
        ladder = climb(table, settings, candidates.calls_every_way(assignment), seed=seed)
        weighing, values = ladder.fit, await rate(candidates.parts_with(candidates.ids), ask="by method")
        kept = {candidates.ids[table.places[column]] for column in weighing.columns}
        asked = ladder.steps[ladder.kept].rung.ask
        final = values if asked == "by method" else await rate(candidates.parts_with(kept), ask=asked)
        may = final[:, list(table.places)]
        raw[inside] = in_labels(weighing.raw(may), weighing)
        scores[inside], hard[inside] = weighing.scores(may, table.scale), hardness(weighing, may)
        for name, part in tables_by_method(every).items():
            columns = [place for place, of in enumerate(every.methods) if of == name]
            single = fit(part, _straight(settings), seed=seed)
            alone.setdefault(name, np.full(len(texts), np.nan))[inside] = in_labels(
                single.raw(values[:, columns]), single
            )
    return CrossValidatedScores(fold, raw, scores, hard, alone)


def tables_by_method(table: RatingMatrix) -> dict[str, RatingMatrix]:
    """Return the candidates of each method that is held against the rubric, as tables of their own."""
    places = {
        name: [place for place, of in enumerate(table.methods) if of == name]
        for name in dict.fromkeys(table.methods)
        if name not in COMPARED_ELSEWHERE
    }
    return {name: table.columns(own) for name, own in places.items()}


def allowed_columns(table: RatingMatrix, surface: FloatArray, settings: JointSettings, seed: int) -> list[int]:
    """Return the candidates that may enter the rubric: all, or those that follow no shortcut, if that leaves any."""
    every = list(range(len(table.methods)))
    marked = shortcut_columns(table, surface, seed=seed) if settings.no_shortcuts else frozenset()
    return [place for place in every if place not in marked] or every


def offered(found: Candidates, assignment: Assignment, settings: JointSettings, allowed: Sequence[int]) -> RatingMatrix:
    """Return the ratings that a rubric may be made of, by the candidates allowed."""
    table = found.every_way(assignment) if settings.ask == "chosen" else found.table(assignment, settings.ask)
    return table.columns([column for column, place in enumerate(table.places) if place in set(allowed)])


async def _values(
    parts: Sequence[Part],
    *,
    ask: Ask,
    found: Candidates,
    rows: Sequence[Example],
    assignment: Assignment,
    judge: Judge,
) -> FloatArray:
    """Return the scores of texts by all candidates, shape (texts, candidates), asked as in scoring; NaN where there is
    none, and for candidates that the parts do not have."""
    rated = await asyncio.gather(*(ratings_of(text, parts, ask, assignment, judge) for text in rows))
    by_id = [{each.criterion: each.score for each in ratings} for ratings in rated]
    values = [[np.nan if row.get(name) is None else row[name] for name in found.ids] for row in by_id]
    return np.array(values, dtype=float).reshape(len(rows), len(found.ids))


def held_out_hardness(found: HeldOut, table: RatingMatrix) -> FloatArray:
    """Return how far the criteria disagree about each text, by the rubrics fitted without its fold."""
    repeated = []
    for fold, fits in zip(found.folds, found.fits, strict=True):
        hard = np.full(len(table.labels), np.nan)
        for number, weighing in enumerate(fits):
            inside = fold == number
            hard[inside] = hardness(weighing, table.values[inside])
        repeated.append(hard)
    return mean_of(repeated)


def hardness(found: Weighting, values: FloatArray) -> FloatArray:
    """Return how far the criteria of a weighing disagree about each text, NaN where it has none."""
    if not found.columns:
        return np.full(len(values), np.nan)
    own = values[:, list(found.columns)]
    z = np.where(np.isnan(own), np.nan, standardised(own, found.centers, found.spreads))
    return disagreement(found.weights, z)


def _straight(settings: JointSettings) -> JointSettings:
    return settings.model_copy(update={"calibration": "linear"})
