"""What an edit of a rubric does: held-out agreement beside the parent version's, weights, and calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rubriclab.models.characters import count
from rubriclab.report.describe import limits, percent
from rubriclab.report.model import Block, Bullets, Cell, Pairs, Paragraph, Section, View, quoted, table
from rubriclab.report.verdict_agreement import verdict_section
from rubriclab.report.wording import estimate, excerpt, figure

if TYPE_CHECKING:
    from rubriclab.models.version import EditChange, EditOrigin, HeldOutBy, Version
    from rubriclab.ops.edit import EditResult
    from rubriclab.ops.edits import EditEffect, WeightChange
    from rubriclab.stats.intervals import Interval

KNOWN_LABELS = (
    "Each text is scored by weights and criteria that its fold's labels had no part in. The edit itself is the same in "
    "every fold: if it was made with these labels in view, the difference is optimistic, and new labels decide."
)
LEARNED_FROM = "The rubric was learned from these labels, so both figures are optimistic; new labels decide."
CHOSEN_BY = "If the edit was made with these labels in view, the difference is optimistic, and new labels decide."
# Characters of a criterion's wording in the table of weights.
WORDING = 80
# How the held-out agreement of a version was measured.
HELD_OUT_BY: Mapping[HeldOutBy, str] = {
    "learning": "by cross-validation of the whole learning procedure",
    "transfer": "by cross-validation of the transfer",
    "edit": "by refitting the edited rubric on fixed folds",
}
CHANGES = {
    "drop": "dropped",
    "reword": "reworded",
    "merge": "merged",
    "add": "added",
    "pin": "weight pinned",
    "bound": "weight bounded",
    "threshold": "threshold set",
    "definition": "definition changed",
}


def edit_view(result: EditResult) -> View:
    """Return the effect of an edit, and the version that was saved."""
    title = result.saved.ref if result.saved else f"{result.parent}, edited"
    return View(quoted(title), tuple(_blocks(result)), "rubriclab edit")


def _blocks(result: EditResult) -> Iterator[Block]:
    effect = result.effect
    yield Paragraph(verdict(effect), "lead")
    yield agreement_section(result)
    yield from verdicts_section(result)
    if any(change.after is not None for change in effect.weights):
        rows = [_weight(change) for change in effect.weights]
        columns = ("criterion", "before", "after", "limits", "wording")
        yield Section("Weights", (table(columns, rows, numeric=("before", "after")),))
    yield from notes(result)


def agreement_section(result: EditResult) -> Section:
    """Return the agreement of both versions, what it was measured on, and how to read it."""
    effect = result.effect
    title = "Held-out agreement" if effect.folds else "Agreement with the labels"
    remark = KNOWN_LABELS if effect.folds else LEARNED_FROM if effect.optimistic else CHOSEN_BY
    return Section(title, (Pairs(tuple(_agreement(result))), Paragraph(remark, "quiet")))


def verdicts_section(result: EditResult) -> Iterator[Section]:
    """Yield the held-out verdicts before and after; none for a rubric without verdicts."""
    if names := result.rubric.scores_on.names:
        yield from verdict_section(result.effect.verdicts, names, "held out, on the same folds")


def notes(result: EditResult) -> Iterator[Section]:
    """Yield what the person should know of the edited rubric, if there is anything."""
    if result.notes:
        yield Section("Notes", (Bullets(tuple(map(quoted, result.notes))),))


def verdict(effect: EditEffect) -> str:
    """Return the difference in one sentence."""
    return change_in_agreement(effect.statistic, effect.difference, effect.folds, effect.n)


def change_in_agreement(statistic: str, difference: Interval, folds: int, labels: int) -> str:
    """Return a paired difference in one sentence.

    Args:
        folds: that it is held out in; 0 where nothing was fitted to the labels.
        labels: number of labelled texts that both versions score.
    """
    if difference.value is None:
        return "Held-out agreement is undefined: the labels or the scores do not vary."
    name = f"Held-out {statistic}" if folds else statistic[0].upper() + statistic[1:]
    change = f"{name} changes by {estimate(difference)}"
    if difference.low is None or difference.high is None:
        return f"{change}, without an interval: there are too few groups."
    if difference.low > 0:
        return f"{change}: the edited rubric agrees better with these labels."
    if difference.high < 0:
        return f"{change}: the edited rubric agrees less with these labels."
    return f"{change}: no difference can be told with {count(labels, 'label')}."


def _agreement(result: EditResult) -> Iterator[tuple[str, str]]:
    effect = result.effect
    level = "within groups" if effect.level == "group" else "over all texts"
    refitted = ", refitted on the same folds" if effect.folds else ""
    yield "before", f"{effect.statistic} {estimate(effect.before)}{refitted}"
    yield "after", f"{effect.statistic} {estimate(effect.after)}{refitted}"
    yield "difference", estimate(effect.difference)
    if effect.recorded.value is not None:
        yield "gate of the parent", f"{effect.statistic} {estimate(effect.recorded)}, {HELD_OUT_BY[effect.recorded_by]}"
    folds = f", {count(effect.folds, 'fold')}" if effect.folds else ""
    yield "labels", f"{count(effect.n, 'text')} of {count(effect.groups, 'group')}{folds}, {level}"
    yield "calls per text", f"{effect.calls_before:g} before, {effect.calls_after:g} after"


def _weight(change: WeightChange) -> tuple[Cell, ...]:
    sides = ("" if side is None else percent(side) for side in (change.before, change.after))
    return (quoted(change.criterion, "id"), *sides, limits(change.bounds), quoted(excerpt(change.statement, WORDING)))


def edit_origin(edit: EditOrigin) -> Iterator[tuple[str, str]]:
    """Yield who made a version by hand, why, what was changed and what that did."""
    yield "edited by", edit.by
    yield "because", edit.because
    for change in edit.changes:
        yield CHANGES[change.action], change_words(change)
    if edit.difference.value is not None:
        labels = f"{count(edit.labels, 'label')}"
        held_out = "held-out " if edit.folds else ""
        sides = f"{held_out}{edit.statistic} {figure(edit.before.value)} before, {figure(edit.after.value)} after"
        yield "effect", f"{sides}, difference {estimate(edit.difference)}, with {labels}"


def edited_sentence(version: Version) -> str:
    """Return who edited a version, and its agreement beside its parent's; empty for a version that nobody edited."""
    edit = version.provenance.edit
    if edit is None:
        return ""
    parent = f" from {version.parent}" if version.parent else ""
    if edit.difference.value is None:
        return f"Edited by {edit.by}{parent}; the effect on agreement is not known."
    held_out = "held-out " if edit.folds else ""
    return (
        f"Edited by {edit.by}{parent}: {held_out}{edit.statistic} {figure(edit.before.value)} before, "
        f"{figure(edit.after.value)} after on the same {count(edit.labels, 'label')}, difference "
        f"{estimate(edit.difference)}. This is optimistic if the edit was made with these labels in view."
    )


def change_words(change: EditChange) -> str:
    """Return what a change concerns, from what to what."""
    which = ", ".join(change.criteria)
    if change.action in ("pin", "bound"):
        return f"{which}: {change.after}"
    if change.action == "threshold":
        return f"{change.before} to {change.after}"
    if change.after is None:
        return which
    wording = f"{change.result}: {change.after}" if change.result else change.after
    return f"{which} to {wording}" if which else wording
