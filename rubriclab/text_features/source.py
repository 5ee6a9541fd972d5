"""What an output takes from its source or context: shared words, copied runs, supported and unsupported content."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

from rubriclab.text_features.text import SEARCHED_WORDS, Text, share

_SHORT_RUN = 4


@dataclass(frozen=True)
class Pair:
    """A text and its source, both with words, and what several features need of them."""

    text: Text
    source: Text

    @cached_property
    def common(self) -> Set[str]:
        """The content words of both."""
        return self.text.content_counts.keys() & self.source.content_counts.keys()

    @cached_property
    def runs(self) -> list[int]:
        """Lengths of the copied runs."""
        return copied_runs(self.text, self.source)

    @cached_property
    def searched(self) -> int:
        """The number of words in which copied runs were looked for."""
        return min(len(self.text.words), SEARCHED_WORDS)


def _words_from_source(pair: Pair) -> float:
    content = pair.text.content_counts
    return share(sum(content[word] for word in pair.common), len(pair.text.content))


def _frequent_words_covered(pair: Pair) -> float:
    top = pair.source.frequent_content
    return share(sum(word in pair.text.content_counts for word in top), len(top))


def _unsupported_numbers(pair: Pair) -> float:
    known = frozenset(pair.source.numbers)
    return 100 * sum(number not in known for number in pair.text.numbers) / len(pair.text.words)


def _least_supported(pair: Pair) -> float:
    original = pair.source.content_counts.keys()
    return min((len(words & original) / len(words) for words in pair.text.sentence_content if words), default=math.nan)


def _last_turn_overlap(pair: Pair) -> float:
    last, content = pair.source.last_line_content, pair.text.content
    return share(sum(word in last for word in content), len(content)) if last else math.nan


def _precision(counts: Counter[tuple[str, ...]], original: Counter[tuple[str, ...]]) -> float:
    return share(sum(count for gram, count in counts.items() if gram in original), counts.total())


def _divergence(pair: Pair) -> float:
    """The Jensen-Shannon divergence of the two distributions of content words."""
    left, right = pair.text.content_counts, pair.source.content_counts
    left_total, right_total = left.total(), right.total()
    if not left_total or not right_total:
        return math.nan
    divergence = 0.0
    for word, count in left.items():
        p, q = count / left_total, right.get(word, 0) / right_total
        divergence += p * math.log2(2 * p / (p + q)) + (q * math.log2(2 * q / (p + q)) if q else 0.0)
    unseen = right_total - sum(right[word] for word in pair.common)
    return (divergence + unseen / right_total) / 2


BESIDE_SOURCE: Mapping[str, Callable[[Pair], float]] = {
    "words_from_source": _words_from_source,
    "bigrams_from_source": lambda pair: _precision(pair.text.bigrams, pair.source.bigrams),
    "fourgrams_from_source": lambda pair: _precision(pair.text.fourgrams, pair.source.fourgrams),
    "source_words_covered": lambda pair: share(len(pair.common), len(pair.source.content_counts)),
    "frequent_words_covered": _frequent_words_covered,
    "divergence_from_source": _divergence,
    "copied_share": lambda pair: sum(pair.runs) / pair.searched,
    "longest_copy": lambda pair: float(max(pair.runs, default=0)),
    "splices": lambda pair: 100 * sum(run <= _SHORT_RUN for run in pair.runs) / pair.searched,
    "length_to_source": lambda pair: math.log(len(pair.text.words) / len(pair.source.words)),
    "unsupported_numbers": _unsupported_numbers,
    "least_supported_sentence": _least_supported,
    "last_turn_overlap": _last_turn_overlap,
}
"""The features of a text that need a source, both with words."""


def _context_covered(text: Text, context: Text) -> float:
    common = text.content_counts.keys() & context.content_counts.keys()
    return share(len(common), len(context.content_counts))


BESIDE_CONTEXT: Mapping[str, Callable[[Text, Text], float]] = {"context_covered": _context_covered}
"""The features of a text that need a context; nan where this has no content words."""


def copied_runs(text: Text, source: Text) -> list[int]:
    """Lengths of the longest copies from each word on, by the greedy search of Grusky et al. (2018, figure 2)."""
    words, vocabulary, haystack = text.words[:SEARCHED_WORDS], source.vocabulary, source.spaced_words
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
