"""Texts of a target as the rubric's criteria rate them, exactly as they would be in scoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.names import PartName
from rubriclab.rubric import Part, Rubric
from rubriclab.scoring.score import assignment_of, ratings_of
from rubriclab.scoring.stream import score_stream, stream
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.training_record import Candidate, Cell, TrainingRecord


@dataclass(frozen=True, eq=False)
class RatedTexts:
    """Texts by criteria.

    Attributes:
        examples: the texts, rows of `cells`.
        candidates: the criteria, columns of `cells`; none of them was made from these texts.
        cells: what was found of each text by each criterion.
        scores: what the rubric says of each text, on the scale that its scores are on; NaN where it says nothing, and
            everywhere for criteria that are no rubric yet.
        reason: why the latest text that has no score has none.
    """

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    scores: FloatArray
    reason: str | None = None

    @property
    def values(self) -> FloatArray:
        """The criteria's scores, shape (texts, criteria), NaN where there is none."""
        rows = [[np.nan if cell.score is None else cell.score for cell in row] for row in self.cells]
        return np.array(rows, dtype=float).reshape(len(self.examples), len(self.candidates))

    def rows(self, places: IntArray) -> RatedTexts:
        """Return the texts at these places, in this order."""
        chosen = places.tolist()
        return replace(
            self,
            examples=tuple(self.examples[place] for place in chosen),
            cells=tuple(self.cells[place] for place in chosen),
            scores=self.scores[chosen],
        )

    def answers(self, row: int) -> dict[str, float | None]:
        """Return one text's scores by criterion, without those that cannot be asked of it."""
        own = zip(self.candidates, self.cells[row], strict=True)
        return {candidate.criterion.id: cell.score for candidate, cell in own if cell.applies}


async def rate(rubric: Rubric, name: str, examples: Sequence[Example], judge: Judge, under_way: int = 16) -> RatedTexts:
    """Return the texts as the rubric, known as `name`, rates and scores them.

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    rows, scores, reason = list[tuple[Cell, ...]](), list[float](), None
    async for score in score_stream(rubric, examples, judge, name, under_way):
        found = {each.id: Cell(score=each.score, reason=each.reason, applies=each.applies) for each in score.criteria}
        rows.append(tuple(found[criterion.id] for criterion in rubric.criteria))
        scores.append(np.nan if score.score is None else score.score)
        reason = score.unscored or reason
    kept = [
        Candidate(method=part.method, criterion=criterion, kept=True)
        for part in rubric.parts
        for criterion in part.criteria
    ]
    return RatedTexts(tuple(examples), tuple(kept), tuple(rows), np.array(scores, dtype=float), reason)


async def rate_all(
    parts: Sequence[Part], rubric: Rubric, examples: Sequence[Example], judge: Judge, under_way: int = 16
) -> RatedTexts:
    """Return the texts as the criteria of `parts` rate them, asked as those of `rubric` are; errors as for `rate`."""
    assignment = assignment_of(rubric)
    ask = rubric.aggregation.ask if rubric.aggregation else "by method"

    async def one(example: Example) -> tuple[Cell, ...]:
        ratings = await ratings_of(example, parts, ask, assignment, judge)
        found = {each.criterion: Cell(score=each.score, reason=each.reason, applies=each.applies) for each in ratings}
        return tuple(found[criterion.id] for part in parts for criterion in part.criteria)

    rows = [row async for row in stream(examples, one, under_way)]
    every = [
        Candidate(method=part.method, criterion=criterion, kept=False) for part in parts for criterion in part.criteria
    ]
    return RatedTexts(tuple(examples), tuple(every), tuple(rows), np.full(len(examples), np.nan))


def wider(rubric: Rubric, record: TrainingRecord | None) -> tuple[Part, ...]:
    """Return the rubric's parts with the criteria that were left out when it was learned beside those that were kept.

    Those that took part in the choice, where that is on record, else all that the parts have dropped. Methods of which
    nothing was kept are not among them: how they ask is not in the rubric.
    """
    offered: set[tuple[PartName, str]] | None = None
    if record:
        offered = {(candidate.method, candidate.criterion.id) for candidate in record.candidates}
    return tuple(_widened(part, offered) for part in rubric.parts)


def _widened(part: Part, offered: set[tuple[PartName, str]] | None) -> Part:
    # One score of the whole aspect is enough: others cost a call each and say much the same.
    left = (dropped.criterion for dropped in part.dropped if dropped.criterion.kind != "score")
    more = tuple(criterion for criterion in left if offered is None or (part.method, criterion.id) in offered)
    return part.model_copy(update={"criteria": (*part.criteria, *more), "dropped": ()})
