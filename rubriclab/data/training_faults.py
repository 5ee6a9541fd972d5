"""Faults of training rows that can be read, such as repeated ids and scores outside the scale, and their messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rubriclab.characters import is_blank
from rubriclab.data.cells import proposed_level_scores
from rubriclab.data.example import Example, named_annotations, named_reasons
from rubriclab.data.fields import LONGEST_REASON
from rubriclab.data.mapping import NATIVE, FieldMap
from rubriclab.data.row import RowError
from rubriclab.data.scale import Scale, show
from rubriclab.descriptions import describe
from rubriclab.option_names import option

FAULTS_SHOWN = 20
# Cells with the same word that one line reports together.
FEWEST_ALIKE = 3
# With more different numbers outside the scale, they are not values for missing scores.
MOST_OUTSIDE = 3


@dataclass(frozen=True, slots=True)
class NumberedExample:
    """An example with its file and line."""

    where: str
    line: int
    example: Example
    mapping: FieldMap = NATIVE

    def fault(self, field: str, got: str, expected: str, outside: str | None = None) -> RowError:
        column = self.mapping.columns.get(field)
        return RowError(self.where, self.line, field, got, expected, self.example.id, column, outside=outside)


def training_faults(placed: Sequence[NumberedExample], aspect: str, scale: Scale | None) -> list[RowError]:
    """Return the faults of readable rows that make learning impossible: repeated ids, scores outside the scale."""
    return [*_duplicates(placed), *(fault for row in placed for fault in _faults_of(row, aspect, scale))]


def without_invalid_ratings(
    placed: Sequence[NumberedExample], aspect: str, scale: Scale | None
) -> tuple[list[NumberedExample], int]:
    """Return the rows without the scores of named raters that are outside the scale, and the number of these scores."""
    kept = [replace(row, example=_with_valid_ratings(row.example, aspect, scale)) for row in placed]
    pairs = zip(placed, kept, strict=True)
    return kept, sum(
        len(named_annotations(a.example, aspect)) - len(named_annotations(b.example, aspect)) for a, b in pairs
    )


def _with_valid_ratings(example: Example, aspect: str, scale: Scale | None) -> Example:
    named = named_annotations(example, aspect)
    valid = {rater: score for rater, score in named.items() if _is_valid(score, scale)}
    if len(valid) == len(named):
        return example
    annotations = {name: scores for name, scores in example.annotations.items() if name != aspect}
    raters = {name: names for name, names in example.raters.items() if name != aspect}
    if valid:
        annotations[aspect], raters[aspect] = tuple(valid.values()), tuple(valid)
    return replace(example, annotations=annotations, raters=raters)


def _is_valid(score: float, scale: Scale | None) -> bool:
    return scale.contains(score) if scale else math.isfinite(score)


def _duplicates(placed: Iterable[NumberedExample]) -> Iterator[RowError]:
    first: dict[str, NumberedExample] = {}
    for row in placed:
        earlier = first.setdefault(row.example.id, row)
        if earlier is not row:
            got = f"{row.example.id!r}, which line {earlier.line} also has"
            yield row.fault("id", got, f"an id of its own{_if_same_text(row.example, earlier.example)}")


def _if_same_text(one: Example, other: Example) -> str:
    same = (one.output, one.source, one.context) == (other.output, other.source, other.context)
    return "; both hold the same text: if two people rated it, write one row with their mean" if same else ""


def _faults_of(row: NumberedExample, aspect: str, scale: Scale | None) -> Iterator[RowError]:
    """Yield labels outside the given scale, and faults that only examples built in Python can have."""
    example = row.example
    if is_blank(example.output):
        yield row.fault("output", describe(example.output), "a non-empty text")
    names = example.raters.get(aspect, ())
    ratings = example.annotations.get(aspect, ())
    numbers = [
        (f"annotations.{aspect}.{names[place]}" if names else f"annotations.{aspect}", score)
        for place, score in enumerate(ratings)
    ]
    if aspect in example.scores:
        numbers.insert(0, (f"scores.{aspect}", example.scores[aspect]))
    expected = f"a score from {show(scale.low)} to {show(scale.high)}" if scale else "a finite number"
    for name, number in numbers:
        if not _is_valid(number, scale):
            got = show(number) if math.isfinite(number) else describe(number)
            yield row.fault(name, got, expected, got if math.isfinite(number) else None)
    for reason in named_reasons(example, aspect).values():
        if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
            yield row.fault(f"reasons.{aspect}", describe(reason), f"a text of at most {LONGEST_REASON:,} characters")


def fault_hints(faults: Sequence[RowError]) -> list[str]:
    """Return the options that would make faulty scores valid: levels and missing values."""
    outside = list(dict.fromkeys(fault.outside for fault in faults if fault.outside))
    proposal = proposed_level_scores(fault.word for fault in faults if fault.word)
    hints = [f"if the words are levels or missing values, add {proposal}"] if proposal else []
    if outside and len(outside) <= MOST_OUTSIDE:
        means = "stands for a missing value" if len(outside) == 1 else "stand for missing values"
        hints.append(f"if {' and '.join(outside)} {means}, add {option('missing', ','.join(outside))}")
    return hints


def fault_lines(faults: Sequence[RowError]) -> list[str]:
    """Return a line for each fault; cells with the same word share one."""
    words: dict[str, list[RowError]] = {}
    for fault in faults:
        words.setdefault((fault.word or "").casefold(), []).append(fault)
    lines: dict[str, None] = {}
    for fault in faults:
        alike = words[(fault.word or "").casefold()]
        if not fault.word or len(alike) < FEWEST_ALIKE:
            lines[str(fault)] = None
            continue
        lines[_word_line(alike)] = None
    return list(lines)


def first_of(faults: Sequence[str]) -> list[str]:
    """Return the first faults, and the number of further ones."""
    more = len(faults) - FAULTS_SHOWN
    return [*faults[:FAULTS_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def _word_line(faults: Sequence[RowError]) -> str:
    """Return a line for the cells with one word."""
    first, columns = faults[0], list(dict.fromkeys(fault.column or fault.field for fault in faults))
    place = f"column {columns[0]!r}" if len(columns) == 1 else f"{len(columns)} columns"
    return (
        f"{first.where}: {first.word!r}: {len(faults)} cells in {place}, the first in line {first.line}; "
        f"expected {first.expected}"
    )
