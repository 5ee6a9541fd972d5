"""How long a provider asks to wait, in the headers and the body of a refused request."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Seconds of a time of the epoch rather than a duration.
EPOCH = 1e9
# A date after it is a mistake.
LONGEST_PAUSE = timedelta(days=31)

_UNITS = {"mil": 0.001, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)(?![a-z])"
_TIME = rf"\d{{1,9}}(?:\.\d{{1,9}})?\s?{_UNIT}[\s,]{{0,2}}"
_PART = re.compile(r"([\d.]+)\s?(mil|ms|s|m|h|d)", re.IGNORECASE)
_CLOCK = r"\d{1,3}:\d\d:\d\d(?:\.\d{1,9})?"
_DURATION = rf"{_CLOCK}|(?:{_TIME})+"
_WAIT = re.compile(
    rf"(?:retry|try again|wait|resets? in|next request in)[^\d\n]{{0,30}}?(?P<wait>{_DURATION})", re.IGNORECASE
)
_FIELD = re.compile(
    r"retry[_-]?after(?:[_-]?(?:(?P<milli>ms)|seconds|secs?))?[\"']?\s?[:=]\s?[\"']?"
    r"(?P<number>\d{1,15}(?:\.\d{1,9})?)(?![\d.:]*\w)",
    re.IGNORECASE,
)
_RESET = re.compile(r"ratelimit-(?:.*-)?reset(?:-.*)?")


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Return the seconds that the provider asks to wait, in its headers or its message; `None` if it does not say.

    Where it only says when its limits are reset, those count that are used up, or may be: then the first one.

    Args:
        headers: with names in lower case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    fields = ((match["number"], 1000 if match["milli"] else 1) for match in _FIELD.finditer(message))
    stated = [
        None if milliseconds is None else milliseconds / 1000,
        _seconds(headers.get("retry-after")),
        *(_duration(match["wait"]) for match in _WAIT.finditer(message)),
        *(None if (seconds := _seconds(number)) is None else seconds / unit for number, unit in fields),
    ]
    pauses = [seconds for seconds in stated if seconds is not None]
    return max(pauses) if pauses else _until_reset(headers)


def _until_reset(headers: Mapping[str, str]) -> float | None:
    used_up, unknown = list[float](), list[float]()
    for name, value in headers.items():
        if _RESET.search(name) and (seconds := _seconds(value)) is not None:
            remaining = _number(headers.get(name.replace("reset", "remaining")))
            if not remaining:
                (unknown if remaining is None else used_up).append(seconds)
    return max(used_up) if used_up else min(unknown, default=None)


def _seconds(value: str | None) -> float | None:
    """Return the seconds that a header states: a number or several, a time of the epoch, a duration or a date."""
    numbers = [number for part in (value or "").split(",") if (number := _number(part)) is not None]
    if numbers:
        seconds = max(numbers)
        for unit in (1, 1000):
            if EPOCH <= seconds / unit < 100 * EPOCH:
                return max(0.0, seconds / unit - time.time())
        return seconds
    if value is None:
        return None
    return _duration(value) if re.fullmatch(_DURATION, value.strip(), re.IGNORECASE) else _seconds_until(value)


def _duration(text: str) -> float:
    if ":" in text:
        hours, minutes, seconds = map(float, text.split(":"))
        return 3600 * hours + 60 * minutes + seconds
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(text))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    try:
        then = datetime.fromisoformat(date) if date[:1].isdigit() else parsedate_to_datetime(date)
        pause = (then if then.tzinfo else then.replace(tzinfo=UTC)) - datetime.now(UTC)
    except (ValueError, OverflowError):  # the latter for years and zones beyond what a date can have
        return None
    return max(0.0, pause.total_seconds()) if pause <= LONGEST_PAUSE else None
