"""Questions that ask again what another one asks, or whether it is not so.

Both count one observation twice. Questions of one checklist share most of their words ("Does the summary ..."), so they
are compared by those that carry what is asked: without grammar, without the text's own name, and with words of one
meaning made one. Their order does not matter ("is each claim backed by a source" is "does a source back each claim"),
unless what stands before and after the same verb has changed places: "does the cause precede the effect?".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from rubriclab.methods.checkeval.lint.reading import Reading, read
from rubriclab.methods.grammar import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    word_set,
)

# Both of 100. Two questions are the same above the first, unless each has a word of its own that resembles no word of
# the other above the second: "the first sentence" and "the last sentence" share all other words.
SAME_ABOVE = 88.0
ALIKE_ABOVE = 75.0

_NEGATIONS = word_set(
    "absence avoid avoided avoiding avoids devoid free lack lacks never no none not nothing refrain without"
)
_EMPTY = (
    AUXILIARIES
    | CONJUNCTIONS
    | DETERMINERS - {"one", "two", "three", "no", "what", "which", "whose"}
    | PREPOSITIONS - {"before", "after", "about"}
    | PRONOUNS - {"nothing"}
    | RELATIVES
    | _NEGATIONS
    | word_set(
        ", : ; ? all also any at be been being clear email essay ever letter message output own poem reply response "
        "story summary text there"
    )
)
# Verbs that only say that something is there: what is asked differs by the thing.
_HOLDING = word_set(
    "ask cite contain express give given have hold include mention name present provide report say show state tell"
)
# One word for each meaning.
_SYNONYMS = {
    word: meaning
    for meaning, words in {
        "about": "about treat deal discuss concern",
        "one": "one single",
        "error": "mistake fault error",
        "support": "back confirm support bear",
        "contradict": "contradict conflict disagree contradiction",
        "repeat": "repeat repetition repetitive restate duplicate",
        "main": "main central key chief principal core important",
        "begin": "begin start open opening beginning",
        "end": "end close ending conclusion conclude",
        "reader": "reader someone anyone audience",
        "answer": "answer reply respond",
        "understand": "understand follow grasp comprehend",
    }.items()
    for word in words.split()
}
# What is said of two things by these is said of them the other way round as well.
_MUTUAL = frozenset({"agree", "contradict", "differ", "match", "resemble"})
_GRAMMAR = AUXILIARIES | CONJUNCTIONS | DETERMINERS | PREPOSITIONS
# Besides the verb, what things change places around.
_RELATING = frozenset({"after", "before", "by", "than"})
# Before a word these deny it.
_DENYING = ("dis", "un", "in", "im", "ir", "il", "non", "non-")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ations?|ions?|ings?|ed|es|(?<!s)s|ly)$")


@dataclass(frozen=True)
class Gist:
    """What a question asks, as sorted words, and how many negations turn it round.

    `sides` are the words before and after its verb, and whatever else relates two things.
    """

    words: str
    negations: int
    sides: Mapping[str, tuple[frozenset[str], frozenset[str]]]


def gist(question: Reading) -> Gist:
    """Return what `question` asks."""
    negations = sum(word in _NEGATIONS for word in question.words)
    return Gist(" ".join(sorted(_carrying(question.words))), negations, _sides(question))


def same(a: Gist, b: Gist) -> str | None:
    """Return how two questions repeat each other, if they do."""
    if not a.words or fuzz.token_sort_ratio(a.words, b.words) < SAME_ABOVE or (_has_own(a, b) and _has_own(b, a)):
        return None
    if _turned(a, b):
        return None
    return "asks the opposite of" if (a.negations - b.negations) % 2 else "asks the same as"


def contrary(one: str, other: str) -> bool:
    """Return whether two questions ask about much the same words and one is the other's denial or its mirror image."""
    mine, theirs = read(one), read(other)
    if _prefixed(frozenset(mine.words), frozenset(theirs.words)):
        return True
    a, b = gist(mine), gist(theirs)
    if not a.words or fuzz.token_sort_ratio(a.words, b.words) < SAME_ABOVE:
        return False
    return _turned(a, b) or bool((a.negations - b.negations) % 2)


def _prefixed(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether the only words not shared are each other's denial by a prefix: agree and disagree."""
    if len(a - b) != 1 or len(b - a) != 1:
        return False
    shorter, longer = sorted((*(a - b), *(b - a)), key=len)
    return longer.endswith(shorter) and longer.removesuffix(shorter) in _DENYING


def _carrying(words: Sequence[str]) -> frozenset[str]:
    return frozenset(_meaning(word) for word in words if word not in _EMPTY and not _holds(word))


def _sides(question: Reading) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    words = question.words
    verb = question.main_verb()
    places = [i for i, word in enumerate(words) if i == verb or word in _RELATING]
    start = (question.auxiliary or 0) + 1
    return {
        words[i]: (_side(words[start:i]), _side(words[i + 1 :])) for i in places if _meaning(words[i]) not in _MUTUAL
    }


def _side(words: Sequence[str]) -> frozenset[str]:
    """Return what is named, the text itself too: "is the summary longer than the source?"."""
    return frozenset(_meaning(word) for word in words if word not in _GRAMMAR and word[0].isalnum())


def _turned(a: Gist, b: Gist) -> bool:
    shared = ((a.sides[word], b.sides[word]) for word in a.sides.keys() & b.sides.keys())
    return any(mine[0] & theirs[1] and mine[1] & theirs[0] for mine, theirs in shared)


def _has_own(a: Gist, b: Gist) -> bool:
    others = b.words.split()
    return any(all(fuzz.ratio(word, other) < ALIKE_ABOVE for other in others) for word in a.words.split())


def _holds(word: str) -> bool:
    return bool({word, _ENDINGS.sub("", word), _ENDINGS.sub("e", word)} & _HOLDING)


def _meaning(word: str) -> str:
    stem = _ENDINGS.sub("", word)
    return _SYNONYMS.get(word) or _SYNONYMS.get(stem) or _SYNONYMS.get(stem + "e") or stem.removesuffix("e")
