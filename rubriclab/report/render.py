"""Render views: a template gives HTML, which is turned into pages, terminal output, Markdown and CSV.

The view `drift`, for example, is the template `templates/drift.html` and a function that returns
`view("drift", look=look)`. Templates use only the elements that follow, as every form of output can show them:

- A view begins with `<p class="kicker">` and `<h1>`. `<section>`, `<article class="card">` and `<details>` may be
  nested. All other headings are `<h2>`; pages set their level by their depth.
- A section with an `id` is listed in the contents of a page. Terminals omit sections of class `page`, and show those
  of class `more` only in unfolded views. Pages fold sections of class `folded`.
- Terminals show the content of `<details>` in unfolded views or with class `short`. Otherwise they show the summary and
  `data-hint`, or nothing without this attribute.
- `<p>` may have the class `lead`, `quiet`, `strong`, `bad`, `warning`, `badge`, `remark` (shown beside the heading) or
  `prose` (keeps line breaks). `<ul>`, `<dl class="facts">` and `<blockquote>` are allowed; `<figure>` is for pages.
- A table contains `{{ head("name", "+number") }}` and `{{ row(...) }}`. Only pages show SVG drawings in cells.
  `<tfoot>` holds the axis labels of the drawings; pages show them above the rows.
- `{{ value }}` is for our own text. Pages typeset its minus signs, and text in backticks as code. An `Interval` is
  shown as an estimate with its interval.
- `{{ command("score TEXTS --rubric", ref) }}` is a command, which is not broken over lines. The command line adds
  options of the running command, such as `--store`; Python shows the call of `Lab` instead. The same holds for commands
  and options in backticks.
- Text from users, models and data must be `{{ value | external }}`, or `{{ value | external("id") }}` with a style. It
  is shown unchanged, and cannot change the direction of the text around it. Jinja escapes both kinds of text.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring

from markupsafe import Markup, escape

from rubriclab.data.write import csv_text, data_frame
from rubriclab.models.characters import count, join_names, judge_at, one_line, plain
from rubriclab.models.text import format_score, has_shipped_definition
from rubriclab.report.wording import cut, estimate, lines, signed
from rubriclab.stats.intervals import MIN_GROUPS, Interval

if TYPE_CHECKING:
    from jinja2 import Environment

STYLE = Path(__file__).with_name("report.css")
TEMPLATES = Path(__file__).with_name("templates")
# Characters of a word of code; pages may break longer words.
MAX_UNBROKEN = 40
# Tables with at least this many columns are too wide for a phone.
WIDE_COLUMNS = 4
MAX_HEADING = 6  # the lowest level of a heading in HTML
# Elements that stand below each other, and elements inside them that hold text.
BLOCKS = frozenset({"h1", "section", "article", "details", "p", "blockquote", "ul", "dl", "div", "table", "figure"})
CONTAINERS = frozenset({"h2", "li", "dt", "dd", "th", "td", "summary", "figcaption", "caption"})
# Names of `report.wording` and of `models.evaluation` that templates use without a prefix.
WORDING_NAMES = ("LEVELS", "counted", "effort", "estimate", "evaluator_parts", "excerpt", "figure", "rounded")
MEASURE_NAMES = ("GRADED_MEASURES", "TWO_LEVEL_MEASURES")
EVALUATION_NAMES = ("CALIBRATED", "CALIBRATED_ENDING", "MIN_EFFECT", "WHOLE", "is_baseline", *MEASURE_NAMES)
TAG_STYLES = {"bdi": ("quoted",), "strong": ("strong",)}
SVG_SHAPES = frozenset({"circle", "line", "path", "rect"})
_BREAK = re.compile(r"\s*\n\s*")
# An estimate with its interval, or a number with its percent sign: neither is broken over lines.
_ESTIMATE = re.compile(r"[\d.]+(?: %)? \[[^\[\]\n]{1,30}\]|\d %")
# A word of code, or an option with its value.
_WORD = re.compile(r"--\S+ [^-\s]\S*|\S+")
# A command or an option in backticks.
_TYPED = re.compile(r"`((?:rubriclab |--)[^`]+)`")
# Characters that Markdown interprets.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!]|:(?=//)|(?<=www)\.)")
# GitHub turns `@name` and `#1` into links, even after a backslash.
_REFERENCE = re.compile(r"((?<!\w)@|#)(?=\w)")
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
# What a figure rests on: the evaluator compared with, and the texts.
BASIS_COLUMNS = ("compared_with", "aspect", "level", "n", "groups")
CSV_COLUMNS = ("table", "row", *BASIS_COLUMNS, "column", "value", "low", "high", "text")
COMPARED_WITH = "compared with"
OR_IN_PYTHON = " or, in Python, "
CommandForm = Callable[[str], str]


class View:
    """A rendered template; if `unfolded`, terminals also show what pages fold.

    A command or an option is shown in each of `forms`, as typed or as a call in Python; equal forms are shown once.
    """

    def __init__(self, html: Markup, *, unfolded: bool = False, forms: Sequence[CommandForm] = (str,)) -> None:
        self.html, self.unfolded, self.forms = html, unfolded, forms

    def with_forms(self, *forms: CommandForm) -> View:
        return View(self.html, unfolded=self.unfolded, forms=forms)

    def _command_forms(self, typed: str) -> list[str]:
        return list(dict.fromkeys(form(typed) for form in self.forms))

    @cached_property
    def tree(self) -> Element:
        tree = _parse(Markup("<view>{}</view>").format(self.html))
        for parent in [each for each in tree.iter() if each.tag not in ("bdi", "code")]:
            parent.text = self._show_commands(parent.text)
            if hint := parent.get("data-hint"):
                parent.set("data-hint", self._show_commands(hint))
            for index, child in reversed(list(enumerate(parent))):
                child.tail = self._show_commands(child.tail)
                if child.tag != "code":
                    continue
                child.text, *calls = self._command_forms(str(child.text))
                for call in calls:
                    call_element = Element("code", child.attrib)
                    call_element.text = call
                    call_element.tail, child.tail = child.tail, OR_IN_PYTHON
                    parent.insert(index + 1, call_element)
        return tree

    def _show_commands(self, words: str | None) -> str:
        def show(typed: re.Match[str]) -> str:
            return OR_IN_PYTHON.join(f"`{each}`" for each in self._command_forms(typed[1]))

        return _TYPED.sub(show, words or "")

    @property
    def heading(self) -> Element:
        heading = self.tree.find("h1")
        return Element("h1") if heading is None else heading

    def __rich__(self) -> Any:
        from rubriclab.report.terminal import renderable

        return renderable(self.tree, unfolded=self.unfolded)

    def __str__(self) -> str:
        from rubriclab.report.terminal import plain_text

        return plain_text(self)

    def body(self) -> Markup:
        """Return the HTML below the title, for a page with a title and style sheet of its own."""
        return _inner_html(self.tree, 2, words_of(self.heading))

    def contents(self) -> Markup:
        """Return links to the sections that have an id."""
        sections = [each for each in self.tree.iterfind("section") if each.get("id")]
        links = (Markup('<a href="#{}">{}</a>\n').format(each.get("id"), _inner_html(each[0])) for each in sections)
        return Markup().join(links)

    def page(self) -> str:
        kicker = self.tree.find("p[@class='kicker']")
        kicker_words = "rubriclab" if kicker is None else words_of(kicker)
        title, heading, style = words_of(self.heading), _inner_html(self.heading), _style()
        return str(render_template("page", view=self, title=title, heading=heading, kicker=kicker_words, style=style))

    def _repr_html_(self) -> str:
        """Return the view as HTML with its own styles, which do not affect the rest of a notebook."""
        main = _inner_html(self.tree, 4, words_of(self.heading))
        frame = Markup('<div class="rubriclab fragment">\n<style>\n{}\n</style>\n<h3>{}</h3>\n{}\n</div>\n')
        return str(frame.format(_style(), _inner_html(self.heading), main))

    def markdown(self) -> str:
        title = words_of(self.heading)
        heading = [f"## {_escaped(title)}", ""] if title else []
        return "\n".join([*heading, *_markdown(self.tree, 3)]).rstrip() + "\n"

    def cells(self) -> Iterator[tuple[object, ...]]:
        """Yield a row of `CSV_COLUMNS` for each table cell; a cell without a figure has a `text`."""
        return _cells(self.tree, words_of(self.heading))

    def csv(self) -> str:
        return csv_text([CSV_COLUMNS, *self.cells()])

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each cell of all tables; UserError without pandas."""
        return data_frame(dict(zip(CSV_COLUMNS, cells, strict=True)) for cells in self.cells())


def view(template: str, *, unfolded: bool = False, **data: Any) -> View:
    return View(render_template(template, **data), unfolded=unfolded)


def render_template(template: str, **data: Any) -> Markup:
    return Markup(_environment().get_template(f"{template}.html").render(data))


def macro(name: str, *args: Any, template: str = "parts", **options: Any) -> Markup:
    return Markup(getattr(_environment().get_template(f"{template}.html").module, name)(*args, **options))


def _parse(html: Markup) -> Element:
    """Return the elements of HTML; a line break of a template becomes a space, or nothing at the start of a block."""
    tree = fromstring(html)
    for element in tree.iter():
        if element.tag != "bdi" and element.text:
            element.text = _BREAK.sub(" ", element.text)
            if element.tag in BLOCKS or element.tag in CONTAINERS:
                element.text = element.text.lstrip()
        if element.tail:
            element.tail = _BREAK.sub(" ", element.tail)
    return tree


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from rich import filesize

    from rubriclab.learning import decisions, fitting
    from rubriclab.methods import catalogue
    from rubriclab.models import aggregation, evaluation
    from rubriclab.ops import versions
    from rubriclab.report import charts, results, rubrics, wording

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=formatted,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"external": external, "prose": prose, "number": "{:,}".format}
    text_functions = (judge_at, count, format_score, has_shipped_definition, join_names, one_line)
    report_functions = (badge, CellWithBasis, command, data_element, head, p_value, remark, row, signed)
    environment.globals |= {each.__name__: each for each in (*text_functions, *report_functions)}
    environment.globals |= {name: getattr(wording, name) for name in WORDING_NAMES}
    environment.globals |= {"charts": charts, "results": results, "rubrics": rubrics, "wording": wording}
    environment.globals |= {
        "Interval": Interval,
        "INTERVAL_CONFIDENCE": fitting.INTERVAL_CONFIDENCE,
        "MIN_GROUPS": MIN_GROUPS,
        "RATERS": decisions.RATERS,
        "DEFAULT_METHODS": catalogue.DEFAULT_METHODS,
        "aggregations": aggregation,
        "byte_count": filesize.decimal,
        "number": "{:,}".format,
        "rank_disagreements": versions.rank_disagreements,
    }
    environment.globals |= {name: getattr(evaluation, name) for name in EVALUATION_NAMES}
    return environment


# Functions that templates call.


def formatted(value: object) -> object:
    """Return one of our values as text without control characters; `None` is empty, an `Interval` an estimate."""
    if value is None or isinstance(value, Markup):
        return value or ""
    return data_element(value, estimate(value)) if isinstance(value, Interval) else plain(cut(str(value)))


def data_element(statistic: Interval, words: str) -> Markup:
    """Return an estimate as `words`, with its interval in brackets; CSV files contain the unrounded figures."""
    figures = (statistic.value, statistic.low, statistic.high)
    exact = ",".join("" if each is None else repr(float(each)) for each in figures)
    value, bracket, interval = words.partition(" [")
    bracketed = Markup(' <span class="interval">[{}</span>').format(interval) if bracket else ""
    return Markup('<data value="{}"><span class="value">{}</span>{}</data>').format(exact, value, bracketed)


def external(value: object, style: str = "") -> Markup:
    """Return text from users, models or data, marked to be shown unchanged."""
    words = "" if value is None else plain(cut(str(value)))
    if not words:
        return Markup()
    return Markup('<bdi class="{}">{}</bdi>' if style else "<bdi>{1}</bdi>").format(style, words)


def command(words: str, *values: str) -> Markup:
    """Return a command of rubriclab that ends with `values`."""
    return Markup('<code class="unbroken">{}</code>').format(plain(f"rubriclab {words} {shlex.join(values)}".strip()))


def quiet(words: str) -> Markup:
    return Markup('<span class="quiet">{}</span>').format(formatted(words)) if words else Markup()


def line(*parts: str) -> Markup:
    """Return the parts that are not empty as one line, two spaces apart."""
    return Markup("  ").join(Markup("{}").format(formatted(each)) for each in parts if each)


def prose(text: str) -> Markup:
    return Markup('<p class="prose">{}</p>').format(external("\n".join(lines(cut(text)))))


def p_value(value: float | None) -> Markup:
    """Return a p value to three decimals, in CSV files unrounded; empty for `None`."""
    if value is None:
        return Markup()
    form = Markup('<data value="{},,"><span class="value">{}</span></data>')
    return form.format(repr(float(value)), f"{value:.3f}" if value >= 0.0005 else "<0.001")


def badge(words: str, tone: str, remark: str = "") -> Markup:
    """Return a short verdict and a remark beside it; the tone is `good`, `qualified`, `warning` or `bad`."""
    remark_span = Markup("<span>{}</span>").format(formatted(remark)) if remark else ""
    return Markup('<p class="badge"><strong class="{}">{}</strong> {}</p>').format(tone, words, remark_span)


def head(*columns: str) -> Markup:
    """Return the titles of columns; `+` before a title marks numbers, which are aligned to the right."""
    cell = Markup("<th{}>{}</th>")
    number_class = Markup(' class="number"')
    cells = (
        cell.format(number_class if name[:1] == "+" else "", formatted(name.removeprefix("+"))) for name in columns
    )
    return Markup("<thead><tr>{}</tr></thead>").format(Markup().join(cells))


class CellWithBasis(NamedTuple):
    """A cell with a figure from other texts than the rest of its row."""

    figure: object
    basis: Mapping[str, object]


def row(*cells: object, kind: str = "", **basis: object) -> Markup:
    """Return a row of a table.

    Args:
        kind: `baseline`, `total`, or `title` of the rows below.
        basis: values of `BASIS_COLUMNS`, which CSV files contain for each figure.
    """
    row_basis = json.dumps([basis.get(name) for name in BASIS_COLUMNS]) if basis else ""
    parts = [Markup('<tr class="{}" data-basis="{}"><th>{}</th>').format(kind, row_basis, formatted(cells[0]))]
    for cell in cells[1:]:
        if isinstance(cell, CellWithBasis):
            cell_basis = json.dumps([{**basis, **cell.basis}.get(name) for name in BASIS_COLUMNS])
            parts.append(Markup('<td data-basis="{}">{}</td>').format(cell_basis, formatted(cell.figure)))
        else:
            parts.append(Markup("<td>{}</td>").format(formatted(cell)))
    return Markup().join([*parts, Markup("</tr>")])


def remark(words: str, name: str = "", *, figures: Mapping[str, Interval | str], **basis: object) -> Markup:
    """Return a paragraph; CSV files contain its `figures`, by column, in a row called `name`."""
    cells = []
    basis_values = _basis_values([basis.get(column) for column in BASIS_COLUMNS])
    for column, figure in figures.items():
        values = ("", "", "", figure) if isinstance(figure, str) else (figure.value, figure.low, figure.high, "")
        cells.append((name, *basis_values, column, *values))
    return Markup('<p class="quiet" data-figures="{}">{}</p>').format(json.dumps(cells), formatted(words))


# What all forms of output read from elements.


class Column(NamedTuple):
    title: Element
    is_numeric: bool
    has_drawings: bool


def columns_of(table: Element) -> list[Column]:
    rows = [each for each in table.iterfind("tr") if each.get("class") != "title"]
    return [
        Column(title, title.get("class") == "number", any(each[index].find("svg") is not None for each in rows))
        for index, title in enumerate(table.iterfind("thead/tr/th"))
    ]


def figure_of(cell: Element) -> Interval | None:
    """Return the estimate that a cell shows; `None` if it shows anything else."""
    data = cell.find("data")
    if data is None:
        return None
    value, low, high = (float(end) if end else None for end in data.get("value", "").split(","))
    return Interval(value, low, high)


def words_of(element: Element) -> str:
    """Return the text of an element on one line, with `; ` between blocks; drawings have no text."""
    if any(child.tag in BLOCKS for child in element):
        return "; ".join(filter(None, map(words_of, element)))
    return one_line("".join(text for text, _ in texts_of(element)))


def texts_of(
    element: Element, styles: tuple[str, ...] = (), *, detailed: bool = False
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each text with its classes, and code in backticks; text of the class `detail` only if `detailed`."""
    if element.text:
        yield element.text, styles
    for child in element:
        inner = (*styles, *child.get("class", "").split(), *TAG_STYLES.get(child.tag, ()))
        if child.tag == "code":
            yield f"`{child.text}`", inner
        elif child.tag != "svg" and (detailed or "detail" not in inner):
            yield from texts_of(child, inner, detailed=detailed)
        if child.tail:
            yield child.tail, styles


# HTML.


@cache
def _style() -> Markup:
    return Markup(STYLE.read_text("utf-8"))


def typeset(words: str) -> str:
    """Return text whose negative numbers have a minus sign; hyphens in names stay."""
    return re.sub(r"(?<![\w-])-(?=\d)", "\N{MINUS SIGN}", words)


def inline(cell: object) -> Markup:
    return _inner_html(_parse(Markup("<td>{}</td>").format(formatted(cell))))


def _text_html(words: str | None, *, quoted: bool) -> Markup:
    """Return escaped text; unless `quoted`, with minus signs, and as code between backticks."""
    if not words or quoted:
        return escape(words or "")
    typed = _ESTIMATE.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), typeset(words))
    parts = typed.split("`")
    if len(parts) % 2 == 0:  # one backtick has no partner
        return escape(typed)
    return Markup().join(_code_html(each, {}) if index % 2 else escape(each) for index, each in enumerate(parts))


def _code_html(code: str, attributes: Mapping[str, str]) -> Markup:
    """Return code in which no word, and no option with its value, is broken unless longer than `MAX_UNBROKEN`."""
    words = (
        Markup("<span>{}</span>" if len(word) <= MAX_UNBROKEN else "{}").format(word) for word in _WORD.findall(code)
    )
    return Markup("<code{}>{}</code>").format(_attributes(attributes), Markup(" ").join(words))


def _inner_html(element: Element, level: int = MAX_HEADING, title: str = "", *, quoted: bool = False) -> Markup:
    """Return the HTML in an element; headings get `level`, and tables without a caption get `title`."""
    pieces = [_text_html(element.text, quoted=quoted)]
    for child in element:
        pieces += [_element_html(child, level, title, quoted=quoted), _text_html(child.tail, quoted=quoted)]
    return Markup().join(pieces)


def _element_html(element: Element, level: int, title: str, *, quoted: bool) -> Markup:
    tag, kind = element.tag, element.get("class", "")
    if tag in ("section", "article", "table"):
        to_html = _table_html if tag == "table" else _section_html
        return to_html(element, level, title)
    if tag == "h1" or kind == "kicker":
        return Markup()
    if tag == "details":
        title = words_of(element[0]) or title
    inner = _inner_html(element, level, title, quoted=quoted or tag == "bdi")
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


def _attributes(attributes: Mapping[str, str]) -> Markup:
    return Markup().join(Markup(' {}="{}"').format(name, value) for name, value in attributes.items())


def _section_html(element: Element, level: int, title: str) -> Markup:
    """Return a section or card; a section without an id becomes its heading and content alone."""
    kind, name, first_heading = element.get("class", ""), element.get("id"), element.find("h2")
    own_title = "" if first_heading is None else words_of(first_heading)
    heading = Markup()
    if first_heading is not None and own_title:
        title_id = Markup(' id="{}-title"').format(name) if name else ""
        heading = Markup("<h{0}{1}>{2}</h{0}>\n").format(min(level, MAX_HEADING), title_id, _inner_html(first_heading))
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
    classes, cell_titles = [], []
    for column in columns:
        number_class = Markup(' class="number"') if column.is_numeric else ""
        classes.append(Markup(' class="drawing"') if column.has_drawings else number_class)
        cell_titles.append(Markup(' data-title="{}"').format(words_of(column.title)) if is_stacked else "")
    hidden = Markup(' class="hidden"' if caption is None else "")
    caption_html = escape(title) if caption is None else _inner_html(caption)
    styles = " ".join(filter(None, (table.get("class"), "rows" if is_stacked else "")))
    table_class = Markup(' class="{}"').format(styles) if styles else ""
    opening = Markup('<div class="wide"><table{}>\n<caption{}>{}</caption>\n')
    pieces = [opening.format(table_class, hidden, caption_html)]
    titles = [_inner_html(column.title) for column in columns]
    if any(titles):
        cells = starmap(Markup('<th scope="col"{}>{}</th>').format, zip(classes, titles, strict=True))
        pieces.append(Markup("<thead><tr>{}</tr></thead>\n").format(Markup().join(cells)))
    pieces.append(Markup("<tbody>\n"))
    if ticks is not None:
        tick_cells = [_inner_html(ticks) if column.has_drawings else "" for column in columns]
        tick_html = Markup().join(map(Markup("<td{}>{}</td>").format, classes, tick_cells))
        tick_row = Markup('<tr class="ticks{}" aria-hidden="true">{}</tr>\n')
        pieces.append(tick_row.format("", tick_html))
    for each in table.iterfind("tr"):
        first, *other_cells = (_inner_html(cell, level, title) for cell in each)
        kind = each.get("class")
        if kind == "title":
            heading = Markup('<tr class="title"><th colspan="{}" scope="colgroup">{}</th></tr>\n')
            pieces.append(heading.format(len(columns), first))
            if ticks is not None:  # shown on narrow screens, where a group of rows fills the screen
                pieces.append(tick_row.format(" again", tick_html))
            continue
        columns_and_cells = zip(classes[1:], cell_titles[1:], other_cells, strict=True)
        data_cells = starmap(Markup("<td{}{}>{}</td>").format, columns_and_cells)
        named_row = Markup('<th scope="row"{}>{}</th>').format(classes[0], first)
        row_kind = Markup(' class="{}"').format(kind) if kind else ""
        pieces.append(Markup("<tr{}>{}{}</tr>\n").format(row_kind, named_row, Markup().join(data_cells)))
    return Markup().join([*pieces, Markup("</tbody>\n</table></div>\n")])


# Markdown.


def _markdown(element: Element, level: int) -> Iterator[str]:
    for child in element:
        kind = child.get("class", "")
        match child.tag:
            case "p" if kind != "kicker":
                yield from (_escaped_words(child), "")
            case "blockquote":
                yield from (_escaped_words(child), "")
            case "ul":
                yield from (*(f"- {_escaped_words(item)}" for item in child), "")
            case "dl":
                yield from (*(f"- {_escaped_words(name)}: {_escaped(words_of(value))}" for name, value in child), "")
            case "table":
                yield from (*_markdown_table(child), "")
            case "h2":
                heading = _escaped_words(child)
                yield from ([f"{'#' * min(level - 1, MAX_HEADING)} {heading}", ""] if heading else [])
            case "section" | "article":
                yield from _markdown(child, level + 1)
            case "details":
                yield from (f"<details><summary>{escape(words_of(child[0]))}</summary>", "")
                yield from (*_markdown(child, level), "</details>", "")
            case "div":
                yield from _markdown(child, level)


def _markdown_table(table: Element) -> Iterator[str]:
    columns = columns_of(table)
    column_indices = [index for index, column in enumerate(columns) if not column.has_drawings]
    yield f"| {' | '.join(_escaped(words_of(columns[index].title)) for index in column_indices)} |"
    yield f"| {' | '.join('--:' if columns[index].is_numeric else '---' for index in column_indices)} |"
    for each in table.iterfind("tr"):
        if each.get("class") == "title":
            yield f"| **{_escaped(words_of(each[0]))}** |{' |' * (len(column_indices) - 1)}"
        else:
            yield f"| {' | '.join(_escaped(words_of(each[index])) for index in column_indices)} |"


def _escaped_words(element: Element) -> str:
    pieces = []
    for text, styles in texts_of(element):
        words = " ".join(text.split())
        parts = [words] if "quoted" in styles or words.count("`") % 2 else words.split("`")
        shown_words = "`".join(part if index % 2 else _escaped(part) for index, part in enumerate(parts))
        if "strong" in styles and words:
            shown_words = f"**{shown_words}**"
        before = " " if text[:1].isspace() else ""
        after = " " if words and text[-1:].isspace() else ""
        pieces.append(f"{before}{shown_words}{after}")
    return "".join(pieces).strip()


def _escaped(words: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _REFERENCE.sub(rf"\1{ZERO_WIDTH_SPACE}", words))


# CSV.


def _cells(element: Element, title: str) -> Iterator[tuple[object, ...]]:
    for child in element:
        match child.tag:
            # Tables of class `lead` repeat figures of other tables.
            case "table" if "lead" not in child.get("class", "").split():
                yield from _table_cells(child, title)
            case "section" | "article" | "details":
                heading = child.find("summary" if child.tag == "details" else "h2")
                own_title = "" if heading is None else _csv_name(heading)
                yield from _cells(child, own_title or title)
            case "div":
                yield from _cells(child, title)
            case "p":
                yield from ((title, *cells) for cells in json.loads(child.get("data-figures") or "[]"))


def _csv_name(title: Element) -> str:
    """Return the name of a table or column in CSV files, by default its title."""
    return next(filter(None, (each.get("data-csv") for each in title)), "") or words_of(title)


def _table_cells(table: Element, title: str) -> Iterator[tuple[object, ...]]:
    columns = columns_of(table)
    for each in table.iterfind("tr"):
        if each.get("class") == "title":
            continue
        row_basis = each.get("data-basis") or json.dumps([None] * len(BASIS_COLUMNS))
        for column, cell in zip(columns[1:], each[1:], strict=True):
            name, basis = _csv_name(column.title), _basis_values(json.loads(cell.get("data-basis") or row_basis))
            if name == COMPARED_WITH and basis[0]:  # the basis says the same
                continue
            if figure := figure_of(cell):
                words = "".join([cell.text or "", *(child.tail or "" for child in cell)]).strip()
                values: tuple[object, ...] = (figure.value, figure.low, figure.high, words)
            elif (words := words_of(cell)) and cell.find("span[@class='none']") is None:
                number = _number(words) if column.is_numeric else None
                values = ("", "", "", words) if number is None else (number, "", "", "")
            else:
                continue
            yield (title, words_of(each[0]), *basis, name, *values)


def _basis_values(values: list[Any]) -> list[Any]:
    """Return values of `BASIS_COLUMNS`; the first three are names, and are empty texts if they are missing."""
    return [each or "" for each in values[:3]] + values[3:]


def _number(words: str) -> float | None:
    """Return the number that a cell shows, such as 1,234; `None` if it shows anything else."""
    try:
        number = float(words.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
