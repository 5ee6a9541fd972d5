"""Where the sentences of a text begin and end, by rules in linear time.

Running text and lower-cased, tokenised machine output ("mr . smith of the u.s .") are both read: a small letter tells
that a sentence goes on only where the text has capitals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.models.base import FrozenModel


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())


# No sentence ends with these, whatever follows.
_NEVER_LAST = word_set("mr mrs ms messrs dr prof e.g i.e vs cf viz")
# A sentence ends with these, with initials and with shortened words such as "U.S." only where an opening follows.
_SELDOM_LAST = word_set(
    "sen rep gov gen st sgt capt cpt lt col maj cmdr adm det rev hon pres sr jr inc co corp ltd bros dept est ave blvd "
    "rd mt ft etc al approx esp"
)
# Shortened only in front of a number: "no. 5", "aug. 26".
_NUMBERED = word_set("jan feb mar apr jun jul aug sep sept oct nov dec no nos nr vol p pp fig figs sec ch art eq")
_OPENINGS = word_set(
    "a after all also although an and as at before both but by during each for from he her here his how however if in "
    "it its last many meanwhile most my next no not now on one or our she since so some still that the "
    "their then there these they this those though to two under until we what when where which while who why with yes "
    "yet you"
)

# The lookbehind lets only the first mark of a run start a match, so a megabyte of dots stays linear.
_END = re.compile(
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++"
    r"(?:[.!?…؟۔।”’»)\]}*_\"']|[ \t]++(?:''|-rrb-|[”»)\]}]|[.!?…]++(?=[\s”’)\]]|$)))*+"
    r"|[。！？｡]++[」』”’）】]*+"
    r"|\n\s*+"
)
_NEXT = re.compile(r"(?P<space>\s*+)(?P<between>[^\w\s]*+\s*+[“‘(\[]*+)(?P<word>[\w’'-]*+)")
_WORD_BEFORE = re.compile(
    r"((?<![^\W\d_])(?:[^\W\d_]\.)++[^\W\d_]|(?<![\w'’.=/])[^\W\d_]++|\bph\.d)[ \t]?$", re.IGNORECASE
)
_NUMBER_BEFORE = re.compile(r"(?<![\w-])\d{1,3}[ \t]?$")
_LIST_ITEM_NUMBER = re.compile(r"[\s>*_#-]*(?:\d{1,2}|[A-Za-z])$")
_BULLET = re.compile(r"[-*+•‣◦·#>|]+[ \t]|\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]")
_INNER_WORD = re.compile(r"(?<=[a-z,;] )[A-Za-z]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

_REACH_BEFORE, _REACH_AFTER = 16, 120
_CASED_SHARE, _TOO_FEW_TO_TELL = 0.01, 20


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text.

    Attributes:
        text: its words, as in the text.
        places: indices, from 0, of the sentences by rules that overlap with it.
    """

    text: str
    places: tuple[int, ...]


def locate_sentences(text: str, sentences: Sequence[str]) -> tuple[Sentence, ...]:
    """Return the sentences of someone else's split as they are in `text`.

    Raises:
        ValueError: if the sentences together are not the text, apart from white space.
    """
    if _visible("".join(sentences)) != _visible(text):
        raise ValueError("the sentences together must be the text, word for word and with nothing left out")
    visible = [at for at, character in enumerate(text) if not character.isspace()]
    by_rule, located, first = sentence_spans(text), list[Sentence](), 0
    for sentence in sentences:
        last = first + len(_visible(sentence))
        start, end = visible[first], visible[last - 1] + 1
        places = tuple(n for n, (a, b) in enumerate(by_rule) if a < end and start < b)
        located.append(Sentence(text[start:end], places))
        first = last
    return tuple(located)


def _visible(text: str) -> str:
    return "".join(text.split())


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, without the space around them."""
    return tuple(text[start:end] for start, end in sentence_spans(text))


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each sentence of a text starts and ends, as in `text[start:end]`, in order.

    What lies between the spans is white space, or pieces without any letter or digit, which are no sentences.
    """
    return tuple(
        _trimmed(text, start, end) for start, end in _pieces(text) if _LETTER_OR_DIGIT.search(text, start, end)
    )


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    cased, start = _is_cased(text), 0
    for match in _END.finditer(text):
        if _is_end(text, start, match, cased):
            yield start, match.end()
            start = match.end()
    yield start, len(text)


def _is_cased(text: str) -> bool:
    """Return whether capitals stand inside sentences, so that a small letter tells that the sentence goes on."""
    inner = _INNER_WORD.findall(text)
    capitals = sum(letter.isupper() for letter in inner)
    return capitals > _CASED_SHARE * len(inner) or (len(inner) < _TOO_FEW_TO_TELL and not text.islower())


def _is_end(text: str, start: int, match: re.Match[str], cased: bool) -> bool:
    run, after = match.group(), text[match.end() : match.end() + _REACH_AFTER]
    if run[0] == "\n":
        if not after or after[0] in ",;:.!?)":
            return False
        return run.count("\n") > 1 or bool(_BULLET.match(after)) or not (cased and after[0].islower())
    following = _NEXT.match(after)
    if run[0] in "。！？｡" or following is None or not following["word"]:
        return True
    marks, goes_on = run.rstrip("”’»)]}*_\"' \t-br"), cased and following["word"][0].islower()
    if not following["space"] or (goes_on and run[-1] not in "*_" and (marks != "." or marks != run)):
        return False
    return marks != "." or not _is_shortened(text, start, match.start(), following, goes_on=goes_on)


def _is_shortened(text: str, start: int, dot: int, following: re.Match[str], *, goes_on: bool) -> bool:
    """Return whether a dot belongs to a shortened word or a number, and the sentence goes on."""
    number, word = following["word"][0].isdigit(), following["word"].lower()
    if dot - start <= 12 and _LIST_ITEM_NUMBER.match(text, start, dot):
        return True
    if number and not following["between"] and _NUMBER_BEFORE.search(text, max(0, dot - 5), dot):
        return True
    found = _WORD_BEFORE.search(text, max(0, dot - _REACH_BEFORE), dot)
    before = found[1].lower() if found else ""
    if before in _NEVER_LAST or (number and before in _NUMBERED):
        return True
    is_initial = len(before) == 1 and before != "i"
    return (is_initial or "." in before or before in _SELDOM_LAST) and (goes_on or word not in _OPENINGS)


# `response` and `triple` are the whole text: what answers a dialogue, and what is read with its source and reference.
UnitKind = Literal["sentence", "sentence pair", "fact", "response", "triple"]

# The fields of an example that its output can be held against.
Material = Literal["source", "context", "reference"]


class Units(FrozenModel):
    """Pieces of a text, each of which can be judged by itself.

    Attributes:
        kind: what a piece is.
        beside: what it is judged beside, and shown with; as single facts where the pieces are facts. What an example
            does not have is left out.
        weights: whether the judge weighs the questions for each text anew, or all count alike.
    """

    kind: UnitKind
    beside: tuple[Material, ...] = ()
    weights: Literal["judge", "equal"] = "equal"
