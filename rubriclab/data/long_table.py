"""Tables with a row for each rating: the ratings of a text are joined, by rater where there is a column of raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rubriclab.data.fields import FieldError, Fields
from rubriclab.data.mapping import ABSENT, TABLES, FieldMap, look_up
from rubriclab.data.row import fault_of, mapped_aspects, other_aspect
from rubriclab.errors import DataError
from rubriclab.models.cells import CellRules
from rubriclab.option_names import option

NAME = "table with a row for each rating"
_OF_RATING = (*TABLES, "aspect", "rater")
_TEXT = ("output", "source", "context", "group", "system")


def is_rating(row: Any, mapping: FieldMap, rules: CellRules) -> bool:
    """Return whether a row is a rating of a text: it has scores, and names the rater or the aspect of mapped scores."""
    if not isinstance(row, Mapping) or any(look_up(row, column) is ABSENT for column in mapping.columns.values()):
        return False
    fields, is_mapped = Fields(row, mapping, rules), bool(mapped_aspects(mapping))
    scored = is_mapped or any(str(name).partition(".")[0] in TABLES for name in row)
    named = (scored and fields.is_given("rater")) or (is_mapped and fields.is_given("aspect"))
    return named and fields.is_given("output")


def joined_ratings(
    where: str, numbered: Iterable[tuple[int, Any]], mapping: FieldMap, rules: CellRules
) -> tuple[list[tuple[int, Any]], tuple[str, ...]]:
    """Return a row for each text, in the line of its first rating, and how much was joined and left out.

    A rating that is not a number, or the second of a rater, is a fault in its place. Rows that are no ratings stay as
    they are.

    Raises:
        DataError: if all ratings are of aspects that are not mapped.
    """
    listed = list(numbered)
    ratings = {line: Fields(row, mapping, rules) for line, row in listed if is_rating(row, mapping, rules)}
    left_out = {line: other for line, fields in ratings.items() if (other := other_aspect(fields))}
    others = ", ".join(f"{aspect!r} ({count})" for aspect, count in Counter(left_out.values()).items())
    if len(left_out) == len(ratings):
        proposal = option("mapping", f"scores.{next(iter(left_out.values()))}=COLUMN")
        raise DataError(f"{where}: no rating is of a mapped aspect, but of {others}.", f"Map one: {proposal}.")
    ids = [str(fields.value("id")) for fields in ratings.values() if fields.is_given("id")]
    # Ids that all differ are those of the ratings.
    key = (*_TEXT, "id") if len(set(ids)) < len(ids) else _TEXT
    has_raters = any(fields.is_given("rater") for fields in ratings.values())
    texts: dict[tuple[str, ...], dict[str, Any]] = {}
    rows: list[tuple[int, Any]] = []
    for line, row in listed:
        if line not in ratings:
            rows.append((line, row))
        elif line not in left_out:
            fields = ratings[line]
            content = tuple(str(fields.value(name)) for name in key)
            if content not in texts:
                texts[content] = _without_rating(fields)
                rows.append((line, texts[content]))
            elif ids and "id" not in key:
                texts[content][mapping.columns.get("id", "id")] = None
            try:
                _add(texts[content], fields, has_raters)
            except FieldError as error:
                rows.append((line, fault_of(error, where, line, fields)))
    count = f"{len(ratings) - len(left_out):,} ratings of {len(texts):,} texts"
    return rows, (count, *([f"ratings of other aspects left out: {others}"] if others else []))


def _without_rating(fields: Fields) -> dict[str, Any]:
    columns = fields.mapping.columns
    # Mapped columns have to exist.
    emptied = [column for name, column in columns.items() if name.partition(".")[0] in _OF_RATING]
    kept = {name: cell for name, cell in fields.row.items() if str(name).partition(".")[0] not in _OF_RATING}
    return {**kept, **dict.fromkeys(emptied), "annotations": {}, "reasons": {}}


def _add(text: dict[str, Any], fields: Fields, has_raters: bool) -> None:
    """Add a rating to the row of its text.

    Raises:
        FieldError: if it is not a number, lacks a rater, or is not the first of its rater.
    """
    named = str(fields.value("aspect")).strip().casefold() if fields.is_given("aspect") else ""
    rater = fields.name("rater")
    if has_raters and not rater:
        raise FieldError("rater", "nothing", "the rater of this rating")
    for table in TABLES:
        for aspect, cell in fields.table(table):
            if named and mapped_aspects(fields.mapping) and aspect.strip().casefold() != named:
                continue
            place = f"{table}.{aspect}"
            value = fields.reason(place, cell) if table == "reasons" else fields.number(place, cell)
            said = text["reasons" if table == "reasons" else "annotations"]
            if value is None:
                continue
            if not rater and table == "reasons":
                said[aspect] = f"{said.get(aspect, '')}\n{value}"
            elif not rater:
                said[aspect] = [*said.get(aspect, ()), value]
            elif rater in said.setdefault(aspect, {}):
                raise FieldError(place, f"a second rating of this text by {rater!r}", "one by each rater")
            else:
                said[aspect][rater] = value
