"""Views in a terminal, by rich: they read well at 80 columns, and as plain text where no terminal is.

No string goes through rich's markup, and no control character reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rubriclab.models.characters import one_line
from rubriclab.report import model
from rubriclab.report.model import Block, Cell, Figure, Span, View, Words, spans
from rubriclab.report.wording import cut, estimate, lines

__all__ = ["RenderableType", "rendered"]

STYLES = {
    "": "",
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
INDENT, DEEPEST, GAP = 2, 12, 2
# Columns that are left to names before figures are set above their intervals.
NAMES = 20


def rendered(view: View) -> RenderableType:
    """Return a view as something that a rich console prints."""
    title = [_text(view.title, "bold")] if spans(view.title) else []
    return Group(*title, *_blocks(view.blocks, unfolded=view.unfolded))


def _blocks(blocks: Iterable[Block], *, unfolded: bool) -> Iterator[RenderableType]:
    before: Block | None = None
    for block in blocks:
        if isinstance(before, model.Table | model.Section) and isinstance(block, model.Paragraph | model.Pairs):
            yield ""
        yield from _block(block, unfolded=unfolded)
        before = block


def _block(block: Block, *, unfolded: bool) -> Iterator[RenderableType]:
    match block:
        case model.Paragraph():
            yield _paragraph(block, unfolded=unfolded)
        case model.Badge(words, tone, remark):
            yield Text.assemble((f" {words.upper()} ", f"{STYLES[tone]} bold reverse"), f" {one_line(remark)}")
        case model.Bullets(items):
            yield from (_item("-", item) for item in items)
        case model.Pairs(rows):
            yield _pairs(rows, unfolded=unfolded)
        case model.Table():
            yield _FittedTable(block, unfolded)
        case model.Stack(blocks):
            yield from _blocks(blocks, unfolded=unfolded)
        case model.Indented(blocks):
            yield _indented(Group(*_blocks(blocks, unfolded=unfolded)))
        case model.Card(title, blocks):
            yield ""
            yield _text(title, "bold")
            yield _indented(Group(*_blocks(blocks, unfolded=unfolded)))
        case model.Details():
            yield from _details(block, unfolded=unfolded)
        case model.Section(title, blocks, beside, page_only=False):
            yield _heading(title, beside)
            yield from _blocks(blocks, unfolded=unfolded)
        case model.Section() | model.Plot():
            # Only a page can draw these, or has room for them.
            pass


def _details(details: model.Details, *, unfolded: bool) -> Iterator[RenderableType]:
    if unfolded or details.short:
        if details.hint:
            yield _heading(details.summary, "")
        yield _indented(Group(*_blocks(details.blocks, unfolded=unfolded)))
    elif details.hint:
        yield _text(f"{details.summary}; {details.hint}", "dim")


def _cell(cell: Cell, *, unfolded: bool) -> RenderableType:
    match cell:
        case str() | Span() | tuple():
            return _text(cell, unfolded=unfolded)
        case Figure(value):
            return _figure(estimate(value), stacked=False)
        case model.Drawing():
            return ""
        case _:
            return Group(*_block(cell, unfolded=unfolded))


def _text(words: Words, style: str = "", *, unfolded: bool = True) -> Text:
    """Return words on one line that wraps; long words are broken rather than cut off."""
    text = Text("", style, overflow="fold")
    for span in spans(words):
        if span.detail and not unfolded:
            continue
        text.append(_between_spaces(span.words), STYLES[span.style])
    return text


def _between_spaces(words: str) -> str:
    """Return words on one line, with up to two of the spaces that hold them apart from their neighbours."""
    before, after = (len(words) - len(words.lstrip(" ")), len(words) - len(words.rstrip(" ")))
    shown = one_line(cut(words))
    return f"{' ' * min(before, 2)}{shown}{' ' * min(after, 2)}" if shown else "  "[:before]


def _heading(title: Words, beside: str) -> Text:
    return Text.assemble("\n", _text(title, "bold"), "  " if beside else "", _text(beside, "dim"), overflow="fold")


def _indented(view: RenderableType) -> Padding:
    return Padding(view, (0, 0, 0, INDENT), expand=False)


def _paragraph(block: model.Paragraph, *, unfolded: bool) -> RenderableType:
    if block.style == "prose":
        return Group(*(_prose(line) for span in spans(block.words) for line in lines(cut(span.words))))
    return _text(block.words, STYLES.get(block.style, ""), unfolded=unfolded)


def _prose(line: str) -> RenderableType:
    indent = min(len(line) - len(line.lstrip(" ")), DEEPEST)
    return Padding(_text(line.strip()), (0, 0, 0, indent), expand=False) if line else Text()


def _item(mark: str, words: Words) -> Table:
    item = Table.grid(padding=(0, 1, 0, 0))
    item.add_column(no_wrap=True)
    item.add_column(overflow="fold")
    item.add_row(Text(mark), _text(words))
    return item


def _pairs(rows: Iterable[tuple[str, Cell]], *, unfolded: bool) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(one_line(name)), _cell(value, unfolded=unfolded))
    return table


@dataclass(frozen=True, slots=True)
class _FittedTable:
    """A table that sets figures above their intervals where the terminal is too narrow."""

    table: model.Table
    unfolded: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        stacked = _one_line_width(self.table) > options.max_width
        drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        drawn.show_header = any(self.table.columns)
        columns = _columns(self.table)
        widths = _widths(self.table, columns, options.max_width) if stacked else {}
        for place in columns:
            name = self.table.columns[place]
            justify: Literal["right", "left"] = "right" if name in self.table.numeric else "left"
            drawn.add_column(_text(name), overflow="fold", justify=justify, width=widths.get(place))
        for row in self.table.rows:
            if isinstance(row, str):
                drawn.add_section()
                drawn.add_row(_text(row), style="dim")
                continue
            drawn.add_row(*(self._cell(row.cells[place], stacked=stacked) for place in columns), style=STYLES[row.kind])
        yield drawn

    def _cell(self, cell: Cell, *, stacked: bool) -> RenderableType:
        if isinstance(cell, Figure):
            return _figure(estimate(cell.estimate), stacked=stacked)
        return _cell(cell, unfolded=self.unfolded)


def _figure(figure: str, *, stacked: bool) -> Text:
    return Text(figure.replace(" [", "\n[") if stacked else figure, justify="right" if stacked else None)


def _columns(table: model.Table) -> list[int]:
    """Return the columns that are no drawings."""
    rows = [row for row in table.rows if not isinstance(row, str)]
    return [
        place
        for place in range(len(table.columns))
        if not any(isinstance(row.cells[place], model.Drawing) for row in rows)
    ]


def _one_line_width(table: model.Table) -> int:
    """Return how wide a table is with figures beside their intervals and names wrapped to `NAMES`."""
    rows = [row for row in table.rows if not isinstance(row, str)]
    titles = max((cell_len(row) for row in table.rows if isinstance(row, str)), default=0)
    widths = 0
    for place in _columns(table):
        name = table.columns[place]
        shown = max([_width(row.cells[place]) for row in rows] + [0 if place else titles])
        widths += max(cell_len(name), shown if name in table.numeric else min(shown, NAMES))
    return widths + GAP * (len(_columns(table)) - 1)


def _width(cell: Cell) -> int:
    match cell:
        case Figure(value):
            return cell_len(estimate(value))
        case str() | Span() | tuple():
            return sum(cell_len(span.words) for span in spans(cell))
        case _:
            return NAMES


def _widths(table: model.Table, columns: Sequence[int], width: int) -> dict[int, int]:
    """Return the width of each column if no word has to be broken, else none: rich then breaks words."""
    rows = [row for row in table.rows if not isinstance(row, str)]
    cells = {place: (table.columns[place], *(row.cells[place] for row in rows)) for place in columns}
    widths = {place: max(map(_longest_word, cells[place])) for place in columns}
    free = width - sum(widths.values()) - GAP * (len(columns) - 1)
    if free < 0:
        return {}
    for place, own in cells.items():
        wanted = max(_longest_word(cell) if isinstance(cell, Figure) else _width(cell) for cell in own)
        added = min(free, max(wanted - widths[place], 0))
        widths[place], free = widths[place] + added, free - added
    return widths


def _longest_word(cell: Cell) -> int:
    """Return the width of the longest word of a cell, or of the interval below a figure."""
    match cell:
        case Figure(value):
            return max(map(cell_len, estimate(value).replace(" [", "\n[").split("\n")))
        case str() | Span() | tuple():
            return max((cell_len(word) for span in spans(cell) for word in span.words.split()), default=0)
        case _:
            return 0
