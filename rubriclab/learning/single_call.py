"""Ratings of all candidates as in scoring with a single call for each text, or for several rivals."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from rubriclab.errors import JudgeError
from rubriclab.judges.judge import Judge
from rubriclab.learning.call_form import are_equal, usable_form
from rubriclab.learning.candidates import UNJUDGED, Candidates, Plan, cell_of, with_more
from rubriclab.learning.scoring import ratings_of_texts
from rubriclab.methods.method import CriterionRating, Progress, silent
from rubriclab.methods.prompting import chunks
from rubriclab.methods.questions import question_of
from rubriclab.methods.single_call import can_join, rival_calls
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment
from rubriclab.models.version import DIRECT, Candidate, Cell
from rubriclab.option_names import option
from rubriclab.stats.correlation import FloatArray, float_table, label_correlations
from rubriclab.stats.interval import rounded

# Most criteria in a call: in longer replies reasons become formulas.
MOST_ENTRIES = 20

# By criterion, the rating of each text.
Columns = Mapping[str, Sequence[Cell]]


async def rated_in_one_call(
    candidates: Candidates,
    plans: Sequence[Plan],
    *,
    judge: Judge,
    generator: Judge,
    rivals: RivalLimits | None = None,
    on_progress: Progress = silent,
) -> Candidates:
    """Return the candidates with their ratings from calls about at most `MOST_ENTRIES` criteria of a text.

    The first call is about the scores of the whole and the first criteria. By its ratings methods propose more, which
    are rated with the rest. The score of the whole that a rubric is compared with is asked for by itself, too.

    Args:
        rivals: the largest size of calls about several texts of a group. The candidates have the size that was needed,
            so that scoring by fewer criteria does not show more texts at once than learning did.

    Raises:
        JudgeError: if no reply could be used.
    """
    assignment = plans[0].training_input.assignment
    first = _first_call(candidates)
    on_progress(f"rating {len(candidates.examples)} texts by {len(first)} criteria in one call", 0.0)
    known: Mapping[str, tuple[CriterionRating, ...]] = {}
    if rivals is None:
        usable = await usable_form(
            candidates.examples, _joined(candidates, first), assignment, judge, len(candidates.joined)
        )
        known = usable.ratings
        candidates = replace(candidates, form=usable.form, notes=(*candidates.notes, *filter(None, [usable.note])))
        if usable.note:
            on_progress(usable.note, 0.0)
    columns = await _rated(candidates, first, assignment, judge, rivals, known=known)
    if all(cell.score is None for column in columns.values() for cell in column):
        reason = next(cell.reason for column in columns.values() for cell in column)
        raise JudgeError(f"No usable rating in one call: {reason}", f"Try another {option('judge')}.")
    if rivals and are_equal(columns.values()):
        note = (
            "in calls about several texts the judge gave one value to every text by each criterion, so each text is "
            "rated in a call of its own"
        )
        noted = replace(candidates, notes=(*candidates.notes, note))
        return await rated_in_one_call(noted, plans, judge=judge, generator=generator, on_progress=on_progress)
    candidates = await _extended(candidates, columns, plans, judge, generator)
    rest = [candidates.ids[place] for place in candidates.joined if candidates.ids[place] not in columns]
    calls = chunks(rest, MOST_ENTRIES)
    on_progress(f"rating {len(candidates.examples)} texts by {len(rest)} more criteria", 0.5)
    for found in await asyncio.gather(*(_rated(candidates, names, assignment, judge, rivals) for names in calls)):
        columns = {**columns, **found}
    alone = await _alone(candidates, assignment, judge)
    together = _with_columns(candidates.cells, candidates.ids, columns)
    unjudged = {name: cells for name, cells in columns.items() if _is_unjudged(candidates, name)}
    cells = _with_columns(candidates.cells, candidates.ids, {**unjudged, **alone})
    labels = np.array([example.scores[assignment.aspect.name] for example in candidates.examples], dtype=float)
    return replace(
        candidates,
        candidates=tuple(
            _with_evidence(each, columns[each.criterion.id], labels) if each.criterion.id in unjudged else each
            for each in candidates.candidates
        ),
        cells=cells,
        together=together,
        rivals=_needed(candidates, [first, *calls], assignment, rivals),
    )


def _first_call(candidates: Candidates) -> list[str]:
    """Return the ids of the scores of the whole, and of as many other criteria as fit, hypotheses first."""
    order = ("score", "hypothesis", "question")
    joined = [candidates.candidates[place].criterion for place in candidates.joined]
    ranked: list[Criterion] = sorted(joined, key=lambda criterion: order.index(criterion.kind))
    return [criterion.id for criterion in ranked[:MOST_ENTRIES]]


async def _rated(
    candidates: Candidates,
    names: Sequence[str],
    assignment: Assignment,
    judge: Judge,
    rivals: RivalLimits | None,
    *,
    known: Mapping[str, tuple[CriterionRating, ...]] = MappingProxyType({}),
) -> dict[str, list[Cell]]:
    """Return the ratings by the criteria with these names; by text, `known` has those that are there already."""
    texts = [example for example in candidates.examples if example.id not in known]
    parts = _joined(candidates, names)
    new = await ratings_of_texts(texts, parts, "in one call", assignment, judge, rivals=rivals, form=candidates.form)
    rated = {**known, **{text.id: ratings for text, ratings in zip(texts, new, strict=True)}}
    return _columns([rated[example.id] for example in candidates.examples])


def _joined(candidates: Candidates, names: Sequence[str]) -> list[Part]:
    return [part for part in candidates.parts_with(names) if can_join(part)]


def _columns(rated: Sequence[Sequence[CriterionRating]]) -> dict[str, list[Cell]]:
    return {column[0].criterion: [cell_of(each) for each in column] for column in zip(*rated, strict=True)}


async def _alone(candidates: Candidates, assignment: Assignment, judge: Judge) -> dict[str, list[Cell]]:
    """Return the score that the judge gives without a rubric, unless a method has asked for it already."""
    names = [each.criterion.id for each in candidates.candidates if each.method == DIRECT]
    asked = [name for name in names if _is_unjudged(candidates, name)]
    if not asked:
        return {}
    bare = {"form": "score only"} if candidates.form and not candidates.form.reasons else {}
    parts = [part.model_copy(update={"settings": {**part.settings, **bare}}) for part in candidates.parts_with(asked)]
    return _columns(await ratings_of_texts(candidates.examples, parts, "by method", assignment, judge))


async def _extended(
    candidates: Candidates, columns: Columns, plans: Sequence[Plan], judge: Judge, generator: Judge
) -> Candidates:
    ids = [example.id for example in candidates.examples]
    ratings = {
        text: {name: score for name, cells in columns.items() if (score := cells[row].score) is not None}
        for row, text in enumerate(ids)
    }
    for plan in plans:
        if plan.method.extend and plan.method.rated_later(plan.settings):
            (part,) = (each for each in candidates.parts_with(candidates.ids) if each.method == plan.method.name)
            more, notes = await plan.method.extend(
                part, ratings, plan.training_input, plan.settings, judge=judge, generator=generator
            )
            candidates = with_more(candidates, more)
            own = tuple(f"{plan.method.name}: {note}" for note in notes)
            candidates = replace(candidates, notes=(*candidates.notes, *own))
    return candidates


def _is_unjudged(candidates: Candidates, name: str) -> bool:
    place = candidates.ids.index(name)
    return all(row[place] is UNJUDGED for row in candidates.cells)


def _with_columns(
    cells: Sequence[Sequence[Cell]], ids: Sequence[str], columns: Columns
) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        tuple(columns[name][row] if name in columns else cell for name, cell in zip(ids, own, strict=True))
        for row, own in enumerate(cells)
    )


def _needed(
    candidates: Candidates, calls: Sequence[Sequence[str]], assignment: Assignment, rivals: RivalLimits | None
) -> RivalLimits | None:
    """Return the size of the calls about several texts that learning made."""
    if rivals is None:
        return None
    sizes = [
        len(call)
        for names in calls
        for call in rival_calls(candidates.examples, candidates.parts_with(names), assignment, rivals)
    ]
    return RivalLimits(texts=max(2, *sizes))


def _with_evidence(candidate: Candidate, cells: Sequence[Cell], labels: FloatArray) -> Candidate:
    """Return a candidate with the statistics of its ratings as evidence."""
    criterion = candidate.criterion
    scores = float_table(([cell.score] for cell in cells), 1)
    judged, inapplicable = int((~np.isnan(scores)).sum()), sum(not cell.applies for cell in cells)
    update: dict[str, Any] = {
        "pearson": rounded(float(label_correlations(scores, labels)[0])),
        "judged": judged,
        "missing": len(cells) - inapplicable - judged,
    }
    if criterion.kind == "question":
        good = int(np.nansum(scores))
        yes = good if question_of(criterion).better == "yes" else judged - good
        update["answers"] = {"yes": yes, "no": judged - yes, "n/a": inapplicable}
    evidence = criterion.evidence.model_copy(update=update)
    return candidate.model_copy(update={"criterion": criterion.model_copy(update={"evidence": evidence})})
