"""Views for other tools: Markdown for a pull request, CSV for a spreadsheet, a data frame for plots and papers.

Text from users, models and data is escaped in each form, so that it can neither format nor execute anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from markupsafe import escape

from rubriclab.errors import UserError
from rubriclab.models.characters import one_line
from rubriclab.report import model
from rubriclab.report.model import Block, Cell, Figure, Span, View, Words, spans
from rubriclab.report.wording import cut, estimate

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!]|:(?=//)|(?<=www)\.)")
# What a host of pull requests turns into a mention or a reference, which no backslash prevents.
_REFERENCE = re.compile(r"((?<!\w)@|#)(?=\w)")
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
BASIS_COLUMNS = ("compared_with", "aspect", "level", "n", "groups")
CSV_COLUMNS = ("table", "row", *BASIS_COLUMNS, "column", "value", "low", "high", "text")
COMPARED_WITH = "compared with"


def markdown(view: View) -> str:
    """Return a view as Markdown, with its tables, sentences and headings."""
    title = _plain(view.title)
    lines = [f"## {_escaped(title)}", ""] if title else []
    return "\n".join([*lines, *_markdown(view.blocks, 3)]).rstrip() + "\n"


def table_cells(view: View) -> Iterator[tuple[object, ...]]:
    """Yield the figures of all tables, one a row, in the columns `CSV_COLUMNS`; cells without one are `text`."""
    for title, table in _tables(view.blocks, view.title):
        for row in table.rows:
            if not isinstance(row, str):
                yield from _cells(title, table, row)


def data_frame(rows: Iterable[dict[str, Any]]) -> Any:
    """Return rows as a pandas data frame.

    Raises:
        UserError: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise UserError(
            "A data frame needs pandas, which is not installed.", "Install it: pip install 'rubriclab[pandas]'."
        ) from None
    return pandas.DataFrame(list(rows))


def _tables(blocks: tuple[Block, ...], title: Words) -> Iterator[tuple[str, model.Table]]:
    for block in blocks:
        match block:
            case model.Table():
                yield _plain(title), block
            case model.Section(heading, inner) | model.Card(heading, inner):
                yield from _tables(inner, heading if _plain(heading) else title)
            case model.Details(summary, inner):
                yield from _tables(inner, summary or title)
            case model.Indented(inner) | model.Stack(inner):
                yield from _tables(inner, title)


def _cells(title: str, table: model.Table, row: model.Row) -> Iterator[tuple[object, ...]]:
    basis = row.basis
    start = (title, cell_words(row.cells[0]), basis.compared_with, basis.aspect, basis.level, basis.n, basis.groups)
    for column, cell in zip(table.columns[1:], row.cells[1:], strict=True):
        if column == COMPARED_WITH and basis.compared_with:
            continue
        if isinstance(cell, Figure):
            figure = cell.estimate
            yield *start, column, figure.value, figure.low, figure.high, ""
        elif words := cell_words(cell):
            number = _number(words) if column in table.numeric else None
            found = ("", "", "", words) if number is None else (number, "", "", "")
            yield *start, column, *found


def _number(words: str) -> float | None:
    """Return the number that a cell shows, such as 1,234; `None` if it shows anything else."""
    try:
        number = float(words.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _markdown(blocks: tuple[Block, ...], level: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case model.Paragraph(words):
                yield from (_markdown_words(words), "")
            case model.Badge(words, _, remark):
                yield from (f"**{_escaped(words)}** {_escaped(remark)}", "")
            case model.Bullets(items):
                yield from (*(f"- {_markdown_words(item)}" for item in items), "")
            case model.Pairs(rows):
                yield from (*(f"- {_markdown_words(name)}: {_escaped(cell_words(cell))}" for name, cell in rows), "")
            case model.Table():
                yield from (*_markdown_table(block), "")
            case model.Section(title, inner) | model.Card(title, inner):
                heading, beside = _markdown_words(title), getattr(block, "beside", "")
                yield from ([f"{'#' * min(level, 6)} {heading}", ""] if heading else [])
                yield from ([_escaped(beside), ""] if beside else [])
                yield from _markdown(inner, level + 1)
            case model.Details(summary, inner):
                yield from (f"<details><summary>{escape(one_line(summary))}</summary>", "")
                yield from (*_markdown(inner, level), "</details>", "")
            case model.Indented(inner) | model.Stack(inner):
                yield from _markdown(inner, level)


def _markdown_table(table: model.Table) -> Iterator[str]:
    columns = _shown_columns(table)
    yield f"| {' | '.join(_escaped(table.columns[place]) for place in columns)} |"
    yield f"| {' | '.join('--:' if table.columns[place] in table.numeric else '---' for place in columns)} |"
    for row in table.rows:
        if isinstance(row, str):
            yield f"| **{_escaped(row)}** |{' |' * (len(columns) - 1)}"
        else:
            yield f"| {' | '.join(_escaped(cell_words(row.cells[place])) for place in columns)} |"


def _shown_columns(table: model.Table) -> list[int]:
    rows = [row for row in table.rows if not isinstance(row, str)]
    places = range(len(table.columns))
    return [place for place in places if not any(isinstance(row.cells[place], model.Drawing) for row in rows)]


def cell_words(cell: Cell) -> str:
    """Return what a cell shows, on one line; nothing for a drawing."""
    match cell:
        case Figure(value):
            return estimate(value)
        case str() | Span() | tuple():
            return _plain(cell)
        case model.Paragraph(words):
            return _plain(words)
        case model.Stack(blocks) | model.Indented(blocks):
            return "; ".join(filter(None, map(cell_words, blocks)))
        case _:
            return ""


def _plain(words: Words) -> str:
    return one_line("".join(span.words for span in spans(words) if not span.detail))


def _markdown_words(words: Words) -> str:
    return "".join(
        f"**{_escaped(one_line(cut(span.words)))}**" if span.style == "strong" else _escaped_span(span)
        for span in spans(words)
        if not span.detail
    ).strip()


def _escaped_span(span: Span) -> str:
    shown = _escaped(one_line(cut(span.words))) if span.quoted else _with_code(one_line(cut(span.words)))
    before, after = len(span.words) - len(span.words.lstrip(" ")), len(span.words) - len(span.words.rstrip(" "))
    return f"{' ' if before else ''}{shown}{' ' if after else ''}"


def _with_code(words: str) -> str:
    """Return escaped words of ours, those between two backticks as code."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return _escaped(words)
    return "`".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(words: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _REFERENCE.sub(rf"\1{ZERO_WIDTH_SPACE}", words))
