"""Mappings from the fields of a row to columns of other names, as in `output=summary,scores.coherence=coh`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rubriclab.errors import SettingsError
from rubriclab.models.characters import comma_list, comma_values

TEXT_FIELDS = ("source", "context", "reference")
NAME_FIELDS = ("id", "group", "system")
# A row has these fields as objects with a value for each aspect, or as columns such as `scores.coherence`.
ASPECT_FIELDS = ("scores", "annotations", "reasons")
RATING_FIELDS = (*ASPECT_FIELDS, "aspect", "rater")
COMPARISON_FIELDS = ("preferred", "over", "tie", "ranking", "aspect", "rater")
FIELDS = ("output", *NAME_FIELDS, *TEXT_FIELDS, *ASPECT_FIELDS, *COMPARISON_FIELDS)
# The value of a column that a row lacks; a column with null is not absent.
ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Columns by field; a field without an entry has a column of the same name.

    A column may be a dotted path into nested rows (`article.text`), also through all elements of a list
    (`ratings[].coherence`), unless the row has a column whose whole name is this path.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.columns:
            parent, dot, aspect = name.partition(".")
            if name not in FIELDS and not (dot and parent in ASPECT_FIELDS and aspect.strip()):
                fields_by_aspect = "scores.ASPECT, annotations.ASPECT, annotations.ASPECT.RATER, reasons.ASPECT"
                fields = f"{', '.join(FIELDS)}, or {fields_by_aspect} and reasons.ASPECT.RATER"
                raise SettingsError(f"There is no field {name!r} to map; the fields are {fields}.")

    def columns_by_aspect(self, parent: str) -> dict[str, str]:
        """Return the columns mapped to `parent.ASPECT` or `parent.ASPECT.RATER`, by `ASPECT` or `ASPECT.RATER`."""
        start = f"{parent}."
        return {name[len(start) :]: column for name, column in self.columns.items() if name.startswith(start)}


class DefaultMap(FieldMap):
    """A `Lab`'s mapping. If a row has `output` but not the column mapped to it, the row is read without a mapping."""


NO_MAPPING = FieldMap()


def parse_mapping(text: str) -> FieldMap:
    """Return the mapping in a text `FIELD=COLUMN,FIELD=COLUMN`; a pair that contains a comma needs quotation marks."""
    columns: dict[str, str] = {}
    for pair in comma_values(text) or [""]:
        name, _, column = (part.strip() for part in pair.partition("="))
        if not (name and column):
            form = "write FIELD=COLUMN, as in output=summary,scores.coherence=coh"
            quoted = "a pair that contains a comma needs quotation marks, as in 'id=Nr.,\"output=Text, final\"'"
            raise SettingsError(f"The mapping {pair.strip()!r} is not understood;", f"{form}; {quoted}.")
        if name in columns:
            problem = f"The field {name!r} is mapped twice, to {columns[name]!r} and {column!r}."
            raise SettingsError(problem, "Map it once. Each rater has a field: annotations.ASPECT.RATER=COLUMN.")
        columns[name] = column
    return FieldMap(columns)


def drop_rating_fields(mapping: str) -> str:
    columns = parse_mapping(mapping).columns
    kept_fields = ("output", *NAME_FIELDS, *TEXT_FIELDS)
    return mapping_text({name: column for name, column in columns.items() if name in kept_fields})


def mapping_text(columns: Mapping[str, str]) -> str:
    return comma_list(f"{name}={column}" for name, column in columns.items())


def look_up(row: Mapping[str, Any], column: str) -> Any:
    """Return the value at a column or dotted path; `ABSENT` if there is none, `None` if a step of the path is null.

    A path through a list, such as `ratings[].coherence`, gives a list of the values in those elements that have one.
    """
    if column in row:
        return row[column]
    value: Any = row
    steps = column.split(".")
    for index, step in enumerate(steps, start=1):
        name = step.removesuffix("[]")
        if value is None:
            return None
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
        is_list_expected = name != step
        if is_list_expected and value is not None:
            if not isinstance(value, list | tuple):
                return ABSENT
            path = ".".join(steps[index:])
            values = [look_up(element, path) if path and isinstance(element, Mapping) else element for element in value]
            return [element for element in values if element is not ABSENT and element is not None]
    return value
