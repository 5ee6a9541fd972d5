"""Held-out scores of the labelled texts, each without the labels of its group, for the gate and for intervals.

There are two procedures. `refitted` keeps the criteria, and repeats selection, weighting and calibration for each fold;
criteria generated from labels of the fold are left out there, so it is conservative, especially with few groups.
`relearned` repeats the whole training for each fold, at the price of about as many trainings as folds, less the cached
calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rubriclab.aggregation import Ask, disagreement
from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.learning.candidates import Candidates, EarlierRubric, Plan, find_candidates, with_earlier
from rubriclab.learning.fitting import HeldOut, Weighting, fit, held_out, in_label_units, mean_over_repetitions
from rubriclab.learning.rating_matrix import RatingMatrix, standardised
from rubriclab.learning.selection_path import SelectionPath, select_rubric
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.shortcuts import shortcut_columns
from rubriclab.learning.single_call import rated_in_one_call
from rubriclab.methods.method import Progress
from rubriclab.rubric import Part
from rubriclab.scoring.score import ratings_of_texts
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.stats.missing import float_table

# The gate computes these from the table and from the texts.
COMPARED_ELSEWHERE = ("direct", "text_features")


@dataclass(frozen=True, eq=False)
class CrossValidatedScores:
    """Held-out scores, all of shape (texts,), NaN where missing.

    Attributes:
        fold: of each text.
        raw, scores: by the rubric, before and after calibration.
        hardness: how far the criteria disagree about the text.
        alone: by method, raw values by its own criteria only.
    """

    fold: IntArray
    raw: FloatArray
    scores: FloatArray
    hardness: FloatArray
    alone: Mapping[str, FloatArray]


def refitted(
    path: SelectionPath, table: RatingMatrix, every: RatingMatrix, settings: JointSettings, seed: int
) -> CrossValidatedScores:
    """Return the texts' scores by the same candidates, selected, weighted and calibrated without each fold.

    Args:
        path: of `table`, with the columns that the rubric may be selected from.
        every: the rating matrix of all candidates.
    """
    nested = path.held_out
    hard = held_out_hardness(nested, table)
    alone = {name: held_out(part, _linear(settings), seed=seed).raw for name, part in tables_by_method(every).items()}
    return CrossValidatedScores(nested.folds[0], nested.raw, nested.scores, hard, alone)


async def relearned(
    plans: Sequence[Plan],
    settings: JointSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    earlier: EarlierRubric | None = None,
    on_progress: Progress,
) -> CrossValidatedScores:
    """Return the texts' scores by trainings without each fold, in the order of the examples' ids.

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
            on_progress(f"without fold {number + 1} of {count}: {doing}", (number + share) / count)

        candidates = await find_candidates(
            plans_left, judge=judge, generator=generator, seed=seed, ask=settings.ask, on_progress=tell
        )
        if earlier:
            candidates = with_earlier(candidates, earlier)
        if settings.ask != "by method":
            candidates = await rated_in_one_call(candidates, assignment, judge, settings.rivals)
        rows = [text for text, left in zip(texts, inside, strict=True) if left]
        rate = partial(_values, candidates=candidates, rows=rows, assignment=assignment, judge=judge)
        every = candidates.table(assignment, "by method")
        allowed = allowed_columns(every, feature_values(candidates.examples, FEATURE_NAMES), settings, seed)
        table = offered(candidates, assignment, settings, allowed)
        path = select_rubric(table, settings, candidates.all_calls(assignment), seed=seed)
        weighting, values = path.fit, await rate(candidates.parts_with(candidates.ids), ask="by method")
        kept = {candidates.ids[table.places[column]] for column in weighting.columns}
        ask = path.steps[path.kept].rubric.ask
        final = values if ask == "by method" else await rate(candidates.parts_with(kept), ask=ask)
        selected = final[:, list(table.places)]
        raw[inside] = in_label_units(weighting.raw(selected), weighting)
        scores[inside], hard[inside] = (
            weighting.scores(selected, table.scale),
            hardness(weighting, selected),
        )
        for name, part in tables_by_method(every).items():
            columns = [place for place, of in enumerate(every.methods) if of == name]
            single = fit(part, _linear(settings), seed=seed)
            alone.setdefault(name, np.full(len(texts), np.nan))[inside] = in_label_units(
                single.raw(values[:, columns]), single
            )
    return CrossValidatedScores(fold, raw, scores, hard, alone)


def tables_by_method(table: RatingMatrix) -> dict[str, RatingMatrix]:
    """Return a table of its own candidates for each method that the rubric is compared with."""
    places = {
        name: [place for place, of in enumerate(table.methods) if of == name]
        for name in dict.fromkeys(table.methods)
        if name not in COMPARED_ELSEWHERE
    }
    return {name: table.columns(columns) for name, columns in places.items()}


def allowed_columns(table: RatingMatrix, features: FloatArray, settings: JointSettings, seed: int) -> list[int]:
    """Return the candidates that may be selected: all, or those that are no shortcut, unless all are."""
    every = list(range(len(table.methods)))
    marked = shortcut_columns(table, features, seed=seed) if settings.no_shortcuts else frozenset()
    return [place for place in every if place not in marked] or every


def offered(
    candidates: Candidates, assignment: Assignment, settings: JointSettings, allowed: Sequence[int]
) -> RatingMatrix:
    """Return the rating matrix of the candidates that a rubric may be selected from."""
    table = candidates.table(assignment, settings.only) if settings.only else candidates.all_ratings(assignment)
    return table.columns([column for column, place in enumerate(table.places) if place in set(allowed)])


async def _values(
    parts: Sequence[Part],
    *,
    ask: Ask,
    candidates: Candidates,
    rows: Sequence[Example],
    assignment: Assignment,
    judge: Judge,
) -> FloatArray:
    """Return the scores of texts by all candidates, as in scoring, shape (texts, candidates).

    NaN if missing, and for candidates that are not in `parts`.
    """
    rated = await ratings_of_texts(rows, parts, ask, assignment, judge, rivals=candidates.rivals)
    by_id = [{rating.criterion: rating.score for rating in ratings} for ratings in rated]
    return float_table(([row.get(name) for name in candidates.ids] for row in by_id), len(candidates.ids))


def held_out_hardness(held_out_fits: HeldOut, table: RatingMatrix) -> FloatArray:
    """Return how far the criteria disagree about each text, by the rubrics fitted without its fold; shape (texts,)."""
    repeated = []
    for fold, fits in zip(held_out_fits.folds, held_out_fits.fits, strict=True):
        hard = np.full(len(table.labels), np.nan)
        for number, weighting in enumerate(fits):
            inside = fold == number
            hard[inside] = hardness(weighting, table.values[inside])
        repeated.append(hard)
    return mean_over_repetitions(repeated)


def hardness(fitted: Weighting, values: FloatArray) -> FloatArray:
    """Return how far the criteria of a rubric disagree about each text, NaN without any criterion."""
    if not fitted.columns:
        return np.full(len(values), np.nan)
    selected = values[:, list(fitted.columns)]
    z = np.where(np.isnan(selected), np.nan, standardised(selected, fitted.centers, fitted.spreads))
    return disagreement(fitted.weights, z)


def _linear(settings: JointSettings) -> JointSettings:
    return settings.model_copy(update={"calibration": "linear"})
