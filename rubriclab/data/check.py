"""Checks of training data: which rows can be learned from, and what the user should know about their labels.

One wrong label among thirty has much influence, so a faulty row stops learning, unless the user leaves faulty rows out.
`training_examples` finds faults first, then the scale of the labels, and then notes on what is unusual. Verdict words
are words such as `pass` and `fail`, which have scores without the option `level_scores`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from typing import NamedTuple

from rubriclab.data.annotations import NumberedComparisons, comparison_faults, fit_scores, select_comparisons
from rubriclab.data.cells import MAX_COLUMN_LEVELS, UNCALCULATED, WORD_ORDERS, propose_level_scores, split_level_words
from rubriclab.data.mapping import FIELDS, NO_MAPPING, FieldMap, mapping_text
from rubriclab.data.mapping_proposals import name_says_lowest_is_best, propose_scores
from rubriclab.data.readers import Rows, from_rows
from rubriclab.data.rows import MAX_REASON_LENGTH, RowError, is_derived
from rubriclab.errors import DataError
from rubriclab.models import text as text_model
from rubriclab.models.characters import count, describe, did_you_mean, is_blank, join_names
from rubriclab.models.text import Example, Scale, WordScore, format_score, infer_scale, is_labelled, with_label
from rubriclab.stats.intervals import MIN_GROUPS

MIN_LABELS = 10
MAX_FAULTS_SHOWN = 20
# At least this many equal faults are reported in one line.
MIN_EQUAL_FAULTS = 3
# At most this many distinct numbers outside the scale may be codes for missing scores.
MAX_MISSING_CODES = 3
MAX_NUMBERS_SHOWN = 3
# A given scale may be wrong if the scores use at most this share of it.
MAX_NARROW_SHARE = 0.5
# Parts of notes, by which `rubriclab.ops.check` recognizes these notes.
TWO_LEVELS = "two levels, "
ALL_EQUAL = "nothing can be learned from labels that are all equal"
HIGHER_IS_BETTER = "higher scores are taken for better"
SCALE_OF_COMPARISONS = Scale(low=0, high=1, whole=False)


@dataclass(frozen=True, slots=True)
class Training:
    """Labelled examples, the scale of the labels, and notes for the user."""

    examples: tuple[Example, ...]
    scale: Scale
    notes: tuple[str, ...] = ()


def training_examples(
    rows: Iterable[Example | RowError],
    aspect: str,
    scale: Scale | str | None = None,
    *,
    needs_labels: bool = True,
    skip_faulty: bool = False,
) -> Training:
    """Return the examples with a label for `aspect`, and the given scale, or else the scale of the labels.

    A label is the row's score, or else the mean of its annotations, or else a score fitted to comparisons
    (`fit_scores`). The scale is 0 to 1 if there are only comparisons. Without `needs_labels`, no example is returned
    if labels are too few or all equal. With `skip_faulty`, faulty rows are left out; if a row's only faults are scores
    of named raters, only these scores are left out. A note reports each omission.

    Raises:
        DataError: for faulty rows unless `skip_faulty` (the error's `faults` lists them); if there are neither labels
            nor a `scale`; if `needs_labels`, also for labels that are too few or all equal.
        SettingsError: if `scale` is invalid.
    """
    rows = rows if isinstance(rows, Rows) else from_rows(rows)
    example_rows, comparisons, given_scale, omissions = _select_usable(rows, aspect, scale, skip_faulty=skip_faulty)
    examples = tuple(row.example for row in example_rows)
    aspect_comparisons = [comparison for _, comparison in select_comparisons(comparisons, examples, aspect)]
    rated_examples = with_label(examples, aspect)  # a text with annotations but no score gets their mean
    if needs_labels or not (given_scale or rated_examples or aspect_comparisons):
        _require_labels(example_rows, len(aspect_comparisons), aspect, rows, needs_labels=needs_labels)
    rated_labels = [example.scores[aspect] for example in rated_examples]
    annotations = [score for example in rated_examples for score in example.annotations.get(aspect, ())]
    used_scale = given_scale or (infer_scale(rated_labels, annotations) if rated_labels else SCALE_OF_COMPARISONS)
    _check_verdict_words(example_rows, used_scale, aspect)
    fitted_examples, fit_notes = fit_scores(examples, aspect_comparisons, aspect, used_scale)
    labelled_examples = with_label(fitted_examples, aspect)
    notes = [*omissions, *unassessed_notes(rows, aspect)]
    values = _all_scores(example_rows, aspect)
    numbers = _numbers_beside_verdict_words(values)
    if numbers and verdict_words(values):
        notes.append(f"numbers among words for verdicts are read as the same two levels: {_describe_numbers(numbers)}")
    if n_left_out := len(comparisons) - len(aspect_comparisons):
        notes.append(f"comparisons of aspects other than {aspect!r} are left out: {n_left_out} of {len(comparisons)}")
    notes += fit_notes
    if grade_columns := find_grade_columns(example_rows, aspect):
        notes.append(grade_columns.note())
    notes += level_order_notes(examples, aspect)
    labels = [example.scores[aspect] for example in labelled_examples]
    notes += _scale_notes(rated_examples, labels, aspect, used_scale, is_given=given_scale is not None)
    equal_labels = describe_equal_labels(labelled_examples, aspect)
    if len(labels) < MIN_LABELS or equal_labels:
        counted = f"{len(labels)} of {len(examples)}; learning needs at least {MIN_LABELS}"
        problem = equal_labels or f"texts with a score for {aspect!r}: {counted}"
        hint = "Add texts that the raters thought better or worse." if equal_labels else "Thirty are a good start."
        if needs_labels:
            raise DataError(f"{problem[0].upper()}{problem[1:]}.", hint)
        note = f"the rubric is made without labels, and its agreement with people is unknown: {problem}"
        return Training((), used_scale, (note, *notes))
    label_notes = list[str]()
    if n_unlabelled := len(examples) - len(labelled_examples):
        label_notes.append(f"rows without a score for {aspect!r} are left out: {n_unlabelled} of {len(examples)}")
    if n_means := sum(is_labelled(example, aspect) and aspect not in example.scores for example in examples):
        reason = f"since the text has no score for {aspect!r}"
        label_notes.append(f"labels that are means of annotations, {reason}: {n_means}")
    return Training(labelled_examples, used_scale, (*label_notes, *notes, *_group_notes(labelled_examples)))


def _select_usable(
    rows: Rows, aspect: str, scale: Scale | str | None, *, skip_faulty: bool
) -> tuple[list[ExampleRow], NumberedComparisons, Scale | None, tuple[str, ...]]:
    example_rows, row_errors = list[ExampleRow](), list[RowError]()
    for row in rows:
        if isinstance(row, RowError):
            row_errors.append(row)
        else:
            example_rows.append(ExampleRow(rows.where, rows.line, row, rows.mapping, rows.raw_row))
    examples = tuple(row.example for row in example_rows)
    labels = (example.scores[aspect] for example in with_label(examples, aspect))
    values = [value for example in examples for value in annotations_or_score(example, aspect)]
    given_scale = text_model.parse_scale(scale, labels) if isinstance(scale, str) else scale
    if given_scale and isinstance(scale, str) and not scale.endswith(":any"):  # `:any` allows scores between ends
        two_levels = text_model.two_level_scale(values)
        if two_levels and two_levels.same_ends(given_scale):
            given_scale = two_levels
    if given_scale:
        # This check is first: `training_faults` would report the scores of verdict words as outside the scale.
        _check_verdict_words(example_rows, given_scale, aspect)
    skipped_scores = rows.skipped_scores
    if skip_faulty:
        example_rows, invalid_count = drop_invalid_ratings(example_rows, aspect, given_scale)
        skipped_scores += invalid_count
    row_errors += training_faults(example_rows, aspect, given_scale)
    row_errors += faults_of_comparisons(rows.where, rows.comparisons, example_rows, row_errors)
    if not skip_faulty:
        if row_errors:
            numbers = numeric_scores_beside_words(example_rows, row_errors)
            raise _faults_error(row_errors, verdict_words(values), numbers, given_scale)
        return example_rows, rows.comparisons, given_scale, ()
    faulty_lines = {(error.where, error.line) for error in row_errors}
    usable_rows = [row for row in example_rows if (row.where, row.line) not in faulty_lines]
    ids = {row.example.id for row in usable_rows}
    # Comparisons with a text that is left out are left out too.
    usable_comparisons = [
        (line, pair)
        for line, pair in rows.comparisons
        if (rows.where, line) not in faulty_lines and {pair.better, pair.worse} <= ids
    ]
    skipped_rows = len(faulty_lines) + rows.skipped
    left_out = {"faulty rows are left out": skipped_rows, "faulty scores of other rows are left out": skipped_scores}
    notes = [f"{reason}: {number}" for reason, number in left_out.items() if number]
    if row_errors:
        notes.append(f"the first fault: {row_errors[0]}")
    return usable_rows, usable_comparisons, given_scale, tuple(notes)


def faults_of_comparisons(
    where: str, comparisons: NumberedComparisons, example_rows: Sequence[ExampleRow], row_errors: Sequence[RowError]
) -> list[RowError]:
    """Return the faults of comparisons between usable texts; a comparison with a faulty text is no further fault."""
    faulty_lines = {(error.where, error.line) for error in row_errors}
    usable_examples = [row.example for row in example_rows if (row.where, row.line) not in faulty_lines]
    # If two rows have the same id, only the second is faulty, and comparisons with this id are about the first text.
    ids_in_faulty_rows = {error.id for error in row_errors if error.id} - {example.id for example in usable_examples}
    return list(comparison_faults(where, comparisons, usable_examples, ids_in_faulty_rows))


def _faults_error(
    row_errors: Sequence[RowError], valid_words: Sequence[str], numbers: Sequence[float], scale: Scale | None
) -> DataError:
    all_faults = [fault for error in sorted(row_errors, key=lambda error: error.line) for fault in error.faults]
    texts = [str(fault) for fault in all_faults]
    fault_count = count(len(texts), "fault")
    start = f"{fault_count} in the training rows; fix or remove each, since learning stops at faulty rows:"
    hints = fault_hints(all_faults, valid_words, numbers, scale)
    hints.append("or leave out the faulty rows, or only the faulty scores if they are of named raters: `skip_faulty`")
    return DataError("\n  ".join([start, *hints, *first_fault_messages(fault_messages(all_faults))]), faults=texts)


def _scale_notes(
    rated_examples: Sequence[Example], labels: Sequence[float], aspect: str, scale: Scale, *, is_given: bool
) -> Iterator[str]:
    if scale.names:
        worse, better = scale.names
        yield f"{TWO_LEVELS}{worse!r} and {better!r}: scores are probabilities of {better!r}"
        if ties := labels.count(0.5):
            yield f"texts on which raters are tied, left out of the figures of decisions: {ties}"
        return
    if is_given:
        yield from _narrow_scale_notes(rated_examples, aspect, scale)
        return
    span = f"scale {_span(scale.low, scale.high, ' to ')}"
    if not rated_examples:
        yield f"{span} by default, since there are only comparisons; give another scale if you prefer"
        return
    yield f"{span} taken from the labels; give the scale if the raters used another"
    # The highest score is an outlier if the gap below it is wider than the range of all others; likewise the lowest.
    scores = sorted(value for example in rated_examples for value in annotations_or_score(example, aspect))
    if len(set(scores)) >= 3:
        for end, next_score, other_end in ((scores[-1], scores[-2], scores[0]), (scores[0], scores[1], scores[-1])):
            if abs(end - next_score) > abs(next_score - other_end):
                yield f"one score is far from all others: {format_score(end)}; correct it if it is a typing error"


def _narrow_scale_notes(examples: Sequence[Example], aspect: str, scale: Scale) -> Iterator[str]:
    scores = [value for example in examples for value in annotations_or_score(example, aspect)]
    narrow_scale = infer_scale(scores) if scores else scale
    if narrow_scale.width <= MAX_NARROW_SHARE * scale.width:
        used, given = (_span(each.low, each.high, " to ") for each in (narrow_scale, scale))
        remedy = f"if the raters' scale is narrower, give it: `scale={_span(narrow_scale.low, narrow_scale.high)}`"
        yield f"the scores use only {used} of the given scale {given}; {remedy}"


def label_limitations(examples: Sequence[Example], aspect: str, given_scale: Scale | None) -> tuple[str, ...]:
    """Return sentences on shortcomings of the labels, which limit all results that are measured on them."""
    notes = _narrow_scale_notes(examples, aspect, given_scale) if given_scale and not given_scale.has_two_levels else ()
    return (*notes_on_repeated_texts(examples), *(note.partition(";")[0] for note in notes))


def describe_equal_labels(examples: Sequence[Example], aspect: str) -> str | None:
    """Return a sentence if all labels are equal; `None` if they differ or are fewer than `MIN_LABELS`."""
    labels = [example.scores[aspect] for example in examples]
    if len(labels) < MIN_LABELS or len(set(labels)) > 1:
        return None
    rating = annotations_or_score(examples[0], aspect)[0]
    value = repr(rating.word) if isinstance(rating, WordScore) and rating == labels[0] else format_score(labels[0])
    return f"all {len(labels)} scores for {aspect!r} are {value}; {ALL_EQUAL}"


class GradeColumns(NamedTuple):
    """An aspect's columns: those of grades, whose names suggest that 1 is best (`rank`, German `Note`); and others."""

    columns_of_grades: str
    columns_named_otherwise: str
    level_scores: str  # the value of the option `level_scores` that reverses all scores

    def note(self) -> str:
        remedy = f"reverse the scores: `level_scores={self.level_scores}`"
        if not self.columns_named_otherwise:
            return f"{HIGHER_IS_BETTER}; if 1 is the best in {self.columns_of_grades}, {remedy}"
        question = f"is 1 the best in {self.columns_of_grades}, and also in {self.columns_named_otherwise}?"
        return f"{HIGHER_IS_BETTER}; {question} If so, {remedy}; if not, map only columns of one direction"


def find_grade_columns(example_rows: Sequence[ExampleRow], aspect: str) -> GradeColumns | None:
    """Return an aspect's columns if a name says that 1 is best, and all scores are numbers from 1 to 15, not all 1."""
    values = set(_all_scores(example_rows, aspect))
    values_fit_grades = bool(values) and min(values) >= 1 and 1 < max(values) <= 15
    if not values_fit_grades or any(isinstance(value, WordScore) for value in values):
        return None
    beginnings = (f"scores.{aspect}.", f"annotations.{aspect}.")
    columns_of_grades, other_columns = list[str](), list[str]()
    for field, column in example_rows[0].mapping.columns.items():
        if f"{field}.".startswith(beginnings):
            names = columns_of_grades if name_says_lowest_is_best(column) else other_columns
            names.append(repr(column))
    if not columns_of_grades:
        return None
    return GradeColumns(join_names(columns_of_grades), join_names(other_columns), f"{math.ceil(max(values))}:1")


def level_order_notes(examples: Iterable[Example], aspect: str) -> Iterator[str]:
    """Yield a note if the scores that the user gave to words reverse their usual order, as in `good=1,bad=2`."""
    values = (value for example in examples for value in _score_and_annotations(example, aspect))
    score_by_word = {value.word.casefold(): float(value) for value in values if isinstance(value, WordScore)}
    for worse, better in permutations(score_by_word, 2):
        is_usual = any(worse in ranks and better in ranks and ranks[worse] < ranks[better] for ranks in WORD_ORDERS)
        if is_usual and score_by_word[worse] > score_by_word[better]:
            yield f"{worse!r} is higher than {better!r}: is that meant?"
            return


def annotations_or_score(example: Example, aspect: str) -> tuple[float, ...]:
    return example.annotations.get(aspect) or _score_and_annotations(example, aspect)


def _score_and_annotations(example: Example, aspect: str) -> tuple[float, ...]:
    score = (example.scores[aspect],) if aspect in example.scores else ()
    return score + example.annotations.get(aspect, ())


def _all_scores(example_rows: Sequence[ExampleRow], aspect: str) -> list[float]:
    return [value for row in example_rows for value in _score_and_annotations(row.example, aspect)]


def verdict_words(values: Iterable[float]) -> list[str]:
    return sorted({value.word for value in values if isinstance(value, WordScore) and value.is_default_score})


def _numbers_beside_verdict_words(values: Iterable[float]) -> list[float]:
    return sorted({float(value) for value in values if not (isinstance(value, WordScore) and value.is_default_score)})


def _describe_numbers(numbers: Sequence[float]) -> str:
    first = ", ".join(map(format_score, numbers[:MAX_NUMBERS_SHOWN]))
    return f"{first} …" if len(numbers) > MAX_NUMBERS_SHOWN else first


def _check_verdict_words(example_rows: Sequence[ExampleRow], scale: Scale, aspect: str) -> None:
    values = _all_scores(example_rows, aspect)
    words, numbers = verdict_words(values), _numbers_beside_verdict_words(values)
    if words and not scale.has_two_levels:
        number_text = f"; the numbers beside them are {_describe_numbers(numbers)}" if numbers else ""
        some_words = f"but some are words for verdicts: {', '.join(map(repr, words))}{number_text}"
        hint = f"Give the scores of these words: {propose_level_scores(words, beside_numbers=True)}."
        raise DataError(f"The scores for {aspect!r} are on a scale of more than two levels, {some_words}.", hint)


def unassessed_notes(rows: Rows, aspect: str) -> Iterator[str]:
    counts = rows.not_assessed
    scores, annotations = f"scores.{aspect}", f"annotations.{aspect}"
    fields = [field for field in counts if field in (scores, annotations) or field.startswith(f"{annotations}.")]
    if number := sum(counts[field] for field in fields):
        yield f"answers saying that the text cannot be assessed, which are not labels: {number}"


def _require_labels(
    example_rows: Sequence[ExampleRow], comparison_count: int, aspect: str, rows: Rows, *, needs_labels: bool
) -> None:
    label_counts: Counter[str] = Counter()
    for row in example_rows:
        label_counts[row.where] += is_labelled(row.example, aspect)
    files_without_labels = [file for file, label_count in label_counts.items() if label_count == 0]
    # A file of texts that are compared needs no scores.
    if comparison_count or (label_counts and not files_without_labels):
        return
    if label_counts.total():
        problem = f"{files_without_labels[0]}: no row has a score for {aspect!r}, though other files have some."
        raise DataError(problem, "Map the column of its scores too, or leave the file out.")
    examples = [row.example for row in example_rows]
    if words := rows.source.choices.get(aspect):
        quoted = ", ".join(map(repr, words[:MAX_COLUMN_LEVELS]))
        hint = f"If they are levels, give their scores: {propose_level_scores(words) or '`level_scores`'}."
        raise DataError(f"The answers to {aspect!r} are words without scores: {quoted}.", hint)
    columns = rows.mapping.columns
    last_row = [rows.raw_row] if isinstance(rows.raw_row, Mapping) else []
    proposal = propose_scores(last_row, aspect, columns) or mapping_text({**columns, f"scores.{aspect}": "COLUMN"})
    scale_hint = "" if needs_labels else " To learn without labels, give their scale: `scale=LOW:HIGH`."
    aspect_names = sorted({name for example in examples for name in example.scores})
    problem = f"None of the {len(examples)} rows has a score for {aspect!r}; {describe_scored_aspects(examples)}"
    remedy = "Name another aspect"
    if rows.first_skipped:
        problem += f"; the first fault in what is left out: {rows.first_skipped}"
        remedy = "Correct this fault, name another aspect"
    hint = f"{remedy}, or map the column of the scores: `mapping={proposal}`.{scale_hint}"
    raise DataError(f"{problem}.", f"{did_you_mean(aspect, aspect_names)}{hint}")


def describe_scored_aspects(examples: Iterable[Example]) -> str:
    counts = Counter(aspect for example in examples for aspect in example.scores.keys() | example.annotations.keys())
    aspects = ", ".join(f"{aspect!r} ({number})" for aspect, number in sorted(counts.items()))
    return f"there are scores for {aspects}" if aspects else "they have no scores at all"


def _group_notes(examples: tuple[Example, ...]) -> Iterator[str]:
    groups = {example.group for example in examples}
    if len(groups) == 1:
        fact = f"all {len(examples)} texts are in one group ({examples[0].group!r}), which cannot be left out"
        yield f"{fact}, so agreement on texts about other sources is unknown"
    elif len(groups) < MIN_GROUPS:
        few = f"{len(groups)} groups are too few for intervals and a verdict on the rubric, which need at least"
        yield f"{few} {MIN_GROUPS}; label texts of {count(MIN_GROUPS - len(groups), 'more group')}"
    if len(groups) == len(examples):
        yield "every text is a group of its own: agreement is measured over the data set, not within groups"
    yield from notes_on_repeated_texts(examples)


def notes_on_repeated_texts(examples: Sequence[Example]) -> Iterator[str]:
    groups: dict[str, set[str]] = {}
    for example in examples:
        groups.setdefault(example.output, set()).add(example.group)
    if repeated := sum(len(groups[example.output]) > 1 for example in examples):
        counted = f"such as one answer to different questions: {repeated} of {len(examples)}"
        yield f"texts that are in several groups, {counted}; cross-validated agreement is then optimistic"


@dataclass(frozen=True, slots=True)
class ExampleRow:
    where: str  # the name of the file or table
    line: int
    example: Example
    mapping: FieldMap = NO_MAPPING
    raw_row: object = None  # as it was read

    def make_fault(self, field: str, got: str, expected: str, number_outside: str | None = None) -> RowError:
        column = self.mapping.columns.get(field)
        fault = RowError(self.where, self.line, field, got, expected, id=self.example.id, column=column)
        return replace(fault, number_outside=number_outside)


def training_faults(example_rows: Sequence[ExampleRow], aspect: str, scale: Scale | None) -> list[RowError]:
    """Return the faults of ids that occur twice, blank texts, scores that are not on the scale, and long reasons."""
    faults = list[RowError]()
    first_by_id, rater_column = dict[str, ExampleRow](), ""
    for row in example_rows:
        earlier = first_by_id.setdefault(row.example.id, row)
        if earlier is row:
            continue
        hint = ""
        texts = [(example.output, example.source, example.context) for example in (row.example, earlier.example)]
        if texts[0] == texts[1]:
            rater_column = rater_column or _find_rater_column(example_rows)
            remedy = f"if two people rated it, add `mapping=rater={rater_column}`, or write one row with their mean"
            hint = f"; both hold the same text: {remedy}"
        earlier_line = f"line {earlier.line}" if earlier.where == row.where else f"{earlier.where}:{earlier.line}"
        got = f"{row.example.id!r}, which {earlier_line} also has"
        faults.append(row.make_fault("id", got, f"an id of its own{hint}"))
    is_valid = scale.contains if scale else math.isfinite
    expected_score = f"a score from {_span(scale.low, scale.high, ' to ')}" if scale else "a finite number"
    for row in example_rows:
        example = row.example
        if is_blank(example.output):
            faults.append(row.make_fault("output", describe(example.output), "a non-empty text"))
        names = example.raters.get(aspect, ())
        ratings = example.annotations.get(aspect, ())
        fields = [f"annotations.{aspect}.{name}" for name in names] or [f"annotations.{aspect}"] * len(ratings)
        if aspect in example.scores:
            fields.insert(0, f"scores.{aspect}")
        for field, number in zip(fields, _score_and_annotations(example, aspect), strict=True):
            if not is_valid(number):
                got = format_score(number) if math.isfinite(number) else describe(number)
                number_outside = got if math.isfinite(number) else None
                faults.append(row.make_fault(field, got, expected_score, number_outside))
        for reason in text_model.named_reasons(example, aspect).values():
            if not isinstance(reason, str) or len(reason) > MAX_REASON_LENGTH:
                expected = f"a text of at most {MAX_REASON_LENGTH:,} characters"
                faults.append(row.make_fault(f"reasons.{aspect}", describe(reason), expected))
    return faults


def drop_invalid_ratings(
    example_rows: Sequence[ExampleRow], aspect: str, scale: Scale | None
) -> tuple[list[ExampleRow], int]:
    """Remove named raters' scores that are outside the scale; return the rows, and the number of these scores."""
    is_valid = scale.contains if scale else math.isfinite
    rows, invalid_count = list[ExampleRow](), 0
    for row in example_rows:
        by_rater = text_model.named_annotations(row.example, aspect)
        valid = {rater: score for rater, score in by_rater.items() if is_valid(score)}
        invalid_count += len(by_rater) - len(valid)
        example = row.example
        if len(valid) < len(by_rater):
            annotations = {name: scores for name, scores in example.annotations.items() if name != aspect}
            raters = {name: names for name, names in example.raters.items() if name != aspect}
            if valid:
                annotations[aspect], raters[aspect] = tuple(valid.values()), tuple(valid)
            example = replace(example, annotations=annotations, raters=raters)
        rows.append(replace(row, example=example))
    return rows, invalid_count


def _find_rater_column(example_rows: Sequence[ExampleRow]) -> str:
    """Return the only unmapped column without equal cells in rows of one id; `COLUMN` if there is none or several."""
    rows = [(row.example.id, row.raw_row) for row in example_rows if isinstance(row.raw_row, Mapping)]
    used = {*FIELDS, *example_rows[0].mapping.columns.values()}
    unmapped = {column for _, row in rows for column in row if not {column, column.partition(".")[0]} & used}
    candidates = [name for name in unmapped if len({(id_, str(row.get(name))) for id_, row in rows}) == len(rows)]
    return candidates[0] if len(candidates) == 1 else "COLUMN"


def numeric_scores_beside_words(example_rows: Iterable[ExampleRow], errors: Sequence[RowError]) -> list[float]:
    """Return the numeric scores of all aspects in which some score is a faulty word."""
    fields = {fault.field for error in errors for fault in error.faults if fault.word and fault.field}
    aspects = {field.split(".")[1] for field in fields if "." in field}
    examples = [*(row.example for row in example_rows), *(row.usable_example for row in errors if row.usable_example)]
    values = [value for each in examples for aspect in aspects for value in _score_and_annotations(each, aspect)]
    return _numbers_beside_verdict_words(values)


def fault_hints(
    faults: Sequence[RowError], words: Sequence[str] = (), numbers: Sequence[float] = (), scale: Scale | None = None
) -> list[str]:
    """Return hints on the options that would make faulty scores valid: levels, a wider scale, and missing values.

    `words` and `numbers` are the valid scores beside the faulty ones; `scale` is the scale of the numbers.
    """
    outside_values = list(dict.fromkeys(fault.number_outside for fault in faults if fault.number_outside))
    faulty_words = [fault.word for fault in faults if fault.word]
    all_words = [*words, *faulty_words]
    proposal = propose_level_scores(all_words, beside_numbers=bool(numbers)) if faulty_words else None
    hints = [f"if the words are levels or missing values, add {proposal}"] if proposal else []
    levels, _missing = split_level_words(all_words)
    if hints and numbers and levels:
        scale_text = f"the scale of the numbers beside them ({_describe_numbers(numbers)})"
        hints = [f"{hints[0]}, and replace each N by the score of the word on {scale_text}"]
    if any(UNCALCULATED in fault.got for fault in faults):
        save = "to store the results of formulas, open the workbook in a spreadsheet program and save it"
        hints.append(f"{save}; or leave the rows out with `skip_faulty`")
    if sum(fault.field == "id" and not is_derived(fault.id or "") for fault in faults) >= MIN_EQUAL_FAULTS:
        hints.append("if several texts share an id, leave the column of ids out of `mapping`, or map it to group")
    if scale and outside_values:
        ends_and_values = sorted({scale.low, scale.high, *map(float, outside_values)})
        gaps = [high - low for low, high in pairwise(ends_and_values) if (low, high) != (scale.low, scale.high)]
        # A few numbers that are far off the scale may be codes for missing scores.
        has_few_values = len(set(map(float, outside_values))) <= MAX_MISSING_CODES
        if not has_few_values or max(gaps) <= max(1, scale.width / 2):
            wider_scale = _span(math.floor(ends_and_values[0]), math.ceil(ends_and_values[-1]))
            hints.append(f"if the raters' scale is wider, give it: `scale={wider_scale}`")
    if outside_values and len(outside_values) <= MAX_MISSING_CODES:
        meaning = "stands for a missing value" if len(outside_values) == 1 else "stand for missing values"
        hints.append(f"if {' and '.join(outside_values)} {meaning}, add `missing={','.join(outside_values)}`")
    return hints


def _span(low: float, high: float, separator: str = ":") -> str:
    return f"{format_score(low)}{separator}{format_score(high)}"


def fault_messages(faults: Sequence[RowError]) -> list[str]:
    """Return a line for each fault; `MIN_EQUAL_FAULTS` or more in a file with the same word or message share a line."""
    faults_by_file_and_text: dict[tuple[str, str], list[RowError]] = {}
    for fault in faults:
        message = fault.expected if fault.field == "id" else fault.message
        key = fault.where, (fault.word or "").casefold() or message
        faults_by_file_and_text.setdefault(key, []).append(fault)
    lines = list[str]()
    for equal_faults in faults_by_file_and_text.values():
        first = equal_faults[0]
        columns = list(dict.fromkeys(equal_fault.column or equal_fault.field for equal_fault in equal_faults))
        columns_text = f"column {columns[0]!r}" if len(columns) == 1 else f"{len(columns)} columns"
        if len(equal_faults) < MIN_EQUAL_FAULTS:
            lines += map(str, equal_faults)
        elif first.word:
            cells = f"{len(equal_faults)} cells in {columns_text}, the first in line {first.line}"
            lines.append(f"{first.where}: {first.word!r}: {cells}; expected {first.expected}")
        else:
            lines.append(f"{first.where}: {len(equal_faults)} rows, the first in line {first.line}: {first.message}")
    return list(dict.fromkeys(lines))


def first_fault_messages(lines: Sequence[str]) -> list[str]:
    n_more = len(lines) - MAX_FAULTS_SHOWN
    more = [f"and {n_more:,} more"] if n_more > 0 else []
    return [*lines[:MAX_FAULTS_SHOWN], *more]
