"""Wording of a text: vocabulary, repetition, cohesion between sentences, narration and conversation."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from statistics import fmean

from rubriclab.text_features.lexicon import CONNECTIVES, DEMONSTRATIVES, FIRST_PERSON, STOCK_REPLIES, THIRD_PERSON
from rubriclab.text_features.text import Text, share

_REFERENCES = THIRD_PERSON | DEMONSTRATIVES
_LONG_WORD = 7

_QUOTED = re.compile(r'"[^"\n]+"')
_STOCK = re.compile(rf"(?<=\s)(?:{'|'.join(STOCK_REPLIES)})(?=\s)")


def style_features(text: Text) -> dict[str, float]:
    """Values of the features of wording; for a text without words of the number of content words alone."""
    total, sentences = len(text.words), text.sentence_words
    if not total:
        return {"distinct_content_words": 0.0}
    stock = sum(phrase.count(" ") + 1 for phrase in _STOCK.findall(f" {' '.join(text.words)} "))
    bigrams = text.bigrams
    return {
        "distinct_content_words": math.log1p(len(text.content_counts)),
        "long_words": sum(len(word) >= _LONG_WORD for word in text.words) / total,
        "first_person": _count(text, FIRST_PERSON) / total,
        "repeated_words": 1 - share(len(text.content_counts), len(text.content)),
        "repeated_bigrams": share(bigrams.total() - len(bigrams), bigrams.total()),
        "linked_sentences": fmean([_is_linked(text, i) for i in range(1, len(sentences))] or [1.0]),
        "reference_starts": fmean(words[0] in _REFERENCES for words in sentences),
        "connectives": _count(text, CONNECTIVES) / len(sentences),
        "quoted_share": share(sum(map(len, _QUOTED.findall(text.plain))), len(text.plain)),
        "characters_named": float(len(text.names)),
        "question_marks": (text.raw.count("?") + text.raw.count("？")) / len(sentences),
        "stock_phrases": stock / total,
    }


def _count(text: Text, words: Collection[str]) -> int:
    return sum(word in words for word in text.words)


def _is_linked(text: Text, index: int) -> bool:
    before, content = text.sentence_content[index - 1 : index + 1]
    return bool(before & content or (_REFERENCES | CONNECTIVES) & set(text.sentence_words[index][:3]))
