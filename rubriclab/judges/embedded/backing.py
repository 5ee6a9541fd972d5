"""How far one text bears out a sentence, measured in words: what of it is found there, and what is not.

A sentence is held against the few sentences of the other text that together hold most of its words. Numbers and names
have to be found, for a changed one changes everything; of the other words enough have to be, since wordings differ.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rubriclab.text_features.lexicon import FUNCTION_WORDS
from rubriclab.text_features.text import Text, split_words, stem, unify

# Sentences of the other text that one sentence may be put together from.
MOST_SENTENCES = 3

# The share of a sentence's content words that have to be found. In the labelled texts of the shipped sample, sentences
# about another matter stay below 0.3, and sentences that say the same in other words seldom fall below 0.45.
ENOUGH = 0.4

# Words that agree in so many letters count as one: island and islander, inspect and inspection.
ROOT = 6

_WRITTEN = {
    2: "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen",
    17: "seventeen eighteen nineteen twenty",
    3: "third fourth fifth sixth seventh eighth ninth tenth",
}
_TENS = "thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {
    **{word: str(number) for first, words in _WRITTEN.items() for number, word in enumerate(words.split(), first)},
    **{word: f"{tens}0" for tens, word in enumerate(_TENS.split(), 3)},
}

# Numbers that a tokeniser has taken apart: "3, 000" and "98. 7".
_SPACED = re.compile(r"(?<=\d)(?<!\d{4})(?: , ?|, )(?=\d{3}(?!\d))|(?<=\d)(?: \. ?|\. )(?=\d)")


@dataclass(frozen=True, slots=True)
class Backing:
    """What of a sentence is found in another text.

    Attributes:
        words: the number of its different content words.
        found: how many of them are found.
        absent: those that are not, as written.
        decisive: the numbers and names among these.
        sentences: the indices of the sentences that it is found in, the one that holds most of it first.
    """

    words: int
    found: int
    absent: tuple[str, ...]
    decisive: tuple[str, ...]
    sentences: tuple[int, ...]

    @property
    def share(self) -> float:
        """The share of content words that are found; all of none."""
        return self.found / self.words if self.words else 1.0

    @property
    def holds(self) -> bool:
        """Whether the sentence counts as borne out."""
        return self.share >= ENOUGH and not self.decisive


def backing(sentence: str, others: Sequence[str]) -> Backing:
    """Return what of `sentence` is found in the sentences `others`."""
    words, known = roots(sentence), _known(tuple(others))
    places = _places(frozenset(words), known)
    found = frozenset[str]().union(*(known[place] for place in places)) & words.keys()
    decisive = _decisive(sentence, known)
    absent = [root for root in words if root not in found or root in decisive]
    return Backing(
        words=len(words),
        found=len(words) - len(absent),
        absent=tuple(words[root] for root in absent),
        decisive=tuple(words[root] for root in absent if root in decisive),
        sentences=places,
    )


@functools.lru_cache(maxsize=4096)
def roots(text: str) -> dict[str, str]:
    """Return the roots of the content words of a text in their order, each with a word as it is written there.

    The root of a number is its digits, also where it is written in letters.
    """
    joined = _SPACED.sub(lambda gap: gap.group().strip(), unify(text))
    words = [word for word in split_words(joined) if word.lower() not in FUNCTION_WORDS]
    return {_root(word.lower()): word for word in words if len(word) > 1 or word.isdigit() or not word.isascii()}


def _places(wanted: frozenset[str], known: Sequence[frozenset[str]]) -> tuple[int, ...]:
    """Return the sentences that hold what is wanted: each adds more than any other would, the earlier one on ties."""
    chosen: list[int] = []
    while known and len(chosen) < MOST_SENTENCES:
        best = max(range(len(known)), key=lambda place: len(wanted & known[place]))
        if not wanted & known[best]:
            break
        chosen.append(best)
        wanted -= known[best]
    return tuple(chosen)


def _decisive(sentence: str, known: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the roots of names that are not found anywhere, and of numbers that no sentence akin to this one has."""
    wanted = roots(sentence).keys()
    everywhere = frozenset[str]().union(*known)
    names = {root for name in Text(sentence).names if (root := _root(name)) in wanted}
    shared = [wanted & held for held in known]
    company = 1 if len(wanted) == 1 else 2
    numbers = {root for root in wanted if root[0].isdigit()}
    told = {root for held in shared if len(held) >= company for root in held}
    return frozenset((names - everywhere) | (numbers - told))


@functools.lru_cache(maxsize=64)
def _known(sentences: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(roots(sentence)) for sentence in sentences)


def _root(word: str) -> str:
    number = NUMBER_WORDS.get(word) or NUMBER_WORDS.get(word.removesuffix("s"))
    if number:
        return number
    if word[0].isdigit():
        return word.replace(",", "").rstrip("abcdefghijklmnopqrstuvwxyz")
    root = stem(word).rstrip("e")
    if len(root) > 3 and root[-1] == root[-2]:
        root = root[:-1]
    return (f"{root[:-1]}i" if root.endswith("y") else root)[:ROOT] or word
