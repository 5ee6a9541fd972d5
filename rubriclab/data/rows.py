"""Conversion of a row of a user's data to an example or a fault.

A row is a mapping with the fields of `Example`; docs/data.md describes their forms. Scores, annotations and reasons
are nested objects, or columns such as `scores.coherence` and `annotations.coherence.anna`. For all fields except
`output`, null, white space and an absent field all mean a missing value.

Two fields are derived if they are missing. `id` is `text-` and a digest of the texts shown to a judge, with group and
system: it does not depend on order or labels, and rows that look the same to a judge have the same id. `group` is
`group-` and a digest of the source (or else of the context), so that texts about the same source form a group; without
either, a text is a group of its own, named by its id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from numbers import Real
from typing import Any, TypeVar

from rubriclab.data import mapping_proposals
from rubriclab.data.cells import PLACEHOLDER, TYPED, UNCALCULATED, CellError, CellRules, chat_messages, is_empty
from rubriclab.data.mapping import ABSENT, FIELDS, NATIVE, FieldMap, look_up, mapping_text
from rubriclab.errors import DataError
from rubriclab.models.base import MAX_NAME_LENGTH, digest
from rubriclab.models.characters import MAX_EXACT_INTEGER, describe, is_blank
from rubriclab.models.text import CANNOT_ASSESS, Example, WordScore

# Numbers are accepted as names if they are exact: JSON readers turn integers of more than 64 bits into floats, and
# floats beyond 2**53 have lost digits.
MAX_EXACT_FLOAT = 2**53
# Maximum length of a rater's reason. A longer text is usually from a wrong column.
MAX_REASON = 2_000
MAX_COLUMNS_NAMED = 12

_A_TEXT = "a non-empty text"
# Marks that may surround a placeholder.
_AROUND = " \t\r\n[](){}<>\"'`*.-–—"


class FieldError(Exception):
    """An invalid value of a field; `word` is a text in place of a number.

    `of_named_rater` says that the value is the score of one named rater, so that the row can be used without it.
    """

    def __init__(self, field: str | None, got: str, expected: str, word: str | None = None) -> None:
        super().__init__(field, got, expected)
        self.field, self.got, self.expected, self.word = field, got, expected, word
        self.of_named_rater = False

    def at(self, where: str, line: int) -> RowError:
        return RowError(where, line, self.field, self.got, self.expected, word=self.word)


class Fields:
    """The values of a row's fields; its methods raise `FieldError` for invalid ones."""

    def __init__(self, row: Mapping[Any, Any], mapping: FieldMap, rules: CellRules) -> None:
        self.row, self.mapping, self.rules = row, mapping, rules

    def is_given(self, name: str) -> bool:
        column = self.mapping.columns.get(name)
        value = self.row.get(name, ABSENT) if column is None else look_up(self.row, column)
        return value is not ABSENT and not is_empty(value)

    def value(self, name: str) -> Any:
        column = self.mapping.columns.get(name)
        if column is None:
            return self.row.get(name, ABSENT)
        value = look_up(self.row, column)
        if value is ABSENT:
            expected = f"a column {column!r}, which the mapping names for it{self.columns_text()}"
            raise FieldError(name, "nothing", expected)
        return value

    def output(self) -> str:
        text = self.value("output")
        if messages := chat_messages(text):
            role, text = messages[-1]
            if role in ("user", "system"):
                raise FieldError("output", f"messages that end with one of the role {role!r}", "the answer as the last")
        if text is ABSENT:
            unmapped_cells = {str(column): cell for column, cell in self.row.items() if column not in FIELDS}
            chats = (column for column, cell in unmapped_cells.items() if chat_messages(cell))
            wordy_columns = (column for column, cell in unmapped_cells.items() if _has_letters(cell))
            column = next(chain(chats, wordy_columns), None)
            advice = f"; if the text is in another column, map 'output' to it, such as to {column!r}" if column else ""
            raise FieldError("output", "nothing", f"{_A_TEXT}{self.columns_text()}{advice}")
        if not isinstance(text, str) or isinstance(text, CellError) or is_blank(text):
            raise FieldError("output", describe(text), _A_TEXT)
        return check_unicode("output", text)

    def text(self, name: str) -> str | None:
        """Return the text of a field, `None` if it is missing or a placeholder."""
        value = self.value(name)
        if name == "context" and value is ABSENT:
            messages = chat_messages(self.value("output"))
            value = "\n\n".join(f"{role}: {content}" for role, content in messages[:-1])
        return None if self.rules.is_missing(value) else drop_placeholder(self.as_text(name, value))

    def as_text(self, name: str, text: Any) -> str | None:
        if text is None or text is ABSENT:
            return None
        if not isinstance(text, str) or isinstance(text, CellError):
            advice = " (join the parts of a list into one)" if isinstance(text, list | tuple) else ""
            raise FieldError(name, describe(text), f"a text{advice} or null")
        return None if is_blank(text) else check_unicode(name, text)

    def name(self, name: str) -> str | None:
        value = self.value(name)
        missing = name != "id" and isinstance(value, str) and self.rules.is_missing(value)
        return None if missing else self.as_name(name, value)

    def as_name(self, name: str, value: Any) -> str | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            limit = MAX_EXACT_INTEGER if isinstance(value, int) else MAX_EXACT_FLOAT
            if not (abs(value) < limit and value == int(value)):
                raise FieldError(name, describe(value), "a text, or a whole number that needs no rounding")
            return str(int(value))
        text = self.as_text(name, value)
        if text and len(text) > MAX_NAME_LENGTH:
            raise FieldError(name, f"a text of {len(text):,} characters", f"at most {MAX_NAME_LENGTH:,} characters")
        return text

    def table(self, name: str) -> list[tuple[str, Any]]:
        """Return the aspects (or `ASPECT.RATER`) in the table `scores`, `annotations` or `reasons`, and their cells."""
        start = f"{name}."
        value = self.value(name)
        if isinstance(value, Mapping):
            cells = {str(aspect): cell for aspect, cell in value.items()}
        elif value is ABSENT or self.rules.is_missing(value):
            cells = {}
        else:
            expected = f"an object with a value for each aspect, or a column for each, such as {name}.coherence"
            raise FieldError(name, describe(value), expected)
        own_columns = [column for column in self.row if isinstance(column, str) and column.startswith(start)]
        cells |= {column[len(start) :]: self.row[column] for column in own_columns}
        cells |= {aspect: self.value(start + aspect) for aspect in self.mapping.columns_of_table(name)}
        present = [(aspect, cell) for aspect, cell in cells.items() if not self.rules.is_missing(cell)]
        if any(is_blank(aspect) for aspect, _ in present):
            raise FieldError(name, "an aspect without a name", "names such as 'coherence'")
        return [(check_unicode(name, aspect), cell) for aspect, cell in present]

    def number(self, name: str, cell: Any, expected: str = "a finite number") -> float | None:
        """Return a score, a `WordScore` for a word; `None` if a rater could not assess the text."""
        if isinstance(cell, bool):
            cell = str(cell).lower()
        if isinstance(cell, str):
            if cell.strip().casefold() in CANNOT_ASSESS and self.rules.level(cell) is None:
                self.rules.not_assessed[name] += 1
                return None
            level = self.rules.level(cell)
            number = None if self.rules.typed else self.rules.number(cell)
            if level is None and number is None:
                example = f"such as 4 or {'3,5' if self.rules.decimal_comma else '3.5'}"
                written = "without quotes" if self.rules.typed else example
                word = cell.strip() if _has_letters(cell) else None
                levels = ", or a word that `level_scores` gives a score" if word else ""
                raise FieldError(name, describe(cell), f"{expected}, {written}{levels}", word)
            cell = number if level is None else level
        if not isinstance(cell, Real | Decimal):
            raise FieldError(name, describe(cell), expected)
        try:
            number = cell if isinstance(cell, WordScore) else float(cell)
        except (OverflowError, ValueError):  # an integer beyond all floats; a signalling NaN
            number = math.inf
        if not math.isfinite(number):
            raise FieldError(name, describe(cell), expected)
        level = number if isinstance(number, WordScore) else self.rules.level_of_number(number)
        if level is None and (levels := self.rules.levels_with_numbers()):
            raise FieldError(name, describe(cell), f"one of the levels {levels}")
        return number if level is None else level

    def numbers(self, name: str, cell: Any) -> tuple[float, ...]:
        if isinstance(cell, str) and not self.rules.typed:
            cell = self.rules.elements(cell)
        if not isinstance(cell, list | tuple):
            a_list = "a list of finite numbers, one for each rater, or an object by rater"
            raise FieldError(name, describe(cell), a_list)
        expected = "a finite number from each rater in the list (leave out raters without a score)"
        # Null in a list is a fault unless values for missing scores are given.
        if self.rules.missing:
            cell = [rating for rating in cell if not self.rules.is_missing(rating)]
        numbers = (self.number(name, rating, expected) for rating in cell)
        return tuple(number for number in numbers if number is not None)

    def reason(self, name: str, cell: Any) -> str | None:
        # In untyped cells, numbers suggest a column of scores; in JSON, a text may be whatever a person typed.
        is_text = isinstance(cell, str) and not isinstance(cell, CellError)
        if not is_text or (not self.rules.typed and self.rules.number(cell) is not None):
            raise FieldError(name, describe(cell), "a reason in words")
        text = cell.strip()
        if len(text) > MAX_REASON:
            raise FieldError(name, f"a text of {len(text):,} characters", f"at most {MAX_REASON:,} characters")
        return None if is_blank(text) else check_unicode(name, text)

    def columns_text(self) -> str:
        names = [repr(str(column)) for column in self.row][:MAX_COLUMNS_NAMED]
        more = ", ..." if len(self.row) > MAX_COLUMNS_NAMED else ""
        return f"; the columns are {', '.join(names)}{more}" if names else ""


def drop_placeholder(text: str | None) -> str | None:
    word = text.strip(_AROUND).lower() if text else ""
    return text if word and not PLACEHOLDER.fullmatch(word) else None


def _has_letters(value: Any) -> bool:
    return isinstance(value, str) and value != UNCALCULATED and any(map(str.isalpha, value))


def check_unicode(name: str, text: str) -> str:
    """Return `text` if it is valid Unicode; undecodable bytes arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = repr(text[max(0, error.start - 10) : error.end + 10])
        # The byte, not the surrogate that stands for it.
        with_bytes = re.sub(r"\\udc([89a-f].)", r"\\x\1", around)
        expected = "text in UTF-8; for a file in another encoding, name that, as in `encoding=cp1252`"
        raise FieldError(name, f"bytes that are not UTF-8, in {with_bytes}", expected) from None
    return text


T = TypeVar("T")
U = TypeVar("U")

DERIVED_DIGITS = 16
_DERIVED_ID = re.compile(rf"text-[0-9a-f]{{{DERIVED_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class RowError:
    """The first fault in a row, with the row's other faults.

    Attributes:
        line: first line of the row, counted from 1; the row's number if the source has no lines.
        field: such as `scores.coherence`; `None` if the fault concerns the entire row.
        column: the field's column, if its name is not the field's.
        word, number_outside: a text in place of a number; a number outside the scale, as a text.
        usable_example: the example without the faulty scores, if all of these are of named raters.
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


def parse_example(
    row: Any, where: str, line: int, mapping: FieldMap = NATIVE, rules: CellRules = TYPED
) -> Example | RowError:
    if not isinstance(row, Mapping):
        own_lines = "; in a file that is one list, give each object a line of its own"
        expected = f"an object with a field 'output'{own_lines if isinstance(row, list | tuple) else ''}"
        return RowError(where, line, None, describe(row), expected)
    fields, field_errors = Fields(row, mapping, rules), list[FieldError]()
    example = _example(fields, field_errors)
    if example is not None and not field_errors:
        return example
    row_faults = (make_fault(fault, where, line, fields) for fault in field_errors)
    # A column that several fields need is reported once.
    first, *others = {fault.message: fault for fault in row_faults}.values()
    return replace(first, other_faults=tuple(others), usable_example=example)


def make_fault(error: FieldError, where: str, line: int, fields: Fields) -> RowError:
    column = fields.mapping.columns.get(error.field or "")
    column = column if column and look_up(fields.row, column) is not ABSENT else None
    try:
        known_id = fields.name("id")
    except FieldError:
        known_id = None
    return replace(error.at(where, line), id=known_id, column=column)


def is_derived(name: str) -> bool:
    return _DERIVED_ID.fullmatch(name) is not None


def check_columns(
    row: Mapping[str, Any], where: str, mapping: FieldMap, later_rows: Iterable[Any] = (), aspect: str | None = None
) -> None:
    """Raise `DataError` if a needed or mapped column is absent; it proposes a mapping from the first rows."""
    fields, absent_columns = Fields(row, mapping, TYPED), dict[str, str]()
    if "output" not in mapping.columns and "output" not in row:
        absent_columns["output"] = "a column of texts, and none is mapped to it"
    for name, column in mapping.columns.items():
        if look_up(row, column) is ABSENT:
            absent_columns[name] = f"a column {column!r}, which the mapping names for it"
    if not absent_columns:
        return
    form = mapping_proposals.form_columns(map(str, row))
    if "output" in absent_columns and len(form) > 1:
        raise DataError(
            f"{where}: the columns {form[0]!r}, {form[1]!r} and so on seem to be a form's questions, each about "
            "one text; write a row for each rating, with the columns output, rater and score."
        )
    faults = "; ".join(f"field {name!r}: got nothing, expected {expected}" for name, expected in absent_columns.items())
    proposed = corrected_columns(row, mapping)
    if aspect:
        well_formed_rows = (later_row for later_row in later_rows if isinstance(later_row, Mapping))
        rows = [row, *islice(well_formed_rows, mapping_proposals.MAX_SAMPLED - 1)]
        proposed = mapping_proposals.complete_mapping(rows, proposed, aspect)
    elif "output" not in proposed:
        proposed |= mapping_proposals.propose_mapping([row], mapped=proposed)
    columns = {**proposed, **{name: "COLUMN" for name in absent_columns if name not in proposed}}
    holding = "the column that holds it" if len(absent_columns) == 1 else "the columns that hold them"
    raise DataError(f"{where}: {faults}{fields.columns_text()}.", f"Name {holding}: `mapping={mapping_text(columns)}`.")


def corrected_columns(row: Mapping[str, Any], mapping: FieldMap) -> dict[str, str]:
    """Return the mapped columns; the most similar column of the row replaces one that it does not have."""
    corrected: dict[str, str] = {}
    for name, column in mapping.columns.items():
        if look_up(row, column) is not ABSENT:
            corrected[name] = column
        elif closest := mapping_proposals.closest_column(column, list(map(str, row))):
            corrected[name] = closest
    return corrected


def _example(fields: Fields, faults: list[FieldError]) -> Example | None:
    """Return the example without invalid scores of named raters, `None` for other faults; append all to `faults`."""

    def attempt(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FieldError as fault:
            faults.append(fault)
            return None

    output = attempt(fields.output)
    names = {name: attempt(partial(fields.name, name)) for name in ("id", "group", "system")}
    texts = {name: attempt(partial(fields.text, name)) for name in ("source", "context", "reference")}
    cells = attempt(partial(fields.table, "scores")) or []
    scores = {aspect: attempt(partial(fields.number, f"scores.{aspect}", cell)) for aspect, cell in cells}

    read_annotations = partial(_cells, fields, "annotations", fields.number, fields.numbers, faults)
    by_rater, lists = attempt(read_annotations) or ({}, {})
    # Only streams have rows of aspects that are not mapped: from other sources, `join_ratings` leaves such rows out.
    if other := other_aspect(fields):
        aspects = " or ".join(map(repr, sorted(mapped_aspects(fields.mapping))))
        expected = f"{aspects}, which the ratings are mapped to; leave out other rows"
        faults.append(FieldError("aspect", describe(other), expected))
    read_reasons = partial(_cells, fields, "reasons", fields.reason, fields.reason, faults)
    named_reasons, unnamed_reasons = attempt(read_reasons) or ({}, {})
    if output is None or not all(fault.of_named_rater for fault in faults):
        return None
    group_text = texts["source"] or texts["context"]
    shown_texts = [names["group"], names["system"], texts["source"], texts["context"], output]
    own_id = names["id"] or _derive_id("text", shown_texts)
    return Example(
        id=own_id,
        output=output,
        group=names["group"] or (_derive_id("group", group_text) if group_text else own_id),
        source=texts["source"],
        context=texts["context"],
        reference=texts["reference"],
        system=names["system"],
        scores={aspect: score for aspect, score in scores.items() if score is not None},
        annotations={aspect: tuple(numbers.values()) for aspect, numbers in by_rater.items()} | lists,
        raters={aspect: tuple(numbers) for aspect, numbers in by_rater.items()},
        reasons={**named_reasons, **unnamed_reasons},
    )


def mapped_aspects(mapping: FieldMap) -> set[str]:
    tables = (mapping.columns_of_table(table) for table in ("scores", "annotations"))
    return {name.partition(".")[0].strip().casefold() for names in tables for name in names}


def other_aspect(fields: Fields) -> str | None:
    """Return the aspect of a rating if the mapping names aspects, but not this one; else `None`."""
    aspect = look_up(fields.row, fields.mapping.columns.get("aspect", "aspect"))
    name = aspect.strip() if isinstance(aspect, str) and not is_blank(aspect) else ""
    mapped = mapped_aspects(fields.mapping)
    return name if name and mapped and name.casefold() not in mapped else None


def _cells(
    fields: Fields,
    table: str,
    read_cell_of_rater: Callable[[str, Any], T | None],
    read_cell_without_rater: Callable[[str, Any], U | None],
    faults: list[FieldError],
) -> tuple[dict[str, dict[str, T]], dict[str, U]]:
    """Return the cells of a table by aspect and rater, and the cells without raters by aspect.

    Faulty cells of named raters are left out, and their faults are added to `faults`.
    """
    by_rater: dict[str, dict[str, T]] = {}
    without_rater: dict[str, U] = {}
    for aspect, rater, cell in _entries(fields, table):
        field = f"{table}.{aspect}"
        if rater is None:
            if content := read_cell_without_rater(field, cell):
                without_rater[aspect] = content
            continue
        if is_blank(rater):
            raise FieldError(field, "a rater without a name", "names such as 'anna'")
        if len(rater) > MAX_NAME_LENGTH:
            raise FieldError(field, f"a rater's name of {len(rater):,} characters", f"at most {MAX_NAME_LENGTH:,}")
        try:
            value = None if fields.rules.is_missing(cell) else read_cell_of_rater(f"{field}.{rater}", cell)
        except FieldError as fault:
            fault.of_named_rater = table == "annotations"
            faults.append(fault)
            continue
        if value is not None:
            if rater in by_rater.setdefault(aspect, {}):
                raise FieldError(field, f"the rater {rater!r} twice", "one entry from each rater")
            by_rater[aspect][check_unicode(field, rater)] = value
    if aspects_of_both_forms := sorted(by_rater.keys() & without_rater.keys()):
        form = "a list" if table == "annotations" else "one text"
        expected = f"the {table} of an aspect either as {form} or by the raters' names"
        raise FieldError(f"{table}.{aspects_of_both_forms[0]}", f"both {form} and named raters", expected)
    return by_rater, without_rater


def _entries(fields: Fields, table: str) -> Iterator[tuple[str, str | None, Any]]:
    """Yield aspect, rater and cell of all entries of a table; without a rater, the cell is a list or one text."""
    for key, cell in fields.table(table):
        aspect, dot, rater = key.partition(".")
        if isinstance(cell, Mapping):
            yield from ((key, str(name).strip(), rating) for name, rating in cell.items())
        elif dot and not (table == "annotations" and fields.rules.is_list(cell)):
            yield aspect, rater.strip(), cell
        else:
            yield key, None, cell


def _derive_id(kind: str, content: Any) -> str:
    return f"{kind}-{digest(content).removeprefix('sha256:')[:DERIVED_DIGITS]}"
