"""Text in tables that a spreadsheet opens: it must stay text, and must not run as a formula (CSV injection).

A spreadsheet takes a cell for a formula that begins with `=`, `+`, `-` or `@`, also in full width, or with a tab or
line break, and some ignore blanks and invisible characters before these. In CSV and TSV files such a text is preceded
by an apostrophe, which is removed on reading. A spreadsheet that expects semicolons between cells divides a file with
commas at each semicolon inside a text, so there the rule holds after these too, for signs. Numbers stay as they are.

In workbooks texts are written as such, whatever they begin with.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

# UTF-16 units in a cell of the Excel format.
LONGEST_EXCEL_CELL = 32_767
# Blanks, control characters, and those that are not shown, up to the tag characters.
_IGNORED = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b]"
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_BEGINNING = rf"(?='*+(?:[{_IGNORED}]*+{_SIGN}|[\t\r\n]))"
# On the same line; the quotation marks of the file may stand there too.
_AFTER_SEMICOLON = rf"(?='*+(?:(?![\r\n])[\"{_IGNORED}])*+{_SIGN})"


def _patterns(apostrophe: str) -> dict[bool, re.Pattern[str]]:
    """Return what finds the places of apostrophes, by whether the file has commas."""
    beginning = rf"\A{apostrophe}{_BEGINNING}"
    return {
        False: re.compile(beginning),
        True: re.compile(rf"{beginning}|(?<=;){apostrophe}{_AFTER_SEMICOLON}"),
    }


_UNSAFE, _ESCAPED = _patterns(""), _patterns("'")
# Of these files a spreadsheet divides none by semicolons inside a cell.
_OTHERS = (";", "\t")


def escaped(cell: Any, delimiter: str = ",", *, decimal_comma: bool = False) -> Any:
    """Return a cell for a CSV or TSV file, a text so that no spreadsheet runs it; `unescaped` restores it."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, float) and decimal_comma:
        return repr(cell).replace(".", ",")
    if isinstance(cell, str) and not _NUMBER.fullmatch(cell):
        return _UNSAFE[delimiter not in _OTHERS].sub("'", cell)
    return cell


def unescaped(cell: str, delimiter: str) -> str:
    """Return the text that `escaped` made a cell from."""
    return _ESCAPED[delimiter not in _OTHERS].sub("", cell) if "'" in cell else cell


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as the text of a CSV file."""
    lines = io.StringIO()
    csv.writer(lines).writerows([escaped(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return lines.getvalue()


def write_text_cell(sheet: Any, row: int, place: int, text: str) -> None:
    """Write a text of at most `LONGEST_EXCEL_CELL` UTF-16 units to a cell of an xlsxwriter sheet, as text.

    The writer takes a string between `<r>` and `</r>` for a rich string of its own and copies it as XML into the file,
    formulas included: such a text is given to it as a rich string with the text in it.
    """
    if text.startswith("<r>") and text.endswith("</r>"):
        text = f'<r><t xml:space="preserve">{html.escape(text, quote=False)}</t></r>'
        sheet.xls_strmax = 6 * LONGEST_EXCEL_CELL
    if sheet.write_string(row, place, text) != 0:
        raise ValueError(f"expected a text that fits into a cell, got {excel_length(text)} UTF-16 units")


def excel_length(text: str) -> int:
    """Return the length of a text as Excel counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
