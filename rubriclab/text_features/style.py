"""Wording of a text: vocabulary, repetition, cohesion between sentences, narration and conversation."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from statistics import fmean

from rubriclab.text_features.feature import DIALOGUE, TextFeature
from rubriclab.text_features.lexicon import CONNECTIVES, DEMONSTRATIVES, FIRST_PERSON, STOCK_REPLIES, THIRD_PERSON
from rubriclab.text_features.text import Text, share

_REPEAT = ("repeat", "repetit", "redundan", "duplicat", "loop", "again")
_FLOW = ("flow", "connect", "transition", "link", "smooth")
_COHESION = ("coheren", "cohes", "logical", "organi", "structure", "sequence", *_FLOW)
_INTEREST = ("specific", "interest", "boring", "dull")
_REFERENCES = THIRD_PERSON | DEMONSTRATIVES
_LONG_WORD = 7

STYLE_FEATURES = (
    TextFeature(
        "distinct_content_words",
        "number of different content words",
        "natural log of different content words + 1",
        ("vari", "divers", "rich", "vocabular", "word choice", "lexical", "descript", "informati", "detail", "idea"),
        ("coverage", "engagement"),
    ),
    # LIX, Björnsson (1968, Läsbarhet).
    TextFeature(
        "long_words",
        f"share of words of {_LONG_WORD} letters or more",
        "share of words",
        ("complex", "sophisticat", "simple", "plain", "read", "difficult", "formal", "advanced", "vocabular"),
    ),
    TextFeature(
        "first_person",
        "words of the first person",
        "share of words",
        ("first person", "first-person", "personal", "opinion", "self", "narrat", "voice", "perspective"),
    ),
    TextFeature(
        "repeated_words",
        "share of content words that were already used",
        "share of content words",
        (*_REPEAT, "vari", "focus"),
        better_low=("engagement",),
    ),
    # Complement of distinct-2, Li et al. (2016, NAACL).
    TextFeature(
        "repeated_bigrams",
        "share of word pairs that occur more than once",
        "share of word pairs",
        _REPEAT,
        better_low=("fluency", "coherence", "coverage", "engagement"),
    ),
    # Ties of Halliday and Hasan (1976, Cohesion in English).
    TextFeature(
        "linked_sentences",
        "share of sentences tied to the one before by a shared word, a reference or a connective",
        "share of sentences after the first; 1 for one sentence",
        _COHESION,
        ("coherence",),
    ),
    # Centering, Grosz et al. (1995, Computational Linguistics).
    TextFeature(
        "reference_starts",
        "share of sentences that open with a pronoun or demonstrative",
        "share of sentences",
        ("pronoun", "refer", "antecedent", "ambigu", *_COHESION),
    ),
    TextFeature(
        "connectives",
        "connecting words",
        "per sentence",
        ("connective", "because", "cause", "reason", "explain", *_COHESION),
        ("coherence", "engagement"),
    ),
    TextFeature(
        "quoted_share",
        "share of the text inside quotation marks",
        "share of characters",
        ("dialog", "quot", "speech", "conversation", "talk", "speak"),
        ("engagement",),
    ),
    TextFeature(
        "characters_named",
        "number of different names written with a capital",
        "names",
        ("character", "name", "people", "cast", "person", "entit", "specific", "concrete"),
    ),
    TextFeature(
        "question_marks",
        "questions",
        "question marks per sentence",
        ("question", "ask", "inquir", "curio", "interact", "invit"),
        ("engagement",),
        tasks=DIALOGUE,
    ),
    # Generic replies of Li et al. (2016, NAACL); own list.
    TextFeature(
        "stock_phrases",
        "share of the text made of phrases that fit anywhere",
        'share of words inside phrases such as "i don\'t know"',
        ("generic", "bland", "vague", "stock", "cliche", "safe", *_INTEREST),
        better_low=("engagement", "coverage"),
        tasks=DIALOGUE,
    ),
)

_QUOTED = re.compile(r'"[^"\n]+"')
_STOCK = re.compile(rf"(?<=\s)(?:{'|'.join(STOCK_REPLIES)})(?=\s)")


def style_features(text: Text) -> dict[str, float]:
    """Values of this module's features; nan for a text without words, save the number of content words."""
    total, sentences = len(text.words), text.sentence_words
    if not total:
        return {feature.name: math.nan for feature in STYLE_FEATURES} | {"distinct_content_words": 0.0}
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
