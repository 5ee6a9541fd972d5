"""The elements of views: functions by which templates write them, and functions by which every output reads them.

Templates use only these elements, as every form of output can show them:

- A view begins with `<p class="kicker">` and `<h1>`. `<section>`, `<article class="card">` and `<details>` may be
  nested. Every other heading is `<h2>`; in pages, the nesting of sections and cards sets the level of a heading.
- A section with an `id` is listed in the contents of a page. Terminals omit sections of class `page`, and show those
  of class `more` only if `View.unfolded`. Pages fold sections of class `folded`.
- Terminals show the content of `<details>` if `View.unfolded` or with class `short`. Otherwise they show the
  summary and `data-hint`; an element without `data-hint` is omitted.
- `<p>` may have the class `lead`, `quiet`, `strong`, `bad`, `warning`, `badge`, `remark` (shown beside the heading) or
  `prose` (keeps line breaks). `<ul>`, `<dl class="facts">` and `<blockquote>` are allowed; `<figure>` is for pages.
- A table contains `{{ head("name", "+number") }}` and `{{ row(...) }}`. Only pages show SVG drawings in cells.
  `<tfoot>` holds the axis labels of the drawings; pages show them above the rows.
- `{{ value }}` is for our own text. Pages typeset its minus signs, and text in backticks as code. An `Interval` is
  shown as an estimate with its interval.
- `{{ command("score TEXTS --rubric", ref) }}` is a command, which is not broken over lines. On the command line, it is
  shown with options of the running command, such as `--store`; in the Python interface, as a call of `Lab`. The same
  holds for commands and options in backticks.
- Text from users, models and data must be `{{ value | external }}`, or `{{ value | external("id") }}` with a style. It
  is shown unchanged, and cannot change the direction of the text around it. Jinja escapes both kinds of text.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

from markupsafe import Markup

from rubriclab.models.characters import escape_controls, one_line
from rubriclab.report.wording import cut, estimate, lines
from rubriclab.stats.intervals import Interval

# Elements that stand below each other.
BLOCKS = frozenset({"h1", "section", "article", "details", "p", "blockquote", "ul", "dl", "div", "table", "figure"})
TAG_STYLES = {"bdi": ("quoted",), "strong": ("strong",)}
# The basis of a figure: what it was compared with, and the texts that it was measured on.
BASIS_COLUMNS = ("compared_with", "aspect", "level", "n", "groups")


# Functions for templates.


def format_element(value: object) -> object:
    """Return one of our values as text without control characters; `None` is empty, an `Interval` an estimate."""
    if value is None or isinstance(value, Markup):
        return value or ""
    return data_element(value, estimate(value)) if isinstance(value, Interval) else escape_controls(cut(str(value)))


def data_element(statistic: Interval, words: str) -> Markup:
    """Return an estimate as `words`, such as "0.50 [0.40, 0.60]"; CSV files contain its unrounded figures."""
    figures = (statistic.value, statistic.low, statistic.high)
    exact = ",".join("" if each is None else repr(float(each)) for each in figures)
    value, bracket, interval = words.partition(" [")
    bracketed = Markup(' <span class="interval">[{}</span>').format(interval) if bracket else ""
    return Markup('<data value="{}"><span class="value">{}</span>{}</data>').format(exact, value, bracketed)


def external(value: object, style: str = "") -> Markup:
    """Return text from users, models or data, marked to be shown unchanged."""
    words = "" if value is None else escape_controls(cut(str(value)))
    if not words:
        return Markup()
    return Markup('<bdi class="{}">{}</bdi>' if style else "<bdi>{1}</bdi>").format(style, words)


def command(words: str, *values: str) -> Markup:
    """Return a command of rubriclab that ends with `values`."""
    typed = escape_controls(f"rubriclab {words} {shlex.join(values)}".strip())
    return Markup('<code class="unbroken">{}</code>').format(typed)


def quiet(words: str) -> Markup:
    return Markup('<span class="quiet">{}</span>').format(format_element(words)) if words else Markup()


def line(*parts: str) -> Markup:
    """Return the parts that are not empty as one line, two spaces apart."""
    return Markup("  ").join(Markup("{}").format(format_element(each)) for each in parts if each)


def prose(text: str) -> Markup:
    return Markup('<p class="prose">{}</p>').format(external("\n".join(lines(cut(text)))))


def p_value(value: float | None) -> Markup:
    """Return a p value to three decimals, in CSV files unrounded; empty for `None`."""
    if value is None:
        return Markup()
    form = Markup('<data value="{},,"><span class="value">{}</span></data>')
    return form.format(repr(float(value)), f"{value:.3f}" if value >= 0.0005 else "<0.001")


def badge(words: str, tone: str, remark: str = "") -> Markup:
    """Return a short verdict and a remark beside it; the tone is `good`, `qualified`, `warning` or `bad`."""
    remark_span = Markup("<span>{}</span>").format(format_element(remark)) if remark else ""
    return Markup('<p class="badge"><strong class="{}">{}</strong> {}</p>').format(tone, words, remark_span)


def head(*titles: str) -> Markup:
    """Return the titles of columns; `+` before a title marks numbers, which are aligned to the right."""
    cells = []
    for title in titles:
        number_class = Markup(' class="number"') if title[:1] == "+" else ""
        cells.append(Markup("<th{}>{}</th>").format(number_class, format_element(title.removeprefix("+"))))
    return Markup("<thead><tr>{}</tr></thead>").format(Markup().join(cells))


class CellWithBasis(NamedTuple):
    """A cell with a figure from other texts than the rest of its row."""

    figure: object
    basis: Mapping[str, object]


def row(*cells: object, kind: str = "", **basis: object) -> Markup:
    """Return a row of a table; its first cell is its name.

    Args:
        kind: `baseline`, `total`, or `title` of the rows below.
        basis: values of `BASIS_COLUMNS`, which CSV files contain beside each figure of the row.
    """
    row_basis = json.dumps([basis.get(name) for name in BASIS_COLUMNS]) if basis else ""
    parts = [Markup('<tr class="{}" data-basis="{}"><th>{}</th>').format(kind, row_basis, format_element(cells[0]))]
    for cell in cells[1:]:
        if isinstance(cell, CellWithBasis):
            cell_basis = json.dumps([{**basis, **cell.basis}.get(name) for name in BASIS_COLUMNS])
            parts.append(Markup('<td data-basis="{}">{}</td>').format(cell_basis, format_element(cell.figure)))
        else:
            parts.append(Markup("<td>{}</td>").format(format_element(cell)))
    return Markup().join([*parts, Markup("</tr>")])


def note(words: str, name: str = "", *, figures: Mapping[str, Interval | str], **basis: object) -> Markup:
    """Return a paragraph; CSV files contain its `figures` (by column), in a row called `name`."""
    cells = []
    for column, figure in figures.items():
        values = ("", "", "", figure) if isinstance(figure, str) else (figure.value, figure.low, figure.high, "")
        cells.append((name, *basis_cells([basis.get(each) for each in BASIS_COLUMNS]), column, *values))
    return Markup('<p class="quiet" data-figures="{}">{}</p>').format(json.dumps(cells), format_element(words))


def basis_cells(values: list[object]) -> list[object]:
    """Return values of `BASIS_COLUMNS` for CSV files; the first three are names, which are empty if missing."""
    return [each or "" for each in values[:3]] + values[3:]


# Functions for all outputs.


class Column(NamedTuple):
    title: Element
    is_numeric: bool
    has_drawings: bool


def columns_of(table: Element) -> list[Column]:
    rows = [each for each in table.iterfind("tr") if each.get("class") != "title"]
    columns = []
    for index, title in enumerate(table.iterfind("thead/tr/th")):
        has_drawings = any(each[index].find("svg") is not None for each in rows)
        columns.append(Column(title, title.get("class") == "number", has_drawings))
    return columns


def interval_of(cell: Element) -> Interval | None:
    """Return the estimate that a cell shows; `None` if it shows anything else."""
    data = cell.find("data")
    if data is None:
        return None
    value, low, high = (float(end) if end else None for end in data.get("value", "").split(","))
    return Interval(value, low, high)


def words_of(element: Element) -> str:
    """Return the text of an element on one line, with `; ` between blocks; drawings have no text."""
    if any(child.tag in BLOCKS for child in element):
        return "; ".join(filter(None, map(words_of, element)))
    return one_line("".join(text for text, _ in texts_of(element)))


def texts_of(
    element: Element, styles: tuple[str, ...] = (), *, detailed: bool = False
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each text with the classes around it (styles), and code in backticks; class `detail` only if `detailed`."""
    if element.text:
        yield element.text, styles
    for child in element:
        inner = (*styles, *child.get("class", "").split(), *TAG_STYLES.get(child.tag, ()))
        if child.tag == "code":
            yield f"`{child.text}`", inner
        elif child.tag != "svg" and (detailed or "detail" not in inner):
            yield from texts_of(child, inner, detailed=detailed)
        if child.tail:
            yield child.tail, styles
