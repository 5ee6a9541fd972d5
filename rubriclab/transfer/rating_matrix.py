"""Ratings of target texts by the criteria of a rubric, exactly as in scoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.method import CriterionRating, Progress, silent
from rubriclab.rubric import Part, Rubric
from rubriclab.scoring.grouped_stream import grouped_stream
from rubriclab.scoring.rivals import row_key
from rubriclab.scoring.score import assignment_of, ratings_of_texts
from rubriclab.scoring.stream import score_stream, stream
from rubriclab.stats.correlation import FloatArray, float_table, floats
from rubriclab.training_record import Candidate, Cell


@dataclass(frozen=True, eq=False)
class RatedTexts:
    """Texts and their ratings by criteria.

    Attributes:
        examples: the texts, rows of `cells`.
        candidates: the criteria, columns of `cells`; none was generated from these texts.
        cells: the rating of each text by each criterion.
        scores: the rubric's score of each text, on the rubric's own scale; NaN where missing, and everywhere if the
            criteria were rated without the rubric.
        reason: why the latest unscored text is unscored.
    """

    examples: tuple[Example, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]
    scores: FloatArray
    reason: str | None = None

    @property
    def values(self) -> FloatArray:
        """Ratings, shape (texts, criteria), NaN where missing."""
        return float_table(([cell.score for cell in row] for row in self.cells), len(self.candidates))

    def select(self, examples: Sequence[Example]) -> RatedTexts:
        """Return the ratings of `examples`, matched by id; `examples` replace the texts rated, as with labels."""
        row_of = {example.id: row for row, example in enumerate(self.examples)}
        rows = [row_of[example.id] for example in examples]
        return replace(
            self, examples=tuple(examples), cells=tuple(self.cells[row] for row in rows), scores=self.scores[rows]
        )

    def ratings(self, row: int) -> dict[str, float | None]:
        """Return one text's ratings by criterion, without criteria that do not apply to it."""
        cells = zip(self.candidates, self.cells[row], strict=True)
        return {candidate.criterion.id: cell.score for candidate, cell in cells if cell.applies}


async def rate(rubric: Rubric, ref: str, examples: Sequence[Example], judge: Judge, under_way: int = 16) -> RatedTexts:
    """Return the texts with the ratings and scores of the rubric, whose version is `ref`.

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: from the judge; they concern every text.
    """
    rows, scores, reason = list[tuple[Cell, ...]](), list[float | None](), None
    async for score in score_stream(rubric, examples, judge, ref, under_way):
        cells = {
            rating.id: Cell(score=rating.score, reason=rating.reason, applies=rating.applies)
            for rating in score.criteria
        }
        rows.append(tuple(cells[criterion.id] for criterion in rubric.criteria))
        scores.append(score.score)
        reason = score.unscored or reason
    candidates = _candidates(rubric.parts, kept=True)
    return RatedTexts(tuple(examples), candidates, tuple(rows), floats(scores), reason)


async def rate_parts(
    parts: Sequence[Part],
    rubric: Rubric,
    examples: Sequence[Example],
    judge: Judge,
    under_way: int = 16,
    *,
    on_progress: Progress = silent,
) -> RatedTexts:
    """Return the texts rated by the criteria of `parts`, prompted as for `rubric`; errors as for `rate`."""
    assignment = assignment_of(rubric)
    ask = rubric.aggregation.ask if rubric.aggregation else "by method"
    candidates = _candidates(parts, kept=False)

    rivals = rubric.aggregation.rivals if rubric.aggregation else None
    form = rubric.aggregation.form if rubric.aggregation else None

    async def rate_all(texts: Sequence[Example]) -> list[tuple[Cell, ...]]:
        rated = await ratings_of_texts(texts, parts, ask, assignment, judge, rivals=rivals, form=form)
        return [_cells(ratings, candidates) for ratings in rated]

    async def rate_one(example: Example) -> tuple[Cell, ...]:
        (cells,) = await rate_all([example])
        return cells

    rated = grouped_stream(examples, row_key, rate_all, under_way) if rivals else stream(examples, rate_one, under_way)
    rows = list[tuple[Cell, ...]]()
    async for row in rated:
        rows.append(row)
        on_progress(f"{len(rows)} of {len(examples)} texts rated", len(rows) / len(examples))
    return RatedTexts(tuple(examples), candidates, tuple(rows), np.full(len(examples), np.nan))


def _cells(ratings: Sequence[CriterionRating], candidates: Sequence[Candidate]) -> tuple[Cell, ...]:
    cells = {
        rating.criterion: Cell(score=rating.score, reason=rating.reason, applies=rating.applies) for rating in ratings
    }
    return tuple(cells[candidate.criterion.id] for candidate in candidates)


def _candidates(parts: Sequence[Part], *, kept: bool) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(method=part.method, criterion=criterion, kept=kept) for part in parts for criterion in part.criteria
    )
