"""Plots as files: those of a view, and each column of its tables that has intervals, as SVG with their data.

The drawings are those of the pages. Colours come from the page's style sheet, resolved to the light ones, as programs
other than browsers know neither variables nor colour schemes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from textwrap import wrap

from markupsafe import Markup

from rubriclab.characters import one_line
from rubriclab.data.spreadsheet import csv_text
from rubriclab.report import charts, export, plots
from rubriclab.report.html import STYLE
from rubriclab.report.model import Figure, Plot, PlotData, Row, Table, View
from rubriclab.report.wording import estimate
from rubriclab.stats.interval import Interval

# Sizes of a plot of intervals: its names, its strips, its figures, the height of a row, its margin.
NAMES, STRIPS, FIGURES, ROW, MARGIN = 260, 300, 150, 26, 16
# Height of a line of the title, and width of one of its characters.
LINE, CHARACTER, MOST_TITLE_LINES = 18, 6.5, 4
# Characters of a name, and of the name of a file.
NAME, FILE_NAME = 38, 60
FONTS = ("Liberation Sans", "Arial", "Helvetica", "DejaVu Sans", "Noto Sans")
_VARIABLE = re.compile(r"--([\w-]+): light-dark\((.+?), ")
_RULE = re.compile(
    r"^  ((?:svg text|svg \.|\.(?:grid|zero|equal|whisker|dot|hollow|bar)\b)[^{]*\{[^}]*\})", re.MULTILINE
)
_SVG = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
    "<style>text {{ font-family: {fonts}; }}\n{style}</style>\n"
    '<rect width="100%" height="100%" fill="#ffffff"/>\n{content}\n</svg>\n'
)


@dataclass(frozen=True, slots=True)
class PlotFile:
    """A plot that stands alone.

    Attributes:
        name: of its files, without an ending.
        svg: the plot as an XML document.
        data: what is drawn.
    """

    name: str
    svg: str
    data: PlotData

    def csv(self) -> str:
        """Return the data as CSV."""
        return csv_text((self.data.columns, *self.data.rows))


def plot_files(view: View) -> tuple[PlotFile, ...]:
    """Return every plot of a view, and of each column of figures with intervals a plot of them."""
    found = _named_plots(view)
    return tuple(PlotFile(f"{place:02d}-{name}", svg, data) for place, (name, svg, data) in enumerate(found, 1))


def png(svg: str) -> bytes:
    """Return a plot as PNG, twice as large as its SVG; `png_obstacle` says whether that works here."""
    from resvg_py import svg_to_bytes

    return bytes(svg_to_bytes(svg_string=svg, zoom=2))


@cache
def png_obstacle() -> str | None:
    """Return what is missing for PNG files: the package that draws them, or a font, without which it draws no words."""
    try:
        with_words, without = (
            png(_standalone(Markup(content), 20, 20, "")) for content in ('<text y="15">A</text>', "")
        )
    except ImportError:
        return "PNG files need another package; install it with: pip install 'rubriclab[plots]'"
    return f"PNG files need a font; install one of: {', '.join(FONTS)}" if with_words == without else None


def _named_plots(view: View) -> Iterator[tuple[str, str, PlotData]]:
    for title, block in export.titled(view.blocks, view.title):
        if isinstance(block, Plot):
            drawing = _standalone(block.svg, plots.WIDTH, plots.HEIGHT, block.title or title)
            yield _file_name(block.name or title), drawing, block.data
            continue
        for column in block.columns[1:]:
            if rows := _rows_with_intervals(block, column):
                yield _file_name(f"{block.name or title} {column}"), *_intervals(column, rows, block.title or title)


def _rows_with_intervals(table: Table, column: str) -> list[tuple[Row, Interval]]:
    """Return the rows with the figures of a column; none unless at least one has an interval."""
    place = table.columns.index(column)
    rows = [row for row in table.rows if isinstance(row, Row)]
    figures = [(row, cell.estimate) for row in rows if isinstance(cell := row.cells[place], Figure)]
    return figures if any(figure.low is not None for _, figure in figures) else []


def _intervals(column: str, rows: Sequence[tuple[Row, Interval]], about: str) -> tuple[str, PlotData]:
    """Return one strip for each row over a common axis, with its name and figures, and the data."""
    axis = charts.value_axis(figure for _, figure in rows)
    names = [_row_name(row) for row, _ in rows]
    strips = (
        _strip(place, name, charts.whisker(axis, figure, baseline=row.kind == "baseline"), figure)
        for place, (name, (row, figure)) in enumerate(zip(names, rows, strict=True))
    )
    bottom = MARGIN + ROW * len(rows)
    title = Markup('<text class="title" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        MARGIN + NAMES + STRIPS / 2, bottom + 36, one_line(column)
    )
    content = Markup("\n").join((*strips, _placed(charts.tick_row(axis), bottom, 20), title))
    width = 2 * MARGIN + NAMES + STRIPS + FIGURES
    return _standalone(content, width, bottom + 48, about), _interval_data(rows)


def _row_name(row: Row) -> str:
    name = export.cell_words(row.cells[0])
    return f"{name} \N{MINUS SIGN} {row.basis.compared_with}" if row.basis.compared_with else name


def _interval_data(rows: Sequence[tuple[Row, Interval]]) -> PlotData:
    """Return the rows with what their figures rest on."""
    points = (
        (export.cell_words(row.cells[0]), *astuple(row.basis), figure.value, figure.low, figure.high)
        for row, figure in rows
    )
    return PlotData(("row", *export.BASIS_COLUMNS, "value", "low", "high"), tuple(points))


def _strip(place: int, name: str, drawing: Markup, figure: Interval) -> Markup:
    top = MARGIN + ROW * place
    words = Markup('<text x="{}" y="{}" dy="0.35em" text-anchor="{}">{}</text>')
    middle, left = top + ROW / 2, MARGIN + NAMES
    return Markup("").join(
        (
            words.format(left - 16, middle, "end", _short(one_line(name))),
            _placed(drawing, top, ROW),
            words.format(left + STRIPS + 16, middle, "start", estimate(figure)),
        )
    )


def _short(name: str) -> str:
    """Return a long name without its middle: names of criteria often differ at the end."""
    return name if len(name) <= NAME else f"{name[: NAME // 2]} … {name[3 - NAME // 2 :]}"


def _placed(drawing: Markup, top: int, height: int) -> Markup:
    return Markup('<svg x="{}" y="{}" width="{}" height="{}" overflow="visible">{}</svg>').format(
        MARGIN + NAMES, top, STRIPS, height, drawing
    )


def _standalone(content: Markup, width: int, height: int, title: str) -> str:
    """Return a drawing with its title above, on as many lines as it takes."""
    lines = wrap(one_line(title), max(int((width - 2 * MARGIN) / CHARACTER), 1))[:MOST_TITLE_LINES]
    top = MARGIN + LINE * len(lines) if lines else 0
    heading = Markup("").join(
        Markup('<text class="title" x="{}" y="{}">{}</text>').format(MARGIN, MARGIN + LINE * number, line)
        for number, line in enumerate(lines, 1)
    )
    drawing = Markup('<svg y="{}" width="{}" height="{}" overflow="visible">{}</svg>').format(
        top, width, height, content
    )
    content, height = heading + drawing, height + top
    fonts = Markup(", ").join(Markup("'{}'").format(font) for font in FONTS)
    return str(_SVG.format(width=width, height=height, fonts=fonts, style=_style(), content=content))


@cache
def _style() -> Markup:
    """Return the rules of the page's style sheet for drawings, with the light colours."""
    sheet = STYLE.read_text("utf-8")
    colours = dict(_VARIABLE.findall(sheet))
    rules = "\n".join(_RULE.findall(sheet))
    return Markup(re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], rules))


def _file_name(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower())[:FILE_NAME].strip("-") or "plot"
