"""What changed between two versions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from rubriclab.models.base import canonical
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion
from rubriclab.report import describe, wording
from rubriclab.report.criteria import levels, statement
from rubriclab.report.edit import HELD_OUT_BY, change_in_agreement
from rubriclab.report.model import (
    Block,
    Cell,
    Figure,
    Indented,
    Paragraph,
    Section,
    Span,
    View,
    line,
    quoted,
    table,
)
from rubriclab.report.verdicts import OPTIMISTIC

if TYPE_CHECKING:
    from rubriclab.models.rubric import FieldChange
    from rubriclab.store.diff import VersionDiff, WeightPair

STATISTICS = {
    "heldout_auroc": "AUROC, held out",
    "heldout_brier": "Brier score, held out",
    "heldout_pearson": "Pearson, held out",
    "heldout_spearman": "Spearman, held out",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "reselected": "Spearman, cross-validated",
}
FITTED = ("spearman", "pearson", "kendall")
IDS = 10
# Lines shown around those of a text that changed, and characters of a text that has no other side.
CONTEXT, EXCERPT = 1, 300


def difference_view(difference: VersionDiff) -> View:
    """Return what changed: fields, training agreement, criteria (added, removed, reworded) and training texts."""
    tally = (
        f"{difference.unchanged} unchanged, {len(difference.changed)} changed, {len(difference.added)} added, "
        f"{len(difference.removed)} removed"
    )
    blocks = (
        *paired_effect(difference),
        Paragraph(f"The rubrics are {'the same' if difference.same else 'different'}."),
        *_verdicts(difference),
        *_agreement(difference),
        *_fields(difference.fields),
        *_weights(difference),
        Section("Criteria", tuple(_criteria(difference)), tally),
        *_examples(difference),
    )
    return View((quoted(difference.before), " to ", quoted(difference.after)), blocks, "rubriclab difference")


def _fields(fields: Sequence[FieldChange]) -> Iterator[Section]:
    if fields:
        rows = [
            (quoted(change.field), quoted(_value(change.before)), quoted(_value(change.after))) for change in fields
        ]
        yield Section("How it was learned", (table(("", "before", "after"), rows),))


def paired_effect(difference: VersionDiff) -> Iterator[Paragraph]:
    """Yield the paired effect of an edit on agreement, with which a difference begins; nothing without an edit."""
    if (edit := difference.edit) and edit.difference.value is not None:
        yield Paragraph(change_in_agreement(edit.statistic, edit.difference, edit.folds, edit.labels), "lead")


def _verdicts(difference: VersionDiff) -> Iterator[Paragraph]:
    if any(difference.outcomes):
        before, after = (outcome or "not validated" for outcome in difference.outcomes)
        sides = (quoted(difference.before), f": {before}; ", quoted(difference.after), f": {after}")
        yield Paragraph(("Verdicts of the gate: ", *sides, "."), "lead")


def _agreement(difference: VersionDiff) -> Iterator[Section]:
    changed = [
        change
        for change in difference.agreement
        if change.before != change.after or change.statistic.startswith("heldout")
    ]
    if not changed:
        return
    beside = (
        "held out: by cross-validation; fitted: on the labels that the rubric was fitted to, which is optimistic"
        if difference.optimistic
        else "labels not learned from"
    )
    fitted = ", fitted" if difference.optimistic else ""
    marks = {"reselected": OPTIMISTIC if difference.labels_proposed else ""}
    rows = [
        (
            STATISTICS[change.statistic] + (fitted if change.statistic in FITTED else marks.get(change.statistic, "")),
            *(Figure(side) if side else "not measured" for side in (change.before, change.after)),
        )
        for change in changed
    ]
    shown = table(("", "before", "after"), rows, numeric=("before", "after"))
    yield Section("Agreement with the training labels", (shown, *_procedures(difference)), beside)


def _procedures(difference: VersionDiff) -> Iterator[Paragraph]:
    """Yield how the held-out figures were measured, which cannot be compared if that differs."""
    if not any(change.statistic.startswith("heldout") for change in difference.agreement):
        return
    before, after = (HELD_OUT_BY[made] for made in difference.held_out_by)
    if before != after:
        sides = f"{difference.before}: {before}; {difference.after}: {after}"
        yield Paragraph(quoted(f"The held-out figures are not comparable. {sides}."), "quiet")
    elif after != HELD_OUT_BY["learning"]:
        yield Paragraph(f"The held-out figures of both versions are measured {after}.", "quiet")


def _weights(difference: VersionDiff) -> Iterator[Section]:
    if difference.weights:
        rows = [_weight(pair) for pair in difference.weights]
        shown = table(("criterion", "before", "after", "wording"), rows, numeric=("before", "after"))
        yield Section("Weights", (shown,))


def _weight(pair: WeightPair) -> tuple[Cell, ...]:
    sides = ("" if side is None else describe.percent(side) for side in (pair.before, pair.after))
    ids = " to ".join(dict.fromkeys(each for each in (pair.id_before, pair.id_after) if each))
    return (quoted(ids, "id"), *sides, quoted(wording.excerpt(pair.statement)))


def _criteria(difference: VersionDiff) -> Iterator[Block]:
    if not (difference.same or difference.changed or difference.added or difference.removed):
        yield Paragraph("Their wording is the same; their weights, evidence, dropped criteria or a setting differ.")
    for criterion in difference.removed:
        yield from _criterion("-", "removed", criterion)
    for criterion in difference.added:
        yield from _criterion("+", "added", criterion)
    for change in difference.changed:
        similarity = Span(f"{change.similarity:.0f} % similar", "quiet")
        yield Paragraph(line(quoted(f"~ {describe.title(change.after)}", "warning"), similarity))
        for field in change.changes:
            yield Indented((Paragraph(quoted(field.field), "quiet"), Indented(tuple(_sides(field)))))


def _criterion(sign: str, style: Literal["added", "removed"], criterion: Criterion) -> Iterator[Block]:
    if criterion.kind == "question":
        yield Paragraph(quoted(f"{sign} {criterion.trait}: {describe.title(criterion)}", style))
        return
    yield Paragraph(quoted(f"{sign} {criterion.trait}", style))
    blocks: list[Block] = [statement(criterion)]
    if criterion.levels:
        blocks.append(Indented((levels(criterion),)))
    if criterion.demonstrations:
        blocks.append(Paragraph(f"with {count(len(criterion.demonstrations), 'labelled text')}"))
    yield Indented(tuple(blocks))


def _sides(change: FieldChange) -> Iterator[Paragraph]:
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        yield from _lines(before, after)
        return
    if before is not None:
        yield _line("-", wording.excerpt(_value(before), EXCERPT) if after is None else _value(before))
    if after is not None:
        yield _line("+", wording.excerpt(_value(after), EXCERPT) if before is None else _value(after))


def _lines(before: str, after: str) -> Iterator[Paragraph]:
    """Yield the lines that changed, each with its sign, and those next to them."""
    old, new = (wording.lines(wording.cut(side)) for side in (before, after))
    # Two lines for the files' names, and one for where the first change is.
    changed = list(islice(difflib.unified_diff(old, new, n=CONTEXT, lineterm=""), 3, None))
    if not changed:
        yield Paragraph("white space only", "quiet")
    for changed_line in changed:
        sign, words = changed_line[0], changed_line[1:]
        if sign == "@":
            yield Paragraph("…", "quiet")
        elif words or sign.strip():
            yield _line(sign, words)


def _line(sign: str, words: str) -> Paragraph:
    style: Literal["removed", "added", "quiet"] = "removed" if sign == "-" else "added" if sign == "+" else "quiet"
    return Paragraph(quoted(f"{sign} {words}", style))


def _examples(difference: VersionDiff) -> Iterator[Section]:
    changed = [("+", difference.examples_added), ("-", difference.examples_removed)]
    if any(ids for _, ids in changed):
        shown = (
            Paragraph(quoted(f"{sign} {', '.join(ids[:IDS])}{f' and {len(ids) - IDS} more' if len(ids) > IDS else ''}"))
            for sign, ids in changed
            if ids
        )
        tally = " ".join(f"{sign}{len(ids)}" for sign, ids in changed)
        yield Section("Training texts", (Indented(tuple(shown)),), tally)


def _value(value: JsonValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return wording.short_digest(value) if value.startswith("sha256:") else value
    return canonical(value)
