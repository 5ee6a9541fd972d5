"""Views as HTML of pages: with headings by depth, and with words typeset.

Text of ours gets minus signs, estimates that are not broken over lines, and code in place of backticks. Text from
others (`quoted`) is shown unchanged. On narrow screens, the style sheet stacks the cells of wide tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree.ElementTree import Element

from markupsafe import Markup, escape

from rubriclab.report.elements import BLOCKS, columns_of, words_of

# Characters of a word of code; pages may break longer words.
MAX_UNBROKEN = 40
# Tables with at least this many columns are too wide for a phone.
WIDE_COLUMNS = 4
MAX_HEADING = 6  # the lowest level of a heading in HTML
SVG_SHAPES = frozenset({"circle", "line", "path", "rect"})
# An estimate with its interval, or a number with its percent sign: neither is broken over lines.
_ESTIMATE = re.compile(r"[\d.]+(?: %)? \[[^\[\]\n]{1,30}\]|\d %")
# A word of code, or an option with its value.
_WORD = re.compile(r"--\S+ [^-\s]\S*|\S+")


def typeset(words: str) -> str:
    """Return text whose negative numbers have a minus sign; hyphens in names stay."""
    return re.sub(r"(?<![\w-])-(?=\d)", "\N{MINUS SIGN}", words)


def inner_html(element: Element, level: int = MAX_HEADING, title: str = "", *, quoted: bool = False) -> Markup:
    """Return the HTML in an element.

    Args:
        level: the level of headings in the element.
        title: the caption of tables without one.
        quoted: whether the text is from users, models or data.
    """
    pieces = [_text_html(element.text, quoted=quoted)]
    for child in element:
        pieces += [_element_html(child, level, title, quoted=quoted), _text_html(child.tail, quoted=quoted)]
    return Markup().join(pieces)


def _text_html(words: str | None, *, quoted: bool) -> Markup:
    if not words or quoted:
        return escape(words or "")
    typed = _ESTIMATE.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), typeset(words))
    parts = typed.split("`")
    if len(parts) % 2 == 0:  # one backtick has no partner
        return escape(typed)
    return Markup().join(_code_html(part, {}) if index % 2 else escape(part) for index, part in enumerate(parts))


def _code_html(code: str, attributes: Mapping[str, str]) -> Markup:
    """Return code in which no word, and no option with its value, is broken unless longer than `MAX_UNBROKEN`."""
    unbroken = Markup("<span>{}</span>")
    words = [unbroken.format(word) if len(word) <= MAX_UNBROKEN else escape(word) for word in _WORD.findall(code)]
    return Markup("<code{}>{}</code>").format(_attributes(attributes), Markup(" ").join(words))


def _attributes(attributes: Mapping[str, str]) -> Markup:
    return Markup().join(Markup(' {}="{}"').format(name, value) for name, value in attributes.items())


def _element_html(element: Element, level: int, title: str, *, quoted: bool) -> Markup:
    tag, kind = element.tag, element.get("class", "")
    if tag in ("section", "article", "table"):
        to_html = _table_html if tag == "table" else _section_html
        return to_html(element, level, title)
    if tag == "h1" or kind == "kicker":  # pages show these themselves
        return Markup()
    if tag == "details":
        title = words_of(element[0]) or title
    inner = inner_html(element, level, title, quoted=quoted or tag == "bdi")
    if tag == "data":
        return inner
    attributes = {name: value for name, value in element.items() if value and not name.startswith("data-")}
    if tag == "code":
        return _code_html(words_of(element), attributes)
    if tag in ("p", "blockquote") and kind not in ("badge", "remark"):
        attributes["dir"] = "auto"
    if not inner and tag in SVG_SHAPES:
        return Markup("<{}{}/>").format(tag, _attributes(attributes))
    end = "\n" if tag in BLOCKS else ""
    return Markup("<{0}{1}>{2}</{0}>{3}").format(tag, _attributes(attributes), inner, end)


def _section_html(element: Element, level: int, title: str) -> Markup:
    """Return a section or card; a section without an id becomes its heading and content alone."""
    kind, name, first_heading = element.get("class", ""), element.get("id"), element.find("h2")
    own_title = "" if first_heading is None else words_of(first_heading)
    heading = Markup()
    if first_heading is not None and own_title:
        title_id = Markup(' id="{}-title"').format(name) if name else ""
        heading = Markup("<h{0}{1}>{2}</h{0}>\n").format(min(level, MAX_HEADING), title_id, inner_html(first_heading))
    children = (child for child in element if child is not first_heading)
    content = Markup().join(_element_html(child, level + 1, own_title or title, quoted=False) for child in children)
    if element.tag == "article":
        return Markup('<article class="{}">\n{}{}</article>\n').format(kind or "card", heading, content)
    if not name:
        return heading + content
    if "folded" in kind:
        # Browsers open `<details>` for a link to an element in it, but not for a link to `<details>` itself.
        folded = Markup('<details><summary>{}</summary>\n<div id="{}">{}</div></details>\n')
        inside = folded.format(heading, name, content)
        return Markup('<section aria-labelledby="{}-title">\n{}</section>\n').format(name, inside)
    section = Markup('<section id="{0}" aria-labelledby="{0}-title">\n{1}{2}</section>\n')
    return section.format(name, heading, content)


def _table_html(table: Element, level: int, title: str) -> Markup:
    columns, caption, ticks = columns_of(table), table.find("caption"), table.find("tfoot")
    # On narrow screens, the cells of a wide table or chart are stacked, each after the title of its column.
    is_wide = len(columns) >= WIDE_COLUMNS or "figures" in table.get("class", "")
    is_stacked = is_wide or any(column.has_drawings for column in columns)
    classes, cell_titles = [], []  # attributes of the cells, by column
    for column in columns:
        number_class = Markup(' class="number"') if column.is_numeric else ""
        classes.append(Markup(' class="drawing"') if column.has_drawings else number_class)
        cell_titles.append(Markup(' data-title="{}"').format(words_of(column.title)) if is_stacked else "")
    hidden = Markup(' class="hidden"' if caption is None else "")
    caption_html = escape(title) if caption is None else inner_html(caption)
    styles = " ".join(filter(None, (table.get("class"), "rows" if is_stacked else "")))
    table_class = Markup(' class="{}"').format(styles) if styles else ""
    opening = Markup('<div class="wide"><table{}>\n<caption{}>{}</caption>\n')
    pieces = [opening.format(table_class, hidden, caption_html)]
    titles = [inner_html(column.title) for column in columns]
    if any(titles):
        title_cells = Markup().join(map(Markup('<th scope="col"{}>{}</th>').format, classes, titles))
        pieces.append(Markup("<thead><tr>{}</tr></thead>\n").format(title_cells))
    pieces.append(Markup("<tbody>\n"))
    tick_row = Markup('<tr class="ticks{}" aria-hidden="true">{}</tr>\n')
    tick_cells = Markup()
    if ticks is not None:
        tick_html = [inner_html(ticks) if column.has_drawings else "" for column in columns]
        tick_cells = Markup().join(map(Markup("<td{}>{}</td>").format, classes, tick_html))
        pieces.append(tick_row.format("", tick_cells))
    for row in table.iterfind("tr"):
        name, *cells = (inner_html(cell, level, title) for cell in row)
        if row.get("class") == "title":
            heading = Markup('<tr class="title"><th colspan="{}" scope="colgroup">{}</th></tr>\n')
            pieces.append(heading.format(len(columns), name))
            if ticks is not None:  # shown on narrow screens, where a group of rows fills the screen
                pieces.append(tick_row.format(" again", tick_cells))
            continue
        name_cell = Markup('<th scope="row"{}>{}</th>').format(classes[0], name)
        cell_parts = zip(classes[1:], cell_titles[1:], cells, strict=True)
        data_cells = Markup().join(Markup("<td{}{}>{}</td>").format(*parts) for parts in cell_parts)
        row_class = Markup(' class="{}"').format(row.get("class")) if row.get("class") else ""
        pieces.append(Markup("<tr{}>{}{}</tr>\n").format(row_class, name_cell, data_cells))
    return Markup().join([*pieces, Markup("</tbody>\n</table></div>\n")])
