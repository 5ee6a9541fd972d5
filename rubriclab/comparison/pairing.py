"""Scored outputs, and which of one set belongs to which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.data import Example
from rubriclab.data.row import is_derived
from rubriclab.errors import DataError
from rubriclab.option_names import option
from rubriclab.scoring import Score

PairingRule = Literal["id", "group"]


@dataclass(frozen=True, slots=True)
class Outputs:
    """A set of outputs with their scores, in the same order.

    Attributes:
        name: what the set is called: its file, or the system.
    """

    name: str
    examples: tuple[Example, ...]
    scores: tuple[Score, ...]

    @property
    def scored(self) -> list[tuple[Example, float]]:
        """The outputs that have a score, each with its number."""
        pairs = zip(self.examples, self.scores, strict=True)
        return [(example, score.score) for example, score in pairs if score.score is not None]


def pair_outputs(
    before: Sequence[Example], after: Sequence[Example], rule: PairingRule | None
) -> tuple[PairingRule | None, list[tuple[int, int]]]:
    """Return the places of pairs by `rule`, and the rule; without one by id, else by group, else none.

    Outputs are paired by an id that occurs once on each side. By group, they are paired in order if both sides have the
    same groups in the same order, else if no shared group has several outputs; otherwise the rule `group` has no pairs,
    as nothing says which outputs belong together. Names derived from an output itself pair nothing: only unchanged
    outputs would share them.

    Raises:
        DataError: if `rule` is given and pairs nothing.
    """
    rules: tuple[PairingRule, ...] = (rule,) if rule else ("id", "group")
    if "id" in rules:
        first, second = _ids(before), _ids(after)
        if pairs := [(place, second[key]) for key, place in first.items() if key in second]:
            return "id", pairs
    if "group" in rules and (shared := _shared_groups(before, after)):
        return "group", _pairs_of_groups(before, after, shared)
    if rule:
        raise DataError(
            f"{option('pair_by', rule)}: no {rule} occurs in both sets.",
            f"Name the column with the {rule}s of both sets ({option('mapping', f'{rule}=COLUMN')}), or leave "
            f"{option('pair_by')} out.",
        )
    return None, []


def _ids(examples: Sequence[Example]) -> dict[str, int]:
    """Return the place of each id of the user's that occurs once."""
    counts = Counter(example.id for example in examples)
    return {
        example.id: place
        for place, example in enumerate(examples)
        if counts[example.id] == 1 and not is_derived(example.id)
    }


def _shared_groups(before: Sequence[Example], after: Sequence[Example]) -> set[str]:
    first, second = ({each.group for each in side if not is_derived(each.group)} for side in (before, after))
    return first & second


def _pairs_of_groups(before: Sequence[Example], after: Sequence[Example], shared: set[str]) -> list[tuple[int, int]]:
    first, second = ([example.group for example in side] for side in (before, after))
    if first == second:
        return [(place, place) for place, group in enumerate(first) if group in shared]
    numbers = Counter(first), Counter(second)
    if any(side[group] > 1 for side in numbers for group in shared):
        return []
    places = {group: place for place, group in enumerate(second)}
    return [(place, places[group]) for place, group in enumerate(first) if group in shared]
