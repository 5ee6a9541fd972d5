"""Reports are written as HTML, as Markdown and as rows of CSV files; Markdown and CSV leave out drawings.

The basis of a figure says what it was compared with, and on which texts it was measured; CSV files have columns for it,
`BASIS_COLUMNS`. In HTML, hyphens before numbers become minus signs, words in backticks become code, and no line ends
inside an estimate. Texts of users (`quoted`) are shown unchanged.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from markupsafe import Markup, escape

from rubriclab.report.elements import BASIS_COLUMNS, BLOCKS, basis_cells, columns_of, interval_of, texts_of, words_of

# Pages may break a word of code over lines if it has more characters than this.
MAX_UNBROKEN = 40
# Tables with at least this many columns are too wide for a phone.
WIDE_COLUMNS = 4
MAX_HEADING = 6  # the lowest level of a heading in HTML
SVG_SHAPES = frozenset({"circle", "line", "path", "rect"})
# An estimate with its interval, or a number with its percent sign: neither is broken over lines.
_ESTIMATE = re.compile(r"[\d.]+(?: %)? \[[^\[\]\n]{1,30}\]|\d %")
# A word of code, or an option with its value.
_WORD = re.compile(r"--\S+ [^-\s]\S*|\S+")
# Characters that Markdown interprets.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!]|:(?=//)|(?<=www)\.)")
# GitHub turns `@name` and `#1` into links, even after a backslash.
_REFERENCE = re.compile(r"((?<!\w)@|#)(?=\w)")
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
CSV_COLUMNS = ("table", "row", *BASIS_COLUMNS, "column", "value", "low", "high", "text")
COMPARED_WITH = "compared with"


def typeset(words: str) -> str:
    """Return text whose negative numbers have a minus sign; hyphens in names stay."""
    return re.sub(r"(?<![\w-])-(?=\d)", "\N{MINUS SIGN}", words)


def inner_html(element: Element, level: int = MAX_HEADING, title: str = "", *, quoted: bool = False) -> Markup:
    """Return the HTML in an element.

    Args:
        level: the level of headings in the element.
        title: the caption of tables without a caption of their own.
        quoted: whether the text is from users, models or data.
    """
    pieces = [_text_html(element.text, quoted=quoted)]
    for child in element:
        pieces += [_element_html(child, level, title, quoted=quoted), _text_html(child.tail, quoted=quoted)]
    return Markup().join(pieces)


def _text_html(words: str | None, *, quoted: bool) -> Markup:
    if not words or quoted:
        return escape(words or "")
    shown = _ESTIMATE.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), typeset(words))
    parts = shown.split("`")
    if len(parts) % 2 == 0:  # one backtick has no partner
        return escape(shown)
    return Markup().join(_code_html(part, {}) if index % 2 else escape(part) for index, part in enumerate(parts))


def _code_html(code: str, attributes: Mapping[str, str]) -> Markup:
    """Return code in which only long words, and long options with their values, may be broken over lines."""
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
    """Return a section or card; of a section without an id, only the heading and content."""
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
    columns, caption, axis_ticks = columns_of(table), table.find("caption"), table.find("tfoot")
    # On narrow screens, a wide table or one with drawings stacks the cells of a row, each after its column's title.
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
    if axis_ticks is not None:
        tick_html = [inner_html(axis_ticks) if column.has_drawings else "" for column in columns]
        tick_cells = Markup().join(map(Markup("<td{}>{}</td>").format, classes, tick_html))
        pieces.append(tick_row.format("", tick_cells))
    for row in table.iterfind("tr"):
        name, *cells = (inner_html(cell, level, title) for cell in row)
        if row.get("class") == "title":
            heading = Markup('<tr class="title"><th colspan="{}" scope="colgroup">{}</th></tr>\n')
            pieces.append(heading.format(len(columns), name))
            if axis_ticks is not None:  # repeated for narrow screens, on which a group of rows fills the screen
                pieces.append(tick_row.format(" again", tick_cells))
            continue
        name_cell = Markup('<th scope="row"{}>{}</th>').format(classes[0], name)
        cell_parts = zip(classes[1:], cell_titles[1:], cells, strict=True)
        data_cells = Markup().join(Markup("<td{}{}>{}</td>").format(*parts) for parts in cell_parts)
        row_class = Markup(' class="{}"').format(row.get("class")) if row.get("class") else ""
        pieces.append(Markup("<tr{}>{}{}</tr>\n").format(row_class, name_cell, data_cells))
    return Markup().join([*pieces, Markup("</tbody>\n</table></div>\n")])


def markdown_lines(element: Element, level: int) -> Iterator[str]:
    """Yield the lines of Markdown for the content of an element, whose own `<h2>` becomes a heading of this level."""
    for child in element:
        match child.tag:
            case "p" | "blockquote" if child.get("class") != "kicker":
                yield from (_markdown_text(child), "")
            case "ul":
                yield from (*(f"- {_markdown_text(item)}" for item in child), "")
            case "dl":
                for name, value in child:
                    yield f"- {_markdown_text(name)}: {escape_markdown(words_of(value))}"
                yield ""
            case "table":
                yield from (*_table_lines(child), "")
            case "h2":
                if heading := _markdown_text(child):
                    yield from (f"{'#' * min(level, MAX_HEADING)} {heading}", "")
            case "section" | "article":
                yield from markdown_lines(child, level + 1)
            case "details":
                yield from (f"<details><summary>{escape(words_of(child[0]))}</summary>", "")
                yield from (*markdown_lines(child, level), "</details>", "")
            case "div":
                yield from markdown_lines(child, level)


def _table_lines(table: Element) -> Iterator[str]:
    columns = columns_of(table)
    indices = [index for index, column in enumerate(columns) if not column.has_drawings]
    yield f"| {' | '.join(escape_markdown(words_of(columns[index].title)) for index in indices)} |"
    yield f"| {' | '.join('--:' if columns[index].is_numeric else '---' for index in indices)} |"
    for row in table.iterfind("tr"):
        if row.get("class") == "title":
            yield f"| **{escape_markdown(words_of(row[0]))}** |{' |' * (len(indices) - 1)}"
        else:
            yield f"| {' | '.join(escape_markdown(words_of(row[index])) for index in indices)} |"


def _markdown_text(element: Element) -> str:
    pieces = []
    for text, styles in texts_of(element):
        words = " ".join(text.split())
        parts = [words] if "quoted" in styles or words.count("`") % 2 else words.split("`")
        # Every second part stood between backticks: it is code, in which nothing is escaped.
        shown_words = "`".join(part if index % 2 else escape_markdown(part) for index, part in enumerate(parts))
        if "strong" in styles and words:
            shown_words = f"**{shown_words}**"
        before = " " if text[:1].isspace() else ""
        after = " " if words and text[-1:].isspace() else ""
        pieces.append(f"{before}{shown_words}{after}")
    return "".join(pieces).strip()


def escape_markdown(words: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _REFERENCE.sub(rf"\1{ZERO_WIDTH_SPACE}", words))


def csv_rows(element: Element, title: str) -> Iterator[tuple[object, ...]]:
    """Yield a row of `CSV_COLUMNS` for each cell of an element's tables; the column `text` has the cell's words."""
    for child in element:
        match child.tag:
            # Tables of class `lead` repeat figures of other tables.
            case "table" if "lead" not in child.get("class", "").split():
                yield from _table_rows(child, title)
            case "section" | "article" | "details":
                heading = child.find("summary" if child.tag == "details" else "h2")
                own_title = "" if heading is None else _csv_name(heading)
                yield from csv_rows(child, own_title or title)
            case "div":
                yield from csv_rows(child, title)
            case "p":  # a sentence with figures, which are in an attribute
                yield from ((title, *cells) for cells in json.loads(child.get("data-figures") or "[]"))


def _csv_name(title: Element) -> str:
    """Return the name of a table or column in CSV files: by default its title."""
    return next(filter(None, (each.get("data-csv") for each in title)), "") or words_of(title)


def _table_rows(table: Element, title: str) -> Iterator[tuple[object, ...]]:
    columns = columns_of(table)
    for row in table.iterfind("tr"):
        if row.get("class") == "title":
            continue
        row_basis = row.get("data-basis") or json.dumps([None] * len(BASIS_COLUMNS))
        for column, cell in zip(columns[1:], row[1:], strict=True):
            name, basis = _csv_name(column.title), basis_cells(json.loads(cell.get("data-basis") or row_basis))
            if name == COMPARED_WITH and basis[BASIS_COLUMNS.index("compared_with")]:  # the basis says it already
                continue
            if figure := interval_of(cell):
                words = "".join([cell.text or "", *(child.tail or "" for child in cell)]).strip()
                values: tuple[object, ...] = (figure.value, figure.low, figure.high, words)
            elif (words := words_of(cell)) and cell.find("span[@class='none']") is None:  # not the dash `UNMEASURED`
                number = _number(words) if column.is_numeric else None
                values = ("", "", "", words) if number is None else (number, "", "", "")
            else:
                continue
            yield (title, words_of(row[0]), *basis, name, *values)


def _number(words: str) -> float | None:
    """Return the number that a cell shows, such as 1,234; `None` if it shows anything else."""
    try:
        number = float(words.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
