"""A text seen as sentences, words and content words, each computed once.

Cased running text stands beside lower-cased, tokenised machine output ("do n't", "u.s .", "`` so ''").
Words are therefore compared in lower case, with contractions rejoined, hyphens split and quotes unified, so
that an output and its source meet whatever their spelling. Every pattern here runs in linear time on any input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise

from rubriclab.sentences import split_sentences
from rubriclab.text_features.lexicon import FUNCTION_WORDS

# The words of `spaced_words`: finding copied runs is quadratic in the worst case.
SEARCHED_WORDS = 5_000
# Letters; longer words have no endings, and are not cached.
LONGEST_STEMMED = 40

_UNIFIED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
_DOUBLED_QUOTES = re.compile(r"``|''")
# What tokenisers of the Penn Treebank's school put for brackets.
_SPELLED_BRACKET = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)
_SPLIT_CONTRACTION = re.compile(r"(?<=\w) (?=(?:n't|'(?:s|re|ll|ve|d|m))(?!\w))", re.IGNORECASE)
_UNSPACED_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(
    r"[^\W\d_](?:\.[^\W\d_])+(?![^\W_])"  # u.s, p.m
    r"|\d+(?:[.,:]\d+)*[^\W\d_]*"  # 1,000 and 3.5 and 10th
    r"|[^\W_]+(?:'[^\W_]+)*"
)


def _unify(text: str) -> str:
    """`text` with straight quotes and without spelled brackets, and with split contractions rejoined."""
    # Most texts have nothing to replace, which a plain search shows much sooner than a pattern.
    if not text.isascii():
        text = text.translate(_UNIFIED)
    if "``" in text or "''" in text:
        text = _DOUBLED_QUOTES.sub('"', text)
    if "-" in text:
        text = _SPELLED_BRACKET.sub(" ", text)
    return _SPLIT_CONTRACTION.sub("", text) if "'" in text else text


def _split_words(unified: str) -> tuple[str, ...]:
    """The words of a unified text in their own case; each character of a script without spaces is a word."""
    if not unified.isascii():
        unified = _UNSPACED_SCRIPT.sub(r" \g<0> ", unified)
    return tuple(_WORD.findall(unified))


@lru_cache(maxsize=1 << 15)
def _short_stem(word: str) -> str:
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    for suffix in ("ing", "ed"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


def stem(word: str) -> str:
    """`word` without possessive, plural and the commonest verb endings; after the S stemmer of Harman (1991, JASIS)."""
    return _short_stem(word) if len(word) <= LONGEST_STEMMED else word


def content_stems(words: Sequence[str]) -> tuple[str, ...]:
    """Return the stems of the words that are not function words."""
    return tuple(stem(word) for word in words if word not in FUNCTION_WORDS and (len(word) > 1 or not word.isascii()))


def share(part: float, whole: float) -> float:
    """`part / whole`, and nan where there is no whole."""
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class Text:
    """A text and its views; every view is computed when first asked for and kept."""

    raw: str

    @cached_property
    def plain(self) -> str:
        """The unified text in lower case, punctuation included."""
        return _unify(self.raw).lower()

    @cached_property
    def cased_words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each sentence as written."""
        return tuple(_split_words(_unify(sentence)) for sentence in split_sentences(self.raw))

    @cached_property
    def sentence_words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each sentence in lower case."""
        return tuple(tuple(word.lower() for word in sentence) for sentence in self.cased_words)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in lower case."""
        return tuple(chain.from_iterable(self.sentence_words))

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The stems of all content words, in order."""
        return content_stems(self.words)

    @cached_property
    def content_counts(self) -> Counter[str]:
        """How often each stem of a content word occurs."""
        return Counter(self.content)

    @cached_property
    def bigrams(self) -> Counter[tuple[str, ...]]:
        """How often each pair of neighbouring words occurs."""
        return Counter(pairwise(self.words))

    @cached_property
    def fourgrams(self) -> Counter[tuple[str, ...]]:
        """How often each run of four words occurs."""
        return Counter(zip(*(self.words[i:] for i in range(4)), strict=False))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The different words."""
        return frozenset(self.words)

    @cached_property
    def frequent_content(self) -> tuple[str, ...]:
        """The ten most frequent stems of content words, the first of equally frequent ones first."""
        return tuple(word for word, _ in self.content_counts.most_common(10))

    @cached_property
    def spaced_words(self) -> str:
        """The first words with a space around each, so that runs of words can be searched for."""
        return f" {' '.join(self.words[:SEARCHED_WORDS])} "

    @cached_property
    def names(self) -> frozenset[str]:
        """Words written with a capital inside a sentence, in lower case; all-lower-case texts have none."""
        inner = chain.from_iterable(sentence[1:] for sentence in self.cased_words)
        capitalised = (word.lower().removesuffix("'s") for word in inner if word[0].isupper())
        return frozenset(word for word in capitalised if len(word) > 1 and word not in FUNCTION_WORDS)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Words with a digit, without thousands separators."""
        return tuple(word.replace(",", "") for word in self.words if word[0].isdigit())
