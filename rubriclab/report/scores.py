"""Scores of texts, as a notebook and a terminal show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.data.scale import show
from rubriclab.report import describe
from rubriclab.report.model import Cell, Paragraph, View, quoted, table
from rubriclab.report.wording import BLOCKS, count, excerpt, figure

if TYPE_CHECKING:
    from rubriclab.rubric import Rubric
    from rubriclab.scoring import Score
    from rubriclab.services.score_distribution import ScoreDistribution
    from rubriclab.services.scores import Scores

# Rows that are shown at each end of a long list.
SHOWN = 10
LONGEST_REASON, MOST_REASONS = 200, 5
TITLE = 90


def scores_view(scores: Scores) -> View:
    """Return the mean, how many texts have no score, and the first and last scores with their intervals."""
    scored = f"{count(len(scores), 'text')} scored by {scores.rubric}, {len(scores.unscored):,} unscored"
    rows = list(scores)
    first, last = (rows[:SHOWN], rows[-SHOWN:]) if len(rows) > 2 * SHOWN else (rows, [])
    cells = [_cells(score) for score in first]
    if last:
        cells += [("…", "", "", f"{len(rows) - 2 * SHOWN:,} more"), *(_cells(score) for score in last)]
    columns = ("text", "score", "interval", "reason")
    return View(
        (), (Paragraph(scored), *summary_blocks(scores.summary), table(columns, cells, numeric=("score", "interval")))
    )


def summary_blocks(summary: ScoreDistribution) -> tuple[Paragraph, ...]:
    """Return mean, spread and histogram, and the most frequent reasons why texts have no score."""
    blocks: list[Paragraph] = []
    if summary.mean is not None:
        spread = f", standard deviation {figure(summary.standard_deviation)}" if summary.standard_deviation else ""
        ends = f"{show(summary.scale.low)} |{_bars(summary.histogram)}| {show(summary.scale.high)}"
        blocks.append(Paragraph(f"mean {figure(summary.mean)}{spread}; {ends}"))
    blocks += [
        Paragraph(quoted(f"{count(number, 'text')} unscored: {excerpt(reason, LONGEST_REASON)}"), "quiet")
        for reason, number in summary.unscored.most_common(MOST_REASONS)
    ]
    return tuple(blocks)


def criteria_rows(rubric: Rubric) -> list[dict[str, Any]]:
    """Return what the columns of criteria in a table of scores stand for: id, title, statement and weight."""
    weights = {term.criterion: term.weight for term in rubric.aggregation.terms} if rubric.aggregation else {}
    return [
        {
            "criterion": criterion.id,
            "title": describe.title(criterion, TITLE),
            "statement": criterion.statement,
            "weight": weights.get(criterion.id),
        }
        for criterion in rubric.criteria
    ]


def _bars(counts: Sequence[int]) -> str:
    """Return a histogram as one character a bin; an empty bin is a dot."""
    highest = max(1, *counts)
    return "".join(BLOCKS[round(number / highest * (len(BLOCKS) - 1))] if number else "." for number in counts)


def _cells(score: Score) -> tuple[Cell, ...]:
    interval = f"{show(score.interval[0])} to {show(score.interval[1])}" if score.interval else ""
    reason = score.unscored or next((part.reason for part in score.criteria if part.reason), "")
    cut = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}…"
    return quoted(score.id), "" if score.score is None else show(score.score), interval, quoted(cut)
