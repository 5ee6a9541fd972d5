"""Lists in one text, separated by commas; a value that contains a comma stands in quotation marks, as in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def comma_list(values: Iterable[str]) -> str:
    """Return values as `comma_values` reads them."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(values)
    return written.getvalue()


def comma_values(text: str) -> list[str]:
    """Return the values in a text, without space around them; a line break in it counts as a space."""
    row = next(csv.reader([" ".join(text.splitlines())], skipinitialspace=True))
    return [value.strip() for value in row]
