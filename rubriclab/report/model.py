"""The model of a report: frozen blocks, built once for each subject and drawn by `report.terminal` and `report.html`.

A string is wording of ours, in which pages set true minus signs. Whatever comes from users, models and data is `quoted`
where it stands by itself, so that it is shown unchanged and cannot turn the text around it. Both renderers escape all
strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from markupsafe import Markup

from rubriclab.report import render
from rubriclab.stats.intervals import Interval

NO_DRAWING = Markup("")
Style = Literal["", "quiet", "strong", "id", "good", "bad", "warning", "tag", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a line.

    Attributes:
        quoted: whether it comes from outside and is shown unchanged.
        detail: whether a terminal shows it with unfolded details only.
    """

    words: str
    style: Style = ""
    quoted: bool = False
    detail: bool = False


Words: TypeAlias = "str | Span | tuple[str | Span, ...]"
Cell: TypeAlias = "Words | Figure | Drawing | Block"


class Block:
    """A part of a view."""

    __slots__ = ()


def quoted(words: str, style: Style = "") -> Span:
    """Return text from outside."""
    return Span(words, style, quoted=True)


def quiet(words: str) -> Span:
    """Return a remark."""
    return Span(words, "quiet")


def line(*parts: str | Span) -> Words:
    """Return the parts that are not empty as one line, two spaces apart."""
    shown = [part for part in parts if part if isinstance(part, str) or part.words]
    return tuple(piece for number, part in enumerate(shown) for piece in (("  ", part) if number else (part,)))


def spans(words: Words) -> tuple[Span, ...]:
    """Return the parts of a line that are not empty."""
    parts = words if isinstance(words, tuple) else (words,)
    found = (Span(part) if isinstance(part, str) else part for part in parts)
    return tuple(part for part in found if part.words)


@dataclass(frozen=True, slots=True)
class Figure:
    """A statistic with its interval; `calls` and the like are plain strings."""

    estimate: Interval


@dataclass(frozen=True, slots=True)
class Drawing:
    """A strip over an axis; only pages show columns of them."""

    svg: Markup


@dataclass(frozen=True, slots=True)
class Paragraph(Block):
    """Words on one line that wraps; `prose` and `quote` keep their lines."""

    words: Words
    style: Literal["", "lead", "quiet", "strong", "bad", "warning", "prose", "quote"] = ""


@dataclass(frozen=True, slots=True)
class Badge(Block):
    """The result in a word or two, coloured by its tone, with a remark beside it."""

    words: str
    tone: Literal["good", "warning", "bad"]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Bullets(Block):
    """A list of items."""

    items: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Pairs(Block):
    """Names with what they stand for."""

    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Basis:
    """What the figures of a row rest on, for files that contain no sentences.

    Attributes:
        compared_with: what the row is compared with, if its figures are differences.
        aspect, level: of a correlation; several levels in one string.
        n, groups: the texts and their groups.
    """

    compared_with: str = ""
    aspect: str = ""
    level: str = ""
    n: int | None = None
    groups: int | None = None


NO_BASIS = Basis()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table or chart; its kind says what it stands for."""

    cells: tuple[Cell, ...]
    kind: Literal["", "baseline", "total"] = ""
    basis: Basis = NO_BASIS


@dataclass(frozen=True, slots=True)
class Table(Block):
    """Rows under column titles; a row that is a string is the title of those that follow.

    Attributes:
        numeric: titles of the columns that are aligned to the right.
        caption: what the drawings show.
        ticks: the numbers of their axis.
    """

    columns: tuple[str, ...]
    rows: tuple[Row | str, ...]
    numeric: tuple[str, ...] = ()
    caption: str = ""
    ticks: Markup = NO_DRAWING


@dataclass(frozen=True, slots=True)
class Plot(Block):
    """A drawing with a caption, on pages only."""

    caption: Words
    svg: Markup


@dataclass(frozen=True, slots=True)
class Stack(Block):
    """Blocks as one, for a cell that holds several."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Indented(Block):
    """Blocks that belong to the one before."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Card(Block):
    """Blocks about one thing; `text` is one text among others, without a frame."""

    title: Words
    blocks: tuple[Block, ...]
    text: bool = False


@dataclass(frozen=True, slots=True)
class Details(Block):
    """Blocks that a page folds away; a terminal shows them where the view is unfolded or they are `short`.

    Attributes:
        hint: how to see them in a terminal, which it shows in their place behind the summary.
    """

    summary: str
    blocks: tuple[Block, ...]
    open: bool = False
    short: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Section(Block):
    """Blocks under a heading with a remark beside it.

    Attributes:
        name: what a link on the page leads to.
        page_only: whether a terminal leaves it out.
        folded: whether a page shows the heading alone until it is opened; only for sections with a name.
    """

    title: Words
    blocks: tuple[Block, ...]
    beside: str = ""
    name: str = ""
    page_only: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Raw(Block):
    """What a template made."""

    html: Markup


@dataclass(frozen=True, eq=False)
class View(render.View):
    """A view made of blocks."""

    title: Words
    blocks: tuple[Block, ...]
    kicker: str = "rubriclab"
    unfolded: bool = field(default=False, kw_only=True)

    @property
    def html(self) -> Markup:  # type: ignore[override]
        """The HTML of its blocks."""
        from rubriclab.report.html import blocks_html, words

        start = Markup('<p class="kicker">{}</p><h1>{}</h1>').format(self.kicker, words(self.title))
        return start + blocks_html(self.blocks)


def paragraphs(lines: Iterable[Words], style: Literal["", "quiet"] = "") -> tuple[Paragraph, ...]:
    """Return a paragraph for each line that is not empty."""
    return tuple(Paragraph(line, style) for line in lines if line)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell] | Row | str],
    *,
    numeric: Sequence[str] = (),
    caption: str = "",
    ticks: Markup = NO_DRAWING,
) -> Table:
    """Return a table whose rows may be plain sequences of cells."""
    ready = tuple(row if isinstance(row, Row | str) else Row(tuple(row)) for row in rows)
    return Table(tuple(columns), ready, tuple(numeric), caption=caption, ticks=ticks)


def lines_view(lines: Callable[[], Iterable[str]]) -> View:
    """Return a view of lines of ours."""
    return View((), paragraphs(lines()))


def quoted_lines_view(lines: Callable[[], Iterable[str]]) -> View:
    """Return a view of lines that hold a user's words."""
    return View((), paragraphs(map(quoted, lines())))
