"""Labelled texts as the prompts that learn from them show them: each source and each context only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.example import Example


def by_source(examples: Sequence[Example]) -> list[Example]:
    """Return the examples, those with the same source one after the other; else in the order given."""
    first: dict[str | None, int] = {}
    for place, example in enumerate(examples):
        first.setdefault(example.source, place)
    return sorted(examples, key=lambda example: first[example.source])


def shown_once(texts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the fields of each text, with the number of an earlier text that shows the same source or context.

    Args:
        texts: with `source`, `context` and `output`, in the order in which a prompt numbers them from 1.

    Returns:
        The same fields, and `source_as_in` and `context_as_in`: a number, or `None` if the text shows its own.
    """
    first: dict[tuple[str, str], int] = {}
    shown = []
    for number, text in enumerate(texts, 1):
        earlier = {}
        for name in ("source", "context"):
            found = first.setdefault((name, text[name] or ""), number)
            earlier[f"{name}_as_in"] = found if found < number and text[name] else None
        shown.append({**text, **earlier})
    return shown
