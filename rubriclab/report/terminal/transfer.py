"""What a rubric is worth on other texts: the advice, what each action gives, and how far the texts lie from home."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from rubriclab.report import transfer, wording
from rubriclab.report.terminal.parts import QUIET, columns, figured, heading, indented, text
from rubriclab.report.terminal.shift import shift_view

if TYPE_CHECKING:
    from rubriclab.transfer.results import AgreementMetrics, Transfer


def transfer_view(found: Transfer) -> RenderableType:
    """Return everything that is known of one rubric on one target."""
    return Group(*_lines(found))


def transfer_matrix_view(cells: Sequence[Transfer]) -> RenderableType:
    """Return several rubrics, targets and judges as one table, with the advice on each."""
    return Group(*_matrix(cells))


def _lines(found: Transfer) -> Iterator[RenderableType]:
    yield text(transfer.title(found), "bold")
    for line in transfer.sentences(found):
        yield text(line)
    if found.actions:
        yield from _actions(
            found, "cross_validated", f"On the {wording.count(found.labels, 'label')} to fit by", "held out"
        )
    if found.held_out_labels:
        yield from _actions(
            found, "held_out", f"On {wording.count(found.held_out_labels, 'other label')}", "what came of it"
        )
    if found.actions:
        yield ""
        yield text(transfer.LEGEND, QUIET)
    if found.shift:
        yield heading("How far these texts lie from home")
        yield shift_view(found.shift)


def _actions(found: Transfer, which: str, title: str, beside: str) -> Iterator[RenderableType]:
    levels = {each.level for action in found.actions if (each := getattr(action, which))}
    yield heading(title, ", ".join((beside, *(wording.LEVELS[level] for level in sorted(levels)))))
    numeric = ("error", "Spearman", "Pearson")
    table = columns("", *numeric, numeric=numeric)
    for action in found.actions:
        figures: AgreementMetrics | None = getattr(action, which)
        advised = found.advice is not None and found.advice.action == action.action
        name = text(f"{action.action}{', as advised' if advised else ''}", "bold" if advised else "")
        label = Group(name, indented(text(action.skipped or transfer.action_row(action), QUIET)))
        estimates = (figures.error, figures.spearman, figures.pearson) if figures else ()
        cells = [figured(wording.estimate(each), stacked=True) for each in estimates] or [text("")] * len(numeric)
        table.add_row(label, *cells)
    yield table


def _matrix(cells: Sequence[Transfer]) -> Iterator[RenderableType]:
    yield heading("Agreement with people", "Spearman of the rubric as it is; drop: home less there")
    numeric = ("home", "there", "drop")
    table = columns("", *numeric, "texts lie", "advice", numeric=numeric)
    for cell in cells:
        asked = f"{cell.judge}, {cell.aspect}"
        label = Group(text(cell.rubric), indented(text(f"{cell.target}\n{asked}", QUIET)))
        figures = (cell.source and cell.source.spearman, cell.agreement and cell.agreement.spearman, cell.drop)
        shown = [figured(wording.estimate(each), stacked=True) if each else text("") for each in figures]
        finding = cell.shift.severity if cell.shift else "not known"
        table.add_row(label, *shown, text(finding), text(transfer.brief(cell)))
    yield table
    yield ""
    yield text("The same command for one rubric, target and judge says why, and shows what each action gives.", QUIET)
