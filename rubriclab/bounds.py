"""Limits on the content of versions, whether learned, saved or imported.

They are far above anything that learning produces. They prevent a pack from another source from filling a disk, a
terminal or a prompt, and its numbers from overflowing in scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.data.fields import LONGEST_NAME
from rubriclab.pydantic_errors import path_of

# Characters of all texts that are not listed below, such as ids and names: LONGEST_NAME.
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
