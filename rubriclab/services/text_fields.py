"""The source and context that a rubric's training texts had: texts without them would get other scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rubriclab.data import Example, Rows
from rubriclab.data.example import ShownField
from rubriclab.data.fields import COLUMNS_NAMED
from rubriclab.data.mapping import ABSENT, FIELDS, TABLES, FieldMap, look_up, mapping_text, proposed_mapping
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import SettingsError
from rubriclab.option_names import option
from rubriclab.report.wording import count, listed
from rubriclab.services.inputs import Data, can_be_read_again, describe, rows_of
from rubriclab.store import Version


class FieldMissing(SettingsError):
    """No text has a field that every text had that the rubric was learned from."""


# Rows that are searched for a field before scoring begins.
ROWS_SEARCHED = 100


def check_next_rows(version: Version, rows: Rows, name: str, options: ReadingOptions) -> None:
    """Check that the next rows of a stream have each field that all training texts of `version` had.

    The rows are not consumed. Only one row is read ahead if it has every field.

    Raises:
        FieldMissing: if no row has one of them; the message proposes a mapping.
    """
    needed = set(version.provenance.text_fields or ())
    found = rows.look_ahead(lambda example: all(getattr(example, field) for field in needed), ROWS_SEARCHED)
    raw, examples = next((row for row, _ in found), None), [example for _, example in found]
    searched = f"None of the first {ROWS_SEARCHED} rows of {name} has" if len(found) == ROWS_SEARCHED else None
    _check(version, examples, name, (raw, options.mapping), searched)


def check_text_fields(
    version: Version, examples: Sequence[Example], data: Data, options: ReadingOptions, name: str | None = None
) -> None:
    """Check that one text or more of `examples` has each field that all training texts of `version` had.

    Raises:
        FieldMissing: if none has one of them; the message proposes a mapping.
    """
    _check(version, examples, name or describe(data), (_first_row(data, options), options.mapping))


def without_fields(version: Version, missing: Mapping[str, int], name: str, texts: int) -> list[str]:
    """Return a note for each field that all training texts of `version` had and some of the scored texts lack.

    Args:
        missing: the number of texts without each field.
        texts: the number of all texts.
    """
    return [
        f"{name}: {number:,} of {count(texts, 'text')} have no {field}, and every text that {version.ref} was learned "
        "from had one: their scores are less reliable"
        for field, number in missing.items()
        if number
    ]


def missing_fields(version: Version, examples: Iterable[Example]) -> dict[str, int]:
    """Return the number of texts without each field that all training texts of `version` had."""
    listed_examples = tuple(examples)
    fields = version.provenance.text_fields or ()
    return {field: sum(not getattr(each, field) for each in listed_examples) for field in fields}


def _check(
    version: Version,
    examples: Collection[Example],
    name: str,
    columns: tuple[Any, FieldMap],
    searched: str | None = None,
) -> None:
    needed = version.provenance.text_fields or ()
    missing = [field for field in needed if examples and not any(getattr(each, field) for each in examples)]
    if not missing:
        return
    row, mapping = columns
    raise FieldMissing(
        f"{searched or f'No row of {name} has'} the field {listed(map(repr, missing))}, and every text that "
        f"{version.ref} was learned from had it, so the scores would not be comparable.",
        f"{_advice(row, mapping, missing)}: {option('mapping', _proposal(row, mapping, missing, needed))}.",
    )


def _first_row(data: Data, options: ReadingOptions) -> Any:
    if not can_be_read_again(data) or isinstance(data, Rows):
        return None
    found = rows_of(data, options).look_ahead(lambda _example: True, 1)
    return found[0][0] if found else None


def _advice(row: Any, mapping: FieldMap, missing: Sequence[ShownField]) -> str:
    mapped = {field: mapping.columns.get(field, field) for field in missing}
    if isinstance(row, Mapping) and all(look_up(row, column) is not ABSENT for column in mapped.values()):
        columns = listed(map(repr, mapped.values()))
        return f"There is no text in any cell of {columns}. Fill them, or map the column that holds it"
    return f"{_columns(row)}Map the column that holds it"


def _columns(row: Any) -> str:
    if not isinstance(row, Mapping):
        return ""
    named = [repr(str(column)) for column in row][:COLUMNS_NAMED]
    return f"The columns are {', '.join(named)}{', ...' if len(row) > COLUMNS_NAMED else ''}. "


def _proposal(row: Any, mapping: FieldMap, missing: Sequence[ShownField], needed: Collection[ShownField]) -> str:
    """Return the mapping with a column for each missing field, guessed from the columns' names where possible."""
    columns = {field: column for field, column in mapping.columns.items() if field not in missing}
    cells = row if isinstance(row, Mapping) else {}
    free = {column: cell for column, cell in cells.items() if column not in columns.values()}
    named = proposed_mapping([{c: v for c, v in free.items() if str(c).partition(".")[0] not in (*FIELDS, *TABLES)}])
    for field in missing:
        other: ShownField = "source" if field == "context" else "context"
        used = columns.get(other) or (other if other in cells else None)
        if field in named:
            columns[field] = named[field]
        elif used and other not in needed:
            columns.pop(other, None)
            columns[field] = used
        else:
            columns[field] = "COLUMN"
    return mapping_text(columns)
