"""Scored outputs, and which of one set belongs to which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
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

    Outputs are paired by an id that occurs once on each side. By group, several outputs of a group are paired in the
    order of their ids. Names derived from an output itself pair nothing: only unchanged outputs would share them.

    Raises:
        DataError: if `rule` is given and pairs nothing.
    """
    rules: tuple[PairingRule, ...] = (rule,) if rule else ("id", "group")
    for candidate in rules:
        first, second = map(_ids if candidate == "id" else _places_in_groups, (before, after))
        if pairs := [(place, second[key]) for key, place in first.items() if key in second]:
            return candidate, pairs
    if rule:
        raise DataError(
            f"{option('by', rule)}: no {rule} occurs in both sets.",
            f"Name the column with the {rule}s of both sets ({option('mapping', f'{rule}=COLUMN')}), or leave "
            f"{option('by')} out.",
        )
    return None, []


def _ids(examples: Sequence[Example]) -> dict[Hashable, int]:
    """Return the place of each id of the user's that occurs once."""
    counts = Counter(example.id for example in examples)
    return {
        example.id: place
        for place, example in enumerate(examples)
        if counts[example.id] == 1 and not is_derived(example.id)
    }


def _places_in_groups(examples: Sequence[Example]) -> dict[Hashable, int]:
    """Return the place of each output by its group and its number there, in the order of ids."""
    numbers, places = Counter[str](), dict[Hashable, int]()
    for place in sorted(range(len(examples)), key=lambda place: (examples[place].group, examples[place].id)):
        group = examples[place].group
        if not is_derived(group):
            places[group, numbers[group]] = place
            numbers[group] += 1
    return places
