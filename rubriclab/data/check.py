"""Whether rows can be learned from. With thirty labels a wrong one weighs much, so one faulty row stops learning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rubriclab.characters import is_blank
from rubriclab.data.comparisons import Comparison
from rubriclab.data.example import Example, is_labelled, labelled
from rubriclab.data.fields import describe
from rubriclab.data.fitted import Lined, about, comparison_faults, fit_scores
from rubriclab.data.readers import Rows
from rubriclab.data.row import RowError
from rubriclab.data.scale import Scale, parse_scale, scale_of, show
from rubriclab.errors import DataError, SettingsError
from rubriclab.option_names import option

FEWEST_LABELS = 10
FAULTS_SHOWN = 20
COMPARED_SCALE = Scale(low=0, high=1, whole=False)


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

    def fault(self, field: str, came: str, expected: str) -> RowError:
        return RowError(self.where, self.line, field, came, expected, self.example.id)


def training_examples(
    rows: Iterable[Example | RowError], aspect: str, scale: Scale | str | None = None, *, labels_needed: bool = True
) -> Training:
    """Return the rows that have a label for `aspect`, with the scale that was given or else is taken from the labels.

    A label is the row's score, else the mean of its annotations, else what comparisons with others make of it (see
    `fit_scores`). `scale` may be written as `parse_scale` reads it; where there are comparisons alone it is 0 to 1
    unless given. Rows without a label are set aside. Unless `labels_needed`, labels that are too few or all the same
    are left out instead. Notes say all of this.

    Raises:
        DataError: if any row is faulty, an id stands twice, a label lies outside of the scale, or a comparison names
            an unknown text, texts of two groups, or no aspect where there are several (`faults` names each); if no row
            has a label for `aspect`, fewer than ten have one, or all labels are the same.
        SettingsError: if `scale` is not understood, or there is neither a scale nor a label to take it from.
    """
    examples, stated, given = _sound(rows, aspect, scale)
    compared = [comparison for _, comparison in about(stated, examples, aspect)]
    rated = labelled(examples, aspect)
    if labels_needed:
        _check_any(examples, len(rated) + len(compared), aspect)
    taken = given or _scale(rated, compared, aspect)
    fitted = fit_scores(examples, compared, aspect, taken)
    chosen = labelled(fitted.examples, aspect)
    labels = [example.scores[aspect] for example in chosen]
    said = (*_other_comparisons(stated, compared, aspect), *fitted.notes, *_scale_taken(given, taken, rated))
    if not labels_needed and (len(labels) < FEWEST_LABELS or len(set(labels)) == 1):
        return Training((), taken, (_made_without(labels, aspect), *said))
    _check_labels(examples, labels, aspect)
    notes = (*_set_aside(examples, chosen, aspect), *_averaged(examples, aspect), *said, *_grouping(chosen))
    return Training(chosen, taken, notes)


def _sound(
    rows: Iterable[Example | RowError], aspect: str, scale: Scale | str | None
) -> tuple[tuple[Example, ...], list[Lined], Scale | None]:
    """Return the texts, the comparisons with their lines, and the given scale, once there is no fault in any."""
    placed, faults = _sorted_out(rows)
    where, stated = (rows.where, rows.comparisons) if isinstance(rows, Rows) else ("rows", [])
    examples = tuple(row.example for row in placed)
    labels = (example.scores[aspect] for example in labelled(examples, aspect))
    given = parse_scale(scale, labels) if isinstance(scale, str) else scale
    faults += _duplicates(placed)
    faults += [fault for row in placed for fault in _faults_of(row, aspect, given)]
    faults += comparison_faults(where, stated, examples, {fault.id for fault in faults if fault.id})
    _stop_at(faults)
    return examples, stated, given


def _scale(rated: tuple[Example, ...], compared: list[Comparison], aspect: str) -> Scale:
    """Return the scale that the labels are on, where none was given."""
    if rated:
        annotations = (score for example in rated for score in example.annotations.get(aspect, ()))
        return scale_of((example.scores[aspect] for example in rated), annotations)
    if not compared:
        raise SettingsError(
            f"No row has a score for {aspect!r}, so the scale is unknown.",
            f"Give it: {option('scale', 'LOW:HIGH')}.",
        )
    return COMPARED_SCALE


def _sorted_out(rows: Iterable[Example | RowError]) -> tuple[list[_Placed], list[RowError]]:
    placed, faults = list[_Placed](), list[RowError]()
    for number, row in enumerate(rows, start=1):
        where, line = (rows.where, rows.line) if isinstance(rows, Rows) else ("rows", number)
        if isinstance(row, RowError):
            faults.append(row)
        else:
            placed.append(_Placed(where, line, row))
    return placed, faults


def _duplicates(placed: Iterable[_Placed]) -> Iterator[RowError]:
    first: dict[str, _Placed] = {}
    for row in placed:
        before = first.setdefault(row.example.id, row)
        if before is not row:
            came = f"{row.example.id!r}, which line {before.line} has too"
            yield row.fault("id", came, f"an id of its own{_if_same_text(row.example, before.example)}")


def _if_same_text(one: Example, other: Example) -> str:
    same = (one.output, one.source, one.context) == (other.output, other.source, other.context)
    return "; both hold the same text: if two people rated it, write one row with their mean" if same else ""


def _faults_of(row: _Placed, aspect: str, scale: Scale | None) -> Iterator[RowError]:
    """Yield what no reader lets through but examples made by hand may hold, and labels outside of a given scale."""
    example = row.example
    if is_blank(example.output):
        yield row.fault("output", describe(example.output), "a non-empty text")
    numbers = [("annotations", score) for score in example.annotations.get(aspect, ())]
    if aspect in example.scores:
        numbers.insert(0, ("scores", example.scores[aspect]))
    wanted = f"a score from {show(scale.low)} to {show(scale.high)}" if scale else "a finite number"
    for table, number in numbers:
        if not (scale.contains(number) if scale else math.isfinite(number)):
            came = show(number) if math.isfinite(number) else describe(number)
            yield row.fault(f"{table}.{aspect}", came, wanted)


def _stop_at(faults: list[RowError]) -> None:
    if not faults:
        return
    named = [str(fault) for fault in sorted(faults, key=lambda fault: fault.line)]
    shown = named[:FAULTS_SHOWN]
    if len(named) > FAULTS_SHOWN:
        shown.append(f"and {len(named) - FAULTS_SHOWN} more")
    what = "1 fault" if len(named) == 1 else f"{len(named)} faults"
    start = f"{what} in the training rows; fix or remove each, since learning uses all of them or none:"
    raise DataError("\n  ".join([start, *shown]), faults=named)


def _made_without(labels: list[float], aspect: str) -> str:
    why = "that are all the same" if labels and len(set(labels)) == 1 else f"where {FEWEST_LABELS} are needed"
    return f"made without labels: there are {len(labels)} scores for {aspect!r}, {why}"


def _check_any(examples: tuple[Example, ...], labels: int, aspect: str) -> None:
    if not labels:
        raise DataError(
            f"None of the {len(examples)} rows has a score for {aspect!r}; {_aspects(examples)}.",
            f"Name another aspect, or map the column of the scores: {option('mapping', f'scores.{aspect}=COLUMN')}.",
        )


def _check_labels(examples: tuple[Example, ...], labels: list[float], aspect: str) -> None:
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
    counts = Counter(aspect for example in examples for aspect in example.scores.keys() | example.annotations.keys())
    named = ", ".join(f"{aspect!r} ({count})" for aspect, count in sorted(counts.items()))
    return f"there are scores for {named}" if named else "they have no scores at all"


def _set_aside(examples: tuple[Example, ...], chosen: tuple[Example, ...], aspect: str) -> Iterator[str]:
    if len(chosen) < len(examples):
        aside = len(examples) - len(chosen)
        yield f"rows without a score for {aspect!r} are set aside: {aside} of {len(examples)}"


def _averaged(examples: tuple[Example, ...], aspect: str) -> Iterator[str]:
    derived = sum(is_labelled(example, aspect) and aspect not in example.scores for example in examples)
    if derived:
        yield f"labels that are the mean of a text's annotations, as it has no score for {aspect!r}: {derived}"


def _other_comparisons(stated: list[Lined], compared: list[Comparison], aspect: str) -> Iterator[str]:
    others = len(stated) - len(compared)
    if others:
        yield f"comparisons in other aspects than {aspect!r} are left out: {others} of {len(stated)}"


def _scale_taken(given: Scale | None, taken: Scale, rated: tuple[Example, ...]) -> Iterator[str]:
    if given is not None:
        return
    span = f"scale {show(taken.low)} to {show(taken.high)}"
    if rated:
        yield f"{span} taken from the labels; give the scale if the raters used another"
    else:
        yield f"{span}, as comparisons have none; give the scale for another"


def _grouping(chosen: tuple[Example, ...]) -> Iterator[str]:
    groups = {example.group for example in chosen}
    if len(groups) == 1:
        yield (
            f"all {len(chosen)} texts are of one group ({chosen[0].group!r}): no group can be held out, "
            "so agreement on texts about other sources stays unknown"
        )
    if len(groups) == len(chosen):
        yield "every text is a group of its own: agreement is taken over the whole set, not among rivals"
