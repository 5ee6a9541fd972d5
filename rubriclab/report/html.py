"""Views as HTML: a page readable without network, scripts or anything beside it, or a fragment for a notebook.

Every string is escaped here, and made plain, so that nothing in it can style, script, hide or turn what stands around
it. Drawings are the only markup that is let through; `report.charts` builds them from numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from markupsafe import Markup

from rubriclab.models.characters import plain
from rubriclab.report import model
from rubriclab.report.model import NO_DRAWING, Block, Cell, Figure, Span, View, Words, quoted, spans
from rubriclab.report.wording import cut, figure, interval, lines

STYLE = Path(__file__).with_name("report.css")
# Headings go down to h6.
DEEPEST = 6
_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")
_PAGE = Markup("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body class="rubriclab page">
<header>
<p class="kicker">{kicker}</p>
<h1>{heading}</h1>
<nav aria-label="Contents">
{contents}
</nav>
</header>
<main>
{main}
</main>
</body>
</html>
""")
_FRAGMENT = Markup("""<div class="rubriclab fragment">
<style>
{style}
</style>
<h3>{heading}</h3>
{main}
</div>
""")


def page(view: View) -> str:
    """Return a view as one self-contained HTML page."""
    return str(
        _PAGE.format(
            title=_plain("".join(span.words for span in spans(view.title))),
            style=_style(),
            kicker=view.kicker,
            heading=_words(view.title),
            contents=contents(view),
            main=_blocks(view.blocks, 2, _title(view.title)),
        )
    )


def fragment(view: View) -> str:
    """Return a view as HTML with its own styles, which reach nothing outside of it."""
    main = _blocks(view.blocks, 4, _title(view.title))
    return str(_FRAGMENT.format(style=_style(), heading=_words(view.title), main=main))


def contents(view: View) -> Markup:
    """Return links to the named sections of a view."""
    named = [block for block in view.blocks if isinstance(block, model.Section) and block.name]
    return _joined(Markup('<a href="#{}">{}</a>\n').format(each.name, _words(each.title)) for each in named)


def body(view: View) -> Markup:
    """Return the blocks of a view for a page that has its title and the style of reports."""
    return _blocks(view.blocks, 2, _title(view.title))


def inline(cell: Cell) -> Markup:
    """Return one cell of a view, for a page that lays out its own tables."""
    return _cell(cell, DEEPEST, "")


def typeset(words: str) -> str:
    """Return figures with a true minus sign; a hyphen inside a name stays one."""
    return _NEGATIVE.sub("\N{MINUS SIGN}", words)


@cache
def _style() -> Markup:
    return Markup(STYLE.read_text("utf-8"))


def _plain(words: str) -> str:
    """Return words without the characters that act on a page, cut where they are too long to be read."""
    return plain(cut(words))


def _joined(parts: Iterable[Markup]) -> Markup:
    return NO_DRAWING.join(parts)


def _words(words: Words) -> Markup:
    return _joined(map(_span, spans(words)))


def _span(span: Span) -> Markup:
    shown = _plain(span.words)
    if not span.quoted:
        marked = _code(typeset(shown))
        return Markup('<span class="{}">{}</span>').format(span.style, marked) if span.style else marked
    if span.style:
        return Markup('<bdi class="{}">{}</bdi>').format(span.style, shown)
    return Markup("<bdi>{}</bdi>").format(shown)


def _code(words: str) -> Markup:
    """Return escaped words, those between two backticks as code."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return Markup("{}").format(words)
    marks = (Markup("<code>{}</code>") if place % 2 else Markup("{}") for place in range(len(parts)))
    return _joined(mark.format(part) for mark, part in zip(marks, parts, strict=True))


def _title(words: Words) -> str:
    return _plain("".join(span.words for span in spans(words)))


def _figure(value: Figure) -> Markup:
    shown = Markup('<span class="value">{}</span>').format(typeset(figure(value.estimate.value)))
    if around := interval(value.estimate):
        shown += Markup(' <span class="interval">{}</span>').format(typeset(around))
    return shown


def _cell(cell: Cell, level: int, title: str) -> Markup:
    match cell:
        case str() | Span() | tuple():
            return _words(cell)
        case Figure():
            return _figure(cell)
        case model.Drawing(svg):
            return svg
        case _:
            return _block(cell, level, title)


def _blocks(blocks: Iterable[Block], level: int, title: str) -> Markup:
    return _joined(_block(block, level, title) for block in blocks)


def _block(block: Block, level: int, title: str) -> Markup:
    """Return a block; headings inside it are of `level`, and tables are named by `title`."""
    match block:
        case model.Paragraph():
            shown = _paragraph(block)
        case model.Badge():
            shown = Markup('<p class="badge"><strong class="{}">{}</strong> <bdi>{}</bdi></p>\n').format(
                block.tone, block.words, _plain(block.remark)
            )
        case model.Bullets(items):
            rows = (Markup("<li>{}</li>\n").format(_words(item)) for item in items)
            shown = Markup("<ul>\n{}</ul>\n").format(_joined(rows))
        case model.Pairs():
            shown = _pairs(block, level, title)
        case model.Table():
            shown = _table(block, level, title)
        case model.Plot(caption, svg):
            shown = Markup("<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n").format(_words(caption), svg)
        case _:
            shown = _group(block, level, title)
    return shown


def _group(block: Block, level: int, title: str) -> Markup:
    match block:
        case model.Stack(blocks):
            return _blocks(blocks, level, title)
        case model.Indented(blocks):
            return Markup('<div class="indented">{}</div>\n').format(_blocks(blocks, level, title))
        case model.Details():
            return Markup("<details{}><summary>{}</summary>\n{}</details>\n").format(
                Markup(" open") if block.open else "",
                _words(block.summary),
                _blocks(block.blocks, level, block.summary),
            )
        case model.Card():
            return _card(block, level, title)
        case model.Section():
            return _section(block, level)
    raise TypeError(f"expected a block of a report, got {type(block).__name__}")


def _pairs(pairs: model.Pairs, level: int, title: str) -> Markup:
    rows = (
        Markup("<div><dt>{}</dt><dd>{}</dd></div>\n").format(_words(name), _cell(value, level, title))
        for name, value in pairs.rows
    )
    return Markup('<dl class="facts">\n{}</dl>\n').format(_joined(rows))


def _card(card: model.Card, level: int, title: str) -> Markup:
    heading = _heading(card.title, level) if spans(card.title) else NO_DRAWING
    blocks = _blocks(card.blocks, level + 1, _title(card.title) or title)
    return Markup('<article class="{}">\n{}{}</article>\n').format("text" if card.text else "card", heading, blocks)


def _section(section: model.Section, level: int) -> Markup:
    inside = _blocks(section.blocks, level + 1, _title(section.title))
    beside = Markup('<p class="remark">{}</p>\n').format(_words(section.beside)) if section.beside else ""
    if not section.name:
        return _heading(section.title, level) + beside + inside
    name = f"{section.name}-title"
    heading = _heading(section.title, level, name)
    if section.folded:
        # A link to something inside a folded part opens it; a link to the part itself would not.
        folded = Markup(
            '<section aria-labelledby="{}">\n<details><summary>{}</summary>\n<div id="{}">{}{}</div></details>\n'
        )
        return folded.format(name, heading, section.name, beside, inside) + Markup("</section>\n")
    return Markup('<section id="{}" aria-labelledby="{}">\n{}{}{}</section>\n').format(
        section.name, name, heading, beside, inside
    )


def _heading(title: Words, level: int, name: str = "") -> Markup:
    named = Markup(' id="{}"').format(name) if name else ""
    return Markup("<h{0}{1}>{2}</h{0}>\n").format(min(level, DEEPEST), named, _words(title))


def _paragraph(block: model.Paragraph) -> Markup:
    if block.style == "prose":
        shown = "\n".join(line for span in spans(block.words) for line in lines(cut(span.words)))
        return Markup('<p class="prose" dir="auto">{}</p>\n').format(shown)
    if block.style == "quote":
        return Markup('<blockquote dir="auto">{}</blockquote>\n').format(_words(block.words))
    kind = Markup(' class="{}"').format(block.style) if block.style else ""
    return Markup('<p{} dir="auto">{}</p>\n').format(kind, _words(block.words))


def _table(table: model.Table, level: int, title: str) -> Markup:
    kinds = [_kind(table, place) for place in range(len(table.columns))]
    columns = list(zip(table.columns, kinds, strict=True))
    head = NO_DRAWING
    if any(table.columns):
        names = (Markup('<th scope="col"{}>{}</th>').format(kind, _words(name)) for name, kind in columns)
        head = Markup("<thead><tr>{}</tr></thead>\n").format(_joined(names))
    rows = _joined(_row(row, kinds, level, title) for row in table.rows)
    if table.ticks:
        cells = (Markup("<td{}>{}</td>").format(kind, table.ticks if "drawing" in kind else "") for kind in kinds)
        rows += Markup('<tr class="ticks" aria-hidden="true">{}</tr>\n').format(_joined(cells))
    kind = Markup("") if table.caption else Markup(' class="hidden"')
    shown = Markup('<div class="wide"><table>\n<caption{}>{}</caption>\n{}<tbody>\n{}</tbody>\n</table></div>\n')
    return shown.format(kind, _words(table.caption or title), head, rows)


def _kind(table: model.Table, place: int) -> Markup:
    if any(isinstance(row.cells[place], model.Drawing) for row in table.rows if not isinstance(row, str)):
        return Markup(' class="drawing"')
    return Markup(' class="number"') if table.columns[place] in table.numeric else NO_DRAWING


def _row(row: model.Row | str, kinds: list[Markup], level: int, title: str) -> Markup:
    if isinstance(row, str):
        heading = Markup('<tr class="title"><th colspan="{}" scope="colgroup">{}</th></tr>\n')
        return heading.format(len(kinds), _words(quoted(row)))
    first, *others = (_cell(cell, level, title) for cell in row.cells)
    cells = (Markup("<td{}>{}</td>").format(kind, cell) for cell, kind in zip(others, kinds[1:], strict=True))
    name = Markup('<th scope="row"{}>{}</th>').format(kinds[0], first)
    kind = Markup(' class="{}"').format(row.kind) if row.kind else ""
    return Markup("<tr{}>{}{}</tr>\n").format(kind, name, _joined(cells))
