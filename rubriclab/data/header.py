"""Detection of a title above the header of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubriclab.characters import is_blank
from rubriclab.data.mapping import FIELDS
from rubriclab.data.reading import ReadingOptions
from rubriclab.descriptions import preview
from rubriclab.errors import DataError
from rubriclab.option_names import option

# Share of the most cells of any row that a header has at least.
FILLED = 0.6


def check_header(where: str, rows: Sequence[tuple[int, Sequence[Any]]], options: ReadingOptions) -> None:
    """Check that the first of the numbered rows is a header, not a title above it.

    A title fills the first cell, or all cells of a merged range, with one text, and most rows below have several cells.

    Raises:
        DataError: if it looks like a title; the message names the row that looks like the header.
    """
    if len(rows) < 2 or options.header_rows > 1:
        return
    contents = [_contents(cells) for _, cells in rows]
    title, most = contents[0], max(map(len, contents))
    is_field = bool(title) and title[0] in {*FIELDS, *options.mapping.columns.values()}
    if len(title) != 1 or most < 2 or is_field or _is_empty(rows[0][1][0]):
        return
    number = next(number for (number, _), found in zip(rows, contents, strict=True) if len(found) >= FILLED * most)
    raise DataError(
        f"{where}: row {rows[0][0]} holds only {preview(title[0])}, and row {number} looks like the header;",
        f"leave out the rows above it: {option('skip_rows', str(number - 1))}.",
    )


def _contents(cells: Sequence[Any]) -> list[str]:
    """Return the different texts of a row in their order."""
    return list(dict.fromkeys(str(cell).strip() for cell in cells if not _is_empty(cell)))


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))
