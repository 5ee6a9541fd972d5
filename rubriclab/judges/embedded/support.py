"""How far one text supports a sentence, measured in words; and the clauses of a sentence, which stand for its facts.

A sentence is compared with the few sentences of the other text that together hold most of its words. Numbers and names
have to occur there, since a changed one changes everything; of the other words enough have to, since wordings differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rubriclab.size_cache import cached_by_size
from rubriclab.text_features.lexicon import ARTICLES, AUXILIARIES, DEMONSTRATIVES, FUNCTION_WORDS, THIRD_PERSON
from rubriclab.text_features.text import Text, split_words, stem, unify

# Sentences of the other text that one sentence may draw on.
MOST_SENTENCES = 3

# The share of a sentence's content words that have to occur. In the labelled texts of the shipped sample, sentences
# about another matter stay below 0.3, and sentences that say the same in other words seldom fall below 0.45.
ENOUGH = 0.4

# Words that agree in so many letters count as one: island and islander, inspect and inspection.
ROOT_LENGTH = 6

# A clause of fewer content words stays with the one before it.
FEWEST_WORDS = 3

# Numbers that a tokeniser has taken apart: "3, 000" and "98. 7".
_SPACED = re.compile(r"(?<=\d)(?<!\d{4})(?: , ?|, )(?=\d{3}(?!\d))|(?<=\d)(?: \. ?|\. )(?=\d)")
_WRITTEN = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_NUMBER_WORDS = {word: place for place, word in enumerate(_WRITTEN.split(" ")) if place > 1}

_SUBJECTS = "|".join(sorted(ARTICLES | AUXILIARIES | DEMONSTRATIVES | THIRD_PERSON, key=len, reverse=True))
_BREAK = re.compile(
    r"\s*[;:](?=\s)|\s+(?:-{1,2}|[–—])\s+|[–—]|\s*[()\[\]]\s*"
    r"|\s*,\s+(?=(?:and|but|or|yet|so|which|who|where|when|while|because|although|though|after|before|since|until|if)\s)"
    rf"|\s+(?=(?:(?:and|but)\s+(?:{_SUBJECTS})|because|although|whereas)\s)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Support:
    """What of a sentence occurs in another text.

    Attributes:
        words: the number of its different content words.
        found: how many of them occur.
        absent: those that do not, as written.
        decisive: the numbers and names among these.
        sentences: the indices of the sentences drawn on, the one that holds most words first.
    """

    words: int
    found: int
    absent: tuple[str, ...]
    decisive: tuple[str, ...]
    sentences: tuple[int, ...]

    @property
    def share(self) -> float:
        """The share of content words that occur; 1 for a sentence without any."""
        return self.found / self.words if self.words else 1.0

    @property
    def holds(self) -> bool:
        """Whether the sentence counts as supported."""
        return self.share >= ENOUGH and not self.decisive


def support(sentence: str, others: Sequence[str]) -> Support:
    """Return how the sentences `others` support `sentence`."""
    words, known = roots(sentence), [frozenset(roots(other)) for other in others]
    places = _places(frozenset(words), known)
    found = frozenset[str]().union(*(known[place] for place in places)) & words.keys()
    decisive = _decisive(sentence, known)
    absent = [root for root in words if root not in found or root in decisive]
    return Support(
        words=len(words),
        found=len(words) - len(absent),
        absent=tuple(words[root] for root in absent),
        decisive=tuple(words[root] for root in absent if root in decisive),
        sentences=places,
    )


@cached_by_size(2**20)
def roots(text: str) -> dict[str, str]:
    """Return the roots of the content words of a text in their order, each with a word as it is written there."""
    joined = _SPACED.sub(lambda gap: gap.group().strip(), unify(text))
    words = [word for word in split_words(joined) if word.lower() not in FUNCTION_WORDS]
    return {_root(word.lower()): word for word in words if len(word) > 1 or word.isdigit() or not word.isascii()}


def shared(sentence: str, other: str) -> float:
    """Return the share of a sentence's content words that another one has; 0 without any."""
    words = roots(sentence).keys()
    return len(words & roots(other).keys()) / len(words) if words else 0.0


def _root(word: str) -> str:
    if word[0].isdigit() or word in _NUMBER_WORDS:
        return str(_NUMBER_WORDS.get(word, word)).replace(",", "").rstrip("abcdefghijklmnopqrstuvwxyz")
    root = stem(word).rstrip("e")
    if len(root) > 3 and root[-1] == root[-2]:
        root = root[:-1]
    return (f"{root[:-1]}i" if root.endswith("y") else root)[:ROOT_LENGTH] or word


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
    """Return the roots of names that occur nowhere, and of numbers that no sentence on the same matter has."""
    wanted = roots(sentence).keys()
    names = {root for name in Text(sentence).names if (root := _root(name)) in wanted}
    numbers = {root for root in wanted if root[0].isdigit()}
    fewest = 1 if len(wanted) == 1 else 2
    related = frozenset[str]().union(*(words for words in known if len(wanted & words) >= fewest))
    return frozenset(names - frozenset[str]().union(*known) | numbers - related)


def clauses(sentence: str) -> tuple[str, ...]:
    """Return the clauses of a sentence in their order, each with content words of its own; at least one."""
    cuts = [0, *(match.start() for match in _BREAK.finditer(sentence)), len(sentence)]
    pieces: list[str] = []
    for start, end in pairwise(cuts):
        if pieces and min(len(roots(sentence[start:end])), len(roots(pieces[-1]))) < FEWEST_WORDS:
            pieces[-1] += sentence[start:end]
        else:
            pieces.append(sentence[start:end])
    return tuple(piece.strip(" \t\n,;:-–—()[]") or piece for piece in pieces)
