"""The order in which each rater sees the texts, and which of them are shown twice.

Everything is drawn from digests of the rater's name and the texts, so a rater gets the same order every time, and
different raters get different ones. Raters of groups of rivals see all texts of a source one after the other: a rating
then compares a text with its rivals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rubriclab.labeling.judgment import ItemId, TextToJudge

# One item in so many is shown twice.
REPEATED = 10


@dataclass(frozen=True)
class Item:
    """What a rater judges at a time: a text, by its key.

    Attributes:
        again: whether it is shown for the second time.
    """

    text: str
    again: bool = False

    @property
    def id(self) -> ItemId:
        """What identifies the item in judgments."""
        return self.text, self.again


def deal(texts: Sequence[TextToJudge], rater: str) -> tuple[Item, ...]:
    """Return what a rater judges, in order; one item in ten comes a second time, at least five items later.

    The groups come in random order, and the texts of a group one after the other.
    """
    draw = _drawing(rater)
    groups = {group: draw("group", group) for group in {text.example.group for text in texts}}

    def rank(text: TextToJudge) -> tuple[int, str, int]:
        group = text.example.group
        return groups[group], group, draw("text", text.key)

    return tuple(_with_repeats([Item(text.key) for text in sorted(texts, key=rank)], draw))


Draw = Callable[..., int]


def _drawing(rater: str) -> Draw:
    def draw(*parts: str) -> int:
        """Return a random number that depends on the rater and the parts only."""
        content = "\0".join((rater, *parts)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())

    return draw


def _with_repeats(items: Sequence[Item], draw: Draw) -> Iterator[Item]:
    """Yield the items; one of the first half of each ten comes again among the next ten, or at the end."""
    blocks = [items[start : start + REPEATED] for start in range(0, len(items), REPEATED)]
    due: Item | None = None
    for block in blocks:
        after = draw("place", block[0].text) % len(block)
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
    chosen = min(block[: len(block) // 2], key=lambda item: draw("again", item.text))
    return Item(chosen.text, again=True)
