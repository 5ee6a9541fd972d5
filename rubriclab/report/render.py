"""Views: HTML that a template makes of data, shown as a page, in a terminal, or as Markdown or CSV.

The view of a plan, for example, is `view("plan", result=plan)`, which renders the template `templates/plan.html` with
`plan` as `result`. `elements` lists the HTML that templates may contain, and has functions for templates;
`outputs` and `terminal` turn the HTML into what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, fromstring

from markupsafe import Markup

from rubriclab.data.write import csv_text, data_frame
from rubriclab.models.characters import count, join_names, judge_at, one_line
from rubriclab.models.text import format_score, has_shipped_definition
from rubriclab.report import elements
from rubriclab.report.elements import BLOCKS, format_element, words_of
from rubriclab.report.outputs import CSV_COLUMNS, csv_rows, escape_markdown, inner_html, markdown_lines
from rubriclab.report.wording import signed
from rubriclab.stats.intervals import MIN_GROUPS, Interval

if TYPE_CHECKING:
    from jinja2 import Environment

STYLE = Path(__file__).with_name("report.css")
TEMPLATES = Path(__file__).with_name("templates")
# Elements that begin a line or a table cell. White space at their start is removed.
STRIPPED_ELEMENTS = BLOCKS | {"h2", "li", "dt", "dd", "th", "td", "summary", "figcaption", "caption"}
# Names of `report.elements`, `report.wording` and `models.evaluation` that templates use without a prefix.
ELEMENT_NAMES = ("CellWithBasis", "badge", "command", "data_element", "head", "note", "p_value", "row")
WORDING_NAMES = ("LEVELS", "effort", "estimate", "evaluator_parts", "excerpt", "figure", "rounded")
MEASURE_NAMES = ("GRADED_MEASURES", "TWO_LEVEL_MEASURES")
EVALUATION_NAMES = ("CALIBRATED", "CALIBRATED_ENDING", "MIN_EFFECT", "WHOLE", "is_free_baseline", *MEASURE_NAMES)
_BREAK = re.compile(r"\s*\n\s*")
# A command or an option in backticks.
_TYPED = re.compile(r"`((?:rubriclab |--)[^`]+)`")
OR_IN_PYTHON = " or, in Python, "
CommandForm = Callable[[str], str]


class View:
    """A rendered template.

    Args:
        unfolded: whether terminals also show `<details>` and sections of class `more`.
        forms: functions that write a command or option as it is shown, for example as a call in Python.
    """

    def __init__(self, html: Markup, *, unfolded: bool = False, forms: Sequence[CommandForm] = (str,)) -> None:
        self.html, self.unfolded, self.forms = html, unfolded, forms

    def with_commands_rewritten_by(self, *forms: CommandForm) -> View:
        return View(self.html, unfolded=self.unfolded, forms=forms)

    @cached_property
    def tree(self) -> Element:
        """The elements of the HTML, with each command in all its forms."""

        def forms_of(typed: str) -> list[str]:
            return list(dict.fromkeys(form(typed) for form in self.forms))

        def show_commands(words: str | None) -> str:
            return _TYPED.sub(lambda found: OR_IN_PYTHON.join(f"`{each}`" for each in forms_of(found[1])), words or "")

        tree = _parse(Markup("<view>{}</view>").format(self.html))
        for parent in [each for each in tree.iter() if each.tag not in ("bdi", "code")]:
            parent.text = show_commands(parent.text)
            if hint := parent.get("data-hint"):
                parent.set("data-hint", show_commands(hint))
            for index, child in reversed(list(enumerate(parent))):
                child.tail = show_commands(child.tail)
                if child.tag != "code":
                    continue
                # The other forms of a command follow it as elements of their own.
                child.text, *other_forms = forms_of(str(child.text))
                for other_form in other_forms:
                    added = Element("code", child.attrib)
                    added.text = other_form
                    added.tail, child.tail = child.tail, OR_IN_PYTHON
                    parent.insert(index + 1, added)
        return tree

    @property
    def heading(self) -> Element:
        heading = self.tree.find("h1")
        return Element("h1") if heading is None else heading

    def __rich__(self) -> Any:
        from rich.console import Group

        from rubriclab.report.terminal import blocks_of

        return Group(*blocks_of(self.tree, unfolded=self.unfolded))

    def __str__(self) -> str:
        from rubriclab.report.terminal import plain_text

        return plain_text(self)

    def body(self) -> Markup:
        """Return the HTML below the title, for a page with a title and style sheet of its own."""
        return inner_html(self.tree, 2, words_of(self.heading))

    def contents(self) -> Markup:
        """Return links to the sections that have an id."""
        link = Markup('<a href="#{}">{}</a>\n')
        sections = [each for each in self.tree.iterfind("section") if each.get("id")]
        return Markup().join(link.format(each.get("id"), inner_html(each[0])) for each in sections)

    def page(self) -> str:
        kicker = self.tree.find("p[@class='kicker']")
        kicker_words = "rubriclab" if kicker is None else words_of(kicker)
        title, heading, style = words_of(self.heading), inner_html(self.heading), Markup(STYLE.read_text("utf-8"))
        return str(render_template("page", view=self, title=title, heading=heading, kicker=kicker_words, style=style))

    def _repr_html_(self) -> str:
        """Return the view as HTML with its own styles, which do not affect the rest of a notebook."""
        main, style = inner_html(self.tree, 4, words_of(self.heading)), Markup(STYLE.read_text("utf-8"))
        frame = Markup('<div class="rubriclab fragment">\n<style>\n{}\n</style>\n<h3>{}</h3>\n{}\n</div>\n')
        return str(frame.format(style, inner_html(self.heading), main))

    def markdown(self) -> str:
        title = words_of(self.heading)
        heading = [f"## {escape_markdown(title)}", ""] if title else []
        return "\n".join([*heading, *markdown_lines(self.tree, 2)]).rstrip() + "\n"

    def csv(self) -> str:
        """Return a CSV file with a row for each cell of all tables."""
        return csv_text([CSV_COLUMNS, *csv_rows(self.tree, words_of(self.heading))])

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each cell of all tables; UserError without pandas."""
        rows = csv_rows(self.tree, words_of(self.heading))
        return data_frame(dict(zip(CSV_COLUMNS, row, strict=True)) for row in rows)


def view(template: str, *, unfolded: bool = False, **data: Any) -> View:
    return View(render_template(template, **data), unfolded=unfolded)


def render_template(template: str, **data: Any) -> Markup:
    return Markup(_environment().get_template(f"{template}.html").render(data))


def macro(name: str, *args: Any, template: str = "parts", **options: Any) -> Markup:
    return Markup(getattr(_environment().get_template(f"{template}.html").module, name)(*args, **options))


def _parse(html: Markup) -> Element:
    """Return the elements of HTML; line breaks become a space, or nothing at the start of `STRIPPED_ELEMENTS`."""
    tree = fromstring(html)
    for element in tree.iter():
        if element.tag != "bdi" and element.text:
            element.text = _BREAK.sub(" ", element.text)
            if element.tag in STRIPPED_ELEMENTS:
                element.text = element.text.lstrip()
        if element.tail:
            element.tail = _BREAK.sub(" ", element.tail)
    return tree


def inline(cell: object) -> Markup:
    """Return a cell's content as HTML, for pages with templates of their own."""
    return inner_html(_parse(Markup("<td>{}</td>").format(format_element(cell))))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from rich import filesize

    from rubriclab.learning import fitting, pass_fail
    from rubriclab.methods import catalogue
    from rubriclab.models import aggregation, evaluation
    from rubriclab.ops import versions
    from rubriclab.report import charts, results, rubrics, wording

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=format_element,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"external": elements.external, "prose": elements.prose, "number": "{:,}".format}
    functions = (count, format_score, has_shipped_definition, join_names, judge_at, one_line, signed)
    environment.globals |= {each.__name__: each for each in functions}
    for module, names in ((elements, ELEMENT_NAMES), (wording, WORDING_NAMES), (evaluation, EVALUATION_NAMES)):
        environment.globals |= {name: getattr(module, name) for name in names}
    environment.globals |= {
        "charts": charts,
        "results": results,
        "rubrics": rubrics,
        "wording": wording,
        "Interval": Interval,
        "INTERVAL_CONFIDENCE": fitting.INTERVAL_CONFIDENCE,
        "MIN_GROUPS": MIN_GROUPS,
        "RATERS": pass_fail.RATERS,
        "DEFAULT_METHODS": catalogue.DEFAULT_METHODS,
        "aggregations": aggregation,
        "byte_count": filesize.decimal,
        "number": "{:,}".format,
        "rank_disagreements": versions.rank_disagreements,
    }
    return environment
