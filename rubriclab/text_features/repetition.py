"""How much a text says again what it has said."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from itertools import combinations

from rubriclab.text_features.definition import Measure
from rubriclab.text_features.text import Text, jaccard, share

_REPEAT = ("repeat", "repetit", "redundan", "duplicat", "loop", "again")
_PAIRWISE_SENTENCES = 80
"""Sentences compared with each other: the comparison is quadratic."""
_COMPRESSED_CHARACTERS = 100_000

MEASURES = (
    Measure(
        "repeated_words",
        "share of content words that were already used",
        "share of content words",
        "elementary; complement of the type-token ratio of content words",
        (*_REPEAT, "vari", "focus"),
        better_low=("engagement",),
    ),
    Measure(
        "repeated_bigrams",
        "share of word pairs that occur more than once",
        "share of word pairs",
        "complement of distinct-2, Li et al. (2016, NAACL)",
        _REPEAT,
        better_low=("fluency", "coherence", "coverage", "engagement"),
    ),
    Measure(
        "repeated_fourgrams",
        "share of four-word runs that occur more than once",
        "share of four-word runs",
        "after the repetition rates of Welleck et al. (2020, ICLR)",
        (*_REPEAT, "copy", "copied"),
        better_low=("fluency", "coherence", "coverage", "engagement"),
    ),
    Measure(
        "repeated_sentences",
        "share of sentences whose content words all stood in one earlier sentence",
        "share of sentences",
        "elementary",
        (*_REPEAT, "sentence"),
        better_low=("fluency", "coherence", "coverage", "engagement"),
    ),
    Measure(
        "most_similar_sentences",
        "similarity of the two most similar sentences",
        "Jaccard index of content words, 0 to 1",
        "after maximal marginal relevance, Carbonell and Goldstein (1998, SIGIR)",
        (*_REPEAT, "overlap", "sentence"),
        better_low=("coherence", "coverage", "engagement"),
    ),
    Measure(
        "compressed_size",
        "size after compression",
        "compressed bytes per byte (zlib)",
        "Ziv and Lempel (1977, IEEE Transactions on Information Theory)",
        (*_REPEAT, "dense", "densit", "predictab"),
    ),
)


def measure_repetition(text: Text) -> dict[str, float]:
    """Values of this module's measures; nan where the text is too short to repeat anything."""
    return {
        "repeated_words": 1 - share(len(text.content_counts), len(text.content)),
        "repeated_bigrams": _repeated(text.ngram_counts[2]),
        "repeated_fourgrams": _repeated(text.ngram_counts[4]),
        **_sentence_repetition(text.sentence_content_sets[:_PAIRWISE_SENTENCES]),
        "compressed_size": _compressed(text.raw[:_COMPRESSED_CHARACTERS]),
    }


def _repeated(counts: Counter[tuple[str, ...]]) -> float:
    total = counts.total()
    return share(total - len(counts), total)


def _sentence_repetition(sentences: tuple[frozenset[str], ...]) -> dict[str, float]:
    if not sentences:
        return {"repeated_sentences": math.nan, "most_similar_sentences": math.nan}
    pairs = list(combinations(range(len(sentences)), 2))
    similar = max((jaccard(sentences[i], sentences[j]) for i, j in pairs), default=0.0)
    again = {j for i, j in pairs if sentences[j] and sentences[j] <= sentences[i]}
    return {"repeated_sentences": len(again) / len(sentences), "most_similar_sentences": similar}


def _compressed(raw: str) -> float:
    data = raw.encode("utf-8", "surrogatepass")
    return share(len(zlib.compress(data)), len(data))
