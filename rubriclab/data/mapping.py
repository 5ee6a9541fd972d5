"""Mapping of fields to columns with other names: `output=summary,scores.coherence=coh`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rubriclab.comma_list import comma_list, comma_values
from rubriclab.errors import SettingsError

TEXT_FIELDS = ("source", "context", "reference")
NAME_FIELDS = ("id", "group", "system")
TABLES = ("scores", "annotations", "reasons")
COMPARISON_FIELDS = ("preferred", "over", "tie", "ranking", "aspect", "rater")
FIELDS = ("output", *NAME_FIELDS, *TEXT_FIELDS, *TABLES, *COMPARISON_FIELDS)

KNOWN = (
    f"{', '.join(FIELDS)}, or scores.ASPECT, annotations.ASPECT, annotations.ASPECT.RATER, reasons.ASPECT and "
    "reasons.ASPECT.RATER"
)


class Absent:
    """The value of a column that a row lacks; a column with null is not absent."""


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Columns by field; a field without an entry has a column of the same name.

    `columns` maps fields (`output`, `scores.coherence`, ...) to columns. A column may be a dotted path into nested rows
    (`article.text`); a column whose name contains the dot takes precedence.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.columns:
            table, dot, aspect = name.partition(".")
            if name not in FIELDS and not (dot and table in TABLES and aspect.strip()):
                raise SettingsError(f"There is no field {name!r} to map; the fields are {KNOWN}.")

    def aspects(self, table: str) -> dict[str, str]:
        """Return the columns mapped to single aspects of a table such as `scores`, or to an aspect's raters."""
        start = f"{table}."
        return {name[len(start) :]: column for name, column in self.columns.items() if name.startswith(start)}


NATIVE = FieldMap()


def parse_mapping(text: str) -> FieldMap:
    """Return the mapping in a text `FIELD=COLUMN,FIELD=COLUMN`; a pair that contains a comma needs quotation marks.

    Raises:
        SettingsError: if `text` does not have this form, or names an unknown field or a field twice.
    """
    columns: dict[str, str] = {}
    for pair in comma_values(text) or [""]:
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise SettingsError(
                f"The mapping {pair.strip()!r} is not understood;",
                "write FIELD=COLUMN, as in output=summary,scores.coherence=coh; a pair that contains a comma needs "
                "quotation marks, as in 'id=Nr.,\"output=Text, final\"'.",
            )
        if name in columns:
            raise SettingsError(
                f"The field {name!r} is mapped twice, to {columns[name]!r} and {column!r}.", _several_raters(name)
            )
        columns[name] = column
    return FieldMap(columns)


def _several_raters(name: str) -> str | None:
    """Return how to map the columns of several raters; `None` for other fields than annotations."""
    table, _, aspect = name.partition(".")
    if table != "annotations":
        return None
    aspect = aspect.partition(".")[0] or "ASPECT"
    return f"Give each rater a name: annotations.{aspect}.anna=COLUMN,annotations.{aspect}.ben=COLUMN."


def mapping_text(columns: Mapping[str, str]) -> str:
    """Return a mapping as `parse_mapping` reads it."""
    return comma_list(f"{name}={column}" for name, column in columns.items())


def look_up(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column or dotted path; `ABSENT` if the row has no such column.

    A path through null gives null, since a nested object may be missing in some rows.
    """
    if column in row:
        return row[column]
    value: Any = row
    for part in column.split("."):
        if value is None:
            return None
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value
