"""What changed between two versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue
from rich.console import Group, RenderableType

from rubriclab.data.scale import show
from rubriclab.digest import canonical
from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, indented, pairs, text
from rubriclab.rubric import Criterion, Interval

if TYPE_CHECKING:
    from rubriclab.store.diff import AgreementChange, Change, CriterionChange, Difference

STATISTICS = {
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "reselected": "Spearman, re-selected",
}
IDS_SHOWN = 10


def difference_view(difference: Difference) -> RenderableType:
    """Return what changed: fields, training agreement, criteria (added, removed, reworded) and training texts."""
    return Group(
        text(f"{difference.before} to {difference.after}", "bold"),
        text(f"The rubrics are {'the same' if difference.same else 'different'}."),
        *_fields(difference.fields),
        *_agreement(difference.agreement),
        *_criteria(difference),
        *_examples(difference),
    )


def _fields(fields: Sequence[Change]) -> Iterator[RenderableType]:
    if not fields:
        return
    yield heading("How it was learned")
    table = columns("", "before", "after")
    for change in fields:
        table.add_row(text(change.field, QUIET), text(_value(change.before)), text(_value(change.after)))
    yield table


def _agreement(changes: Sequence[AgreementChange]) -> Iterator[RenderableType]:
    changed = [change for change in changes if change.before != change.after]
    if not changed:
        return
    yield heading("Agreement with the training labels", "optimistic; other labels give other figures")
    table = columns("", "before", "after", numeric=("before", "after"))
    for change in changed:
        table.add_row(STATISTICS[change.statistic], text(_estimate(change.before)), text(_estimate(change.after)))
    yield table


def _criteria(difference: Difference) -> Iterator[RenderableType]:
    yield heading(
        "Criteria",
        f"{difference.unchanged} unchanged, {len(difference.changed)} changed, "
        f"{len(difference.added)} added, {len(difference.removed)} removed",
    )
    for criterion in difference.removed:
        yield from _whole("-", "red", criterion)
    for criterion in difference.added:
        yield from _whole("+", "green", criterion)
    for change in difference.changed:
        yield from _reworded(change)


def _whole(sign: str, style: str, criterion: Criterion) -> Iterator[RenderableType]:
    yield text(f"{sign} {criterion.trait}", style)
    yield indented(text(criterion.statement))
    yield indented(indented(pairs((show(level.score), level.description) for level in criterion.levels)))


def _reworded(change: CriterionChange) -> Iterator[RenderableType]:
    yield text(f"~ {change.after.trait}", "yellow").append(f"  {change.similarity:.0f} % alike", QUIET)
    for field in change.changes:
        before, after = text(f"- {_value(field.before)}", "red"), text(f"+ {_value(field.after)}", "green")
        yield indented(pairs([(field.field, Group(before, after))]))


def _examples(difference: Difference) -> Iterator[RenderableType]:
    changed = (("+", difference.examples_added), ("-", difference.examples_removed))
    if not any(ids for _, ids in changed):
        return
    yield heading("Training texts", " ".join(f"{sign}{len(ids)}" for sign, ids in changed))
    for sign, ids in changed:
        if ids:
            more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
            yield indented(text(f"{sign} {', '.join(ids[:IDS_SHOWN])}{more}"))


def _value(value: JsonValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return wording.short_digest(value) if value.startswith("sha256:") else value
    return canonical(value)


def _estimate(found: Interval | None) -> str:
    return wording.estimate(found) if found else "unknown"
