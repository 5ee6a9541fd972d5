"""The engine of reports: a template makes HTML, from which the page, the terminal's view, Markdown and CSV are made.

A page `drift` is one template, `templates/drift.html`, and one function that returns `view("drift", look=look)`. The
template is HTML as in a browser, kept to what all forms can show:

- `<p class="kicker">` and `<h1>` begin it; `<section>`, `<article class="card">` and `<details>` nest as they like, and
  each heading is an `<h2>`: pages number headings by depth. A section with an `id` is in the contents of a page.
  Its class `page` keeps a section from terminals, `more` too unless the view is unfolded, `folded` folds it on pages. A
  terminal shows `<details>` in unfolded views or with the class `short`, and else its summary with `data-hint`.
- `<p>` may be `lead`, `quiet`, `strong`, `bad`, `warning`, `remark` (beside the heading above) or `badge`. There are
  `<ul>`, `<dl class="facts">`, `<blockquote>`, `<p class="prose">`, which keeps its lines, and `<figure>`, on pages.
- A table has `{{ head("name", "+number") }}` and `{{ row(...) }}`; an SVG drawing in a cell is for pages. `<tfoot>`
  holds the numbers of the drawings' axis, which stand above them.
- `{{ value }}` shows wording of ours, with true minus signs and `code` in backticks on pages; an `Interval` is an
  estimate with its interval. Whatever comes from users, models and data is `{{ value | q }}`, or in a style
  `{{ value | q("id") }}`: it is shown unchanged, and cannot turn the text around it. Jinja escapes both.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring

from markupsafe import Markup, escape

from rubriclab.data.write import csv_text, data_frame
from rubriclab.models.characters import asked_at, count, listed, one_line, plain
from rubriclab.models.text import format_score, is_defined
from rubriclab.report.wording import cut, estimate, lines
from rubriclab.stats.intervals import MIN_GROUPS, Interval

if TYPE_CHECKING:
    from jinja2 import Environment

STYLE = Path(__file__).with_name("report.css")
TEMPLATES = Path(__file__).with_name("templates")
# Longer words of code may break.
MAX_WORD = 30
# Tables of so many columns are wider than a phone.
MIN_WIDE = 4
# Rows below the numbers of an axis, after which they are repeated.
FAR = 6
# Headings go down to h6.
DEEPEST = 6
BLOCKS = frozenset({"h1", "section", "article", "details", "p", "blockquote", "ul", "dl", "div", "table", "figure"})
CONTAINERS = frozenset({"h2", "li", "dt", "dd", "th", "td", "summary", "figcaption", "caption"})
# Functions and tables of `report.wording` that templates call by their bare names.
WORDING = (
    *("LEVELS", "LEVEL_NOTES", "byte_count", "counted", "effort", "estimate", "evaluator_parts", "excerpt", "figure"),
    "rounded",
)
# Names of `models.version` that templates use.
OF_VERSIONS = ("MIN_EFFECT", "VERDICTS", "WHOLE")
# Styles of text that an element stands for.
TAG_STYLES = {"bdi": ("quoted",), "strong": ("strong",)}
DRAWN = frozenset({"circle", "line", "path", "rect"})
_BREAK = re.compile(r"\s*\n\s*")
# An estimate with its interval, which stay on one line.
_ESTIMATE = re.compile(r"[\d.]+(?: %)? \[[^\[\]\n]{1,30}\]|\d %")
_NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!]|:(?=//)|(?<=www)\.)")
# What a host of pull requests turns into a mention or a reference, which no backslash prevents.
_REFERENCE = re.compile(r"((?<!\w)@|#)(?=\w)")
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
BASIS_COLUMNS = ("compared_with", "aspect", "level", "n", "groups")
CSV_COLUMNS = ("table", "row", *BASIS_COLUMNS, "column", "value", "low", "high", "text")
COMPARED_WITH = "compared with"


class View:
    """Everything that is shown of one subject; `unfolded` says whether a terminal shows what pages fold away."""

    def __init__(self, html: Markup, *, unfolded: bool = False) -> None:
        self.html, self.unfolded = html, unfolded

    @cached_property
    def tree(self) -> Element:
        return _parse(Markup("<view>{}</view>").format(self.html))

    @property
    def heading(self) -> Element:
        found = self.tree.find("h1")
        return Element("h1") if found is None else found

    def __rich__(self) -> Any:
        from rubriclab.report.terminal import rendered

        return rendered(self.tree, unfolded=self.unfolded)

    def __str__(self) -> str:
        from rubriclab.report.terminal import plain_text

        return plain_text(self)

    def body(self) -> Markup:
        """Return the view without its title, for a page that has its title and the style of reports."""
        return _inside(self.tree, 2, words_of(self.heading))

    def contents(self) -> Markup:
        named = [each for each in self.tree.iterfind("section") if each.get("id")]
        links = (Markup('<a href="#{}">{}</a>\n').format(each.get("id"), _inside(each[0])) for each in named)
        return Markup().join(links)

    def page(self) -> str:
        """Return the view as one self-contained HTML page."""
        kicker = self.tree.find("p[@class='kicker']")
        words = "rubriclab" if kicker is None else words_of(kicker)
        title, heading = words_of(self.heading), _inside(self.heading)
        return str(part("page", view=self, title=title, heading=heading, kicker=words, style=_style()))

    def _repr_html_(self) -> str:
        """Return the view as HTML with its own styles, which reach nothing outside of it."""
        main = _inside(self.tree, 4, words_of(self.heading))
        frame = Markup('<div class="rubriclab fragment">\n<style>\n{}\n</style>\n<h3>{}</h3>\n{}\n</div>\n')
        return str(frame.format(_style(), _inside(self.heading), main))

    def markdown(self) -> str:
        """Return the view as Markdown, for a pull request: its headings, sentences and tables."""
        title = words_of(self.heading)
        heading = [f"## {_escaped(title)}", ""] if title else []
        return "\n".join([*heading, *_markdown(self.tree, 3)]).rstrip() + "\n"

    def cells(self) -> Iterator[tuple[object, ...]]:
        """Yield the figures of all tables, one a row, in `CSV_COLUMNS`; a cell without a figure is `text`."""
        return _cells(self.tree, words_of(self.heading))

    def csv(self) -> str:
        """Return the figures of the tables as CSV, one a line with its interval."""
        return csv_text([CSV_COLUMNS, *self.cells()])

    def to_frame(self) -> Any:
        """Return the figures of the tables as a pandas data frame, one a row; UserError without pandas."""
        return data_frame(dict(zip(CSV_COLUMNS, cells, strict=True)) for cells in self.cells())


def view(template: str, *, unfolded: bool = False, **data: Any) -> View:
    return View(part(template, **data), unfolded=unfolded)


def part(template: str, **data: Any) -> Markup:
    """Return what a template shows, for another one or a page."""
    return Markup(_environment().get_template(f"{template}.html").render(data))


def macro(name: str, *args: Any, **options: Any) -> Markup:
    """Return what a macro of `parts.html` shows."""
    return Markup(getattr(_environment().get_template("parts.html").module, name)(*args, **options))


def _parse(html: Markup) -> Element:
    """Return the elements of HTML; line breaks of templates are one space, and none where a block begins."""
    tree = fromstring(html)
    for element in tree.iter():
        if element.tag != "bdi" and element.text:
            element.text = _BREAK.sub(" ", element.text)
            if element.tag in BLOCKS or element.tag in CONTAINERS:
                element.text = element.text.lstrip()
        if element.tail:
            element.tail = _BREAK.sub(" ", element.tail)
    return tree


# What templates call.


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from rubriclab.learning import fitting, verdicts
    from rubriclab.models import version
    from rubriclab.ops import versions
    from rubriclab.report import charts, results, rubrics, wording

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"q": q, "prose": prose, "number": number}
    of_models = (asked_at, count, format_score, is_defined, listed, one_line)
    of_cells = (badge, Based, data, facts, head, line, number, p_value, remark, row, shown, signed)
    environment.globals |= {each.__name__: each for each in (*of_models, *of_cells)}
    environment.globals |= {name: getattr(wording, name) for name in WORDING}
    environment.globals |= {"charts": charts, "results": results, "rubrics": rubrics, "wording": wording}
    environment.globals |= {
        "Interval": Interval,
        "INTERVAL_CONFIDENCE": fitting.INTERVAL_CONFIDENCE,
        "MIN_GROUPS": MIN_GROUPS,
        "RATERS": verdicts.RATERS,
        "find_disagreements": versions.find_disagreements,
        "quote": shlex.quote,
    }
    environment.globals |= {name: getattr(version, name) for name in OF_VERSIONS}
    return environment


def shown(value: object) -> object:
    """Return what stands for a value of ours: safe characters for words, an estimate with its interval, or nothing."""
    if value is None or isinstance(value, Markup):
        return value or ""
    return data(value, estimate(value)) if isinstance(value, Interval) else plain(cut(str(value)))


def data(statistic: Interval, words: str) -> Markup:
    """Return an estimate as `words`, in which its interval is in brackets; files contain the figures in full."""
    ends = ",".join("" if end is None else repr(float(end)) for end in (statistic.value, statistic.low, statistic.high))
    value, bracket, interval = words.partition(" [")
    around = Markup(' <span class="interval">[{}</span>').format(interval) if bracket else ""
    return Markup('<data value="{}"><span class="value">{}</span>{}</data>').format(ends, value, around)


def q(value: object, style: str = "") -> Markup:
    """Return text from outside; nothing for an empty one."""
    words = "" if value is None else plain(cut(str(value)))
    if not words:
        return Markup()
    return Markup('<bdi class="{}">{}</bdi>' if style else "<bdi>{1}</bdi>").format(style, words)


def quiet(words: str) -> Markup:
    return Markup('<span class="quiet">{}</span>').format(shown(words)) if words else Markup()


def line(*parts: str) -> Markup:
    """Return the parts that are not empty as one line, two spaces apart."""
    return Markup("  ").join(Markup("{}").format(shown(each)) for each in parts if each)


def prose(text: str) -> Markup:
    return Markup('<p class="prose">{}</p>').format(q("\n".join(lines(cut(text)))))


def number(value: int) -> str:
    return f"{value:,}"


def signed(value: float | None) -> str:
    """Return a change as `+0.25`; empty for none."""
    return "" if value is None else f"{value:+.2f}"


def p_value(value: float | None) -> Markup:
    """Return a p value to three decimals, in files in full; empty for none."""
    form = Markup('<data value="{},,"><span class="value">{}</span></data>')
    return (
        Markup() if value is None else form.format(repr(float(value)), f"{value:.3f}" if value >= 0.0005 else "<0.001")
    )


def badge(words: str, tone: str, remark: str = "") -> Markup:
    """Return a result in a word or two, with a remark beside it; the tone is `good`, `warning` or `bad`."""
    beside = Markup("<span>{}</span>").format(shown(remark)) if remark else ""
    return Markup('<p class="badge"><strong class="{}">{}</strong> {}</p>').format(tone, words, beside)


def facts(pairs: Iterable[tuple[str, str]], show_value: Callable[[str], object] | None = None) -> Markup:
    """Return names with what they stand for: from outside if it is not marked up, or ours by `shown`."""
    show_value = show_value or (lambda value: value if isinstance(value, Markup) else q(value))
    form = Markup("<div><dt>{}</dt><dd>{}</dd></div>")
    rows = (form.format(shown(name), show_value(value)) for name, value in pairs)
    return Markup('<dl class="facts">{}</dl>').format(Markup().join(rows))


def head(*columns: str) -> Markup:
    """Return the titles of columns; `+` before a title marks numbers, which are aligned to the right."""
    cell = Markup("<th{}>{}</th>")
    number = Markup(' class="number"')
    cells = (cell.format(number if name[:1] == "+" else "", shown(name.removeprefix("+"))) for name in columns)
    return Markup("<thead><tr>{}</tr></thead>").format(Markup().join(cells))


class Based(NamedTuple):
    """A cell whose figure does not rest on the same texts as the others of its row."""

    figure: object
    basis: Mapping[str, object]


def row(*cells: object, kind: str = "", **basis: object) -> Markup:
    """Return a row of a table.

    Args:
        kind: what it stands for: `baseline`, `total`, or `title` of the rows below.
        basis: what its figures rest on, for files that contain no sentences; see `BASIS_COLUMNS`.
    """
    kept = json.dumps([basis.get(name) for name in BASIS_COLUMNS]) if basis else ""
    parts = [Markup('<tr class="{}" data-basis="{}"><th>{}</th>').format(kind, kept, shown(cells[0]))]
    for cell in cells[1:]:
        if isinstance(cell, Based):
            own = json.dumps([{**basis, **cell.basis}.get(name) for name in BASIS_COLUMNS])
            parts.append(Markup('<td data-basis="{}">{}</td>').format(own, shown(cell.figure)))
        else:
            parts.append(Markup("<td>{}</td>").format(shown(cell)))
    return Markup().join([*parts, Markup("</tr>")])


def remark(words: str, name: str = "", *, figures: Mapping[str, Interval | str], **basis: object) -> Markup:
    """Return a paragraph; files contain its figures instead, by column, in a row of this name."""
    cells = []
    for column, each in figures.items():
        values = ("", "", "", each) if isinstance(each, str) else (each.value, each.low, each.high, "")
        cells.append((name, *_basis([basis.get(part) for part in BASIS_COLUMNS]), column, *values))
    return Markup('<p class="quiet" data-figures="{}">{}</p>').format(json.dumps(cells), shown(words))


# Tables, as every form reads them.


class Column(NamedTuple):
    title: Element
    numeric: bool
    drawing: bool


def columns_of(table: Element) -> list[Column]:
    rows = [each for each in table.iterfind("tr") if each.get("class") != "title"]
    return [
        Column(title, title.get("class") == "number", any(each[place].find("svg") is not None for each in rows))
        for place, title in enumerate(table.iterfind("thead/tr/th"))
    ]


def figure_of(cell: Element) -> Interval | None:
    """Return the estimate that a cell shows; `None` if it shows anything else."""
    found = cell.find("data")
    if found is None:
        return None
    value, low, high = (float(end) if end else None for end in found.get("value", "").split(","))
    return Interval(value, low, high)


def words_of(element: Element) -> str:
    """Return what an element shows, on one line, those of several blocks behind each other; nothing for a drawing."""
    if any(child.tag in BLOCKS for child in element):
        return "; ".join(filter(None, map(words_of, element)))
    return one_line("".join(text for text, _ in texts_of(element)))


def texts_of(
    element: Element, styles: tuple[str, ...] = (), *, detailed: bool = False
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the texts in an element with the classes around each, of the class `detail` only if `detailed`."""
    if element.text:
        yield element.text, styles
    for child in element:
        inner = (*styles, *child.get("class", "").split(), *TAG_STYLES.get(child.tag, ()))
        if child.tag != "svg" and (detailed or "detail" not in inner):
            yield from texts_of(child, inner, detailed=detailed)
        if child.tail:
            yield child.tail, styles


# HTML.


@cache
def _style() -> Markup:
    return Markup(STYLE.read_text("utf-8"))


def typeset(words: str) -> str:
    """Return figures with a true minus sign; a hyphen inside a name stays one."""
    return _NEGATIVE.sub("\N{MINUS SIGN}", words)


def inline(cell: object) -> Markup:
    return _inside(_parse(Markup("<td>{}</td>").format(shown(cell))))


def _text(words: str | None, *, quoted: bool) -> Markup:
    """Return escaped words; those of ours with minus signs, and as code between two backticks."""
    if not words or quoted:
        return escape(words or "")
    typed = _ESTIMATE.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), typeset(words))
    parts = typed.split("`")
    if len(parts) % 2 == 0:
        return escape(typed)
    made = [escape(each) for each in parts]
    for place in range(1, len(parts), 2):
        # Words of code do not break at hyphens, unless they are longer than a line of a phone.
        code = (
            Markup("<span>{}</span>" if len(each) <= MAX_WORD else "{}").format(each)
            for each in parts[place].split(" ")
        )
        made[place] = Markup("<code>{}</code>").format(Markup(" ").join(code))
    return Markup().join(made)


def _inside(element: Element, level: int = DEEPEST, title: str = "", *, quoted: bool = False) -> Markup:
    """Return what is in an element; headings are of `level`, and tables without a caption are named by `title`."""
    made = [_text(element.text, quoted=quoted)]
    for child in element:
        made += [_element(child, level, title, quoted=quoted), _text(child.tail, quoted=quoted)]
    return Markup().join(made)


def _element(element: Element, level: int, title: str, *, quoted: bool) -> Markup:
    tag, kind = element.tag, element.get("class", "")
    if tag in ("section", "article"):
        return _group(element, level, title)
    if tag == "table":
        return _table(element, level, title)
    if tag == "h1" or kind == "kicker":
        return Markup()
    inside_title = (words_of(element[0]) if tag == "details" else "") or title
    inner = _inside(element, level, inside_title, quoted=quoted or tag == "bdi")
    if tag == "data":
        return inner
    attributes = {name: value for name, value in element.items() if value and not name.startswith("data-")}
    if tag in ("p", "blockquote") and kind not in ("badge", "remark"):
        attributes["dir"] = "auto"
    if not inner and tag in DRAWN:
        return Markup("<{}{}/>").format(tag, _attributes(attributes))
    end = "\n" if tag in BLOCKS else ""
    return Markup("<{0}{1}>{2}</{0}>{3}").format(tag, _attributes(attributes), inner, end)


def _attributes(attributes: Mapping[str, str]) -> Markup:
    pairs = (Markup(' {}="{}"').format(name, value) for name, value in attributes.items())
    return Markup().join(pairs)


def _group(element: Element, level: int, title: str) -> Markup:
    """Return a section or card; a section without an id is its heading and content."""
    kind, name, found = element.get("class", ""), element.get("id"), element.find("h2")
    own = "" if found is None else words_of(found)
    heading = Markup()
    if found is not None and own:
        named = Markup(' id="{}-title"').format(name) if name else ""
        heading = Markup("<h{0}{1}>{2}</h{0}>\n").format(min(level, DEEPEST), named, _inside(found))
    others = (_element(child, level + 1, own or title, quoted=False) for child in element if child is not found)
    content = Markup().join(others)
    if element.tag == "article":
        return Markup('<article class="{}">\n{}{}</article>\n').format(kind or "card", heading, content)
    if not name:
        return heading + content
    if "folded" in kind:
        # A link to something inside a folded part opens it; a link to the part itself would not.
        folded = Markup('<details><summary>{}</summary>\n<div id="{}">{}</div></details>\n')
        inside = folded.format(heading, name, content)
        return Markup('<section aria-labelledby="{}-title">\n{}</section>\n').format(name, inside)
    section = Markup('<section id="{0}" aria-labelledby="{0}-title">\n{1}{2}</section>\n')
    return section.format(name, heading, content)


def _table(table: Element, level: int, title: str) -> Markup:
    columns, caption, ticks = columns_of(table), table.find("caption"), table.find("tfoot")
    kinds = [Markup(' class="drawing"' if c.drawing else ' class="number"' if c.numeric else "") for c in columns]
    # On narrow screens the cells of a wide table stand below each other, each behind the title of its column.
    named_cells = len(columns) >= MIN_WIDE
    labels = [Markup(' data-title="{}"').format(words_of(c.title)) if named_cells else Markup() for c in columns]
    hidden = Markup(' class="hidden"' if caption is None else "")
    named = escape(title) if caption is None else _inside(caption)
    styles = " ".join(filter(None, (table.get("class"), "rows" if named_cells else "")))
    styled = Markup(' class="{}"').format(styles) if styles else ""
    made = [Markup('<div class="wide"><table{}>\n<caption{}>{}</caption>\n').format(styled, hidden, named)]
    titles = [_inside(column.title) for column in columns]
    if any(titles):
        cells = (
            Markup('<th scope="col"{}>{}</th>').format(kind, name) for kind, name in zip(kinds, titles, strict=True)
        )
        made.append(Markup("<thead><tr>{}</tr></thead>\n").format(Markup().join(cells)))
    made.append(Markup("<tbody>\n"))
    axis, since = Markup(), 0
    if ticks is not None:
        drawn = (Markup("<td{}>{}</td>").format(kind, _inside(ticks) if "drawing" in kind else "") for kind in kinds)
        axis = Markup('<tr class="ticks" aria-hidden="true">{}</tr>\n').format(Markup().join(drawn))
    made.append(axis)
    for each in table.iterfind("tr"):
        first, *others = (_inside(cell, level, title) for cell in each)
        kind = each.get("class")
        if kind == "title":
            heading = Markup('<tr class="title"><th colspan="{}" scope="colgroup">{}</th></tr>\n')
            made += [heading.format(len(columns), first), axis]
            since = 0
            continue
        since += 1
        made_cells = list(starmap(Markup("<td{}{}>{}</td>").format, zip(kinds[1:], labels[1:], others, strict=True)))
        if kind == "joined":
            made_cells[-2:] = [Markup('<td colspan="2">{}</td>').format(others[-2])]
        named_row = Markup('<th scope="row"{}>{}</th>').format(kinds[0], first)
        row_kind = Markup(' class="{}"').format(kind) if kind else ""
        made.append(Markup("<tr{}>{}{}</tr>\n").format(row_kind, named_row, Markup().join(made_cells)))
    # Rows that are far from the numbers of their axis have them below, too.
    return Markup().join((*made, axis if since > FAR else "", Markup("</tbody>\n</table></div>\n")))


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
                yield from ([f"{'#' * min(level - 1, DEEPEST)} {heading}", ""] if heading else [])
            case "section" | "article":
                yield from _markdown(child, level + 1)
            case "details":
                yield from (f"<details><summary>{escape(words_of(child[0]))}</summary>", "")
                yield from (*_markdown(child, level), "</details>", "")
            case "div":
                yield from _markdown(child, level)


def _markdown_table(table: Element) -> Iterator[str]:
    columns = columns_of(table)
    places = [place for place, column in enumerate(columns) if not column.drawing]
    yield f"| {' | '.join(_escaped(words_of(columns[place].title)) for place in places)} |"
    yield f"| {' | '.join('--:' if columns[place].numeric else '---' for place in places)} |"
    for each in table.iterfind("tr"):
        if each.get("class") == "title":
            yield f"| **{_escaped(words_of(each[0]))}** |{' |' * (len(places) - 1)}"
        else:
            yield f"| {' | '.join(_escaped(words_of(each[place])) for place in places)} |"


def _escaped_words(element: Element) -> str:
    made = []
    for text, styles in texts_of(element):
        words = " ".join(text.split())
        parts = [words] if "quoted" in styles or words.count("`") % 2 else words.split("`")
        shown_words = "`".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))
        if "strong" in styles and words:
            shown_words = f"**{shown_words}**"
        before, after = (" " if end.isspace() else "" for end in (text[:1], text[-1:] if words else ""))
        made.append(f"{before}{shown_words}{after}")
    return "".join(made).strip()


def _escaped(words: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _REFERENCE.sub(rf"\1{ZERO_WIDTH_SPACE}", words))


# CSV.


def _cells(element: Element, title: str) -> Iterator[tuple[object, ...]]:
    for child in element:
        match child.tag:
            case "table":
                yield from _table_cells(child, title)
            case "section" | "article" | "details":
                heading = child.find("summary" if child.tag == "details" else "h2")
                yield from _cells(child, (heading is not None and words_of(heading)) or title)
            case "div":
                yield from _cells(child, title)
            case "p":
                yield from ((title, *cells) for cells in json.loads(child.get("data-figures") or "[]"))


def _table_cells(table: Element, title: str) -> Iterator[tuple[object, ...]]:
    columns = columns_of(table)
    for each in table.iterfind("tr"):
        if each.get("class") == "title":
            continue
        of_row = each.get("data-basis") or json.dumps([None] * len(BASIS_COLUMNS))
        for column, cell in zip(columns[1:], each[1:], strict=True):
            name, basis = words_of(column.title), _basis(json.loads(cell.get("data-basis") or of_row))
            if name == COMPARED_WITH and basis[0]:
                continue
            if found := figure_of(cell):
                values: tuple[object, ...] = (found.value, found.low, found.high, (cell.text or "").strip())
            elif words := words_of(cell):
                number = _number(words) if column.numeric else None
                values = ("", "", "", words) if number is None else (number, "", "", "")
            else:
                continue
            yield (title, words_of(each[0]), *basis, name, *values)


def _basis(parts: list[Any]) -> list[Any]:
    """Return what figures rest on, in `BASIS_COLUMNS`; names that are unknown are empty."""
    return [part or "" for part in parts[:3]] + parts[3:]


def _number(words: str) -> float | None:
    """Return the number that a cell shows, such as 1,234; `None` if it shows anything else."""
    try:
        number = float(words.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
