"""Scores of texts: how many, their mean, and the first ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rubriclab.report import describe, wording
from rubriclab.report.model import Cell, Details, Pairs, Paragraph, Stack, View, line, quiet, quoted, table

if TYPE_CHECKING:
    from rubriclab.scoring.score import Score

MOST_SHOWN = 10


def scores_view(rubric: str, scores: Sequence[Score]) -> View:
    """Return the scores by `rubric`: how many, their mean, and the first with the reasons of its criteria."""
    values = [score.score for score in scores if score.score is not None]
    mean = wording.figure(math.fsum(values) / len(values) if values else None)
    facts = (("scored", f"{len(values):,}"), ("unscored", f"{len(scores) - len(values):,}"), ("mean", mean))
    shown = [_row(score) for score in scores[:MOST_SHOWN]]
    blocks = (
        (Pairs(facts), table(("text", "score", "reasons"), shown, numeric=("score",))) if shown else (Pairs(facts),)
    )
    more = len(scores) - len(shown)
    rest = (Paragraph(f"and {more:,} more", "quiet"),) if more else ()
    title = (f"{wording.count(len(scores), 'text')} scored by ", quoted(rubric))
    return View(title, (*blocks, *rest), "rubriclab scores")


def _row(score: Score) -> tuple[Cell, ...]:
    ends = describe.score_interval(score.interval) if score.interval else ""
    if score.score is None:
        return quoted(score.id), "none", quoted(f"unscored: {score.unscored}", "quiet")
    rows = [(quoted(part.id, "id"), describe.answered(part, None), quoted(part.reason)) for part in score.criteria]
    reasons = Stack((Details(wording.counted(len(rows), "criterion"), (table(("", "", ""), rows),)),)) if rows else ""
    return quoted(score.id), line(describe.rounded(score.score), quiet(ends)), reasons
