"""The labels of a version and their corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rubriclab.corrections import corrected, same_value
from rubriclab.data.scale import show
from rubriclab.report.model import Block, Cell, Paragraph, Section, Table, View, quoted, table
from rubriclab.report.wording import count, moment

if TYPE_CHECKING:
    from rubriclab.corrections import Correction
    from rubriclab.services.labels import LabelsResult
    from rubriclab.training_record import RecordedText

COLUMNS = ("label", "by", "why", "when")


def labels_view(result: LabelsResult) -> View:
    """Return how many labels there are, how many were corrected, and each correction."""
    return View(("Labels of ", quoted(result.version.ref)), tuple(_blocks(result)), "rubriclab labels")


def _blocks(result: LabelsResult) -> Iterator[Block]:
    now = {example.id: example for example in result.corrected()}
    aspect = result.version.rubric.aspect.name
    changed = sum(text.id in now and now[text.id].scores[aspect] != text.label for text in result.texts)
    withdrawn = len(result.texts) - len(now)
    since = f"{changed} corrected and {withdrawn} withdrawn since it was made"
    yield Paragraph(f"{count(len(result.texts), 'labelled text')}, {since}.", "lead")
    if result.corrections:
        rows = [(quoted(each.text, "id"), *_correction(each)) for each in result.corrections]
        yield Section("Corrections", (table(("text", *COLUMNS), rows),), "the oldest first")


def corrections_table(corrections: Sequence[Correction]) -> Table:
    """Return the corrections of one text."""
    return table(COLUMNS, map(_correction, corrections), caption="Corrections, the oldest first")


def label_now(text: RecordedText, corrections: Sequence[Correction]) -> str:
    """Return the label of a text as corrected and as it was; empty if it has not changed."""
    now = corrected(text, corrections)
    if now is None:
        return f"Label withdrawn, was {show(text.label)}"
    return "" if same_value(now.label, text.label) else f"Label {show(now.label)}, was {show(text.label)}"


def _correction(each: Correction) -> tuple[Cell, ...]:
    why = "; ".join(filter(None, (each.note and f"the rubric misses: {each.note}", each.because)))
    return quoted(_change(each)), quoted(each.by), quoted(why), moment(each.created)


def _change(each: Correction) -> str:
    whose = f" ({each.rater})" if each.rater else ""
    old = "none" if each.old is None else show(each.old)
    if each.kind == "misses":
        return "unchanged"
    if each.kind == "rubric right":
        return f"{old} withdrawn, the rubric is right{whose}"
    return f"{old} to {'none' if each.new is None else show(each.new)}{whose}"
