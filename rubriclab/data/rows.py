"""Conversion of a row of a user's data to an `Example`, or to a `RowError` that lists the row's faults.

A row is a mapping with the fields of `Example`; docs/data.md describes their forms. Scores, annotations and reasons
are nested objects, or columns such as `scores.coherence` and `annotations.coherence.anna`. Null, white space or an
absent field means a missing value, except for `output`, which must have a text.

Two fields are derived if they are missing. `id` is `text-` and a digest of the texts shown to a judge, with group and
system: it does not depend on the order of rows or on labels, and rows that look the same to a judge have the same id.
`group` is `group-` and a digest of the source (or else of the context), so that texts about the same source form a
group; without either, a text is a group of its own, named by its id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any

from rubriclab.data import mapping_proposals
from rubriclab.data.cells import JSON_RULES, PLACEHOLDER, UNCALCULATED, CellError, CellRules, chat_messages, is_empty
from rubriclab.data.mapping import ABSENT, FIELDS, NO_MAPPING, FieldMap, look_up, mapping_text
from rubriclab.errors import DataError
from rubriclab.models.base import MAX_NAME_LENGTH, digest
from rubriclab.models.characters import FIRST_INTEGER_BEYOND_64_BITS, describe, is_blank
from rubriclab.models.text import ABSTENTIONS, Example, WordScore

# Numbers are accepted as names if they are exact: JSON readers turn integers of more than 64 bits into floats, and
# floats from 2**53 on may have lost digits.
FIRST_INEXACT_FLOAT = 2**53
# Maximum length of a rater's reason. A longer text is usually from a wrong column.
MAX_REASON_LENGTH = 2_000
MAX_COLUMN_NAMES_SHOWN = 12

_A_TEXT = "a non-empty text"
# Characters that may surround a word for a missing text, such as [n/a].
_PLACEHOLDER_MARKS = " \t\r\n[](){}<>\"'`*.-–—"


@dataclass(frozen=True, slots=True)
class RowError:
    """The first fault in a row, with the row's other faults.

    Attributes:
        where, line: file or table, and first line of the row, counted from 1 (the row's number if there are no lines).
        field: such as `scores.coherence`; `None` if the fault concerns the entire row.
        column: the field's column, if its name is not the field's.
        word: a text in place of a number.
        number_outside: a number outside the scale, as a text.
        usable_example: the example without its faulty scores, if the row's only faults are scores of named raters.
    """

    where: str
    line: int
    field: str | None
    got: str
    expected: str
    id: str | None = None
    column: str | None = None
    word: str | None = None
    number_outside: str | None = None
    other_faults: tuple[RowError, ...] = ()
    usable_example: Example | None = None

    @property
    def faults(self) -> tuple[RowError, ...]:
        return (replace(self, other_faults=()), *self.other_faults)

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: " + "; ".join(fault.message for fault in self.faults)

    @property
    def message(self) -> str:
        column = f" (column {self.column!r})" if self.column is not None else ""
        field = f"field {self.field!r}{column}: " if self.field is not None else ""
        return f"{field}got {self.got}, expected {self.expected}"


class FieldError(Exception):
    """An invalid value of a field.

    `word` is the text that stands in place of a number. `concerns_named_rater` tells that the value is the score of one
    named rater, so that the row can be used without it.
    """

    def __init__(self, field: str | None, got: str, expected: str, word: str | None = None) -> None:
        super().__init__(field, got, expected)
        self.field, self.got, self.expected, self.word = field, got, expected, word
        self.concerns_named_rater = False

    def to_row_error(self, where: str, line: int, fields: Fields | None = None) -> RowError:
        """Return the fault of a row; given `fields`, the fault names the row's id and the column of the field."""
        column = text_id = None
        if fields is not None:
            column = fields.mapping.columns.get(self.field or "")
            column = column if column and look_up(fields.row, column) is not ABSENT else None
            with suppress(FieldError):
                text_id = fields.read_name("id")
        return RowError(where, line, self.field, self.got, self.expected, id=text_id, column=column, word=self.word)


class Fields:
    """The fields of a row. `read_` methods take a field's value from the row, `parse_` methods have it as an argument.

    Both kinds of methods raise `FieldError` for invalid values.
    """

    def __init__(self, row: Mapping[Any, Any], mapping: FieldMap, rules: CellRules) -> None:
        self.row, self.mapping, self.rules = row, mapping, rules

    def has_value(self, field: str) -> bool:
        column = self.mapping.columns.get(field)
        value = self.row.get(field, ABSENT) if column is None else look_up(self.row, column)
        return value is not ABSENT and not is_empty(value)

    def value(self, field: str) -> Any:
        column = self.mapping.columns.get(field)
        if column is None:
            return self.row.get(field, ABSENT)
        value = look_up(self.row, column)
        if value is ABSENT:
            expected = f"a column {column!r}, which the mapping names for this field{self.describe_columns()}"
            raise FieldError(field, "nothing", expected)
        return value

    def read_output(self) -> str:
        text = self.value("output")
        if messages := chat_messages(text):
            role, text = messages[-1]
            if role in ("user", "system"):
                got = f"messages that end with one of the role {role!r}"
                raise FieldError("output", got, "an answer as the last message")
        if text is ABSENT:
            other_cells = {str(column): cell for column, cell in self.row.items() if column not in FIELDS}
            candidates = [column for column, cell in other_cells.items() if chat_messages(cell)]
            candidates += [column for column, cell in other_cells.items() if _has_letters(cell)]
            column = candidates[0] if candidates else ""
            advice = f"; if the text is in another column, map 'output' to it, such as to {column!r}" if column else ""
            raise FieldError("output", "nothing", f"{_A_TEXT}{self.describe_columns()}{advice}")
        if not isinstance(text, str) or isinstance(text, CellError) or is_blank(text):
            raise FieldError("output", describe(text), _A_TEXT)
        return check_unicode("output", text)

    def read_text(self, field: str) -> str | None:
        """Return the text of a field, `None` if it is missing or a placeholder."""
        value = self.value(field)
        if field == "context" and value is ABSENT:
            messages = chat_messages(self.value("output"))
            value = "\n\n".join(f"{role}: {content}" for role, content in messages[:-1])
        return None if self.rules.is_missing(value) else drop_placeholder(self.parse_text(field, value))

    def parse_text(self, field: str, text: Any) -> str | None:
        if text is None or text is ABSENT:
            return None
        if not isinstance(text, str) or isinstance(text, CellError):
            advice = " (join the parts of a list into one)" if isinstance(text, list | tuple) else ""
            raise FieldError(field, describe(text), f"a text{advice} or null")
        return None if is_blank(text) else check_unicode(field, text)

    def read_name(self, field: str) -> str | None:
        value = self.value(field)
        is_missing = field != "id" and isinstance(value, str) and self.rules.is_missing(value)
        return None if is_missing else self.parse_name(field, value)

    def parse_name(self, field: str, value: Any) -> str | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            limit = FIRST_INTEGER_BEYOND_64_BITS if isinstance(value, int) else FIRST_INEXACT_FLOAT
            if not (abs(value) < limit and value == int(value)):
                raise FieldError(field, describe(value), "a text, or a whole number that needs no rounding")
            return str(int(value))
        text = self.parse_text(field, value)
        if text and len(text) > MAX_NAME_LENGTH:
            raise FieldError(field, f"a text of {len(text):,} characters", f"at most {MAX_NAME_LENGTH:,} characters")
        return text

    def cells_by_aspect(self, parent: str) -> list[tuple[str, Any]]:
        """Return each aspect (or `ASPECT.RATER`) in `scores`, `annotations` or `reasons` with its cell."""
        start = f"{parent}."
        value = self.value(parent)
        if isinstance(value, Mapping):
            cells = {str(aspect): cell for aspect, cell in value.items()}
        elif value is ABSENT or self.rules.is_missing(value):
            cells = {}
        else:
            expected = f"an object with a value for each aspect, or a column for each, such as {parent}.coherence"
            raise FieldError(parent, describe(value), expected)
        own_columns = [column for column in self.row if isinstance(column, str) and column.startswith(start)]
        cells |= {column.removeprefix(start): self.row[column] for column in own_columns}
        cells |= {aspect: self.value(start + aspect) for aspect in self.mapping.columns_by_aspect(parent)}
        present = [(aspect, cell) for aspect, cell in cells.items() if not self.rules.is_missing(cell)]
        if any(is_blank(aspect) for aspect, _ in present):
            raise FieldError(parent, "an aspect without a name", "names such as 'coherence'")
        return [(check_unicode(parent, aspect), cell) for aspect, cell in present]

    def parse_number(self, field: str, cell: Any, expected: str = "a finite number") -> float | None:
        """Return a cell's score, a `WordScore` if the cell is a level; `None` if the text could not be assessed."""
        if isinstance(cell, bool):
            cell = str(cell).lower()
        if isinstance(cell, str):
            if (word_score := self.rules.score_of_word(cell)) is not None:
                return word_score
            if cell.strip().casefold() in ABSTENTIONS:
                self.rules.not_assessed[field] += 1
                return None
            number = None if self.rules.typed_cells else self.rules.parse_number(cell)
            if number is None:
                decimals = "3,5" if self.rules.decimal_comma else "3.5"
                form = "without quotes" if self.rules.typed_cells else f"such as 4 or {decimals}"
                word = cell.strip() if _has_letters(cell) else None
                level_hint = ", or a word that `level_scores` gives a score" if word else ""
                raise FieldError(field, describe(cell), f"{expected}, {form}{level_hint}", word)
            cell = number
        if isinstance(cell, WordScore):
            return cell
        if not isinstance(cell, Real | Decimal):
            raise FieldError(field, describe(cell), expected)
        try:
            number = float(cell)
        except (OverflowError, ValueError):  # an integer beyond all floats; a signaling NaN
            number = math.inf
        if not math.isfinite(number):
            raise FieldError(field, describe(cell), expected)
        word_score = self.rules.score_of_number(number)
        if word_score is None and (levels := self.rules.describe_levels_if_numeric()):
            raise FieldError(field, describe(cell), f"one of the levels {levels}")
        return number if word_score is None else word_score

    def parse_numbers(self, field: str, cell: Any) -> tuple[float, ...]:
        if isinstance(cell, str) and not self.rules.typed_cells:
            cell = self.rules.split_list(cell)
        if not isinstance(cell, list | tuple):
            a_list = "a list of finite numbers, one for each rater, or an object by rater"
            raise FieldError(field, describe(cell), a_list)
        expected = "a finite number from each rater in the list (leave out raters without a score)"
        # Without `missing` values in the options, null in a list is a fault.
        if self.rules.missing:
            cell = [rating for rating in cell if not self.rules.is_missing(rating)]
        numbers = (self.parse_number(field, rating, expected) for rating in cell)
        return tuple(number for number in numbers if number is not None)

    def parse_reason(self, field: str, cell: Any) -> str | None:
        # In untyped cells, numbers suggest a column of scores; a text in JSON may be any words of a rater.
        is_text = isinstance(cell, str) and not isinstance(cell, CellError)
        if not is_text or (not self.rules.typed_cells and self.rules.parse_number(cell) is not None):
            raise FieldError(field, describe(cell), "a reason in words")
        text = cell.strip()
        if len(text) > MAX_REASON_LENGTH:
            raise FieldError(field, f"a text of {len(text):,} characters", f"at most {MAX_REASON_LENGTH:,} characters")
        return None if is_blank(text) else check_unicode(field, text)

    def describe_columns(self) -> str:
        names = [repr(str(column)) for column in self.row][:MAX_COLUMN_NAMES_SHOWN]
        more = ", ..." if len(self.row) > MAX_COLUMN_NAMES_SHOWN else ""
        return f"; the columns are {', '.join(names)}{more}" if names else ""


def drop_placeholder(text: str | None) -> str | None:
    word = text.strip(_PLACEHOLDER_MARKS).lower() if text else ""
    return text if word and not PLACEHOLDER.fullmatch(word) else None


def _has_letters(value: Any) -> bool:
    return isinstance(value, str) and value != UNCALCULATED and any(map(str.isalpha, value))


def check_unicode(field: str, text: str) -> str:
    """Return `text` if it is valid Unicode; undecodable bytes arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        excerpt = repr(text[max(0, error.start - 10) : error.end + 10])
        # A lone surrogate is shown as the byte that it stands for.
        with_bytes = re.sub(r"\\udc([89a-f].)", r"\\x\1", excerpt)
        expected = "text in UTF-8; for a file in another encoding, name the encoding, as in `encoding=cp1252`"
        raise FieldError(field, f"bytes that are not UTF-8, in {with_bytes}", expected) from None
    return text


def parse_example(
    row: Any, where: str, line: int, mapping: FieldMap = NO_MAPPING, rules: CellRules = JSON_RULES
) -> Example | RowError:
    if not isinstance(row, Mapping):
        list_hint = "; in a file that is one list, give each object a line of its own"
        hint = list_hint if isinstance(row, list | tuple) else ""
        return RowError(where, line, None, describe(row), f"an object with a field 'output'{hint}")
    fields, field_errors = Fields(row, mapping, rules), list[FieldError]()
    example = _read_example(fields, field_errors)
    if example is not None and not field_errors:
        return example
    row_faults = (error.to_row_error(where, line, fields) for error in field_errors)
    # A missing column of `output` gives the same fault twice, since the context may also be read from this column.
    first, *others = {fault.message: fault for fault in row_faults}.values()
    return replace(first, other_faults=tuple(others), usable_example=example)


def _read_example(fields: Fields, errors: list[FieldError]) -> Example | None:
    """Return the example, `None` if errors concern more than scores of named raters; append all errors to `errors`."""

    def attempt(read: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except FieldError as error:
            errors.append(error)
            return None

    output = attempt(fields.read_output)
    names = {name: attempt(fields.read_name, name) for name in ("id", "group", "system")}
    texts = {name: attempt(fields.read_text, name) for name in ("source", "context", "reference")}
    cells = attempt(fields.cells_by_aspect, "scores") or []
    scores = {aspect: attempt(fields.parse_number, f"scores.{aspect}", cell) for aspect, cell in cells}
    scores_by_rater, unnamed_scores = attempt(_values_by_rater, fields, "annotations", errors) or ({}, {})
    # `join_ratings` removes rows of other aspects from files and tables; an iterator may still yield such rows.
    if aspect := unmapped_aspect(fields):
        aspects = " or ".join(map(repr, sorted(mapped_aspects(fields.mapping))))
        expected = f"{aspects}, which the ratings are mapped to; leave out other rows"
        errors.append(FieldError("aspect", describe(aspect), expected))
    named_reasons, unnamed_reasons = attempt(_values_by_rater, fields, "reasons", errors) or ({}, {})
    if output is None or not all(error.concerns_named_rater for error in errors):
        return None
    group_text = texts["source"] or texts["context"]
    identifying = [names["group"], names["system"], texts["source"], texts["context"], output]
    own_id = names["id"] or _derive_id("text", identifying)
    return Example(
        id=own_id,
        output=output,
        group=names["group"] or (_derive_id("group", group_text) if group_text else own_id),
        **texts,
        system=names["system"],
        scores={aspect: score for aspect, score in scores.items() if score is not None},
        annotations={aspect: tuple(by_rater.values()) for aspect, by_rater in scores_by_rater.items()} | unnamed_scores,
        raters={aspect: tuple(by_rater) for aspect, by_rater in scores_by_rater.items()},
        reasons=named_reasons | unnamed_reasons,
    )


def mapped_aspects(mapping: FieldMap) -> set[str]:
    keys = [*mapping.columns_by_aspect("scores"), *mapping.columns_by_aspect("annotations")]
    return {key.partition(".")[0].strip().casefold() for key in keys}


def unmapped_aspect(fields: Fields) -> str | None:
    """Return the aspect of a rating if the mapping names aspects, but not this one; else `None`."""
    aspect = look_up(fields.row, fields.mapping.columns.get("aspect", "aspect"))
    name = aspect.strip() if isinstance(aspect, str) and not is_blank(aspect) else ""
    mapped = mapped_aspects(fields.mapping)
    return name if name and mapped and name.casefold() not in mapped else None


def _values_by_rater(
    fields: Fields, parent: str, errors: list[FieldError]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the values in `annotations` or `reasons` by aspect and rater, and the values without raters by aspect.

    Invalid cells of named raters are left out, and their errors are added to `errors`.
    """
    parse_named: Callable[[str, Any], Any] = fields.parse_number
    parse_unnamed: Callable[[str, Any], Any] = fields.parse_numbers
    if parent == "reasons":
        parse_named = parse_unnamed = fields.parse_reason
    by_rater: dict[str, dict[str, Any]] = {}
    unnamed: dict[str, Any] = {}
    for aspect, rater, cell in _entries(fields, parent):
        field = f"{parent}.{aspect}"
        if rater is None:
            if unnamed_value := parse_unnamed(field, cell):
                unnamed[aspect] = unnamed_value
            continue
        if is_blank(rater):
            raise FieldError(field, "a rater without a name", "names such as 'anna'")
        if len(rater) > MAX_NAME_LENGTH:
            raise FieldError(field, f"a rater's name of {len(rater):,} characters", f"at most {MAX_NAME_LENGTH:,}")
        try:
            value = None if fields.rules.is_missing(cell) else parse_named(f"{field}.{rater}", cell)
        except FieldError as error:
            error.concerns_named_rater = parent == "annotations"
            errors.append(error)
            continue
        if value is not None:
            if rater in by_rater.setdefault(aspect, {}):
                raise FieldError(field, f"the rater {rater!r} twice", "one entry from each rater")
            by_rater[aspect][check_unicode(field, rater)] = value
    if aspects_of_both_forms := sorted(by_rater.keys() & unnamed.keys()):
        form = "a list" if parent == "annotations" else "one text"
        expected = f"the {parent} of an aspect either as {form} or by the raters' names"
        raise FieldError(f"{parent}.{aspects_of_both_forms[0]}", f"both {form} and named raters", expected)
    return by_rater, unnamed


def _entries(fields: Fields, parent: str) -> Iterator[tuple[str, str | None, Any]]:
    """Yield aspect, rater and cell of each entry of `parent`; the rater is `None` for a list or one text."""
    for key, cell in fields.cells_by_aspect(parent):
        aspect, dot, rater = key.partition(".")
        if isinstance(cell, Mapping):
            yield from ((key, str(name).strip(), rating) for name, rating in cell.items())
        elif dot and not (parent == "annotations" and fields.rules.is_list(cell)):
            yield aspect, rater.strip(), cell
        else:
            yield key, None, cell


DERIVED_DIGITS = 16  # the number of hexadecimal digits in a derived id


def _derive_id(kind: str, content: Any) -> str:
    return f"{kind}-{digest(content).removeprefix('sha256:')[:DERIVED_DIGITS]}"


def is_derived(text_id: str) -> bool:
    return re.fullmatch(rf"text-[0-9a-f]{{{DERIVED_DIGITS}}}", text_id) is not None


def check_columns(
    row: Mapping[str, Any], where: str, mapping: FieldMap, later_rows: Iterable[Any] = (), aspect: str | None = None
) -> None:
    """Raise `DataError`, with a proposed mapping, if a table lacks a mapped column or a column of texts (`output`)."""
    fields, expected_columns = Fields(row, mapping, JSON_RULES), dict[str, str]()
    if "output" not in mapping.columns and "output" not in row:
        expected_columns["output"] = "a column of texts, and no column is mapped to it"
    for name, column in mapping.columns.items():
        if look_up(row, column) is ABSENT:
            expected_columns[name] = f"a column {column!r}, which the mapping names for this field"
    if not expected_columns:
        return
    questions = mapping_proposals.form_columns(map(str, row))
    if "output" in expected_columns and len(questions) > 1:
        first_two = ", ".join(map(repr, questions[:2]))
        problem = f"{where}: the columns {first_two} and so on seem to be a form's questions, each about one text;"
        raise DataError(problem, "write a row for each rating, with the columns output, rater and score.")
    faults = "; ".join(f"field {name!r}: got nothing, expected {column}" for name, column in expected_columns.items())
    proposed = mapping_proposals.corrected_columns(row, mapping)
    if aspect:
        # Only the cells of several rows tell which columns hold scores.
        well_formed_rows = (later_row for later_row in later_rows if isinstance(later_row, Mapping))
        rows = [row, *islice(well_formed_rows, mapping_proposals.MAX_SAMPLED - 1)]
        proposed = mapping_proposals.complete_mapping(rows, proposed, aspect)
    elif "output" not in proposed:
        proposed |= mapping_proposals.propose_mapping([row], mapped=proposed)
    columns = {**proposed, **{name: "COLUMN" for name in expected_columns if name not in proposed}}
    missing = "the column that holds this field" if len(expected_columns) == 1 else "the columns that hold these fields"
    hint = f"Name {missing}: `mapping={mapping_text(columns)}`."
    raise DataError(f"{where}: {faults}{fields.describe_columns()}.", hint)
