"""What changed between two versions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pydantic import JsonValue
from rich.console import Group, RenderableType

from rubriclab.digest import canonical
from rubriclab.report import describe, wording
from rubriclab.report.terminal.criteria import levels, statement
from rubriclab.report.terminal.parts import QUIET, columns, heading, indented, text
from rubriclab.rubric import Criterion
from rubriclab.validation import Interval

if TYPE_CHECKING:
    from rubriclab.store.diff import CriterionChange, FieldChange, VersionDiff

STATISTICS = {
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "reselected": "Spearman, re-selected",
}
IDS_SHOWN = 10
SIGNS = {"-": "red", "+": "green"}

# Lines shown around those of a text that changed, and characters of a text that has no other side.
AROUND = 1
EXCERPT = 300


def difference_view(difference: VersionDiff) -> RenderableType:
    """Return what changed: fields, training agreement, criteria (added, removed, reworded) and training texts."""
    return Group(
        text(f"{difference.before} to {difference.after}", "bold"),
        text(f"The rubrics are {'the same' if difference.same else 'different'}."),
        *_fields(difference.fields),
        *_agreement(difference),
        *_criteria(difference),
        *_examples(difference),
    )


def _fields(fields: Sequence[FieldChange]) -> Iterator[RenderableType]:
    if not fields:
        return
    yield heading("How it was learned")
    table = columns("", "before", "after")
    for change in fields:
        table.add_row(text(change.field, QUIET), text(_value(change.before)), text(_value(change.after)))
    yield table


def _agreement(difference: VersionDiff) -> Iterator[RenderableType]:
    changed = [change for change in difference.agreement if change.before != change.after]
    if not changed:
        return
    remark = "optimistic; other labels give other figures" if difference.optimistic else "the labels had no part in it"
    yield heading("Agreement with the training labels", remark)
    table = columns("", "before", "after", numeric=("before", "after"))
    for change in changed:
        table.add_row(STATISTICS[change.statistic], text(_estimate(change.before)), text(_estimate(change.after)))
    yield table


def _criteria(difference: VersionDiff) -> Iterator[RenderableType]:
    yield heading(
        "Criteria",
        f"{difference.unchanged} unchanged, {len(difference.changed)} changed, "
        f"{len(difference.added)} added, {len(difference.removed)} removed",
    )
    if not (difference.same or difference.changed or difference.added or difference.removed):
        yield text("All of them read the same; it is their evidence, what was dropped or a setting that is different.")
    for criterion in difference.removed:
        yield from _whole("-", "red", criterion)
    for criterion in difference.added:
        yield from _whole("+", "green", criterion)
    for change in difference.changed:
        yield from _reworded(change)


def _whole(sign: str, style: str, criterion: Criterion) -> Iterator[RenderableType]:
    if criterion.kind == "question":
        yield text(f"{sign} {criterion.trait}: {describe.title(criterion)}", style)
        return
    yield text(f"{sign} {criterion.trait}", style)
    yield indented(statement(criterion))
    if criterion.levels:
        yield indented(indented(levels(criterion)))
    if criterion.demonstrations:
        yield indented(text(f"with {wording.count(len(criterion.demonstrations), 'labelled text')}"))


def _reworded(change: CriterionChange) -> Iterator[RenderableType]:
    yield text(f"~ {describe.title(change.after)}", "yellow").append(f"  {change.similarity:.0f} % alike", QUIET)
    for field in change.changes:
        yield indented(text(field.field, QUIET))
        yield indented(indented(Group(*_sides(field))))


def _sides(change: FieldChange) -> Iterator[RenderableType]:
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        yield from _lines(before, after)
        return
    for sign, value, other in (("-", before, after), ("+", after, before)):
        if value is not None:
            shown = wording.excerpt(_value(value), EXCERPT) if other is None else _value(value)
            yield text(f"{sign} {shown}", SIGNS[sign])


def _lines(before: str, after: str) -> Iterator[RenderableType]:
    """Yield the lines that changed, each with its sign, and those next to them."""
    found = difflib.unified_diff(
        wording.lines(wording.cut(before)), wording.lines(wording.cut(after)), n=AROUND, lineterm=""
    )
    # Two lines for the files' names, and one for where the first change is.
    changed = list(islice(found, 3, None))
    if not changed:
        yield text("white space only", QUIET)
    for line in changed:
        sign, words = line[0], line[1:]
        if sign == "@":
            yield text("…", QUIET)
        elif sign in SIGNS:
            yield text(f"{sign} {words}", SIGNS[sign])
        elif words:
            yield indented(text(words, QUIET))


def _examples(difference: VersionDiff) -> Iterator[RenderableType]:
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
    return wording.estimate(found) if found else "not measured"
