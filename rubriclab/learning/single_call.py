"""The candidates once more, rated in one call for each text, as a rubric that asks so will score."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rubriclab.data.assignment import Assignment
from rubriclab.errors import JudgeError
from rubriclab.judges.judge import Judge
from rubriclab.learning.candidates import NOT_JUDGED, Candidates, cell_of
from rubriclab.methods.questions import about
from rubriclab.methods.single_call import can_join, judge_all
from rubriclab.option_names import option
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.interval import rounded
from rubriclab.training_record import Candidate, Cell


async def asked_in_one_call(candidates: Candidates, assignment: Assignment, judge: Judge) -> Candidates:
    """Return the candidates with the ratings that they get in one call, which is how a rubric that asks so will score.

    Raises:
        JudgeError: if no reply could be used.
    """
    parts = [part for part in candidates.parts_with(candidates.ids) if can_join(part)]
    rated = await asyncio.gather(*(judge_all(example, parts, assignment, judge) for example in candidates.examples))
    if all(each.score is None for row in rated for each in row):
        raise JudgeError(
            f"No usable rating in one call: {rated[0][0].reason}", f"Try {option('settings', 'joint.ask=by method')}."
        )
    by_id = [{each.criterion: cell_of(each) for each in row} for row in rated]
    together = tuple(
        tuple(row.get(name, cell) for name, cell in zip(candidates.ids, cells, strict=True))
        for row, cells in zip(by_id, candidates.cells, strict=True)
    )
    return _with_questions(replace(candidates, together=together), assignment)


def _with_questions(found: Candidates, assignment: Assignment) -> Candidates:
    """Return the candidates, with the answers in one call for those questions that have no others."""
    later = [all(cell.reason == NOT_JUDGED for cell in column) for column in zip(*found.cells, strict=True)]
    labels = np.array([example.scores[assignment.aspect.name] for example in found.examples], dtype=float)
    candidates = [
        _with_evidence(each, [row[place] for row in found.together], labels)
        if later[place] and each.criterion.kind == "question"
        else each
        for place, each in enumerate(found.candidates)
    ]
    cells = (
        tuple(other if empty else own for own, other, empty in zip(*rows, later, strict=True))
        for rows in zip(found.cells, found.together, strict=True)
    )
    return replace(found, candidates=tuple(candidates), cells=tuple(cells))


def _with_evidence(candidate: Candidate, cells: Sequence[Cell], labels: FloatArray) -> Candidate:
    """Return a question with what the training texts say of it."""
    better = about(candidate.criterion).better
    worse = "no" if better == "yes" else "yes"
    scores = np.array([[np.nan if cell.score is None else cell.score] for cell in cells], dtype=float)
    judged = int((~np.isnan(scores)).sum())
    counts = {better: int(np.nansum(scores)), "n/a": sum(not cell.applies for cell in cells)}
    counts[worse] = judged - counts[better]
    update = {
        "answers": {answer: counts[answer] for answer in ("yes", "no", "n/a")},
        "pearson": rounded(float(label_correlations(scores, labels)[0])),
        "judged": judged,
        "missing": len(cells) - counts["n/a"] - judged,
    }
    criterion = candidate.criterion
    evidence = criterion.evidence.model_copy(update=update)
    return candidate.model_copy(update={"criterion": criterion.model_copy(update={"evidence": evidence})})
