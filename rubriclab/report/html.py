"""Blocks as the HTML of templates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from markupsafe import Markup

from rubriclab.report import model
from rubriclab.report.model import Block, Cell, Figure, Span, Words, spans
from rubriclab.report.render import STYLE, View, badge, inline as _inline, prose, q, shown, typeset

__all__ = ["STYLE", "blocks_html", "body", "cell", "contents", "inline", "typeset"]


def body(view: View) -> Markup:
    return view.body()


def contents(view: View) -> Markup:
    return view.contents()


def inline(value: Cell) -> Markup:
    return _inline(cell(value))


def words(parts: Words) -> Markup:
    return Markup().join(map(_span, spans(parts)))


def _span(span: Span) -> Markup:
    style = f"{span.style}{' detail' if span.detail else ''}".strip()
    if span.quoted:
        return q(span.words, style)
    marked = Markup("{}").format(shown(span.words))
    return Markup('<span class="{}">{}</span>').format(style, marked) if style else marked


def cell(value: Cell) -> Markup:
    match value:
        case str() | Span() | tuple():
            return words(value)
        case Figure(estimate):
            return Markup("{}").format(shown(estimate))
        case model.Drawing(svg):
            return svg
        case _:
            return _block(value)


def blocks_html(blocks: Iterable[Block]) -> Markup:
    return Markup().join(map(_block, blocks))


def _block(block: Block) -> Markup:  # noqa: PLR0911, PLR0912
    match block:
        case model.Raw(html):
            return html
        case model.Paragraph(parts, style):
            if style == "prose":
                return Markup().join(prose(span.words) for span in spans(parts))
            if style == "quote":
                return Markup("<blockquote>{}</blockquote>").format(words(parts))
            return Markup('<p class="{}">{}</p>').format(style, words(parts))
        case model.Badge(said, tone, remark):
            return badge(said, tone, remark)
        case model.Bullets(items):
            return Markup("<ul>{}</ul>").format(Markup().join(Markup("<li>{}</li>").format(words(i)) for i in items))
        case model.Pairs(rows):
            pairs = (Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(words(n), cell(v)) for n, v in rows)
            return Markup('<dl class="facts">{}</dl>').format(Markup().join(pairs))
        case model.Table():
            return _table(block)
        case model.Plot(caption, svg):
            return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(words(caption), svg)
        case model.Stack(inner):
            return blocks_html(inner)
        case model.Indented(inner):
            return Markup('<div class="indented">{}</div>').format(blocks_html(inner))
        case model.Details():
            return Markup('<details{} class="{}" data-hint="{}"><summary>{}</summary>{}</details>').format(
                Markup(' open="open"') if block.open else "",
                "short" if block.short else "",
                shown(block.hint),
                words(block.summary),
                blocks_html(block.blocks),
            )
        case model.Card(title, inner, text):
            form = Markup('<article class="{}"><h2>{}</h2>{}</article>')
            return form.format("text" if text else "card", words(title), blocks_html(inner))
        case model.Section(title, inner):
            kind = " ".join(["page"] * block.page_only + ["folded"] * block.folded)
            beside = Markup('<p class="remark">{}</p>').format(words(block.beside)) if block.beside else ""
            form = Markup('<section id="{}" class="{}"><h2>{}</h2>{}{}</section>')
            return form.format(block.name, kind, words(title), beside, blocks_html(inner))
    raise TypeError(f"expected a block of a report, got {type(block).__name__}")


def _table(table: model.Table) -> Markup:
    titles = (
        Markup('<th class="{}">{}</th>').format("number" if name in table.numeric else "", words(name))
        for name in table.columns
    )
    made = [Markup("<caption>{}</caption>").format(words(table.caption))] if table.caption else []
    made.append(Markup("<thead><tr>{}</tr></thead>").format(Markup().join(titles)))
    for row in table.rows:
        if isinstance(row, str):
            made.append(Markup('<tr class="title"><th>{}</th></tr>').format(q(row)))
            continue
        first, *others = map(cell, row.cells)
        basis = json.dumps(list(asdict(row.basis).values()))
        made.append(Markup('<tr class="{}" data-basis="{}"><th>{}</th>').format(row.kind, basis, first))
        made += [Markup("<td>{}</td>").format(other) for other in others]
        made.append(Markup("</tr>"))
    if table.ticks:
        made.append(Markup("<tfoot>{}</tfoot>").format(table.ticks))
    return Markup("<table>{}</table>").format(Markup().join(made))
