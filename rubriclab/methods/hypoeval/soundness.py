"""Faults in the wording of hypotheses: references outside them, and contradictory numbers in levels.

Levels that count something ("no name", "one or two names", "three names or more") are parsed as ranges of a noun.
Levels without numbers, and numbers of different nouns, are not checked.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rubriclab.methods.self_contained import leaning
from rubriclab.text_features.lexicon import word_set

_IN_LETTERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_IN_LETTERS)}
_NUMBER = rf"(?:\d+|{'|'.join(_NUMBERS)})"
_COUNT = re.compile(
    rf"(?P<bound>at least|at most|up to|more than|over|fewer than|less than|exactly|only)?\s*"
    rf"\b(?P<first>{_NUMBER})\b(?:\s*(?:or|to|and|-|–)\s*(?P<last>{_NUMBER})\b)?"
    rf"(?P<open>\s+or (?:more|fewer|less))?\s+(?P<noun>[a-z]{{3,}})(?P<later> or (?:more|fewer|less))?"
)
# Words after a number that are not countable nouns.
_NO_NOUN = word_set(
    "and are but can clear for from had half halves has have into its more not one only other part parts percent point "
    "points quarter quarters such than that the their them then there they thing things third thirds this those time "
    "times two very was way were what when which who with"
)
# Longer levels qualify the noun, so their numbers are not comparable.
MOST_WORDS = 8


class Described(Protocol):
    """One level of a hypothesis."""

    @property
    def description(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Count:
    """A range of a noun's number in a level, with both ends included."""

    noun: str
    low: float
    high: float


def level_fault(descriptions: Sequence[str]) -> str | None:
    """Return the contradiction in the levels of one hypothesis, given from the lowest; `None` if there is none."""
    plain = [" ".join(description.lower().split()).rstrip(".") for description in descriptions]
    counts = [_counted(description) for description in plain]
    for one, other in itertools.pairwise(counts):
        if one and other and one.noun == other.noun and max(one.low, other.low) < min(one.high, other.high):
            return f"neighbouring levels overlap in the number of {one.noun}s"
    rising = [count.low for count in counts if count]
    if all(counts) and len({count.noun for count in counts if count}) == 1:
        falling = sorted(rising, reverse=True)
        if rising not in (sorted(rising), falling):
            return f"the number of {counts[0].noun if counts[0] else 'cases'}s neither rises nor falls with the levels"
    return None


def threshold_conflict(levels: Sequence[Described], other_levels: Sequence[Described]) -> str | None:
    """Return the contradiction of two hypotheses that give the same number of a noun opposite ends of the scale."""
    ends = [(_counted(side[0].description), _counted(side[-1].description)) for side in (levels, other_levels)]
    (low, high), (other_low, other_high) = ends
    for one, other in ((low, other_high), (high, other_low)):
        if one and other and one.noun == other.noun and max(one.low, other.low) <= min(one.high, other.high):
            return f"a number of {one.noun}s that earns the lowest score of one earns the highest score"
    return None


def _counted(description: str) -> Count | None:
    """Return the only count in a level; `None` if there is none or more than one."""
    matches = [match for match in _COUNT.finditer(description.lower()) if match["noun"] not in _NO_NOUN]
    if len(matches) != 1 or len(description.split()) > MOST_WORDS:
        return None
    (match,) = matches
    first, last = _number(match["first"]), _number(match["last"] or match["first"])
    low, high = _bounded(match["bound"], match["open"] or match["later"] or "", first, last)
    return Count(match["noun"].rstrip("s"), low, high)


def _bounded(bound: str | None, more: str, first: float, last: float) -> tuple[float, float]:
    if bound == "at least" or "more" in more:
        return first, math.inf
    if bound in ("at most", "up to") or more:
        return 0.0, last
    if bound in ("more than", "over"):
        return first + 1, math.inf
    return (0.0, last - 1) if bound in ("fewer than", "less than") else (first, last)


def _number(word: str) -> float:
    return float(_NUMBERS[word]) if word in _NUMBERS else float(word)


class ScoredLevel(Described, Protocol):
    """The description of a level with its score."""

    @property
    def score(self) -> float: ...


L_co = TypeVar("L_co", bound=ScoredLevel, covariant=True)


class Worded(Protocol[L_co]):
    """A hypothesis in a reply or in a rubric."""

    @property
    def trait(self) -> str: ...

    @property
    def statement(self) -> str: ...

    @property
    def levels(self) -> Sequence[L_co]: ...


def faults(hypotheses: Sequence[Worded[ScoredLevel]]) -> dict[int, str]:
    """Return the indices of faulty hypotheses with the faults.

    Of two hypotheses with contradictory thresholds the later one is faulty.
    """
    problems: dict[int, str] = {}
    for place, hypothesis in enumerate(hypotheses):
        sound = [other for before, other in enumerate(hypotheses[:place]) if before not in problems]
        if fault := _own_fault(hypothesis) or _conflict(hypothesis, sound):
            problems[place] = fault
    return problems


def _own_fault(hypothesis: Worded[ScoredLevel]) -> str | None:
    if reference := leaning(f"{hypothesis.trait}. {hypothesis.statement}", question=False):
        return f"{reference!r} points to something outside the hypothesis"
    return level_fault([level.description for level in _ordered(hypothesis)])


def _conflict(hypothesis: Worded[ScoredLevel], others: Sequence[Worded[ScoredLevel]]) -> str | None:
    levels = _ordered(hypothesis)
    for other in others:
        if conflict := threshold_conflict(levels, _ordered(other)):
            return f"{conflict} of {other.trait!r}"
    return None


def _ordered(hypothesis: Worded[ScoredLevel]) -> list[ScoredLevel]:
    return sorted(hypothesis.levels, key=lambda level: level.score)
