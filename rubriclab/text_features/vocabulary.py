"""Which words a text uses: variety, difficulty, and kinds of word."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Collection, Sequence
from statistics import fmean

from rubriclab.text_features.definition import Measure
from rubriclab.text_features.lexicon import EMOTION_WORDS, FIRST_PERSON, FUNCTION_WORDS, SECOND_PERSON, THIRD_PERSON
from rubriclab.text_features.text import Text, share

_VARIETY = ("vari", "divers", "rich", "vocabular", "word choice", "lexical", "vivid", "descript")
_DIFFICULTY = ("complex", "sophisticat", "simple", "plain", "read", "difficult", "formal", "advanced", "vocabular")
_EMOTION = ("emotion", "feel", "empath", "mood", "sympath", "affect", "heart", "passion", "relat", "care")

_WINDOW = 25
"""Words a window of the moving-average type-token ratio holds: short enough for summaries of two sentences."""
_LONG_WORD = 7

MEASURES = (
    Measure(
        "word_variety",
        "variety of words in any stretch of the text",
        f"moving-average type-token ratio, windows of {_WINDOW} words",
        "Covington and McFall (2010, Journal of Quantitative Linguistics)",
        (*_VARIETY, "repet"),
        better_high=("engagement", "fluency", "coherence"),
    ),
    Measure(
        "distinct_content_words",
        "number of different content words",
        "natural log of different content words + 1",
        "elementary",
        (*_VARIETY, "informati", "detail", "content", "idea", "concrete", "imag"),
        better_high=("coverage", "engagement"),
    ),
    Measure(
        "content_density",
        "share of words that carry content",
        "share of words that are not function words",
        "lexical density, Ure (1971, Applications of Linguistics)",
        ("dens", "informati", "concise", "content", "filler", "concrete"),
    ),
    Measure(
        "word_length",
        "average word length",
        "characters per word",
        "elementary",
        _DIFFICULTY,
    ),
    Measure(
        "long_words",
        f"share of words of {_LONG_WORD} letters or more",
        "share of words",
        "LIX, Björnsson (1968, Läsbarhet)",
        _DIFFICULTY,
    ),
    Measure(
        "reading_ease",
        "ease of reading",
        "Flesch reading ease, about 0 (hard) to 100 (easy)",
        "Flesch (1948, Journal of Applied Psychology)",
        (*_DIFFICULTY, "easy", "accessib", "clear", "clarity", "understand"),
    ),
    Measure(
        "first_person",
        "words of the first person",
        "share of words",
        "elementary; Pennebaker et al. (2003, Annual Review of Psychology)",
        (
            "first person",
            "first-person",
            "personal",
            "i ",
            "opinion",
            "share",
            "self",
            "narrat",
            "voice",
            "perspective",
        ),
    ),
    Measure(
        "second_person",
        "words that address the reader",
        "share of words",
        "elementary",
        ("address", "you", "reader", "partner", "direct", "interact"),
    ),
    Measure(
        "third_person",
        "pronouns of the third person",
        "share of words",
        "elementary",
        ("pronoun", "refer", "character", "third person", "third-person", "he ", "she "),
    ),
    Measure(
        "emotion_words",
        "words of feeling",
        "per 100 words",
        "own list; Pennebaker et al. (2003, Annual Review of Psychology)",
        _EMOTION,
        better_high=("engagement",),
    ),
    Measure(
        "exclamations",
        "exclamation marks",
        "per 100 words",
        "elementary",
        ("exclam", "excite", "enthusias", "energ", *_EMOTION[:2]),
    ),
)

_VOWELS = re.compile(r"[aeiouyáéíóúàèäöü]+")
_SILENT_E = re.compile(r"[aeiouy][^\W\daeiouy]{1,4}e\b")


def measure_vocabulary(text: Text) -> dict[str, float]:
    """Values of this module's measures; nan for a text without words, save the number of content words."""
    if not text.words:
        return {entry.name: math.nan for entry in MEASURES} | {"distinct_content_words": 0.0}
    words = text.words
    return {
        "word_variety": moving_type_token_ratio(words, _WINDOW),
        "distinct_content_words": math.log1p(len(text.content_counts)),
        "content_density": 1 - _share_in(words, FUNCTION_WORDS),
        "word_length": fmean(map(len, words)),
        "long_words": sum(len(word) >= _LONG_WORD for word in words) / len(words),
        "reading_ease": _reading_ease(text),
        "first_person": _share_in(words, FIRST_PERSON),
        "second_person": _share_in(words, SECOND_PERSON),
        "third_person": _share_in(words, THIRD_PERSON),
        "emotion_words": 100 * _share_in(words, EMOTION_WORDS),
        "exclamations": 100 * (text.raw.count("!") + text.raw.count("！")) / len(words),
    }


def moving_type_token_ratio(words: Sequence[str], window: int) -> float:
    """Mean share of different words over all windows of `window` words; over the whole when it is shorter."""
    if len(words) <= window:
        return share(len(set(words)), len(words))
    counts: Counter[str] = Counter()
    inside: deque[str] = deque()
    total = 0
    for word in words:
        inside.append(word)
        counts[word] += 1
        if len(inside) > window:
            gone = inside.popleft()
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        if len(inside) == window:
            total += len(counts)
    return total / (window * (len(words) - window + 1))


def _share_in(words: Sequence[str], listed: Collection[str]) -> float:
    return sum(word in listed for word in words) / len(words)


def _reading_ease(text: Text) -> float:
    syllables = len(_VOWELS.findall(text.padded)) - len(_SILENT_E.findall(text.padded))
    if syllables <= 0:
        return math.nan
    return 206.835 - 1.015 * len(text.words) / len(text.sentences) - 84.6 * syllables / len(text.words)
