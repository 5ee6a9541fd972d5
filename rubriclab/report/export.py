"""Views as text for other tools: Markdown for a pull request, LaTeX tables for a paper, CSV for a spreadsheet.

Text from users, models and data is escaped in each form, so that it can neither format nor execute anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from markupsafe import escape

from rubriclab.characters import one_line
from rubriclab.data.spreadsheet import csv_text
from rubriclab.report import model
from rubriclab.report.model import Block, Cell, Figure, Span, View, Words, spans
from rubriclab.report.wording import cut, estimate

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!]|:(?=//)|(?<=www)\.)")
# What a host of pull requests turns into a mention or a reference, which no backslash prevents.
_REFERENCE = re.compile(r"((?<!\w)@|#)(?=\w)")
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")
BASIS_COLUMNS = ("compared_with", "aspect", "level", "n", "groups")
CSV_COLUMNS = ("table", "row", *BASIS_COLUMNS, "column", "value", "low", "high", "text")
COMPARED_WITH = "compared with"


def markdown(view: View) -> str:
    """Return a view as Markdown, with its tables, sentences and headings."""
    title = _plain(view.title)
    lines = [f"## {_escaped(title)}", ""] if title else []
    return "\n".join([*lines, *_markdown(view.blocks, 3)]).rstrip() + "\n"


def latex_tables(view: View) -> str:
    """Return the tables of a view as LaTeX tables with booktabs, each with its title as caption."""
    return "\n".join(_latex(title, table) for title, table in _tables(view))


def csv_tables(view: View) -> str:
    """Return the figures of all tables, one a line, with the columns `CSV_COLUMNS`; cells without one are `text`."""
    lines: list[Sequence[object]] = [CSV_COLUMNS]
    for title, table in _tables(view):
        for row in table.rows:
            if not isinstance(row, str):
                lines += _csv_cells(title, table, row)
    return csv_text(lines)


def titled(blocks: tuple[Block, ...], title: Words) -> Iterator[tuple[str, model.Table | model.Plot]]:
    """Yield every table and plot inside `blocks` with the title of its section."""
    for block in blocks:
        match block:
            case model.Table() | model.Plot():
                yield _plain(title), block
            case model.Section(heading, inner) | model.Card(heading, inner):
                yield from titled(inner, heading if _plain(heading) else title)
            case model.Details(summary, inner):
                yield from titled(inner, summary or title)
            case model.Indented(inner) | model.Stack(inner):
                yield from titled(inner, title)


def _tables(view: View) -> Iterator[tuple[str, model.Table]]:
    return ((title, block) for title, block in titled(view.blocks, view.title) if isinstance(block, model.Table))


def _csv_cells(title: str, table: model.Table, row: model.Row) -> Iterator[tuple[object, ...]]:
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


def _latex(title: str, table: model.Table) -> str:
    columns = _shown_columns(table)
    alignment = "".join("r" if table.columns[place] in table.numeric else "l" for place in columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex_text(table.title or title)}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        rf"{' & '.join(_latex_text(table.columns[place]) for place in columns)} \\",
        r"\midrule",
    ]
    for row in table.rows:
        if isinstance(row, str):
            lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{_latex_text(row)}}}}} \\")
        else:
            lines.append(rf"{' & '.join(_latex_cell(table, row, place) for place in columns)} \\")
    # A row that begins with a bracket or a star would be an argument of the command before it.
    lines[7:] = (f"{{}}{line}" if line.startswith(("[", "*")) else line for line in lines[7:])
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_cell(table: model.Table, row: model.Row, place: int) -> str:
    words = _latex_text(cell_words(row.cells[place]))
    return _NEGATIVE.sub("$-$", words) if table.columns[place] in table.numeric else words


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


def _latex_text(words: str) -> str:
    return "".join(_LATEX.get(character, character) for character in words)
