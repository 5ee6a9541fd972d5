"""What an output takes from its source or context: shared words, copied runs, supported and unsupported content."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

from rubriclab.text_features.text import Text, share

_SEARCHED_WORDS = 5_000
"""Words searched on either side: finding the copied runs is quadratic in the worst case."""
_FREQUENT_WORDS = 10
_SHORT_RUN = 4


def source_features(text: Text, source: Text) -> dict[str, float]:
    """Values of the features that need a source; none where it or the text has no words."""
    if not text.words or not source.words:
        return {}
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
        "copied_share": sum(runs) / searched,
        "longest_copy": float(max(runs, default=0)),
        "splices": 100 * sum(run <= _SHORT_RUN for run in runs) / searched,
        "length_to_source": math.log(len(text.words) / len(source.words)),
        "unsupported_numbers": 100 * unsupported / len(text.words),
        "least_supported_sentence": _least_supported(text, original.keys()),
        "last_turn_overlap": _last_turn_overlap(text, source),
    }


def context_features(text: Text, context: Text) -> dict[str, float]:
    """Values of the features that need a context; nan where this has no content words."""
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
