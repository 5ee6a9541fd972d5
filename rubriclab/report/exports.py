"""Views as Markdown and as rows of CSV files; both leave out drawings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markupsafe import escape

from rubriclab.report.elements import BASIS_COLUMNS, basis_cells, columns_of, interval_of, texts_of, words_of
from rubriclab.report.pages import MAX_HEADING

# Characters that Markdown interprets.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!]|:(?=//)|(?<=www)\.)")
# GitHub turns `@name` and `#1` into links, even after a backslash.
_REFERENCE = re.compile(r"((?<!\w)@|#)(?=\w)")
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
CSV_COLUMNS = ("table", "row", *BASIS_COLUMNS, "column", "value", "low", "high", "text")
COMPARED_WITH = "compared with"


def markdown_lines(element: Element, level: int) -> Iterator[str]:
    """Yield the lines of Markdown for the content of an element; headings below its own get `level`."""
    for child in element:
        match child.tag:
            case "p" | "blockquote" if child.get("class") != "kicker":
                yield from (_markdown_text(child), "")
            case "ul":
                yield from (*(f"- {_markdown_text(item)}" for item in child), "")
            case "dl":
                for name, value in child:
                    yield f"- {_markdown_text(name)}: {escape_markdown(words_of(value))}"
                yield ""
            case "table":
                yield from (*_table_lines(child), "")
            case "h2":
                if heading := _markdown_text(child):
                    yield from (f"{'#' * min(level - 1, MAX_HEADING)} {heading}", "")
            case "section" | "article":
                yield from markdown_lines(child, level + 1)
            case "details":
                yield from (f"<details><summary>{escape(words_of(child[0]))}</summary>", "")
                yield from (*markdown_lines(child, level), "</details>", "")
            case "div":
                yield from markdown_lines(child, level)


def _table_lines(table: Element) -> Iterator[str]:
    columns = columns_of(table)
    indices = [index for index, column in enumerate(columns) if not column.has_drawings]
    yield f"| {' | '.join(escape_markdown(words_of(columns[index].title)) for index in indices)} |"
    yield f"| {' | '.join('--:' if columns[index].is_numeric else '---' for index in indices)} |"
    for row in table.iterfind("tr"):
        if row.get("class") == "title":
            yield f"| **{escape_markdown(words_of(row[0]))}** |{' |' * (len(indices) - 1)}"
        else:
            yield f"| {' | '.join(escape_markdown(words_of(row[index])) for index in indices)} |"


def _markdown_text(element: Element) -> str:
    pieces = []
    for text, styles in texts_of(element):
        words = " ".join(text.split())
        parts = [words] if "quoted" in styles or words.count("`") % 2 else words.split("`")
        # Every second part stood between backticks: it is code, in which nothing is escaped.
        shown_words = "`".join(part if index % 2 else escape_markdown(part) for index, part in enumerate(parts))
        if "strong" in styles and words:
            shown_words = f"**{shown_words}**"
        before = " " if text[:1].isspace() else ""
        after = " " if words and text[-1:].isspace() else ""
        pieces.append(f"{before}{shown_words}{after}")
    return "".join(pieces).strip()


def escape_markdown(words: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _REFERENCE.sub(rf"\1{ZERO_WIDTH_SPACE}", words))


def csv_rows(element: Element, title: str) -> Iterator[tuple[object, ...]]:
    """Yield a row of `CSV_COLUMNS` for each cell of tables in an element; a cell without a figure has a `text`."""
    for child in element:
        match child.tag:
            # Tables of class `lead` repeat figures of other tables.
            case "table" if "lead" not in child.get("class", "").split():
                yield from _table_rows(child, title)
            case "section" | "article" | "details":
                heading = child.find("summary" if child.tag == "details" else "h2")
                own_title = "" if heading is None else _csv_name(heading)
                yield from csv_rows(child, own_title or title)
            case "div":
                yield from csv_rows(child, title)
            case "p":
                yield from ((title, *cells) for cells in json.loads(child.get("data-figures") or "[]"))


def _csv_name(title: Element) -> str:
    """Return the name of a table or column in CSV files, by default its title."""
    return next(filter(None, (each.get("data-csv") for each in title)), "") or words_of(title)


def _table_rows(table: Element, title: str) -> Iterator[tuple[object, ...]]:
    columns = columns_of(table)
    for row in table.iterfind("tr"):
        if row.get("class") == "title":
            continue
        row_basis = row.get("data-basis") or json.dumps([None] * len(BASIS_COLUMNS))
        for column, cell in zip(columns[1:], row[1:], strict=True):
            name, basis = _csv_name(column.title), basis_cells(json.loads(cell.get("data-basis") or row_basis))
            if name == COMPARED_WITH and basis[0]:  # the basis says the same
                continue
            if figure := interval_of(cell):
                words = "".join([cell.text or "", *(child.tail or "" for child in cell)]).strip()
                values: tuple[object, ...] = (figure.value, figure.low, figure.high, words)
            elif (words := words_of(cell)) and cell.find("span[@class='none']") is None:
                number = _number(words) if column.is_numeric else None
                values = ("", "", "", words) if number is None else (number, "", "", "")
            else:
                continue
            yield (title, words_of(row[0]), *basis, name, *values)


def _number(words: str) -> float | None:
    """Return the number that a cell shows, such as 1,234; `None` if it shows anything else."""
    try:
        number = float(words.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
