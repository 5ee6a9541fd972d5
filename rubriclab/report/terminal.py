"""Render views in a terminal by rich, without rich's own markup and without control characters.

`elements.py` says which sections and `<details>` a terminal shows. A table that is too wide for the terminal is
`stacked`: each interval stands on a line below its figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal
from xml.etree.ElementTree import Element

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from rubriclab.models.characters import one_line
from rubriclab.report.elements import BLOCKS, columns_of, interval_of, texts_of, words_of

STYLES = {
    "quiet": "dim",
    "strong": "bold",
    "id": "cyan",
    "tag": "dim",
    "good": "green",
    "qualified": "cyan",
    "bad": "bold red",
    "warning": "bold yellow",
    "removed": "red",
    "added": "green",
    "baseline": "dim",
    "total": "bold",
    "lead": "bold",
}
PLAIN_WIDTH = 100
INDENT = Text("  ")
MAX_INDENT = 12  # spaces at the beginning of a line of a text from users
COLUMN_GAP = 2
# A command or digest with more characters than this keeps its paragraph on one line, for copying; table cells wrap.
MAX_WRAPPED = 40
UNCROPPED: Mapping[str, Any] = {"no_wrap": True, "overflow": "ignore", "crop": False}
# In a table that is not stacked, a column is at least this wide, or as wide as its longest cell if this is shorter.
MIN_COLUMN_WIDTH = 20


def plain_text(view: RenderableType) -> str:
    # Without these options, rich prints into the output cell of a notebook.
    options: dict[str, Any] = {"color_system": None, "legacy_windows": False, "force_jupyter": False}
    console = Console(file=(lines := StringIO()), width=PLAIN_WIDTH, **options)
    console.print(view, **UNCROPPED)
    return "\n".join(line.rstrip() for line in lines.getvalue().rstrip().splitlines())


def blocks_of(elements: Iterable[Element], *, unfolded: bool) -> Iterator[RenderableType]:
    previous_tag = ""
    for element in elements:
        is_badge = element.get("class") == "badge"
        if previous_tag in ("table", "section") and element.tag in ("p", "blockquote", "dl", "table") and not is_badge:
            yield ""
        yield from _block(element, unfolded=unfolded)
        previous_tag = element.tag


def _block(element: Element, *, unfolded: bool) -> Iterator[RenderableType]:
    kind = element.get("class", "")
    match element.tag:
        case "h1":
            if words_of(element):
                yield _text(element, "bold")
        case "p" if kind == "badge":
            word, *remark = element
            style = f"{STYLES[word.get('class', '')]} bold reverse"
            yield Text.assemble((f" {words_of(word).upper()} ", style), f" {' '.join(map(words_of, remark))}")
        case "p" if kind == "prose":
            for line in "".join(text for text, _ in texts_of(element)).split("\n"):
                indent = min(len(line) - len(line.lstrip(" ")), MAX_INDENT)
                yield _Indented(_wrap(one_line(line)), Text(" " * indent))
        case "p" | "blockquote" if kind != "kicker":
            yield _text(element, STYLES.get(kind, ""), unfolded=unfolded)
        case "ul":
            for item in element:
                yield _Indented(_text(item), Text("- "))
        case "dl":
            names = [Text(words_of(name), "dim") for name, _ in element]
            width = max((cell_len(name.plain) for name in names), default=0) + COLUMN_GAP
            for name, (_, value) in zip(names, element, strict=True):
                name.pad_right(width - cell_len(name.plain))
                yield _Indented(_cell(value, unfolded=unfolded), name)
        case "table":
            yield _FittedTable(element, unfolded)
        case _:
            yield from _container(element, unfolded=unfolded)


def _container(element: Element, *, unfolded: bool) -> Iterator[RenderableType]:
    kind, heading, hint = element.get("class", ""), element.find("h2"), element.get("data-hint")
    match element.tag:
        case "div":
            yield _Indented(Group(*blocks_of(element, unfolded=unfolded)), INDENT)
        case "article":
            yield ""
            yield Text() if heading is None else _text(heading, "bold")
            children = (child for child in element if child is not heading)
            yield _Indented(Group(*blocks_of(children, unfolded=unfolded)), INDENT)
        case "details" if unfolded or "short" in kind:
            if hint:
                yield Text.assemble("\n", _text(element[0], "bold"))
            yield _Indented(Group(*blocks_of(element[1:], unfolded=unfolded)), INDENT)
        case "details" if hint:
            yield _wrap(f"{words_of(element[0])}: {hint}", "dim")
        case "section" if "page" not in kind and (unfolded or "more" not in kind):
            inside = [child for child in element if child is not heading]
            title = _wrap("\n")
            if heading is not None:
                title.append_text(_text(heading, "bold"))
            if inside and inside[0].get("class") == "remark":
                title.append("  ").append_text(_text(inside.pop(0), "dim"))
            yield title
            yield from blocks_of(inside, unfolded=unfolded)


def _cell(cell: Element, *, unfolded: bool, stacked: bool = False) -> RenderableType:
    if interval_of(cell):
        words = words_of(cell)
        return Text(words.replace(" [", "\n[") if stacked else words, justify="right" if stacked else None)
    if any(child.tag in BLOCKS for child in cell):
        return Group(*blocks_of(cell, unfolded=unfolded))
    return _text(cell, unfolded=unfolded)


def _wrap(words: str, style: str = "") -> Text:
    """Return a text whose long words are broken rather than cut off."""
    return Text(words, style, overflow="fold", no_wrap=False)


def _text(element: Element, style: str = "", *, unfolded: bool = True) -> Text:
    text = _wrap("", style)
    for words, styles in texts_of(element, detailed=unfolded):
        rich_style = " ".join(STYLES[each] for each in styles if each in STYLES)
        # Spaces before the words, and spaces after them, are cut to two, or to one if a line break is among them.
        start, end = len(words) - len(words.lstrip()), len(words.rstrip())
        outer = [words[:start], words[end:]] if words.strip() else [words, ""]
        before, after = (" " if "\n" in spaces else "  "[: len(spaces)] for spaces in outer)
        text.append(f"{before}{one_line(words)}{after}", rich_style)
        if "unbroken" in styles and len(words) > MAX_WRAPPED:
            text.overflow = text.no_wrap = None  # the console's options decide: `UNCROPPED`
    text.rstrip()
    return text


@dataclass(frozen=True, slots=True)
class _Indented:
    """Content after a name or an indent; unlike rich's `Padding`, it does not cut off lines that are not wrapped."""

    content: RenderableType
    before: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        indent = cell_len(self.before.plain)
        inner = options.update_width(max(1, options.max_width - indent))
        before = list(self.before.render(console))
        for line in Segment.split_lines(console.render(self.content, inner)):
            yield from (*before, *line, Segment.line())
            before = [Segment(" " * indent)]


@dataclass(frozen=True, slots=True)
class _FittedTable:
    """A table, stacked if it is too wide; if that does not suffice, a table of class `list` loses its last columns."""

    table: Element
    unfolded: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = columns_of(self.table)
        indices = [index for index, column in enumerate(columns) if not column.has_drawings]
        titles = {index: words_of(columns[index].title) for index in indices}
        widths = self._widths(titles, options.max_width, stacked=False)
        stacked = not widths
        if stacked:
            widths = self._widths(titles, options.max_width, stacked=True)
        # Tables of class `list` have their most important columns first.
        left_out = list[str]()
        while not widths and self.table.get("class") == "list" and len(titles) > 1:
            left_out.append(titles.pop(indices.pop()))
            widths = self._widths(titles, options.max_width, stacked=True)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        table.show_header = any(words_of(column.title) for column in columns)
        for index in indices:
            justify: Literal["right", "left"] = "right" if columns[index].is_numeric else "left"
            title = Text(titles[index], overflow="fold")
            table.add_column(title, overflow="fold", justify=justify, width=widths.get(index))
        for row in self.table.iterfind("tr"):
            kind = row.get("class", "")
            if kind == "title":
                table.add_section()
                table.add_row(_text(row[0]), style="dim")
                continue
            cells = (_cell(row[index], unfolded=self.unfolded, stacked=stacked) for index in indices)
            table.add_row(*cells, style=STYLES.get(kind, ""))
        yield table
        if left_out:
            yield _wrap(f"Not at this width: {', '.join(left_out[::-1])}.", "dim")

    def _widths(self, titles: Mapping[int, str], table_width: int, *, stacked: bool) -> dict[int, int]:
        """Return the width of each column (by index); empty if `table_width` is too small to keep all words whole."""
        rows = [row for row in self.table.iterfind("tr") if row.get("class") != "title"]
        min_widths, max_widths = {}, {}
        for index, title in titles.items():
            cells = [_cell_widths(row[index], stacked=stacked) for row in rows]
            min_widths[index] = max(_longest_word(title), *(word_width for word_width, _ in cells), 1)
            max_widths[index] = max(cell_len(title), *(whole_width for _, whole_width in cells), 1)
        if self.table.find("tr[@class='title']") is not None:
            group_titles = map(words_of, self.table.iterfind("tr[@class='title']"))
            max_widths[0] = max(max_widths[0], *map(cell_len, group_titles))
        widths = dict(min_widths)
        if not stacked:
            widths = {index: max(width, min(max_widths[index], MIN_COLUMN_WIDTH)) for index, width in widths.items()}
        spare = table_width - sum(widths.values()) - COLUMN_GAP * (len(widths) - 1)
        if spare < 0:
            return {}
        # Spare width goes to the column whose longest text has most lines.
        for _ in range(spare):
            if too_narrow := [index for index in titles if widths[index] < max_widths[index]]:
                widths[max(too_narrow, key=lambda index: max_widths[index] / widths[index])] += 1
        return widths


def _cell_widths(cell: Element, *, stacked: bool) -> tuple[int, int]:
    """Return the least width at which a cell's words stay whole, and the width at which none of it is wrapped."""
    words = words_of(cell)
    if interval_of(cell):
        lines = words.replace(" [", "\n[").split("\n") if stacked else [words]
        return max(map(cell_len, lines)), max(map(cell_len, lines))
    blocks = [words_of(child) for child in cell if child.tag in BLOCKS]
    return _longest_word(words), max(map(cell_len, blocks or [_text(cell).plain]))


def _longest_word(words: str) -> int:
    return max(map(cell_len, words.split()), default=0)
