"""What the views are made of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rubriclab.characters import one_line
from rubriclab.report.wording import cut, lines

HEADING = "bold"
QUIET = "dim"
INDENT = 2
DEEPEST = 12

# A line of a text in paragraphs, which may be an item of a list.
_LINE = re.compile(r"(?P<indent> *)(?P<mark>(?:[-*•–]|\d{1,3}[.)])(?= ))?(?P<words>.*)", re.DOTALL)


def text(words: str, style: str = "") -> Text:
    """Return words as they stand, on one line that wraps; long words are broken rather than cut off."""
    return Text(one_line(cut(words)), style, overflow="fold")


def heading(words: str, beside: str = "") -> Text:
    """Return a heading, after an empty line, with a quiet remark beside it."""
    return Text.assemble("\n", text(words, HEADING), "  " if beside else "", text(beside, QUIET), overflow="fold")


def indented(view: RenderableType) -> Padding:
    """Return the view, moved to the right."""
    return Padding(view, (0, 0, 0, INDENT), expand=False)


def pairs(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """Return names in a quiet column and what they stand for beside them."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, text(value) if isinstance(value, str) else value)
    return table


def prose(words: str) -> Group:
    """Return words with their paragraphs and lines; items of lists hang from their mark."""
    return Group(*map(_line, lines(cut(words))))


def _line(line: str) -> RenderableType:
    found = _LINE.match(line)
    if not (line and found):
        return text(line)
    indent, mark, words = found.group("indent", "mark", "words")
    return Padding(_item(mark, words) if mark else text(words), (0, 0, 0, min(len(indent), DEEPEST)), expand=False)


def _item(mark: str, words: str) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(mark), text(words))
    return table


def columns(*names: str, numeric: Collection[str] = ()) -> Table:
    """Return a table without lines but one under its header; the `numeric` columns are aligned to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style=HEADING)
    for name in names:
        table.add_column(text(name), overflow="fold", justify="right" if name in numeric else "left")
    return table


def figured(figure: str, *, stacked: bool) -> Text:
    """Return a figure with its interval beside it, or `stacked` below it."""
    return Text(figure.replace(" [", "\n[") if stacked else figure, justify="right")
