"""Whether rows can be learned from. With thirty labels a wrong one weighs much, so one faulty row stops learning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rubriclab.data.example import Example, labelled
from rubriclab.data.readers import Rows
from rubriclab.data.row import Fault, describe
from rubriclab.data.scale import Scale, parse_scale, scale_of, show
from rubriclab.errors import DataError, SettingsError

FEWEST_LABELS = 10
FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Training:
    """Examples that all have a label, the scale of the labels, and what the user should be told about them."""

    examples: tuple[Example, ...]
    scale: Scale
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Placed:
    """An example with the place where it was read."""

    where: str
    line: int
    example: Example

    def fault(self, field: str, came: str, expected: str) -> Fault:
        return Fault(self.where, self.line, field, came, expected, self.example.id)


def training_examples(
    rows: Iterable[Example | Fault], aspect: str, scale: Scale | str | None = None, *, labels_needed: bool = True
) -> Training:
    """Return the rows that have a label for `aspect`, with the scale that was given or else is taken from the labels.

    `scale` may be written as `parse_scale` reads it. Rows without a label are set aside, which a note says. Unless
    `labels_needed`, labels that are too few or all the same are left out instead, which a note says too.

    Raises:
        DataError: if any row is faulty, an id stands twice, or a label lies outside of the scale (`faults` names each);
            if no row has a label for `aspect`, fewer than ten have one, or all labels are the same.
        SettingsError: if `scale` is not understood, or there is neither a scale nor a label to take it from.
    """
    placed, faults = _sorted_out(rows)
    labels = [row.example.scores[aspect] for row in placed if aspect in row.example.scores]
    given = parse_scale(scale, labels) if isinstance(scale, str) else scale
    faults += _duplicates(placed)
    faults += [fault for row in placed for fault in _faults_of(row, aspect, given)]
    _stop_at(faults)
    examples = tuple(row.example for row in placed)
    chosen = labelled(examples, aspect)
    if not labels_needed and (len(labels) < FEWEST_LABELS or len(set(labels)) == 1):
        return _without_labels(labels, given, aspect)
    _check_labels(examples, labels, aspect)
    taken = given or scale_of(labels, [score for e in chosen for score in e.annotations.get(aspect, ())])
    notes = (*_set_aside(examples, chosen, aspect), *_scale_taken(given, taken), *_grouping(chosen))
    return Training(chosen, taken, notes)


def _sorted_out(rows: Iterable[Example | Fault]) -> tuple[list[_Placed], list[Fault]]:
    placed, faults = list[_Placed](), list[Fault]()
    for number, row in enumerate(rows, start=1):
        where, line = (rows.where, rows.line) if isinstance(rows, Rows) else ("rows", number)
        if isinstance(row, Fault):
            faults.append(row)
        else:
            placed.append(_Placed(where, line, row))
    return placed, faults


def _duplicates(placed: Iterable[_Placed]) -> Iterator[Fault]:
    first: dict[str, _Placed] = {}
    for row in placed:
        before = first.setdefault(row.example.id, row)
        if before is not row:
            came = f"{row.example.id!r}, which line {before.line} has too"
            yield row.fault("id", came, f"an id of its own{_if_same_text(row.example, before.example)}")


def _if_same_text(one: Example, other: Example) -> str:
    same = (one.output, one.source, one.context) == (other.output, other.source, other.context)
    return "; both hold the same text: if two people rated it, write one row with their mean" if same else ""


def _faults_of(row: _Placed, aspect: str, scale: Scale | None) -> Iterator[Fault]:
    """Yield what no reader lets through but examples made by hand may hold, and labels outside of a given scale."""
    example = row.example
    if not example.output.strip():
        yield row.fault("output", describe(example.output), "a non-empty text")
    numbers = [("annotations", score) for score in example.annotations.get(aspect, ())]
    if aspect in example.scores:
        numbers.insert(0, ("scores", example.scores[aspect]))
    wanted = f"a score from {show(scale.low)} to {show(scale.high)}" if scale else "a finite number"
    for table, number in numbers:
        if not (scale.contains(number) if scale else math.isfinite(number)):
            came = show(number) if math.isfinite(number) else describe(number)
            yield row.fault(f"{table}.{aspect}", came, wanted)


def _stop_at(faults: list[Fault]) -> None:
    if not faults:
        return
    named = [str(fault) for fault in sorted(faults, key=lambda fault: fault.line)]
    shown = named[:FAULTS_SHOWN]
    if len(named) > FAULTS_SHOWN:
        shown.append(f"and {len(named) - FAULTS_SHOWN} more")
    what = "1 fault" if len(named) == 1 else f"{len(named)} faults"
    start = f"{what} in the training rows; mend or remove each, since learning uses all of them or none:"
    raise DataError("\n  ".join([start, *shown]), faults=named)


def _without_labels(labels: list[float], given: Scale | None, aspect: str) -> Training:
    if given is None and not labels:
        raise SettingsError(
            f"No row has a score for {aspect!r} that the scale could be taken from.", "Give it: --scale LOW:HIGH."
        )
    why = "that are all the same" if labels and len(set(labels)) == 1 else f"where {FEWEST_LABELS} are needed"
    note = f"made without labels: there are {len(labels)} scores for {aspect!r}, {why}"
    taken = given or scale_of(labels)
    return Training((), taken, (note, *_scale_taken(given, taken)))


def _check_labels(examples: tuple[Example, ...], labels: list[float], aspect: str) -> None:
    if not labels:
        raise DataError(
            f"None of the {len(examples)} rows has a score for {aspect!r}; {_aspects(examples)}.",
            f"Name another aspect, or map the column that holds the scores: --map scores.{aspect}=COLUMN.",
        )
    if len(labels) < FEWEST_LABELS:
        raise DataError(
            f"Only {len(labels)} of {len(examples)} rows have a score for {aspect!r}; "
            f"learning needs at least {FEWEST_LABELS}.",
            "Thirty are a good start.",
        )
    if len(set(labels)) == 1:
        raise DataError(
            f"All {len(labels)} scores for {aspect!r} are {show(labels[0])}: nothing can be learned from them.",
            "Add texts that the raters thought better or worse.",
        )


def _aspects(examples: Iterable[Example]) -> str:
    counts = Counter(aspect for example in examples for aspect in example.scores)
    named = ", ".join(f"{aspect!r} ({count})" for aspect, count in sorted(counts.items()))
    return f"there are scores for {named}" if named else "they have no scores at all"


def _set_aside(examples: tuple[Example, ...], chosen: tuple[Example, ...], aspect: str) -> Iterator[str]:
    if len(chosen) < len(examples):
        aside = len(examples) - len(chosen)
        yield f"rows without a score for {aspect!r} are set aside: {aside} of {len(examples)}"


def _scale_taken(given: Scale | None, taken: Scale) -> Iterator[str]:
    if given is None:
        yield (
            f"scale {show(taken.low)} to {show(taken.high)} taken from the labels; "
            "give --scale LOW:HIGH if the raters used another"
        )


def _grouping(chosen: tuple[Example, ...]) -> Iterator[str]:
    groups = {example.group for example in chosen}
    if len(groups) == 1:
        yield (
            f"all {len(chosen)} texts are of one group ({chosen[0].group!r}): no group can be held out, "
            "so agreement on texts about other sources stays unknown"
        )
    if len(groups) == len(chosen):
        yield "every text is a group of its own: agreement is taken over the whole set, not among rivals"
