"""Wording of a text: vocabulary, repetition, cohesion between sentences, narration and conversation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Set
from statistics import fmean

from rubriclab.text_features.lexicon import CONNECTIVES, DEMONSTRATIVES, FIRST_PERSON, STOCK_REPLIES, THIRD_PERSON
from rubriclab.text_features.text import Text, share

_REFERENCES = THIRD_PERSON | DEMONSTRATIVES
_LONG_WORD = 7

_QUOTED = re.compile(r'"[^"\n]+"')
_STOCK = re.compile(rf"(?<=\s)(?:{'|'.join(STOCK_REPLIES)})(?=\s)")


def _stock_phrases(text: Text) -> float:
    words: int = sum(phrase.count(" ") + 1 for phrase in _STOCK.findall(f" {' '.join(text.words)} "))
    return words / len(text.words)


def _repeated_bigrams(text: Text) -> float:
    total = text.bigrams.total()
    return share(total - len(text.bigrams), total)


def _linked_sentences(text: Text) -> float:
    return fmean([_is_linked(text, place) for place in range(1, len(text.sentence_words))] or [1.0])


STYLE_OF_ANY: Mapping[str, Callable[[Text], float]] = {
    "distinct_content_words": lambda text: math.log1p(len(text.content_counts))
}
"""The features of wording that texts without words have too."""

STYLE: Mapping[str, Callable[[Text], float]] = {
    "long_words": lambda text: sum(len(word) >= _LONG_WORD for word in text.words) / len(text.words),
    "first_person": lambda text: _count(text, FIRST_PERSON) / len(text.words),
    "repeated_words": lambda text: 1 - share(len(text.content_counts), len(text.content)),
    "repeated_bigrams": _repeated_bigrams,
    "linked_sentences": _linked_sentences,
    "reference_starts": lambda text: fmean(words[0] in _REFERENCES for words in text.sentence_words),
    "connectives": lambda text: _count(text, CONNECTIVES) / len(text.sentence_words),
    "quoted_share": lambda text: share(sum(map(len, _QUOTED.findall(text.plain))), len(text.plain)),
    "characters_named": lambda text: float(len(text.names)),
    "question_marks": lambda text: (text.raw.count("?") + text.raw.count("？")) / len(text.sentence_words),
    "stock_phrases": _stock_phrases,
}
"""The features of wording of a text with words."""


def _count(text: Text, words: Set[str]) -> int:
    return sum(map(words.__contains__, text.words))


def _is_linked(text: Text, index: int) -> bool:
    before, content = text.sentence_content[index - 1 : index + 1]
    return bool(before & content or (_REFERENCES | CONNECTIVES) & set(text.sentence_words[index][:3]))
