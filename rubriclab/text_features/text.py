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
from itertools import chain

from rubriclab.sentences import split_sentences, word_set

# Small closed word lists of English, in lower case with straight apostrophes.
ARTICLES_AND_POSSESSIVES = word_set("the a an my your his its our their")
PREPOSITIONS = word_set(
    "about above across after against along among around as at before behind below beneath beside between beyond by"
    " despite down during except for from in inside into like near of off on onto out outside over past per since"
    " through throughout till to toward towards under underneath until up upon via with within without"
)
CONJUNCTIONS = word_set("and or but nor so yet because although though while whereas if unless that than whether")
AUXILIARIES = word_set(
    "am is are was were be been being has have had having do does did doing will would shall should can could may"
    " might must isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't won't wouldn't shan't"
    " shouldn't can't cannot couldn't mustn't ain't"
)
REFERENCES = word_set(
    "he him his himself she her hers herself it its itself they them their theirs themselves he's she's it's they're"
    " he'd she'd they'd he'll she'll it'll they'll they've this that these those such that's"
)
FUNCTION_WORDS = (
    ARTICLES_AND_POSSESSIVES
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | REFERENCES
    | word_set(
        "i me mine myself we us ours ourselves i'm i've i'll i'd we're we've we'll we'd you yours yourself yourselves"
        " you're you've you'll you'd who whom whose which what when where why how what's who's where's how's not no all"
        " any both each either every few less many more most much neither none one other others own same several some"
        " there there's here just only very too also then now again ever never always even still already almost quite"
        " rather really well oh yes yeah"
    )
)
CONNECTIVES = word_set(
    "and but so because although though however therefore thus hence moreover furthermore meanwhile instead"
    " otherwise nevertheless nonetheless besides then afterwards afterward finally eventually first second next"
    " later also still yet while whereas since when after before until if unless consequently similarly likewise"
    " additionally indeed suddenly soon once"
)

# The words of `spaced_words`: finding copied runs is quadratic in the worst case.
SEARCHED_WORDS = 5_000
# Letters; longer words are not stemmed and cached.
LONGEST_STEMMED = 40

_UNIFIED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
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
    """Return `text` with straight quotes and without spelled brackets, and with split contractions rejoined."""
    plain = text.translate(_UNIFIED).replace("``", '"').replace("''", '"')
    return _SPLIT_CONTRACTION.sub("", _SPELLED_BRACKET.sub(" ", plain))


def _split_words(unified: str) -> tuple[str, ...]:
    """Return the words of a unified text in their own case; each character of a script without spaces is a word."""
    return tuple(_WORD.findall(_UNSPACED_SCRIPT.sub(r" \g<0> ", unified)))


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
    ending = next((each for each in ("ing", "ed") if word.endswith(each) and len(word) - len(each) >= 4), "")
    return word.removesuffix(ending)


def content_stems(words: Sequence[str]) -> tuple[str, ...]:
    """Return the stems of the words that are not function words."""
    content = (word for word in words if word not in FUNCTION_WORDS and (len(word) > 1 or not word.isascii()))
    return tuple(stem(word) if len(word) <= LONGEST_STEMMED else word for word in content)


def share(part: float, whole: float) -> float:
    """`part / whole`, and nan where there is no whole."""
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class Text:
    """A text and its views; every view is computed when first asked for and kept."""

    raw: str

    @cached_property
    def cased_words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each sentence as written."""
        return tuple(_split_words(unify(sentence)) for sentence in split_sentences(self.raw))

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
    def fourgrams(self) -> Counter[tuple[str, ...]]:
        """How often each run of four words occurs."""
        return Counter(zip(*(self.words[i:] for i in range(4)), strict=False))

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
