"""Views in a terminal, by rich; no string goes through its markup, and no control character reaches the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain, groupby
from typing import Any, Literal
from xml.etree.ElementTree import Element

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rubriclab.models.characters import one_line
from rubriclab.report.render import BLOCKS, columns_of, figure_of, texts_of, words_of

__all__ = ["RenderableType", "plain_text", "rendered"]

STYLES = {
    "quiet": "dim",
    "strong": "bold",
    "id": "cyan",
    "tag": "dim",
    "good": "green",
    "bad": "bold red",
    "warning": "bold yellow",
    "removed": "red",
    "added": "green",
    "baseline": "dim",
    "total": "bold",
    "lead": "bold",
}
# Columns of plain text.
PLAIN_WIDTH = 100
INDENT, DEEPEST, GAP = 2, 12, 2
# A command or digest with more characters stays on one line, else it could not be copied; the terminal wraps the line.
MAX_COPIED = 40
_COPIED = re.compile(r"`rubriclab [^`\n]+`|: rubriclab [^\n]+|sha256:[0-9a-f]+")
# Columns that are left to names before figures are set above their intervals.
NAMES = 20


def rendered(tree: Element, *, unfolded: bool) -> RenderableType:
    """Return a view as something that a rich console prints."""
    return Group(*(_whole(block) if _is_whole(block) else block for block in _blocks(tree, unfolded=unfolded)))


def plain_text(view: RenderableType) -> str:
    """Return a view as lines without colours."""
    # In a notebook, rich would show the lines as output of the cell.
    options: dict[str, Any] = {"color_system": None, "legacy_windows": False, "force_jupyter": False}
    console = Console(file=(lines := StringIO()), width=PLAIN_WIDTH, **options)
    console.print(view, crop=False)
    return "\n".join(line.rstrip() for line in lines.getvalue().rstrip().splitlines())


def _blocks(elements: Iterable[Element], *, unfolded: bool) -> Iterator[RenderableType]:
    before = ""
    for element in elements:
        badge = element.get("class") == "badge"
        if before in ("table", "section") and element.tag in ("p", "blockquote", "dl", "table") and not badge:
            yield ""
        yield from _block(element, unfolded=unfolded)
        before = element.tag


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
            yield from map(_prose, "".join(text for text, _ in texts_of(element)).split("\n"))
        case "p" | "blockquote" if kind != "kicker":
            yield _text(element, STYLES.get(kind, ""), unfolded=unfolded)
        case "ul":
            yield from chain.from_iterable(_pairs([(Text("-"), _text(item))], 1) for item in element)
        case "dl":
            pairs = [(Text(words_of(name), "dim"), _cell(value, unfolded=unfolded)) for name, value in element]
            yield from _pairs(pairs, 2)
        case "table":
            yield _FittedTable(element, unfolded)
        case _:
            yield from _group(element, unfolded=unfolded)


def _group(element: Element, *, unfolded: bool) -> Iterator[RenderableType]:
    kind, heading, hint = element.get("class", ""), element.find("h2"), element.get("data-hint")
    match element.tag:
        case "div":
            yield from _indented(element, unfolded=unfolded)
        case "article":
            yield ""
            yield Text() if heading is None else _text(heading, "bold")
            yield from _indented((child for child in element if child is not heading), unfolded=unfolded)
        case "details" if unfolded or "short" in kind:
            if hint:
                yield Text.assemble("\n", _text(element[0], "bold"))
            yield from _indented(element[1:], unfolded=unfolded)
        case "details" if hint:
            yield Text(f"{words_of(element[0])}; {hint}", "dim", overflow="fold")
        case "section" if "page" not in kind and (unfolded or "more" not in kind):
            inside = [child for child in element if child is not heading]
            title = Text("\n", overflow="fold")
            if heading is not None:
                title.append_text(_text(heading, "bold"))
            if inside and inside[0].get("class") == "remark":
                title.append("  ").append_text(_text(inside.pop(0), "dim"))
            yield title
            yield from _blocks(inside, unfolded=unfolded)


def _pairs(pairs: Sequence[tuple[Text, RenderableType]], gap: int) -> Iterator[RenderableType]:
    width = max((len(name) for name, _ in pairs), default=0)
    for name, _ in pairs:
        name.pad_right(width - len(name))
    for is_whole, run in groupby(pairs, lambda pair: _is_whole(pair[1])):
        if is_whole:
            yield from (_whole(name, " " * gap, value) for name, value in run)
        else:
            yield _grid(run, gap)


def _grid(rows: Iterable[tuple[RenderableType, RenderableType]], gap: int) -> Table:
    grid = Table.grid(padding=(0, gap, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _cell(cell: Element, *, unfolded: bool, stacked: bool = False) -> RenderableType:
    if figure_of(cell):
        words = words_of(cell)
        return Text(words.replace(" [", "\n[") if stacked else words, justify="right" if stacked else None)
    if any(child.tag in BLOCKS for child in cell):
        return Group(*_blocks(cell, unfolded=unfolded))
    return _text(cell, unfolded=unfolded)


def _text(element: Element, style: str = "", *, unfolded: bool = True) -> Text:
    """Return words on one line that wraps; long words are broken rather than cut off."""
    text = Text("", style, overflow="fold")
    for words, styles in texts_of(element, detailed=unfolded):
        own = " ".join(STYLES[each] for each in styles if each in STYLES)
        text.append(_between_spaces(words), own)
    text.rstrip()
    return text


def _between_spaces(words: str) -> str:
    """Return words on one line, with up to two of the spaces that hold them apart from their neighbours."""
    if words.isspace():
        return " " if "\n" in words else "  "[: len(words)]
    before, after = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
    return f"{_between_spaces(before)}{one_line(words)}{_between_spaces(after)}" if words else ""


def _indented(elements: Iterable[Element], *, unfolded: bool) -> Iterator[RenderableType]:
    for is_whole, run in groupby(_blocks(elements, unfolded=unfolded), _is_whole):
        if is_whole:
            yield from (_whole(" " * INDENT, block) for block in run)
        else:
            yield Padding(Group(*run), (0, 0, 0, INDENT), expand=False)


def _is_whole(block: RenderableType) -> bool:
    return isinstance(block, Text) and any(len(words) > MAX_COPIED for words in _COPIED.findall(block.plain))


def _whole(*parts: Any) -> Text:
    """Return a line that is neither wrapped nor cut off, as it would be in a grid or with padding."""
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")


def _prose(line: str) -> RenderableType:
    indent = min(len(line) - len(line.lstrip(" ")), DEEPEST)
    text = Text(one_line(line), overflow="fold")
    return Padding(text, (0, 0, 0, indent), expand=False) if line else Text()


@dataclass(frozen=True, slots=True)
class _FittedTable:
    """A table that sets figures above their intervals where the terminal is too narrow."""

    table: Element
    unfolded: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        every = columns_of(self.table)
        places = [place for place, column in enumerate(every) if not column.drawing]
        titles = {place: words_of(every[place].title) for place in places}
        # Figures stand above their intervals where whole ones would break the words beside them.
        stacked, widths = False, self._widths(titles, options.max_width, stacked=False)
        if not widths:
            stacked, widths = True, self._widths(titles, options.max_width, stacked=True)
        drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        drawn.show_header = any(words_of(column.title) for column in every)
        for place in places:
            justify: Literal["right", "left"] = "right" if every[place].numeric else "left"
            title = Text(titles[place], overflow="fold")
            drawn.add_column(title, overflow="fold", justify=justify, width=widths.get(place))
        for row in self.table.iterfind("tr"):
            kind = row.get("class", "")
            if kind == "title":
                drawn.add_section()
                drawn.add_row(_text(row[0]), style="dim")
                continue
            cells = (_cell(row[place], unfolded=self.unfolded, stacked=stacked) for place in places)
            drawn.add_row(*cells, style=STYLES.get(kind, ""))
        yield drawn

    def _widths(self, titles: Mapping[int, str], width: int, *, stacked: bool) -> dict[int, int]:
        """Return the width of each column if no word has to be broken, else none: rich then breaks words."""
        rows = [row for row in self.table.iterfind("tr") if row.get("class") != "title"]
        least, most = {}, {}
        for place, title in titles.items():
            cells = [_widths_of(row[place], stacked=stacked) for row in rows]
            least[place] = max(_longest_word(title), *(short for short, _ in cells), 1)
            most[place] = max(cell_len(title), *(long for _, long in cells), 1)
        if self.table.find("tr[@class='title']") is not None:
            most[0] = max(most[0], *(cell_len(words_of(row)) for row in self.table.iterfind("tr[@class='title']")))
        widths = {place: least[place] if stacked else max(least[place], min(most[place], NAMES)) for place in titles}
        free = width - sum(widths.values()) - GAP * (len(widths) - 1)
        if free < 0:
            return {}
        # What is left goes where it saves most lines.
        for _ in range(free):
            if short_of := [place for place in titles if widths[place] < most[place]]:
                widths[max(short_of, key=lambda place: most[place] / widths[place])] += 1
        return widths


def _widths_of(cell: Element, *, stacked: bool) -> tuple[int, int]:
    """Return the widths of the longest word of a cell and of its longest line."""
    words = words_of(cell)
    if figure_of(cell):
        widest = max(map(cell_len, words.replace(" [", "\n[").split("\n"))) if stacked else cell_len(words)
        return widest, widest
    blocks = [child for child in cell if child.tag in BLOCKS]
    return _longest_word(words), max((cell_len(words_of(each)) for each in blocks), default=cell_len(_text(cell).plain))


def _longest_word(words: str) -> int:
    return max(map(cell_len, words.split()), default=0)
