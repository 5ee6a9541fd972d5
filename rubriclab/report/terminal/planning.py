"""A plan of what to label next: how many labels are worth it, and the texts in order."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from rubriclab.active_learning import LabelPlan, SelectedText
from rubriclab.characters import one_line
from rubriclab.report import planning, wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, text

EXCERPT = 120


def plan_view(plan: LabelPlan, ref: str) -> RenderableType:
    """Return the stopping rule in words, and below it the texts to label in order."""
    table = columns("", "text and why", "width", "agreement", numeric=("", "width", "agreement"))
    for each in plan.texts:
        agreement = "" if each.agreement is None else wording.figure(each.agreement)
        table.add_row(text(str(each.rank)), _text(each), text(f"{each.width:.2f}"), text(agreement))
    return Group(
        text(planning.advised(plan), "bold"),
        heading(f"To label next, for {ref}", "the text that tells most first"),
        table,
        "",
        text(planning.basis(plan), QUIET),
    )


def _text(planned: SelectedText) -> Text:
    begins = wording.excerpt(one_line(planned.example.output), EXCERPT)
    lines = (text(planned.example.id, "bold"), text(begins, QUIET), text(planning.why(planned)))
    return Text("\n", overflow="fold").join(lines)
