"""What the gate found: the verdicts in words, and everybody who was held to the same labels."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from rubriclab.report import training, wording
from rubriclab.report.terminal.parts import QUIET, columns, figured, heading, text
from rubriclab.report.verdicts import headline
from rubriclab.validation import Validation

# Two figures of this width, and the calls, leave enough of 80 columns for a name.
ONE_LINE = len("-0.12 [-0.41, 0.53]")


def gate_view(ref: str, validation: Validation) -> RenderableType:
    """Return the verdict on the version `ref`, and below it what everybody reached on the same labels."""
    return Group(*_lines(ref, validation))


def _lines(ref: str, validation: Validation) -> Iterator[RenderableType]:
    yield text(f"{ref}: {headline(validation)}", "bold")
    if validation.verdicts[1:]:
        yield heading("Beside others", "differences in held-out Pearson; the verdict above decides alone")
        yield _beside(validation)
    yield heading("Agreement with people", "held out")
    yield _table(validation)
    yield ""
    yield text(training.basis(validation), QUIET)
    yield text(training.optimism(validation))


def _beside(validation: Validation) -> RenderableType:
    table = columns("", "difference", numeric=("difference",))
    for verdict in validation.verdicts[1:]:
        table.add_row(*map(text, (verdict.against, wording.estimate(verdict.difference))))
    return table


def _table(validation: Validation) -> RenderableType:
    found = [figure for each in validation.evaluators for figure in (each.spearman, each.pearson)]
    narrow = any(len(wording.estimate(figure)) > ONE_LINE for figure in found)
    table = columns("", "Spearman", "Pearson", "calls/text", numeric=("Spearman", "Pearson", "calls/text"))
    for title, evaluators in training.by_kind(validation):
        if title:
            table.add_section()
            table.add_row(text(title), style=QUIET)
        for evaluator_agreement in evaluators:
            cells = (
                figured(wording.estimate(each), stacked=narrow)
                for each in (evaluator_agreement.spearman, evaluator_agreement.pearson)
            )
            table.add_row(
                text(training.name(evaluator_agreement)), *cells, text(training.calls(evaluator_agreement.calls))
            )
    if (ceiling := training.ceiling(validation)) is not None:
        table.add_section()
        table.add_row(text("ceiling, as raters differ"), "", wording.figure(ceiling), "")
    return table
