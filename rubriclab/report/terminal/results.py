"""How well evaluators agree with people, the floors set apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table

from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, figured, heading, text

if TYPE_CHECKING:
    from rubriclab.evaluation import Result

COEFFICIENTS = ("spearman", "pearson", "kendall")

# Three figures of this width leave enough of 80 columns for a name; figures with a minus sign are wider.
ONE_LINE = len("0.47 [0.41, 0.53]")


def results_view(results: Sequence[Result]) -> RenderableType:
    """Return a table for each aspect and level, with an interval beside every figure and what they rest on below."""
    if not results:
        return text("Nothing was evaluated.")
    return Group(*(part for block in wording.blocks(results) for part in _block(*block)))


def _block(aspect: str, level: str, results: Sequence[Result]) -> Iterator[RenderableType]:
    yield heading(f"{aspect}, {wording.LEVELS[level]}")
    yield text(wording.LEVEL_NOTES[level], QUIET)
    yield _table(results)
    yield ""
    for line in (*wording.bases(results), *wording.remarks(results)):
        yield text(line, QUIET)


def _table(results: Sequence[Result]) -> Table:
    rows = [[wording.estimate(getattr(result.agreement, name)) for name in COEFFICIENTS] for result in results]
    stacked = any(len(figure) > ONE_LINE for row in rows for figure in row)
    titles = [name.title() for name in COEFFICIENTS]
    table = columns("", *titles, numeric=titles)
    floors = False
    for result, row in zip(results, rows, strict=True):
        if wording.is_floor(result.evaluator) and not floors:
            floors = True
            table.add_section()
            table.add_row(text("floors:"), style=QUIET)
        name, _ = wording.evaluator_parts(result.evaluator)
        table.add_row(text(name), *(figured(figure, stacked=stacked) for figure in row), style=QUIET if floors else "")
    return table
