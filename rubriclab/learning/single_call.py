"""Ratings of all candidates in one call for each text, or for several rivals, as in scoring with a single call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rubriclab.aggregation import RivalLimits
from rubriclab.data.aspect import Assignment
from rubriclab.errors import JudgeError
from rubriclab.judges.judge import Judge
from rubriclab.learning.candidates import NOT_JUDGED, Candidates, cell_of
from rubriclab.methods.questions import question_of
from rubriclab.methods.single_call import can_join, rival_calls
from rubriclab.option_names import option
from rubriclab.scoring.score import ratings_of_texts
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.interval import rounded
from rubriclab.stats.missing import float_table
from rubriclab.training_record import Candidate, Cell


async def rated_in_one_call(
    candidates: Candidates, assignment: Assignment, judge: Judge, rivals: RivalLimits | None = None
) -> Candidates:
    """Return the candidates with their ratings from a single call for each text, or for several texts of a group.

    Args:
        rivals: the largest size of calls about several texts. The candidates have the size that was needed, so that
            scoring by fewer criteria does not show more texts at once than learning did.

    Raises:
        JudgeError: if no reply could be used.
    """
    parts = [part for part in candidates.parts_with(candidates.ids) if can_join(part)]
    rated = await ratings_of_texts(candidates.examples, parts, "in one call", assignment, judge, rivals=rivals)
    if all(rating.score is None for row in rated for rating in row):
        raise JudgeError(
            f"No usable rating in one call: {rated[0][0].reason}", f"Try {option('settings', 'joint.ask=by method')}."
        )
    by_id = [{rating.criterion: cell_of(rating) for rating in row} for row in rated]
    together = tuple(
        tuple(row.get(name, cell) for name, cell in zip(candidates.ids, cells, strict=True))
        for row, cells in zip(by_id, candidates.cells, strict=True)
    )
    if rivals:
        calls = rival_calls(candidates.examples, parts, assignment, rivals)
        rivals = RivalLimits(texts=max(2, *map(len, calls)), tokens=rivals.tokens)
    return _with_questions(replace(candidates, together=together, rivals=rivals), assignment)


def _with_questions(candidates: Candidates, assignment: Assignment) -> Candidates:
    """Return the candidates, with the answers from the single call for questions that have no other answers."""
    later = [all(cell.reason == NOT_JUDGED for cell in column) for column in zip(*candidates.cells, strict=True)]
    labels = np.array([example.scores[assignment.aspect.name] for example in candidates.examples], dtype=float)
    updated = [
        _with_evidence(candidate, [row[place] for row in candidates.together], labels)
        if later[place] and candidate.criterion.kind == "question"
        else candidate
        for place, candidate in enumerate(candidates.candidates)
    ]
    cells = (
        tuple(in_one_call if empty else cell for cell, in_one_call, empty in zip(*rows, later, strict=True))
        for rows in zip(candidates.cells, candidates.together, strict=True)
    )
    return replace(candidates, candidates=tuple(updated), cells=tuple(cells))


def _with_evidence(candidate: Candidate, cells: Sequence[Cell], labels: FloatArray) -> Candidate:
    """Return a question with its statistics on the training texts as evidence."""
    better = question_of(candidate.criterion).better
    worse = "no" if better == "yes" else "yes"
    scores = float_table(([cell.score] for cell in cells), 1)
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
