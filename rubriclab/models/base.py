"""Base and number types of stored data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from rubriclab.pydantic_errors import path_of

# Bound of numbers in scoring, so that products and quotients of a few of them are finite.
LARGEST = 1e12
Count = Annotated[int, Field(ge=0)]
Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


def _with_time_in_utc(moment: datetime) -> datetime:
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time in UTC is before the year 1 or after the year 9999") from None
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_with_time_in_utc)]


class FrozenModel(BaseModel):
    """Base of stored data: immutable, without unknown fields, infinite numbers and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# Characters of all texts that are not listed below, such as ids, names, groups and systems.
LONGEST_NAME = 1_000
# Characters of statements, levels, definitions and reasons.
LONGEST_WORDING = 50_000
# Characters of a demonstration.
LONGEST_TEXT = 1_000_000
# Entries of a list: ids of training texts, held-out errors.
MOST_ENTRIES = 1_000_000
MOST_CRITERIA = 1_000
MOST_DROPPED = 10_000
# Size of a number: scores, weights, spreads, counts, seeds.
LARGEST_NUMBER = 1e15

_LONGEST: Mapping[str, int] = {
    "statement": LONGEST_WORDING,
    "description": LONGEST_WORDING,
    "definition": LONGEST_WORDING,
    "reason": LONGEST_WORDING,
    "dimensions": LONGEST_WORDING,
    "steps": LONGEST_WORDING,
    "before": LONGEST_WORDING,
    "after": LONGEST_WORDING,
    "because": LONGEST_WORDING,
    "note": LONGEST_WORDING,
    "output": LONGEST_TEXT,
    "source": LONGEST_TEXT,
    "context": LONGEST_TEXT,
}
_MOST: Mapping[str, int] = {"criteria": MOST_CRITERIA, "dropped": MOST_DROPPED}


def first_bounds_fault(content: Any, root: str = "") -> str | None:
    """Return the first path in `content` (JSON types) that exceeds a limit, and how; `None` if none does.

    The limit of a text, list or number depends on the name of its field, or of its list's field.
    """
    return next(_excesses(content, (), "", root), None)


def _excesses(value: Any, place: tuple[int | str, ...], field: str, root: str) -> Iterator[str]:
    if excess := _excess(value, field):
        yield f"{path_of(place, root)}: {excess}"
    elif isinstance(value, Mapping):
        for name, part in value.items():
            # Entries of a mapping by sub-dimension have the limit of the mapping.
            owner = field if field in _LONGEST else str(name)
            yield from _excesses(str(name), (*place, name), "", root)
            yield from _excesses(part, (*place, name), owner, root)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _excesses(part, (*place, number), field, root)


def _excess(value: Any, field: str) -> str | None:
    if isinstance(value, str):
        most = _LONGEST.get(field, LONGEST_NAME)
        return f"expected at most {most:,} characters, got {len(value):,}" if len(value) > most else None
    if isinstance(value, list | tuple):
        most = _MOST.get(field, MOST_ENTRIES)
        return f"expected a list of at most {most:,}, got {len(value):,}" if len(value) > most else None
    # Negated, so that NaN is refused.
    if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:
        return f"expected a number between {-LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}"
    return None
