"""How sure a judge was of the score that it gave: the probabilities of all legal scores, from a reply's tokens.

The expectation over them is the probability-weighted score of G-Eval (Liu et al. 2023, section 2, "Scoring Function").
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from rubriclab.judges.json_objects import json_objects
from rubriclab.judges.judge import Reply, Token

# Below this share the judge was about to write something else than a legal score, or the probabilities are cut off.
LEAST_SHARE = 0.5

# Only finds where things stand; whether a reply can be used has been decided by then.
_PLACES = json.JSONDecoder(strict=False, parse_int=str)
_GAP = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
# What may stand around a number within its token: the end of its key, quotes, what opens and closes JSON.
_AROUND = " \t\n\r\"':,{}[]`"


def score_distribution(reply: Reply, legal: Sequence[float], field: str = "score") -> Mapping[float, float] | None:
    """Return the probability of each score in `legal` as the value of `field` in a JSON reply; they sum to 1.

    They are read from the alternatives to the one token that holds the number (the last value of `field` at the top
    level of the reply's JSON object), added up where several tokens read as the same score, and normalised over the
    legal scores; other tokens are left out. So are those with which a longer legal score could begin as well (a "1"
    where 10 is legal), unless the alternatives show that such scores are written in one token.

    `None` where it cannot be told: the reply has no tokens or they do not join to its text, no object in it has such a
    number or several have, it takes several tokens, or less than half of the probability is on legal scores.
    """
    if "".join(token.text for token in reply.tokens) != reply.text:
        return None
    span = _number(reply.text, field)
    place = _place(reply.tokens, *span) if span else None
    return _normalised(_read(*place), legal) if place else None


def _number(text: str, field: str) -> tuple[int, int] | None:
    """Return where the number under `field` begins and ends; `None` unless one object in `text` has such a field."""
    try:
        values = [members[field] for members in _objects(text) if field in members]
    except RecursionError:  # thousands of levels deep is no answer
        return None
    if len(values) != 1:
        return None
    begin, end = values[0]
    number = _NUMBER.fullmatch(text[begin:end].strip(' \t\n\r"'))
    if number is None:
        return None
    begin = text.index(number[0], begin)
    return begin, begin + len(number[0])


def _objects(text: str) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield for each outermost JSON object in `text`, left to right, where the value of each of its keys stands."""
    for at, value in json_objects(text, usable=False):
        yield dict(_members(text, at)) if value else {}


def _members(text: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the keys and the places of the values in the object, valid and not empty, that opens at `at`."""
    while text[at] != "}":
        key, at = _PLACES.raw_decode(text, _after_gap(text, at + 1))
        begin = _after_gap(text, _after_gap(text, at) + 1)
        _, end = _PLACES.raw_decode(text, begin)
        yield key, (begin, end)
        at = _after_gap(text, end)


def _after_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _place(tokens: Sequence[Token], begin: int, end: int) -> tuple[Token, str, str] | None:
    """Return the token that holds the whole of `begin` to `end`, with what it holds before and behind."""
    at = 0
    for token in tokens:
        if at <= begin and end <= at + len(token.text):
            return token, token.text[: begin - at], token.text[end - at :]
        at += len(token.text)
    return None


def _read(token: Token, before: str, behind: str) -> dict[str, float]:
    """Return the probabilities of the numbers, as they are written, among the alternatives to `token`."""
    numbers: dict[str, float] = {}
    for text, logprob in token.alternatives:
        rest = text.removeprefix(before).lstrip(_AROUND)
        number = _NUMBER.match(rest)
        if number and (rest[number.end() :] == behind or not rest[number.end() :].strip(_AROUND)):
            numbers[number[0]] = numbers.get(number[0], 0.0) + math.exp(min(logprob, 0.0))
    return numbers


def _normalised(numbers: Mapping[str, float], legal: Sequence[float]) -> dict[float, float] | None:
    shares = dict.fromkeys((float(score) for score in legal), 0.0)
    split = [text for text in map(_text, shares) if not _in_one_token(text, numbers)]
    for text, probability in numbers.items():
        if float(text) in shares and not any(longer.startswith(text) for longer in split):
            shares[float(text)] += probability
    total = sum(shares.values())
    return {score: share / total for score, share in shares.items()} if total >= LEAST_SHARE else None


def _text(score: float) -> str:
    return repr(score).removesuffix(".0")


def _in_one_token(text: str, numbers: Collection[str]) -> bool:
    """Return whether `text` is among the `numbers`, or a whole number with no more digits than one of these has."""
    longest = max((len(number.lstrip("-")) for number in numbers if "." not in number), default=0)
    return text in numbers or ("." not in text and len(text.lstrip("-")) <= longest)
