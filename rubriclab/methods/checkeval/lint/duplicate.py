"""Questions that ask again what another one asks, or whether it is not so: both count one observation twice.

Questions are compared by the words that carry what is asked: without grammar, without the text's own name, and with
words of one meaning made one. Their order does not matter ("is each claim backed by a source" is "does a source back
each claim"), unless what stands before and after the verb has changed places: "does the cause precede the effect?".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from rubriclab.methods import grammar
from rubriclab.methods.checkeval.lint.parsing import ParsedQuestion, parse_question
from rubriclab.methods.grammar import word_set

# Both of 100. Two questions are the same above the first, unless each has a word of its own that resembles no word of
# the other above the second: "the first sentence" and "the last sentence" share all other words.
SAME_ABOVE = 88.0
ALIKE_ABOVE = 75.0

_NEGATIONS = word_set("absence avoid avoiding avoids devoid free lack lacks never no none not nothing without")
_GRAMMAR = grammar.AUXILIARIES | grammar.CONJUNCTIONS | grammar.DETERMINERS | grammar.PREPOSITIONS
_EMPTY = (_GRAMMAR | grammar.PRONOUNS | grammar.RELATIVES | _NEGATIONS) - word_set("one two three about after before")
# Words of every question, and verbs that only say that something is there: what is asked differs by the thing.
_EMPTY |= word_set(
    ", : ; ? all also any at be been being clear email essay ever letter message output poem reply response story"
    " summary text there ask cite contain express give given have hold include mention name present provide report say"
    " show state tell"
)
# One word for each meaning.
_SYNONYMS = {
    word: words.split()[0]
    for words in (
        "about treat deal discuss concern",
        "one single",
        "error mistake fault",
        "support back confirm bear",
        "contradict conflict disagree contradiction",
        "repeat repetition repetitive restate duplicate",
        "main central key chief principal core important",
        "begin start open opening beginning",
        "end close ending conclusion conclude",
        "reader someone anyone audience",
        "answer respond",
        "understand follow grasp comprehend",
    )
    for word in words.split()
}
# What is said of two things by these is said of them the other way round as well.
_MUTUAL = frozenset({"agree", "contradict", "differ", "match", "resemble"})
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


def gist(question: ParsedQuestion) -> Gist:
    """Return what `question` asks."""
    words, verb, start = question.words, question.main_verb(), (question.auxiliary or 0) + 1
    carrying = {_meaning(word) for word in words if not _EMPTY & _forms(word)}
    sides = {
        word: (_side(words[start:i]), _side(words[i + 1 :]))
        for i, word in enumerate(words)
        if (i == verb or word in _RELATING) and _meaning(word) not in _MUTUAL
    }
    return Gist(" ".join(sorted(carrying)), sum(word in _NEGATIONS for word in words), sides)


def same(a: Gist, b: Gist) -> str | None:
    """Return how two questions repeat each other, if they do."""
    if not _alike(a, b) or (_has_own(a, b) and _has_own(b, a)) or _turned(a, b):
        return None
    return "asks the opposite of" if (a.negations - b.negations) % 2 else "asks the same as"


def contrary(one: str, other: str) -> bool:
    """Return whether two questions ask about much the same words and one is the other's denial or its mirror image."""
    both = parse_question(one), parse_question(other)
    own = [set(a.words) - set(b.words) for a, b in (both, both[::-1])]
    if [len(words) for words in own] == [1, 1]:
        shorter, longer = sorted((*own[0], *own[1]), key=len)
        if any(longer == f"{prefix}{shorter}" for prefix in _DENYING):
            return True
    a, b = map(gist, both)
    return _alike(a, b) and (_turned(a, b) or bool((a.negations - b.negations) % 2))


def _alike(a: Gist, b: Gist) -> bool:
    return bool(a.words) and fuzz.token_sort_ratio(a.words, b.words) >= SAME_ABOVE


def _side(words: Sequence[str]) -> frozenset[str]:
    """Return what is named, the text itself too: "is the summary longer than the source?"."""
    return frozenset(_meaning(word) for word in words if word not in _GRAMMAR and word[0].isalnum())


def _turned(a: Gist, b: Gist) -> bool:
    pairs = ((a.sides[word], b.sides[word]) for word in a.sides.keys() & b.sides.keys())
    return any(one[0] & other[1] and one[1] & other[0] for one, other in pairs)


def _has_own(a: Gist, b: Gist) -> bool:
    others = b.words.split()
    return any(all(fuzz.ratio(word, other) < ALIKE_ABOVE for other in others) for word in a.words.split())


def _forms(word: str) -> set[str]:
    stem = _ENDINGS.sub("", word)
    return {word, stem, f"{stem}e"}


def _meaning(word: str) -> str:
    stem = _ENDINGS.sub("", word)
    return next((_SYNONYMS[form] for form in (word, stem, f"{stem}e") if form in _SYNONYMS), stem.removesuffix("e"))
