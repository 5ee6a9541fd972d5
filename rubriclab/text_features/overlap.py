"""What of the source returns in the output, and from where in the source it was taken."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from rapidfuzz.distance import LCSseq

from rubriclab.text_features.definition import NEEDS_SOURCE, Measure
from rubriclab.text_features.text import Text, share

_OVERLAP = (
    "source",
    "article",
    "input",
    "original",
    "overlap",
    "support",
    "faithful",
    "accura",
    "ground",
    "prompt",
    "topic",
)
_COVERAGE = (
    "cover",
    "key",
    "main",
    "important",
    "informati",
    "relevan",
    "essential",
    "central",
    "point",
    "capture",
    "complete",
)
_COPY = ("copy", "copied", "verbatim", "extract", "paraphras", "novel", "own words", "abstract")
_ORDER = ("order", "chronolog", "sequence", "structure", "organi", "logical", "flow")
_ROUGE = "Lin (2004, Text Summarization Branches Out)"

_COMPARED_WORDS = 5_000
"""Words aligned by the longest common subsequence, and sentences matched: both are quadratic."""
_MATCHED_SENTENCES = 300
_SOURCE_SENTENCES = 2_000
_LEAD_SENTENCES = 3
_FREQUENT_WORDS = 10

MEASURES = (
    Measure(
        "words_from_source",
        "share of content words that stand in the source",
        "share of content words",
        f"ROUGE-1 precision against the source, {_ROUGE}",
        _OVERLAP,
        NEEDS_SOURCE,
        better_high=("faithfulness", "coherence", "coverage"),
        tasks=("summarization", "story"),
    ),
    Measure(
        "bigrams_from_source",
        "share of word pairs that stand in the source",
        "share of word pairs",
        f"ROUGE-2 precision against the source, {_ROUGE}",
        (*_OVERLAP, *_COPY),
        NEEDS_SOURCE,
        better_high=("faithfulness", "fluency"),
        tasks=("summarization",),
    ),
    Measure(
        "fourgrams_from_source",
        "share of four-word runs that stand in the source",
        "share of four-word runs",
        "complement of the novel n-grams of See et al. (2017, ACL)",
        (*_OVERLAP, *_COPY),
        NEEDS_SOURCE,
        better_high=("faithfulness", "fluency"),
        tasks=("summarization",),
    ),
    Measure(
        "source_words_covered",
        "share of the source's distinct content words that return",
        "share of distinct content words of the source",
        f"ROUGE-1 recall against the source, {_ROUGE}",
        _COVERAGE,
        NEEDS_SOURCE,
        better_high=("coverage",),
        tasks=("summarization", "story"),
    ),
    Measure(
        "source_mass_covered",
        "share of the source's content covered, frequent words counting more",
        "share of the source's running content words",
        "after SumBasic, Nenkova and Vanderwende (2005, Microsoft Research)",
        _COVERAGE,
        NEEDS_SOURCE,
        better_high=("coverage",),
        tasks=("summarization", "story"),
    ),
    Measure(
        "frequent_words_covered",
        "share of the source's ten most frequent content words that return",
        "share of ten words",
        "topic words of Luhn (1958, IBM Journal)",
        (*_COVERAGE, "topic", "theme", "subject"),
        NEEDS_SOURCE,
        better_high=("coverage", "coherence"),
        tasks=("summarization", "story"),
    ),
    Measure(
        "in_source_order",
        "share of words that follow the source's order",
        "longest common subsequence over words of the output",
        f"ROUGE-L precision against the source, {_ROUGE}",
        (*_ORDER, *_OVERLAP),
        NEEDS_SOURCE,
        better_high=("faithfulness", "coherence"),
        tasks=("summarization",),
    ),
    Measure(
        "lead_covered",
        "share of the content of the source's first three sentences that returns",
        "share of distinct content words of the lead",
        "lead baseline of news summarization, Nenkova (2005, AAAI)",
        (*_COVERAGE, "lead", "begin", "opening", "first"),
        NEEDS_SOURCE,
        better_high=("coverage", "coherence"),
        tasks=("summarization", "story"),
    ),
    Measure(
        "words_from_lead",
        "share of content words that stand in the source's first three sentences",
        "share of content words",
        "lead baseline of news summarization, Nenkova (2005, AAAI)",
        ("lead", "begin", "opening", "first", "main", "focus"),
        NEEDS_SOURCE,
        better_high=("coverage", "coherence"),
        tasks=("summarization",),
    ),
    Measure(
        "source_position",
        "average place in the source of the sentences drawn on",
        "0 for its first sentence to 1 for its last",
        "location method of Edmundson (1969, Journal of the ACM)",
        ("lead", "begin", "late", "position", *_ORDER),
        NEEDS_SOURCE,
        better_low=("coverage", "coherence"),
        tasks=("summarization",),
    ),
    Measure(
        "ascending_sentences",
        "share of neighbouring sentences that keep the source's order",
        "share of neighbouring pairs; 1 for a single sentence",
        "order agreement after Lapata (2006, Computational Linguistics)",
        _ORDER,
        NEEDS_SOURCE,
        better_high=("coherence",),
        tasks=("summarization",),
    ),
    Measure(
        "divergence_from_source",
        "distance between the word distributions of text and source",
        "Jensen-Shannon divergence in bits, 0 to 1",
        "Louis and Nenkova (2013, Computational Linguistics)",
        (*_COVERAGE, "topic", "divers", "similar"),
        NEEDS_SOURCE,
        better_low=("coverage", "faithfulness"),
        tasks=("summarization",),
    ),
)


def measure_overlap(text: Text, source: Text) -> dict[str, float]:
    """Values of this module's measures; nan where either side has no content words."""
    content, original = text.content_counts, source.content_counts
    common = content.keys() & original.keys()
    lead = frozenset[str]().union(*source.sentence_content_sets[:_LEAD_SENTENCES])
    top = [word for word, _ in original.most_common(_FREQUENT_WORDS)]
    return {
        "words_from_source": share(sum(content[word] for word in common), len(text.content)),
        "bigrams_from_source": _precision(text.ngram_counts[2], source.ngram_counts[2]),
        "fourgrams_from_source": _precision(text.ngram_counts[4], source.ngram_counts[4]),
        "source_words_covered": share(len(common), len(original)),
        "source_mass_covered": share(sum(original[word] for word in common), len(source.content)),
        "frequent_words_covered": share(sum(word in content for word in top), len(top)),
        "in_source_order": _ordered_share(text.words[:_COMPARED_WORDS], source.words[:_COMPARED_WORDS]),
        "lead_covered": share(len(lead & content.keys()), len(lead)),
        "words_from_lead": share(sum(content[word] for word in common & lead), len(text.content)),
        **_positions(text, source),
        "divergence_from_source": _jensen_shannon(content, original),
    }


def _precision(counts: Counter[tuple[str, ...]], original: Counter[tuple[str, ...]]) -> float:
    return share(sum(count for gram, count in counts.items() if gram in original), counts.total())


def _ordered_share(words: Sequence[str], source: Sequence[str]) -> float:
    return share(LCSseq.similarity(words, source), len(words)) if source else math.nan


def _positions(text: Text, source: Text) -> dict[str, float]:
    drawn_on = matched_sentences(text, source)
    if not drawn_on:
        return {"source_position": math.nan, "ascending_sentences": math.nan}
    last = max(1, min(len(source.sentences), _SOURCE_SENTENCES) - 1)
    steps = [later >= earlier for earlier, later in pairwise(drawn_on)]
    return {
        "source_position": fmean(drawn_on) / last,
        "ascending_sentences": fmean(steps) if steps else 1.0,
    }


def matched_sentences(text: Text, source: Text) -> list[int]:
    """For each sentence that shares content with the source: the index of the source sentence nearest to it.

    Nearest is the largest sum of shared content words, each weighed by how few source sentences hold it;
    the earlier one on ties.
    """
    matches = []
    for words in text.sentence_content_sets[:_MATCHED_SENTENCES]:
        scores: dict[int, float] = {}
        for word in sorted(words):
            places = source.places.get(word, ())
            for place in places[:_SOURCE_SENTENCES]:
                scores[place] = scores.get(place, 0.0) + 1 / len(places)
        if scores:
            matches.append(min(scores, key=lambda place: (-scores[place], place)))
    return matches


def _jensen_shannon(left: Counter[str], right: Counter[str]) -> float:
    left_total, right_total = left.total(), right.total()
    if not left_total or not right_total:
        return math.nan
    divergence = 0.0
    for word, count in left.items():
        p, q = count / left_total, right.get(word, 0) / right_total
        divergence += p * math.log2(2 * p / (p + q)) + (q * math.log2(2 * q / (p + q)) if q else 0.0)
    unseen = sum(count for word, count in right.items() if word not in left)
    return (divergence + unseen / right_total) / 2
