"""What an output takes from its source or context: shared words, copied runs, supported and unsupported content."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

from rubriclab.text_features.feature import DIALOGUE, NEEDS_CONTEXT, NEEDS_SOURCE, SUMMARIZATION, TextFeature
from rubriclab.text_features.text import Text, share

_OVERLAP = ("source", "article", "input", "original", "overlap", "support", "faithful", "accura", "ground", "topic")
_MAIN = ("key", "main", "important", "essential", "central", "point")
_COVERAGE = ("cover", "informati", "relevan", "capture", "complete", *_MAIN)
_COPY = ("copy", "copied", "verbatim", "extract", "paraphras", "novel", "own words", "abstract")
_FACTS = (
    "fact",
    "accura",
    "consisten",
    "hallucinat",
    "support",
    "correct",
    "faithful",
    "invent",
    "contradict",
    "verif",
)
_USE = ("fact", "knowledge", "ground", "context", "informati", "condition", "use", "evidence")
_REPLY = ("respon", "reply", "previous", "last", "turn", "conversation", "answer", "relevan", "on-topic", "history")

_SEARCHED_WORDS = 5_000
"""Words searched on either side: finding the copied runs is quadratic in the worst case."""
_FREQUENT_WORDS = 10
_SHORT_RUN = 4

# Shares of n-grams are ROUGE against the source (Lin 2004, Text Summarization Branches Out); copied runs are the
# fragments of Grusky et al. (2018, NAACL, section 4).
SOURCE_FEATURES = (
    TextFeature(
        "words_from_source",
        "share of content words that stand in the source",
        "share of content words",
        _OVERLAP,
        ("faithfulness", "coherence", "coverage"),
        needs=NEEDS_SOURCE,
        tasks=("summarization", "story"),
    ),
    TextFeature(
        "bigrams_from_source",
        "share of word pairs that stand in the source",
        "share of word pairs",
        (*_OVERLAP, *_COPY),
        ("faithfulness", "fluency"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "fourgrams_from_source",
        "share of four-word runs that stand in the source",
        "share of four-word runs",
        (*_OVERLAP, *_COPY),
        ("faithfulness", "fluency"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "source_words_covered",
        "share of the source's distinct content words that return",
        "share of distinct content words of the source",
        _COVERAGE,
        ("coverage",),
        needs=NEEDS_SOURCE,
        tasks=("summarization", "story"),
    ),
    # Topic words of Luhn (1958, IBM Journal).
    TextFeature(
        "frequent_words_covered",
        "share of the source's ten most frequent content words that return",
        "share of ten words",
        (*_COVERAGE, "topic", "theme", "subject"),
        ("coverage", "coherence"),
        needs=NEEDS_SOURCE,
        tasks=("summarization", "story"),
    ),
    # Louis and Nenkova (2013, Computational Linguistics).
    TextFeature(
        "divergence_from_source",
        "distance between the word distributions of text and source",
        "Jensen-Shannon divergence in bits, 0 to 1",
        (*_COVERAGE, "topic", "divers", "similar"),
        better_low=("coverage", "faithfulness"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "copied_share",
        "share of words inside runs copied from the source",
        "share of words (coverage)",
        (*_COPY, "original", "support", "faithful"),
        ("faithfulness", "fluency"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "longest_copy",
        "longest run of words copied from the source",
        "words",
        (*_COPY, "original"),
        ("faithfulness", "fluency"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "splices",
        "short copied runs, the seams of a text pasted together",
        "runs of at most four words, per 100 words",
        ("fragment", "splice", "stitch", "patch", "disjoint", "fluen", "smooth", "gramma"),
        better_low=("fluency", "faithfulness"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "length_to_source",
        "length relative to the source",
        "words of the output per word of the source, as natural log",
        ("compress", "concise", "length", "brief", "ratio", "short", "long"),
        ("coverage",),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    # After Zhao et al. (2020, Findings of EMNLP).
    TextFeature(
        "unsupported_numbers",
        "numbers that the source does not have",
        "per 100 words",
        (*_FACTS, "number", "figure", "date", "quantit", "statistic"),
        better_low=("faithfulness",),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    # Aggregation over sentences of Laban et al. (2022, TACL), here on words.
    TextFeature(
        "least_supported_sentence",
        "support of the sentence with the least of its content in the source",
        "share of that sentence's content words",
        (*_FACTS, "source", "ground", "claim", "statement"),
        ("faithfulness", "coverage"),
        needs=NEEDS_SOURCE,
        tasks=SUMMARIZATION,
    ),
    TextFeature(
        "last_turn_overlap",
        "share of content words that take up the last line of the source",
        "share of content words",
        _REPLY,
        ("coherence",),
        needs=NEEDS_SOURCE,
        tasks=DIALOGUE,
    ),
)
# Knowledge overlap after Dinan et al. (2019, ICLR), recall.
CONTEXT_FEATURES = (
    TextFeature(
        "context_covered",
        "share of the context's distinct content words that return",
        "share of distinct content words of the context",
        _USE,
        ("faithfulness", "coverage", "engagement"),
        needs=NEEDS_CONTEXT,
    ),
)


def source_features(text: Text, source: Text | None) -> dict[str, float]:
    """Values of `SOURCE_FEATURES`; nan for all without words in the source, and for shares of an empty text."""
    if source is None or not source.words:
        return {feature.name: math.nan for feature in SOURCE_FEATURES}
    content, original = text.content_counts, source.content_counts
    common = content.keys() & original.keys()
    top = [word for word, _ in original.most_common(_FREQUENT_WORDS)]
    runs, searched = copied_runs(text, source), min(len(text.words), _SEARCHED_WORDS)
    known_numbers = frozenset(source.numbers)
    unsupported = sum(number not in known_numbers for number in text.numbers)
    return {
        "words_from_source": share(sum(content[word] for word in common), len(text.content)),
        "bigrams_from_source": _precision(text.bigrams, source.bigrams),
        "fourgrams_from_source": _precision(text.fourgrams, source.fourgrams),
        "source_words_covered": share(len(common), len(original)),
        "frequent_words_covered": share(sum(word in content for word in top), len(top)),
        "divergence_from_source": _jensen_shannon(content, original),
        "copied_share": share(sum(runs), searched),
        "longest_copy": float(max(runs, default=0)) if text.words else math.nan,
        "splices": share(100 * sum(run <= _SHORT_RUN for run in runs), searched),
        "length_to_source": math.log(len(text.words) / len(source.words)) if text.words else math.nan,
        "unsupported_numbers": share(100 * unsupported, len(text.words)),
        "least_supported_sentence": _least_supported(text, original.keys()),
        "last_turn_overlap": _last_turn_overlap(text, source),
    }


def context_features(text: Text, context: Text | None) -> dict[str, float]:
    """Values of `CONTEXT_FEATURES`; nan without words in the context."""
    if context is None:
        return {"context_covered": math.nan}
    common = text.content_counts.keys() & context.content_counts.keys()
    return {"context_covered": share(len(common), len(context.content_counts))}


def _precision(counts: Counter[tuple[str, ...]], original: Counter[tuple[str, ...]]) -> float:
    return share(sum(count for gram, count in counts.items() if gram in original), counts.total())


def _last_turn_overlap(text: Text, source: Text) -> float:
    last = source.last_line_content
    return share(sum(word in last for word in text.content), len(text.content)) if last else math.nan


def _least_supported(text: Text, original: Collection[str]) -> float:
    shares = [sum(word in original for word in words) / len(words) for words in text.sentence_content if words]
    return min(shares, default=math.nan)


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


def copied_runs(text: Text, source: Text) -> list[int]:
    """Lengths of the longest copies from each word on, by the greedy search of Grusky et al. (2018, figure 2)."""
    words, vocabulary = text.words[:_SEARCHED_WORDS], frozenset(source.words)
    haystack = f" {' '.join(source.words[:_SEARCHED_WORDS])} "
    lengths, start = [], 0
    while start < len(words):
        if words[start] not in vocabulary:
            start += 1
            continue
        end, run = start + 1, f" {words[start]} "
        while end < len(words) and (longer := f"{run}{words[end]} ") in haystack:
            end, run = end + 1, longer
        lengths.append(end - start)
        start = end
    return lengths
