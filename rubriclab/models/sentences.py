"""The sentences of a text, found by rules in linear time, and lists of English words.

The rules hold for running text, and for lower-cased, tokenized machine output ("mr . smith of the u.s ."). A mark such
as a dot, or a line break, ends a sentence unless

- it belongs to an abbreviation, a number or the number of a list item, or
- what follows shows that the sentence continues, such as a small letter in a text that has capitals.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

# English words in lower case with straight apostrophes, by the name of their list.
with Path(__file__).with_name("english_words.csv").open(encoding="utf-8", newline="") as _file:
    ENGLISH_WORDS = {row["list"]: frozenset(row["words"].split()) for row in csv.DictReader(_file)}

# The lookbehind lets only the first mark of a run start a match, so a megabyte of dots stays linear.
_POSSIBLE_END = re.compile(
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++"
    r"(?:[.!?…؟۔।”’»)\]}*_\"']|[ \t]++(?:''|-rrb-|[”»)\]}]|[.!?…]++(?=[\s”’)\]]|$)))*+"
    r"|[。！？｡]++[」』”’）】]*+"
    r"|\n\s*+"
)
_FOLLOWING = re.compile(r"(?P<space>\s*+)(?P<between>[^\w\s]*+\s*+[“‘(\[]*+)(?P<word>[\w’'-]*+)")
_WORD_BEFORE = re.compile(
    r"((?<![^\W\d_])(?:[^\W\d_]\.)++[^\W\d_]|(?<![\w'’.=/])[^\W\d_]++|\bph\.d)[ \t]?$", re.IGNORECASE
)
_NUMBER_BEFORE = re.compile(r"(?<![\w-])\d{1,3}[ \t]?$")
_LIST_ITEM_NUMBER = re.compile(r"[\s>*_#-]*(?:\d{1,2}|[A-Za-z])$")
_BULLET = re.compile(r"[-*+•‣◦·#>|]+[ \t]|\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]")
_FIRST_LETTER_OF_INNER_WORD = re.compile(r"(?<=[a-z,;] )[A-Za-z]")  # of a word inside a sentence
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

# How many characters around a mark are searched to find whether it ends a sentence.
_WORD_REACH = 16  # before the mark, for a word
_NUMBER_REACH = 5  # before the mark, for a number
_LIST_ITEM_REACH = 12  # before the mark, for the number or letter of a list item at the sentence's start
_FOLLOWING_REACH = 120  # after the mark
# A text has capitals if more than this share of the words inside its sentences begin with a capital.
_MIN_CAPITAL_SHARE = 0.01
# With fewer words than this inside its sentences, one capital anywhere in a text is enough.
_MIN_INNER_WORDS = 20


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text that a judge split. `indices` say which results of `split_sentences` it overlaps."""

    text: str
    indices: tuple[int, ...]


def locate_sentences(text: str, sentences: Sequence[str]) -> tuple[Sentence, ...]:
    """Return each of `sentences`, into which a judge split `text`, as it stands in `text`.

    Raises ValueError if the sentences together are not the whole text, apart from white space.
    """
    if "".join("".join(sentences).split()) != "".join(text.split()):
        raise ValueError("the sentences together must be the text, word for word and with nothing left out")
    visible = [index for index, character in enumerate(text) if not character.isspace()]
    rule_spans = sentence_spans(text)
    located: list[Sentence] = []
    n_before = 0  # visible characters before the sentence; `n_to_end` includes the sentence
    for sentence in sentences:
        n_to_end = n_before + len("".join(sentence.split()))
        start, end = visible[n_before], visible[n_to_end - 1] + 1
        indices = [i for i, (rule_start, rule_end) in enumerate(rule_spans) if rule_start < end and start < rule_end]
        located.append(Sentence(text[start:end], tuple(indices)))
        n_before = n_to_end
    return tuple(located)


def split_sentences(text: str) -> tuple[str, ...]:
    return tuple(text[start:end] for start, end in sentence_spans(text))


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return each sentence's start and end; between sentences are white space and pieces without letters and digits."""
    first_letters = _FIRST_LETTER_OF_INNER_WORD.findall(text)
    n_capitals = sum(letter.isupper() for letter in first_letters)
    has_few_inner_words = len(first_letters) < _MIN_INNER_WORDS
    has_capitals = n_capitals > _MIN_CAPITAL_SHARE * len(first_letters) or (has_few_inner_words and not text.islower())
    ends = [0]
    for match in _POSSIBLE_END.finditer(text):
        if _is_end(text, ends[-1], match, has_capitals):
            ends.append(match.end())
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([*ends, len(text)]):
        if _LETTER_OR_DIGIT.search(text, start, end):
            piece = text[start:end]
            spans.append((end - len(piece.lstrip()), start + len(piece.rstrip())))
    return tuple(spans)


def _is_end(text: str, start: int, match: re.Match[str], has_capitals: bool) -> bool:
    """Return whether a match of `_POSSIBLE_END` ends the sentence that begins at `start`."""
    ending = match.group()
    after = text[match.end() : match.end() + _FOLLOWING_REACH]
    if ending[0] == "\n":
        if not after or after[0] in ",;:.!?)":
            return False
        small_follows = has_capitals and after[0].islower()
        return ending.count("\n") > 1 or bool(_BULLET.match(after)) or not small_follows
    following = _FOLLOWING.match(after)
    if ending[0] in "。！？｡" or following is None or not following["word"]:
        return True
    if not following["space"]:
        return False
    small_follows = has_capitals and following["word"][0].islower()
    # Before a small letter, a mark can end a sentence only if it is a single dot, or if `*` or `_` of markdown follows.
    if small_follows and ending != "." and ending[-1] not in "*_":
        return False
    # `-br` is for `-rrb-`, which tokenizers write for a closing bracket.
    marks = ending.rstrip("”’»)]}*_\"' \t-br")
    return marks != "." or not _belongs_to_word(text, start, match.start(), following, small_follows)


def _belongs_to_word(text: str, start: int, dot: int, following: re.Match[str], small_follows: bool) -> bool:
    """Return whether the dot at index `dot` belongs to an abbreviation or a number, and ends no sentence."""
    is_before_number = following["word"][0].isdigit()
    if dot - start <= _LIST_ITEM_REACH and _LIST_ITEM_NUMBER.match(text, start, dot):
        return True
    if is_before_number and not following["between"] and _NUMBER_BEFORE.search(text, max(0, dot - _NUMBER_REACH), dot):
        return True
    match = _WORD_BEFORE.search(text, max(0, dot - _WORD_REACH), dot)
    word = match[1].lower() if match else ""
    if word in ENGLISH_WORDS["never last"] or (is_before_number and word in ENGLISH_WORDS["numbered"]):
        return True
    is_initial = len(word) == 1 and word != "i"
    is_rarely_last = is_initial or "." in word or word in ENGLISH_WORDS["rarely last"]
    return is_rarely_last and (small_follows or following["word"].lower() not in ENGLISH_WORDS["openings"])
