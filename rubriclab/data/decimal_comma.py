"""Whether the numbers of a text file or workbook have decimal commas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rubriclab.data.cells import DECIMAL_COMMA, DECIMAL_POINT, CellRules
from rubriclab.data.mapping import TABLES
from rubriclab.data.reading import ReadingOptions

_ONE_DECIMAL = re.compile(r"[+-]?\d+(,\d+)?", re.ASCII)


def has_decimal_points(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any number in these rows has a decimal point."""
    number = CellRules(typed=False).number
    cells = (cell for row in rows for cell in row.values() if isinstance(cell, str) and "." in cell)
    return any(number(cell) is not None for cell in cells)


def has_decimal_comma(rows: Iterable[Mapping[str, Any]], options: ReadingOptions, *, lists_possible: bool) -> bool:
    """Return whether scores have decimal commas.

    Columns with one score in each cell decide. A column of annotations may hold lists, in which commas separate raters:
    it has decimal commas if each cell is one number and either the file separates cells by semicolons
    (`lists_possible` is false) or other columns of numbers have decimal commas.
    """
    if options.decimal is not None:
        return options.decimal == "comma"
    fields: dict[str, str] = {column: field for field, column in options.mapping.columns.items()}
    single, lists, others = dict[str, list[Any]](), dict[str, list[Any]](), dict[str, list[Any]]()
    missing = options.rules(typed=False).is_missing
    for column, cell in (pair for row in rows for pair in row.items()):
        table, *names = str(fields.get(column, column)).split(".", 2)
        kind = others
        if names and table in TABLES:
            kind = single if table == "scores" or len(names) == 2 else lists
        if not missing(cell):
            kind.setdefault(column, []).append(cell)
    if _needs_decimal_comma(single):
        return True
    if lists_possible and not any(map(_are_decimals, others.values())):
        return False
    return any(map(_are_decimals, lists.values()))


def _needs_decimal_comma(columns: Mapping[str, list[Any]]) -> bool:
    """Return whether any number in these columns has a decimal comma, and none a decimal point."""
    texts = [cell.strip() for cells in columns.values() for cell in cells if isinstance(cell, str)]
    comma = any("," in text and DECIMAL_COMMA.fullmatch(text) for text in texts)
    return comma and not any("." in text and DECIMAL_POINT.fullmatch(text) for text in texts)


def _are_decimals(cells: Iterable[Any]) -> bool:
    """Return whether every text of a column is one number, and at least one has a decimal comma.

    In `1,5`, this is the only sign that it is one number and not the ratings of two raters.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    return any("," in text for text in texts) and all(_ONE_DECIMAL.fullmatch(text) for text in texts)
