"""Short descriptions of values for messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

from rubriclab.characters import is_blank

PREVIEW = 40
# JSON readers turn whole numbers of more bits into floats.
EXACT_WHOLE = 2**64


def describe(value: Any) -> str:
    """Return a short description of a value for a message."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float | Decimal):
        return _describe_number(value)
    if isinstance(value, str):
        return _describe_text(value)
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, date | time):
        return f"the {'time' if isinstance(value, time) else 'date'} {value} (a spreadsheet turns 3.5 into a date)"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else f"a value of type {type(value).__name__}"


def _describe_number(number: int | float | Decimal) -> str:
    if isinstance(number, int) and abs(number) >= EXACT_WHOLE:
        return "a whole number of more than 64 bits"
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(number).lower(), str(number))


def _describe_text(text: str) -> str:
    if not text:
        return "an empty text"
    if is_blank(text):
        return "only white space" if text.isspace() else "only invisible characters"
    return f"the text {text!r}" if len(text) <= PREVIEW else f"a text that begins {text[:PREVIEW]!r}"


def preview(text: str) -> str:
    """Return a text in quotation marks, cut."""
    return repr(text if len(text) <= PREVIEW else f"{text[:PREVIEW]}…")
