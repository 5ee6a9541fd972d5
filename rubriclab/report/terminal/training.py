"""How a rubric of several methods was trained: the verdict, what it is held against, its criteria, its cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table

from rubriclab.report import describe, training, wording
from rubriclab.report.terminal.gate import gate_view
from rubriclab.report.terminal.parts import QUIET, columns, heading, indented, text
from rubriclab.report.training import Weighed
from rubriclab.validation import FrontierPoint, Raters, Shortcut, Validation

if TYPE_CHECKING:
    from rubriclab.store.version import Version

EXCERPT = 150


def training_view(version: Version) -> RenderableType:
    """Return the page that learning ends with: the verdict in words, and below it everything that it rests on.

    Raises:
        ValueError: nothing is known of how far the version can be trusted.
    """
    validation = version.provenance.validation
    if validation is None:
        raise ValueError(f"expected a version that was tested while it was trained, got {version.ref}, which was not")
    return Group(
        gate_view(version.ref, validation),
        *_choice(validation),
        *_criteria(version),
        *_frontier(validation.frontier),
        *_shortcuts(version, validation),
        *(_raters(validation.raters) if validation.raters else ()),
        *_cost(version, validation),
    )


def _criteria(version: Version) -> Iterator[RenderableType]:
    rows = training.weighed(version)
    aggregation = version.rubric.aggregation
    if aggregation is None:
        return
    yield heading("Criteria", f"asked {aggregation.ask}, scores calibrated: {aggregation.calibration.kind}")
    table = columns("", "weight", "chosen", "alone", numeric=("weight", "chosen", "alone"))
    for row in rows:
        alone = wording.figure(row.criterion.evidence.pearson)
        figures = (describe.weight(row.term), describe.selected(row.term), alone)
        table.add_row(_criterion(row), *map(text, figures))
    yield table
    yield ""
    yield text(
        f"weight: share of the whole, with its {training.weight_interval(version)}; chosen: share of the "
        "rubrics fitted without some groups that have it; alone: its own Pearson correlation with the training labels.",
        QUIET,
    )
    left = sum(len(part.dropped) for part in version.rubric.parts)
    if left:
        more = wording.counted(left, "more criterion")
        yield text(f"{more} considered and left out; `rubriclab show {version.ref} --evidence` says why.", QUIET)


def _criterion(row: Weighed) -> RenderableType:
    title = text(row.criterion.id).append("  ").append_text(text(describe.title(row.criterion, EXCERPT)))
    remarks = [text(_brief(row), QUIET)]
    if not row.term.weight:
        remarks.append(text(training.REASON_ONLY, QUIET))
    if row.warning:
        remarks.append(text(f"! {row.warning}"))
    return Group(title, *map(indented, remarks))


def _brief(row: Weighed) -> str:
    criterion = row.criterion
    if criterion.kind == "question":
        return "; ".join(filter(None, (row.method, describe.answers(criterion.evidence))))
    if criterion.kind == "score":
        return f"{row.method}: one score of the whole aspect"
    return f"{row.method}: {wording.excerpt(criterion.statement, EXCERPT)}"


def _frontier(points: Sequence[FrontierPoint]) -> Iterator[RenderableType]:
    if not points:
        return
    yield heading("Accuracy at a price", "held-out Pearson, with its standard error")
    table = columns("calls/text", "Pearson", "asked", "", numeric=("calls/text", "Pearson"))
    for point in points:
        pearson = f"{wording.figure(point.pearson)} ± {wording.figure(point.error)}"
        cells = (training.calls(point.calls), pearson, training.asked(point), training.marks(point))
        table.add_row(*map(text, cells))
    yield table


def _choice(validation: Validation) -> Iterator[RenderableType]:
    sentences = list(training.choice_sentences(validation))
    if sentences:
        yield ""
        yield text(" ".join(sentences))


def _shortcuts(version: Version, validation: Validation) -> Iterator[RenderableType]:
    shown = [s for s in training.shortcuts(version) if s.marked or s.name in (training.RATERS, training.RUBRIC)]
    if not shown:
        return
    yield heading("Shortcuts", "what is left of the agreement when these are held constant")
    names = list(dict.fromkeys(name for shortcut in shown for name in shortcut.follows))
    numeric = ("agreement", "left", *names)
    table = columns("", *numeric, numeric=numeric)
    for shortcut in shown:
        _add_shortcut(table, shortcut, names)
    yield table
    marked = sum(s.marked and s.name not in (training.RATERS, training.RUBRIC) for s in shown)
    yield ""
    yield text(
        f"{wording.counted(marked, 'criterion')} marked with ! for following one of them more than the raters do."
        if marked
        else "No criterion follows any of them more than the raters do.",
        QUIET,
    )
    if forgone := training.forgone(validation):
        yield text(forgone)


def _add_shortcut(table: Table, shortcut: Shortcut, names: Sequence[str]) -> None:
    followed = (wording.figure(shortcut.follows[name]) if name in shortcut.follows else "" for name in names)
    figures = (wording.figure(shortcut.agreement), wording.figure(shortcut.left), *followed)
    table.add_row(text(f"{'! ' if shortcut.marked else ''}{shortcut.name}"), *map(text, figures))


def _raters(raters: Raters) -> Iterator[RenderableType]:
    yield heading("Raters", "severity: points below the others' mean")
    numeric = ("texts", "severity", "noise", "with the others")
    table = columns("", *numeric, numeric=numeric)
    for rater in raters.raters:
        figures = (wording.estimate(rater.severity), wording.figure(rater.noise), wording.figure(rater.agreement))
        table.add_row(text(rater.name), f"{rater.n:,}", *map(text, figures))
    yield table
    yield ""
    yield text(" ".join(training.rater_sentences(raters)))


def _cost(version: Version, validation: Validation) -> Iterator[RenderableType]:
    yield heading("Cost")
    yield text(f"Scoring takes {training.calls(training.ours(validation).calls)} calls per text.")
    yield text(f"Learning took {wording.effort(version.effort)}.")
    if by_stage := wording.stages(version.effort):
        yield text(f"Replies by stage: {by_stage}.")
