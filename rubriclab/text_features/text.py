"""A text seen as sentences, words and content words, each computed once.

Cased running text stands beside lower-cased, tokenised machine output ("do n't", "u.s .", "`` so ''").
Words are therefore compared in lower case, with contractions rejoined, hyphens split and quotes unified, so
that an output and its source meet whatever their spelling. Every pattern here runs in linear time on any input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from rubriclab.sentences import split_sentences
from rubriclab.text_features.lexicon import FUNCTION_WORDS

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


def unify(text: str) -> str:
    """`text` with straight quotes and plain brackets, and with contractions that a tokeniser had split rejoined."""
    plain = _SPELLED_BRACKET.sub(_bracket, _DOUBLED_QUOTES.sub('"', text.translate(_UNIFIED)))
    return _SPLIT_CONTRACTION.sub("", plain)


def _bracket(spelled: re.Match[str]) -> str:
    return "(" if spelled[0][1] in "lL" else ")"


def split_words(unified: str) -> tuple[str, ...]:
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
    return _short_stem(word) if len(word) <= 40 else word


def ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """All runs of `n` neighbouring words, in order."""
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def share(part: float, whole: float) -> float:
    """`part / whole`, and nan where there is no whole."""
    return part / whole if whole else float("nan")


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared members over all members of two sets; 0 for two empty sets."""
    common = len(left & right)
    return common / (len(left) + len(right) - common) if common else 0.0


@dataclass(frozen=True)
class Text:
    """A text and its views; every view is computed when first asked for and kept."""

    raw: str

    @cached_property
    def plain(self) -> str:
        """The unified text in lower case, punctuation included."""
        return unify(self.raw).lower()

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        return split_sentences(self.raw)

    @cached_property
    def cased_words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each sentence as written."""
        return tuple(split_words(unify(sentence)) for sentence in self.sentences)

    @cached_property
    def sentence_words(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(word.lower() for word in sentence) for sentence in self.cased_words)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(chain.from_iterable(self.sentence_words))

    @cached_property
    def sentence_content(self) -> tuple[tuple[str, ...], ...]:
        """The stems of each sentence's content words, in order."""
        return tuple(content_stems(sentence) for sentence in self.sentence_words)

    @cached_property
    def sentence_content_sets(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(sentence) for sentence in self.sentence_content)

    @cached_property
    def content(self) -> tuple[str, ...]:
        return tuple(chain.from_iterable(self.sentence_content))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The indices of the sentences that hold each content word."""
        places: dict[str, list[int]] = {}
        for index, sentence in enumerate(self.sentence_content_sets):
            for word in sentence:
                places.setdefault(word, []).append(index)
        return places

    @cached_property
    def content_counts(self) -> Counter[str]:
        return Counter(self.content)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def bare_words(self) -> tuple[str, ...]:
        """The words without possessives, as names are compared."""
        return tuple(word.removesuffix("'s") for word in self.words)

    @cached_property
    def bare_vocabulary(self) -> frozenset[str]:
        return frozenset(self.bare_words)

    @cached_property
    def ngram_counts(self) -> dict[int, Counter[tuple[str, ...]]]:
        """How often each run of 2, 3 and 4 words occurs."""
        return {n: Counter(ngrams(self.words, n)) for n in (2, 3, 4)}

    @cached_property
    def last_line_content(self) -> frozenset[str]:
        """Stems of the content words of the last line, which in a dialogue is the last turn."""
        last = self.raw.rstrip().rpartition("\n")[2]
        return frozenset(content_stems(split_words(unify(last).lower())))

    @cached_property
    def names(self) -> Counter[str]:
        """Words written with a capital inside a sentence, in lower case; all-lower-case texts have none."""
        inner = chain.from_iterable(sentence[1:] for sentence in self.cased_words)
        capitalised = (word.lower().removesuffix("'s") for word in inner if word[0].isupper())
        return Counter(word for word in capitalised if len(word) > 1 and word not in FUNCTION_WORDS)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Words with a digit, without thousands separators."""
        return tuple(word.replace(",", "") for word in self.words if word[0].isdigit())

    @cached_property
    def padded(self) -> str:
        """The words joined by single blanks with a blank at both ends, for finding runs of whole words."""
        return f" {' '.join(self.words)} "


def content_stems(words: Iterable[str]) -> tuple[str, ...]:
    """Stems of the words that are not function words."""
    return tuple(stem(word) for word in words if word not in FUNCTION_WORDS and (len(word) > 1 or not word.isascii()))
