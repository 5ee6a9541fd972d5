"""The order in which each rater sees the texts, and which of them are shown twice.

Everything is drawn from digests of the rater's name and the texts, so a rater gets the same order every time, and
different raters get different ones. Raters of groups of rivals see all texts of a source one after the other, by
default: a rating then compares a text with its rivals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from rubriclab.labeling.judgment import ItemId, TextToJudge, item_id

Mode = Literal["rate", "order", "pairs"]
Order = Literal["groups", "given", "random"]

# One item in so many is shown twice.
REPEATED = 10
# A longer list is hard to order at once; groups with more texts are divided.
MOST_ORDERED = 6


@dataclass(frozen=True)
class Item:
    """What a rater judges at a time: one text, or several of one group that are compared.

    Attributes:
        texts: keys of the texts in the order in which they are shown.
        again: whether they are shown for the second time.
    """

    texts: tuple[str, ...]
    again: bool = False

    @cached_property
    def id(self) -> ItemId:
        """What identifies the item in judgments."""
        return item_id(self.texts, again=self.again)


def deal(
    texts: Sequence[TextToJudge],
    rater: str,
    *,
    mode: Mode = "rate",
    order: Order = "groups",
) -> tuple[Item, ...]:
    """Return what a rater judges, in order; one item in ten comes a second time, at least five items later.

    Args:
        order: `groups` deals the groups in random order, and the texts of a group one after the other; `random` mixes
            all items; `given` keeps the order of `texts`.
    """
    draw = _drawing(rater)
    ordered = _ordered(texts, order, draw)
    items = [Item((text.key,)) for text in ordered] if mode == "rate" else list(_compared(ordered, mode, draw))
    if order == "random":
        items.sort(key=lambda item: draw("item", *sorted(item.texts)))
    return tuple(_with_repeats(items, draw))


Draw = Callable[..., int]


def _drawing(rater: str) -> Draw:
    def draw(*parts: str) -> int:
        """Return a random number that depends on the rater and the parts only."""
        content = "\0".join((rater, *parts)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())

    return draw


def _ordered(texts: Sequence[TextToJudge], order: Order, draw: Draw) -> list[TextToJudge]:
    if order == "given":
        return list(texts)
    groups = {group: draw("group", group) for group in {text.example.group for text in texts}}

    def rank(text: TextToJudge) -> tuple[int, str, int]:
        group = text.example.group
        return groups[group], group, draw("text", text.key)

    return sorted(texts, key=rank)


def _compared(ordered: Sequence[TextToJudge], mode: Mode, draw: Draw) -> Iterator[Item]:
    groups: dict[str, list[str]] = {}
    for text in ordered:
        groups.setdefault(text.example.group, []).append(text.key)
    for keys in groups.values():
        if len(keys) > 1:
            shuffled = sorted(keys, key=lambda key: draw("text", key))
            yield from _pairs(shuffled, draw) if mode == "pairs" else _lists(shuffled)


def _pairs(keys: Sequence[str], draw: Draw) -> Iterator[Item]:
    """Yield each text with the next one, and the last with the first: every text is compared twice."""
    pairs = list(zip(keys, (*keys[1:], keys[0]), strict=True)) if len(keys) > 2 else [(keys[0], keys[1])]
    for first, second in pairs:
        yield Item((second, first) if draw("side", *sorted((first, second))) % 2 else (first, second))


def _lists(keys: Sequence[str]) -> Iterator[Item]:
    """Yield parts of at most `MOST_ORDERED` texts, of nearly equal size; a part begins with the end of the last one.

    The shared text relates the parts to each other.
    """
    parts = -(-(len(keys) - 1) // (MOST_ORDERED - 1))
    ends = [round(number * (len(keys) - 1) / parts) for number in range(parts + 1)]
    for start, end in pairwise(ends):
        yield Item(tuple(keys[start : end + 1]))


def _with_repeats(items: Sequence[Item], draw: Draw) -> Iterator[Item]:
    """Yield the items; one of the first half of each ten comes again among the next ten, or at the end."""
    blocks = [items[start : start + REPEATED] for start in range(0, len(items), REPEATED)]
    due: Item | None = None
    for block in blocks:
        after = draw("place", *block[0].texts) % len(block)
        for place, item in enumerate(block):
            yield item
            if due and place == after:
                yield due
        due = _repeated(block, draw)
    if due:
        yield due


def _repeated(block: Sequence[Item], draw: Draw) -> Item | None:
    if len(block) < REPEATED / 2:
        return None
    chosen = min(block[: len(block) // 2], key=lambda item: draw("again", *sorted(item.texts)))
    # Reversed: whoever prefers what stands first would otherwise look consistent.
    return Item(chosen.texts[::-1], again=True)
