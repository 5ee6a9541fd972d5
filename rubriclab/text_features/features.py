"""The text features of a text, computed as they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cached_property
from itertools import pairwise

from rubriclab.sentences import word_set
from rubriclab.size_cache import cached_by_size
from rubriclab.text_features.catalogue import CATALOGUE
from rubriclab.text_features.text import (
    ARTICLES_AND_POSSESSIVES,
    AUXILIARIES,
    CONJUNCTIONS,
    CONNECTIVES,
    PREPOSITIONS,
    REFERENCES,
    SEARCHED_WORDS,
    Text,
    content_stems,
    share,
    unify,
)

WORD_COUNT = "words"
"""The feature that every learned rubric is compared with."""

_FINAL = re.compile(r"[.!?…。！？][\"'”’)\]»`\s]*\Z")
_PUNCTUATION = re.compile(r"(\s?)[.,;:!?](?=\s|\Z)")
_MARKUP = re.compile(r"^[ \t]{0,8}(?:#{1,6} |[-*•+] |\d{1,3}[.)] |>|\|)|\*\*|__|```|https?://|www\.|\]\(", re.MULTILINE)
_JOINT = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?](?=\s|\Z)")
_NEVER_AFTER_ARTICLE = (ARTICLES_AND_POSSESSIVES | CONJUNCTIONS | AUXILIARIES | PREPOSITIONS) - word_set(
    "down inside like near outside past up can will may might must do being"
)
_NEVER_BEFORE_STOP = ARTICLES_AND_POSSESSIVES - {"his"} | word_set("of and or but than because into if from although")
_TIES = REFERENCES | CONNECTIVES
_MAY_DOUBLE = word_set("had that very no so bye ha really many far long now yes again on")


# The texts of a training or evaluation are needed again by every criterion and baseline.
_values = cached_by_size(2**22)(lambda _output, _source, _context: dict[str, float]())

# Rival outputs share their source. A character takes some 60 bytes with its views.
_shared_text = cached_by_size(400_000)(Text)


class Features(Mapping[str, float]):
    """The features of a text by name, in the order of the catalogue; each is computed when it is first read.

    Undefined, and nan, is what needs a source or context that is absent or has no words, and shares of a text without
    words. The values depend on the three strings alone; any string is accepted.
    """

    def __init__(self, output: str, source: str | None = None, context: str | None = None) -> None:
        self._given = (output, source, context)
        self._values = _values(*self._given)

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            self._values[name] = self._computed(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return (feature.name for feature in CATALOGUE)

    def __len__(self) -> int:
        return len(CATALOGUE)

    @cached_property
    def text(self) -> Text:
        """The text itself."""
        return Text(self._given[0])

    @cached_property
    def source(self) -> Text:
        """The source, empty if there is none."""
        return _shared_text(self._given[1] or "")

    @cached_property
    def common(self) -> Set[str]:
        """The content words of the text and its source."""
        return self.text.content_counts.keys() & self.source.content_counts.keys()

    @cached_property
    def runs(self) -> list[int]:
        """Lengths of the runs copied from the source."""
        return copied_runs(self.text, self.source)

    def _computed(self, name: str) -> float:
        if name in _OF_TEXT:
            return _OF_TEXT[name](self.text) if self.text.words or name in _OF_ANY else math.nan
        if name == "context_covered":
            context = _shared_text(self._given[2] or "").content_counts
            return share(len(self.text.content_counts.keys() & context.keys()), len(context))
        return _BESIDE_SOURCE[name](self) if self.text.words and self.source.words else math.nan


def copied_runs(text: Text, source: Text) -> list[int]:
    """Return the lengths of the longest copies from each word on, as in Grusky et al. (2018, figure 2)."""
    words, haystack = text.words[:SEARCHED_WORDS], source.spaced_words
    lengths, start = [], 0
    while start < len(words):
        end, run = start + 1, f" {words[start]} "
        if run not in haystack:
            start += 1
            continue
        while end < len(words) and (longer := f"{run}{words[end]} ") in haystack:
            end, run = end + 1, longer
        lengths.append(end - start)
        start = end
    return lengths


def _is_stumble(left: str, right: str) -> bool:
    """Neighbours that English hardly allows: "the of", "a .", "of .", "was was"."""
    if right in ".!?":
        return left in _NEVER_BEFORE_STOP
    if left in ARTICLES_AND_POSSESSIVES:
        return right in ",;:" or right in _NEVER_AFTER_ARTICLE
    return left == right and left not in _MAY_DOUBLE and left.isalpha()


def _linked_sentences(text: Text) -> float:
    """Return the share of sentences that share a word with the one before, or begin with a reference or connective."""
    stems = [frozenset(content_stems(words)) for words in text.sentence_words]
    begins = [not _TIES.isdisjoint(words[:3]) for words in text.sentence_words]
    ties = [begins[place] or bool(stems[place - 1] & stems[place]) for place in range(1, len(stems))]
    return sum(ties) / len(ties) if ties else 1.0


_OF_ANY = (WORD_COUNT, "log_words", "sentences", "distinct_content_words")
"""The features that texts without words have too."""

_OF_TEXT: Mapping[str, Callable[[Text], float]] = {
    WORD_COUNT: lambda text: float(len(text.words)),
    "log_words": lambda text: math.log1p(len(text.words)),
    "sentences": lambda text: float(len(text.sentence_words)),
    "longest_sentence": lambda text: float(max(map(len, text.sentence_words))),
    "ends_complete": lambda text: float(bool(_FINAL.search(text.raw[-40:]))),
    "opening_capital": lambda text: float(not text.cased_words[0][0][0].islower()),
    "detached_punctuation": lambda text: share(sum(map(bool, marks := _PUNCTUATION.findall(text.raw))), len(marks)),
    "stumbles": lambda text: (
        100 * sum(_is_stumble(*p) for p in pairwise(_JOINT.findall(unify(text.raw).lower()))) / len(text.words)
    ),
    "markup": lambda text: 100 * len(_MARKUP.findall(text.raw)) / len(text.words),
    "distinct_content_words": lambda text: math.log1p(len(text.content_counts)),
    "long_words": lambda text: sum(len(word) >= 7 for word in text.words) / len(text.words),
    "repeated_words": lambda text: 1 - share(len(text.content_counts), len(text.content)),
    "repeated_bigrams": lambda text: share((pairs := len(text.words) - 1) - len(set(pairwise(text.words))), pairs),
    "linked_sentences": _linked_sentences,
    "connectives": lambda text: sum(map(CONNECTIVES.__contains__, text.words)) / len(text.sentence_words),
    "characters_named": lambda text: float(len(text.names)),
}

_BESIDE_SOURCE: Mapping[str, Callable[[Features], float]] = {
    "words_from_source": lambda both: share(
        sum(both.text.content_counts[word] for word in both.common), len(both.text.content)
    ),
    "fourgrams_from_source": lambda both: share(
        sum(count for gram, count in both.text.fourgrams.items() if gram in both.source.fourgrams),
        both.text.fourgrams.total(),
    ),
    "source_words_covered": lambda both: share(len(both.common), len(both.source.content_counts)),
    "frequent_words_covered": lambda both: share(
        sum(word in both.text.content_counts for word, _ in both.source.content_counts.most_common(10)),
        min(10, len(both.source.content_counts)),
    ),
    "copied_share": lambda both: sum(both.runs) / min(len(both.text.words), SEARCHED_WORDS),
    "longest_copy": lambda both: float(max(both.runs, default=0)),
    # A short run is the seam of a text pasted together.
    "splices": lambda both: 100 * sum(run <= 4 for run in both.runs) / min(len(both.text.words), SEARCHED_WORDS),
    "length_to_source": lambda both: math.log(len(both.text.words) / len(both.source.words)),
    "unsupported_numbers": lambda both: (
        100 * sum(number not in both.source.numbers for number in both.text.numbers) / len(both.text.words)
    ),
}
