"""Scores of texts, as a notebook and a terminal show them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rubriclab.data.scale import show
from rubriclab.report.model import Cell, Paragraph, View, quoted, table
from rubriclab.report.wording import count

if TYPE_CHECKING:
    from rubriclab.scoring import Score
    from rubriclab.services.score import Scores

# Rows that are shown at each end of a long list.
SHOWN = 10
LONGEST_REASON = 200


def scores_view(scores: Scores) -> View:
    """Return the mean, how many texts have no score, and the first and last scores with their intervals."""
    mean = "undefined" if math.isnan(scores.mean) else show(scores.mean)
    summary = f"{count(len(scores), 'text')} scored by {scores.rubric}: mean {mean}, {len(scores.unscored)} unscored."
    rows = list(scores)
    first, last = (rows[:SHOWN], rows[-SHOWN:]) if len(rows) > 2 * SHOWN else (rows, [])
    cells = [_cells(score) for score in first]
    if last:
        cells += [("…", "", "", f"{len(rows) - 2 * SHOWN:,} more"), *(_cells(score) for score in last)]
    columns = ("text", "score", "interval", "reason")
    return View((), (Paragraph(summary), table(columns, cells, numeric=("score", "interval"))))


def _cells(score: Score) -> tuple[Cell, ...]:
    interval = f"{show(score.interval[0])} to {show(score.interval[1])}" if score.interval else ""
    reason = score.unscored or next((part.reason for part in score.criteria if part.reason), "")
    cut = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}…"
    return quoted(score.id), "" if score.score is None else show(score.score), interval, quoted(cut)
