"""What the gate found: the verdicts in words, and everybody who was held to the same labels."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from rubriclab.report import training, wording
from rubriclab.report.terminal.parts import QUIET, columns, figured, heading, text
from rubriclab.report.verdicts import headline
from rubriclab.trust import Trust

# Two figures of this width, and the calls, leave enough of 80 columns for a name.
ONE_LINE = len("-0.12 [-0.41, 0.53]")


def gate_view(ref: str, trust: Trust) -> RenderableType:
    """Return the verdict on the version `ref`, and below it what everybody reached on the same labels."""
    return Group(*_lines(ref, trust))


def _lines(ref: str, trust: Trust) -> Iterator[RenderableType]:
    yield text(f"{ref}: {headline(trust)}", "bold")
    if trust.verdicts[1:]:
        yield heading("Beside others", "differences in held-out Pearson; the verdict above decides alone")
        yield _beside(trust)
    yield heading("Agreement with people", "held out")
    yield _table(trust)
    yield ""
    yield text(training.basis(trust), QUIET)
    yield text(training.optimism(trust))


def _beside(trust: Trust) -> RenderableType:
    table = columns("", "difference", numeric=("difference",))
    for verdict in trust.verdicts[1:]:
        table.add_row(*map(text, (verdict.against, wording.estimate(verdict.difference))))
    return table


def _table(trust: Trust) -> RenderableType:
    found = [figure for each in trust.standings for figure in (each.spearman, each.pearson)]
    narrow = any(len(wording.estimate(figure)) > ONE_LINE for figure in found)
    table = columns("", "Spearman", "Pearson", "calls/text", numeric=("Spearman", "Pearson", "calls/text"))
    for title, standings in training.by_kind(trust):
        if title:
            table.add_section()
            table.add_row(text(title), style=QUIET)
        for standing in standings:
            cells = (figured(wording.estimate(each), stacked=narrow) for each in (standing.spearman, standing.pearson))
            table.add_row(text(training.name(standing)), *cells, text(training.calls(standing.calls)))
    if (ceiling := training.ceiling(trust)) is not None:
        table.add_section()
        table.add_row(text("ceiling, as raters differ"), "", wording.figure(ceiling), "")
    return table
