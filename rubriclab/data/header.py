"""Detection of a title above the header of a table, and of a second header row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubriclab.characters import is_blank
from rubriclab.data.cells import CellRules
from rubriclab.data.mapping import FIELDS
from rubriclab.data.reading import ReadingOptions
from rubriclab.descriptions import preview
from rubriclab.errors import DataError
from rubriclab.option_names import option

# Share of the most cells of any row that a header has at least.
FILLED = 0.6
_RULES = (CellRules(typed=False), CellRules(typed=False, decimal_comma=True))


def check_header(where: str, rows: Sequence[tuple[int, Sequence[Any]]], options: ReadingOptions) -> None:
    """Check that the first of the numbered rows is the header, not a title above it or one of two header rows.

    A title fills the first cell, or all cells of a merged range, with one text, and most rows below have several cells.
    Of two header rows, the first leaves columns without a name of their own, which the second has: different words,
    above numbers or in most columns.

    Raises:
        DataError: if it looks like a title, or like the first of two header rows; the message names the rows.
    """
    if len(rows) < 2 or options.header_rows > 1:
        return
    contents = [_contents(cells) for _, cells in rows]
    title, most = contents[0], max(map(len, contents))
    is_field = bool(title) and title[0] in {*FIELDS, *options.mapping.columns.values()}
    if len(title) == 1 and most > 1 and not is_field and not _is_empty(rows[0][1][0]):
        number = next(number for (number, _), found in zip(rows, contents, strict=True) if len(found) >= FILLED * most)
        raise DataError(
            f"{where}: row {rows[0][0]} holds only {preview(title[0])}, and row {number} looks like the header;",
            f"leave out the rows above it: {option('skip_rows', str(number - 1))}.",
        )
    if _continues([cells for _, cells in rows]):
        raise DataError(
            f"{where}: row {rows[0][0]} leaves columns without a name of their own, and row {rows[1][0]} looks like a "
            "second header row;",
            f"join them: {option('header_rows', '2')}.",
        )


def _continues(rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether the second row names columns that the first one leaves without a name of their own."""
    first, second = ([_shown(cell) for cell in cells] for cells in rows[:2])
    words = [word for word in second if word]
    if len(rows) < 3 or len(set(words)) < len(words) or any(map(_is_number, words)):
        return False
    named = {name for name in first if name and first.count(name) == 1}
    places = [place for place, word in enumerate(second) if word and not named.intersection(first[place : place + 1])]
    below = [_shown(cells[place]) for cells in rows[2:] for place in places if place < len(cells)]
    filled = [cell for cell in below if cell]
    numbers = sum(map(_is_number, filled))
    return bool(filled) and (2 * numbers > len(filled) or 2 * len(places) > len(words))


def _shown(cell: Any) -> str:
    return "" if _is_empty(cell) else str(cell).strip()


def _is_number(text: str) -> bool:
    return any(rules.number(text) is not None for rules in _RULES)


def _contents(cells: Sequence[Any]) -> list[str]:
    """Return the different texts of a row in their order."""
    return list(dict.fromkeys(str(cell).strip() for cell in cells if not _is_empty(cell)))


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))
