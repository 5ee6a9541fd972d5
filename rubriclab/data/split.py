"""Splits that keep rival texts together: what is learned from one summary of an article is not tested on another."""

from __future__ import annotations

from collections.abc import Iterable

from rubriclab.data.example import Example
from rubriclab.digest import digest
from rubriclab.errors import DataError, SettingsError


def split_by_group(
    examples: Iterable[Example], held_out: float, seed: int = 0
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the examples to learn from and those held out, each in the given order, as whole groups.

    `held_out` is the share of groups, at least one on either side. Which groups depends on their names and `seed`
    alone, not on the order of the examples.

    Raises:
        SettingsError: if `held_out` does not lie between 0 and 1.
        DataError: if there are fewer than two groups.
    """
    if not 0 < held_out < 1:
        raise SettingsError(f"The share to hold out is {held_out};", "it lies between 0 and 1, as 0.3 does.")
    examples = tuple(examples)
    groups = sorted({example.group for example in examples}, key=lambda group: digest([seed, group]))
    if len(groups) < 2:
        raise DataError(
            f"Holding out whole groups needs at least two of them; got {len(groups)}.",
            "A group is the texts that share one source; name it in the field 'group'.",
        )
    count = min(max(round(held_out * len(groups)), 1), len(groups) - 1)
    chosen = frozenset(groups[:count])
    train = tuple(example for example in examples if example.group not in chosen)
    return train, tuple(example for example in examples if example.group in chosen)
