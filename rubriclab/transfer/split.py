"""Which labelled texts actions may use, and which check what these give."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.data.example import Example
from rubriclab.digest import digest
from rubriclab.errors import DataError


def split(
    examples: Sequence[Example], labels: int | None, seed: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return so many texts to use, and those of groups that none of them is from.

    Half of the groups, or as many as need be, give the texts: one of each in turn, so that they are of many groups.
    Which ones hangs on ids and the seed alone. With `labels` being `None`, or as many as there are texts, all are used.

    Raises:
        DataError: if there are fewer texts.
    """
    if labels is None or labels == len(examples):
        return tuple(examples), ()
    if labels > len(examples):
        raise DataError(f"{labels} labels are to be used, and there are {len(examples)}.", "Give a smaller --labels.")
    by_group: dict[str, list[Example]] = {}
    for example in sorted(examples, key=lambda example: digest([seed, example.id])):
        by_group.setdefault(example.group, []).append(example)
    order = sorted(by_group, key=lambda group: digest([seed, group]))
    count = max(1, len(order) // 2)
    while sum(len(by_group[group]) for group in order[:count]) < labels:
        count += 1
    turns = [(turn, place) for place, group in enumerate(order[:count]) for turn in range(len(by_group[group]))]
    used = {by_group[order[place]][turn].id for turn, place in sorted(turns)[:labels]}
    touched = set(order[:count])
    return (
        tuple(example for example in examples if example.id in used),
        tuple(example for example in examples if example.group not in touched),
    )
