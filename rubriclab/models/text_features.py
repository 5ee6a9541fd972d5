"""Text features, for the baselines of learned rubrics and for the offline judge.

A feature is a count, a share or a distance that people can check by hand; it does not depend on the text's meaning.
The catalogue describes all features, and says whether a high or a low value is usually better for a kind of aspect.
A `Text` has words and stems, from which `Features` are computed.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, field_validator

from rubriclab.models.base import cached_by_size
from rubriclab.models.sentences import ENGLISH_WORDS, split_sentences

AspectKind = Literal["fluency", "coherence", "coverage", "faithfulness", "engagement"]
"""Kinds of aspects that people rate. A high value of a feature may be better for one kind and worse for another."""


class TextFeature(BaseModel):
    """One row of `text_features.csv`, which documents the feature; `reference` says where the feature comes from.

    Attributes:
        typical, spread: a common value in a paragraph of English, and how much texts usually differ from it.
        keywords: beginnings of the words by which a criterion in plain English refers to the feature.
        better_high, better_low: kinds of aspect in which texts with a high or a low value are usually better.
        learned: the feature's weight in a model of the labels of public data sets, over all their aspects.
        needs: "source" or "context", without which the value is NaN; empty if the text is enough.
        tasks: the tasks in which `better_high` and `better_low` hold; empty for all tasks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    unit: str
    typical: float
    spread: float
    keywords: tuple[str, ...]
    better_high: tuple[AspectKind, ...]
    better_low: tuple[AspectKind, ...]
    learned: float
    needs: tuple[str, ...]
    tasks: tuple[str, ...]
    reference: str

    @field_validator("keywords", "better_high", "better_low", "needs", "tasks", mode="before")
    @classmethod
    def _split_cell(cls, cell: str) -> tuple[str, ...]:
        return tuple(filter(None, cell.split(";")))

    def direction(self, kind: AspectKind) -> int:
        """Return 1 if a high value is usually better for this kind of aspect, -1 if a low one is, 0 if unknown."""
        return (kind in self.better_high) - (kind in self.better_low)


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    CATALOGUE = tuple(map(TextFeature.model_validate, csv.DictReader(_file)))

_WORD_STARTS: dict[AspectKind, tuple[str, ...]] = {
    "fluency": ("fluen", "gramma", "natural", "readab", "understandab", "clarity", "wording", "style"),
    "coherence": ("coheren", "cohes", "structur", "organi", "logic", "flow"),
    "coverage": ("relevan", "informati", "cover", "important", "complete", "helpful", "useful"),
    "faithfulness": ("consisten", "faithful", "factual", "ground", "hallucinat", "accura", "correct", "support"),
    "engagement": ("engag", "interest", "empath", "surpris", "complex", "creativ", "emotion", "fun", "humo", "vivid"),
}


def aspect_kinds(aspect: str, definition: str = "") -> tuple[AspectKind, ...]:
    """Return the kinds that the name mentions; otherwise the kinds that the definition mentions, or all kinds."""
    for text in (aspect, definition):
        words = re.findall(r"[a-z]+", text.lower())
        if kinds := [kind for kind, starts in _WORD_STARTS.items() if any(word.startswith(starts) for word in words)]:
            return tuple(kinds)
    return get_args(AspectKind)


def usual_directions(aspect: str, definition: str = "", task: str = "") -> dict[str, float]:
    """Return each text feature's usual direction for this aspect, from -1 to 1: the mean over the aspect's kinds.

    A direction is 0 if it is unknown, or if the feature's directions hold for other tasks only.
    """
    kinds = aspect_kinds(aspect, definition)
    directions: dict[str, float] = {}
    for feature in CATALOGUE:
        holds_for_task = not feature.tasks or task in feature.tasks
        directions[feature.name] = fmean(map(feature.direction, kinds)) if holds_for_task else 0.0
    return directions


def prior_weights(aspect: str, definition: str = "", task: str = "") -> dict[str, float]:
    """Return each text feature's prior weight, for standardized values; the largest absolute weight is 1.

    Usual directions and learned weights are added, after each list is divided by the sum of its absolute values. On
    data sets not used for learning, both together agree better with people than one of them (`docs/decisions/0012`).
    """
    directions = usual_directions(aspect, definition, task)
    directions_sum = sum(map(abs, directions.values())) or 1.0
    learned_sum = sum(abs(feature.learned) for feature in CATALOGUE)
    sums = {each.name: directions[each.name] / directions_sum + each.learned / learned_sum for each in CATALOGUE}
    largest = max(map(abs, sums.values()))
    return {name: value / largest for name, value in sums.items()}


ARTICLES_AND_POSSESSIVES, AUXILIARIES = ENGLISH_WORDS["articles and possessives"], ENGLISH_WORDS["auxiliaries"]
REFERRING_WORDS, CONNECTIVES = ENGLISH_WORDS["references"], ENGLISH_WORDS["connectives"]
_BEFORE_NOUNS = ARTICLES_AND_POSSESSIVES | ENGLISH_WORDS["prepositions"] | ENGLISH_WORDS["conjunctions"]
FUNCTION_WORDS = _BEFORE_NOUNS | AUXILIARIES | REFERRING_WORDS | ENGLISH_WORDS["other function words"]

# Only this many first words of a text and of its source are searched for copied runs, since the time can be quadratic.
MAX_SEARCHED_WORDS = 5_000
# Words with more characters are not stemmed.
MAX_STEMMED_LENGTH = 40

_UNIFIED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
# Brackets as the Penn Treebank's tokenizers write them.
_SPELLED_BRACKET = re.compile(r"-[lr][rsc]b-", re.IGNORECASE)
_SPLIT_CONTRACTION = re.compile(r"(?<=\w) (?=(?:n't|'(?:s|re|ll|ve|d|m))(?!\w))", re.IGNORECASE)
_UNSPACED_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
# Like all regular expressions of this module, this one takes linear time on any text.
_WORD = re.compile(
    r"[^\W\d_](?:\.[^\W\d_])+(?![^\W_])"  # u.s, p.m
    r"|\d+(?:[.,:]\d+)*[^\W\d_]*"  # 1,000 and 3.5 and 10th
    r"|[^\W_]+(?:'[^\W_]+)*"
)


def unify(text: str) -> str:
    """Return `text` with plain quotes and spaces, rejoined contractions, and no spelled-out brackets."""
    plain = text.translate(_UNIFIED).replace("``", '"').replace("''", '"')
    return _SPLIT_CONTRACTION.sub("", _SPELLED_BRACKET.sub(" ", plain))


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return `word` without possessive, plural and the commonest verb endings; after Harman (1991, JASIS)."""
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:  # keeps "string" and "need"
            return word.removesuffix(ending)
    return word


def content_stems(words: Sequence[str]) -> tuple[str, ...]:
    # A single Latin letter has no content, while one character of Chinese or Japanese is a word.
    content = (word for word in words if word not in FUNCTION_WORDS and (len(word) > 1 or not word.isascii()))
    return tuple(stem(word) if len(word) <= MAX_STEMMED_LENGTH else word for word in content)


def share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class Text:
    """A text and its properties; each is computed when first read.

    Words are compared in lower case, with contractions rejoined, hyphens split and quotes unified, so that words of
    ordinary text match those of tokenized machine output ("do n't", "u.s .").
    """

    raw: str

    @cached_property
    def cased_sentence_words(self) -> tuple[tuple[str, ...], ...]:
        # Each character of a script without spaces is a word.
        sentences = (_UNSPACED_SCRIPT.sub(r" \g<0> ", unify(sentence)) for sentence in split_sentences(self.raw))
        return tuple(tuple(_WORD.findall(sentence)) for sentence in sentences)

    @cached_property
    def sentence_words(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(word.lower() for word in sentence) for sentence in self.cased_sentence_words)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(chain.from_iterable(self.sentence_words))

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return content_stems(self.words)

    @cached_property
    def stem_counts(self) -> Counter[str]:
        return Counter(self.stems)

    @cached_property
    def fourgrams(self) -> Counter[tuple[str, ...]]:
        return Counter(zip(*(self.words[i:] for i in range(4)), strict=False))

    @cached_property
    def spaced_words(self) -> str:
        """The text's first words with a space around each, in which copied runs are searched."""
        return f" {' '.join(self.words[:MAX_SEARCHED_WORDS])} "

    @cached_property
    def names(self) -> frozenset[str]:
        """Names, such as those of persons: words with a capital inside a sentence, turned to lower case."""
        inner = chain.from_iterable(sentence[1:] for sentence in self.cased_sentence_words)
        capitalized = (word.lower().removesuffix("'s") for word in inner if word[0].isupper())
        return frozenset(word for word in capitalized if len(word) > 1 and word not in FUNCTION_WORDS)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Words that begin with a digit, without thousands separators."""
        return tuple(word.replace(",", "") for word in self.words if word[0].isdigit())


WORD_COUNT = "words"
"""The feature that every learned rubric is compared with."""

_COMPLETE_END = re.compile(r"[.!?…。！？][\"'”’)\]»`\s]*\Z")
_PUNCTUATION = re.compile(r"(\s?)[.,;:!?](?=\s|\Z)")
_MARKUP = re.compile(r"^[ \t]{0,8}(?:#{1,6} |[-*•+] |\d{1,3}[.)] |>|\|)|\*\*|__|```|https?://|www\.|\]\(", re.MULTILINE)
_WORD_OR_MARK = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?](?=\s|\Z)")
_NEVER_AFTER_ARTICLE = (_BEFORE_NOUNS | AUXILIARIES) - ENGLISH_WORDS["may follow articles"]
_NEVER_LAST_IN_SENTENCE = (ARTICLES_AND_POSSESSIVES - {"his"}) | ENGLISH_WORDS["never before stops"]
# Texts with a larger share of function words count as English: all of 1,800 English texts did, and few German texts.
_ENGLISH_SHARE = 0.25

# Returns the dictionary in which all `Features` of the same texts keep the values computed so far.
_computed_values = cached_by_size(max_characters=2**22)(lambda _output, _source, _context: dict[str, float]())
# Several outputs share one source. A `Text` takes some 60 bytes for each character: 24 MB in all.
_shared_text = cached_by_size(max_characters=400_000)(Text)


class Features(Mapping[str, float]):
    """The features of a text by name, in the order of the catalogue; each is computed when it is first read.

    A feature is NaN if it needs a source or context that is absent or empty. In a text without words, all features are
    NaN except `_DEFINED_WITHOUT_WORDS`.
    """

    def __init__(self, output: str, source: str | None = None, context: str | None = None) -> None:
        self.text = Text(output)
        self.source = _shared_text(source or "")
        self._context = context
        self._values = _computed_values(output, source, context)

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            if name in _COMPUTE_FROM_TEXT:
                is_defined = bool(self.text.words) or name in _DEFINED_WITHOUT_WORDS
                value = _COMPUTE_FROM_TEXT[name](self.text) if is_defined else math.nan
            elif name == "context_covered":
                context = _shared_text(self._context or "").stem_counts
                value = share(len(self.text.stem_counts.keys() & context.keys()), len(context))
            else:
                value = _COMPUTE_FROM_SOURCE[name](self) if self.text.words and self.source.words else math.nan
            self._values[name] = value
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return (feature.name for feature in CATALOGUE)

    def __len__(self) -> int:
        return len(CATALOGUE)

    @cached_property
    def shared_stems(self) -> Set[str]:
        return self.text.stem_counts.keys() & self.source.stem_counts.keys()

    @cached_property
    def run_lengths(self) -> list[int]:
        """The numbers of words in the longest runs copied from the source (Grusky et al. 2018, figure 2)."""
        words = self.text.words[:MAX_SEARCHED_WORDS]
        lengths, start = [], 0
        while start < len(words):
            end, spaced_run = start, " "
            while end < len(words) and f"{spaced_run}{words[end]} " in self.source.spaced_words:
                spaced_run += f"{words[end]} "
                end += 1
            if end > start:
                lengths.append(end - start)
            start = max(end, start + 1)
        return lengths


def _count_unlikely_pairs(text: Text) -> int:
    """Return how many words can hardly follow the word before them in English: "the of", "a .", "of .", "was was".

    In a text in another language, only doubled words are counted.
    """
    is_english = share(sum(word in FUNCTION_WORDS for word in text.words), len(text.words)) > _ENGLISH_SHARE
    n_unlikely = 0
    for left, right in pairwise(_WORD_OR_MARK.findall(unify(text.raw).lower())):
        if right in ".!?":
            is_unlikely = left in _NEVER_LAST_IN_SENTENCE
        elif left in ARTICLES_AND_POSSESSIVES:
            is_unlikely = right in ",;:" or right in _NEVER_AFTER_ARTICLE
        else:
            is_unlikely = left == right and left not in ENGLISH_WORDS["may double"] and left.isalpha()
        n_unlikely += is_unlikely and (is_english or left == right)
    return n_unlikely


def _linked_sentences(text: Text) -> float:
    """Return the share of linked sentences among all but the first.

    A linked sentence repeats a word of the one before, or one of its first three words refers back or is a connective.
    """
    stems = [frozenset(content_stems(words)) for words in text.sentence_words]
    refers_back = [not (REFERRING_WORDS | CONNECTIVES).isdisjoint(words[:3]) for words in text.sentence_words]
    linked = [refers_back[i] or bool(stems[i - 1] & stems[i]) for i in range(1, len(stems))]
    return sum(linked) / len(linked) if linked else 1.0


def _repeated_bigrams(text: Text) -> float:
    bigrams = list(pairwise(text.words))
    return share(len(bigrams) - len(set(bigrams)), len(bigrams))


def _detached_punctuation(text: Text) -> float:
    spaces_before = _PUNCTUATION.findall(text.raw)
    return share(sum(map(bool, spaces_before)), len(spaces_before))


_DEFINED_WITHOUT_WORDS = (WORD_COUNT, "log_words", "sentences", "distinct_content_words")

_COMPUTE_FROM_TEXT: Mapping[str, Callable[[Text], float]] = {
    WORD_COUNT: lambda text: float(len(text.words)),
    "log_words": lambda text: math.log1p(len(text.words)),
    "sentences": lambda text: float(len(text.sentence_words)),
    "longest_sentence": lambda text: float(max(map(len, text.sentence_words))),
    "ends_complete": lambda text: float(bool(_COMPLETE_END.search(text.raw[-40:]))),
    "opening_capital": lambda text: float(not text.cased_sentence_words[0][0][0].islower()),
    "detached_punctuation": _detached_punctuation,
    "stumbles": lambda text: 100 * _count_unlikely_pairs(text) / len(text.words),
    "markup": lambda text: 100 * len(_MARKUP.findall(text.raw)) / len(text.words),
    "distinct_content_words": lambda text: math.log1p(len(text.stem_counts)),
    "long_words": lambda text: sum(len(word) >= 7 for word in text.words) / len(text.words),
    "repeated_words": lambda text: 1 - share(len(text.stem_counts), len(text.stems)),
    "repeated_bigrams": _repeated_bigrams,
    "linked_sentences": _linked_sentences,
    "connectives": lambda text: sum(word in CONNECTIVES for word in text.words) / len(text.sentence_words),
    "characters_named": lambda text: float(len(text.names)),  # names, such as a story's characters
}

_COMPUTE_FROM_SOURCE: Mapping[str, Callable[[Features], float]] = {
    "words_from_source": lambda features: share(
        sum(features.text.stem_counts[word] for word in features.shared_stems), len(features.text.stems)
    ),
    "fourgrams_from_source": lambda features: share(
        sum(count for gram, count in features.text.fourgrams.items() if gram in features.source.fourgrams),
        features.text.fourgrams.total(),
    ),
    "source_words_covered": lambda features: share(len(features.shared_stems), len(features.source.stem_counts)),
    "frequent_words_covered": lambda features: share(
        sum(word in features.text.stem_counts for word, _ in features.source.stem_counts.most_common(10)),
        min(10, len(features.source.stem_counts)),
    ),
    "copied_share": lambda features: sum(features.run_lengths) / min(len(features.text.words), MAX_SEARCHED_WORDS),
    "longest_copy": lambda features: float(max(features.run_lengths, default=0)),
    # Texts pasted together from pieces of the source have many runs of up to four words.
    "splices": lambda features: (
        100 * sum(length <= 4 for length in features.run_lengths) / min(len(features.text.words), MAX_SEARCHED_WORDS)
    ),
    "length_to_source": lambda features: math.log(len(features.text.words) / len(features.source.words)),
    "unsupported_numbers": lambda features: (
        100 * sum(number not in features.source.numbers for number in features.text.numbers) / len(features.text.words)
    ),
}
