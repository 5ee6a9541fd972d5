"""The reply models of HypoEval's prompts, and faults in the wording of hypotheses.

Reasoning comes before every verdict. The scale and the ids are checked against the prompt's fields, which the parser
passes as validation context.

Faults are references outside a hypothesis, and contradictory numbers in levels. Levels that count something ("no name",
"one or two names", "three names or more") are parsed as ranges of a noun. Levels without numbers, and numbers of
different nouns, are not checked.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ValidationInfo, model_validator

from rubriclab.bounds import LONGEST_WORDING
from rubriclab.characters import is_blank
from rubriclab.data.fields import LONGEST_NAME
from rubriclab.data.scale import show
from rubriclab.methods.reasons import CitedNumbers, NothingToCite
from rubriclab.methods.replies import Number, OnScale, at_most, leaning
from rubriclab.rubric import Criterion, Level
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


def threshold_conflict(levels: Sequence[LevelText | Level], other_levels: Sequence[LevelText | Level]) -> str | None:
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


def faults(hypotheses: Sequence[Hypothesis | Criterion]) -> dict[int, str]:
    """Return the indices of faulty hypotheses with the faults.

    Of two hypotheses with contradictory thresholds the later one is faulty.
    """
    problems: dict[int, str] = {}
    for place, hypothesis in enumerate(hypotheses):
        sound = [other for before, other in enumerate(hypotheses[:place]) if before not in problems]
        if fault := _own_fault(hypothesis) or _conflict(hypothesis, sound):
            problems[place] = fault
    return problems


def _own_fault(hypothesis: Hypothesis | Criterion) -> str | None:
    if reference := leaning(f"{hypothesis.trait}. {hypothesis.statement}", question=False):
        return f"{reference!r} points to something outside the hypothesis"
    return level_fault([level.description for level in _ordered(hypothesis)])


def _conflict(hypothesis: Hypothesis | Criterion, others: Sequence[Hypothesis | Criterion]) -> str | None:
    levels = _ordered(hypothesis)
    for other in others:
        if conflict := threshold_conflict(levels, _ordered(other)):
            return f"{conflict} of {other.trait!r}"
    return None


def _ordered(hypothesis: Hypothesis | Criterion) -> list[LevelText | Level]:
    return sorted(hypothesis.levels, key=lambda level: level.score)


class LevelText(BaseModel):
    """One level of a proposed hypothesis."""

    score: Number
    description: Annotated[str, at_most(LONGEST_WORDING)]


class Hypothesis(BaseModel):
    """A proposed hypothesis: one trait, level by level."""

    trait: Annotated[str, at_most(LONGEST_NAME)]
    statement: Annotated[str, at_most(LONGEST_WORDING)]
    levels: list[LevelText]
    reasons: NothingToCite = []

    @model_validator(mode="after")
    def _worded(self) -> Self:
        texts = [self.trait, self.statement, *(level.description for level in self.levels)]
        if any(map(is_blank, texts)):
            raise ValueError("trait, statement and every level need words")
        return self

    @model_validator(mode="after")
    def _every_level(self, info: ValidationInfo) -> Self:
        if info.context:
            expected = list(info.context["scale"]["anchors"])
            got = sorted(level.score for level in self.levels)
            if got != expected:
                raise ValueError(f"levels needed for {_listed(expected)}, got {_listed(got)}")
        return self

    def ordered_levels(self) -> tuple[Level, ...]:
        """Return the levels of a criterion, lowest first."""
        levels = sorted(self.levels, key=lambda level: level.score)
        return tuple(Level(score=level.score, description=level.description.strip()) for level in levels)


class AnyProposal(BaseModel):
    """Hypotheses, after the reasoning that led to them."""

    reasoning: str
    hypotheses: Sequence[Hypothesis]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.hypotheses:
            raise ValueError("at least one hypothesis is needed")
        return self


class HypothesisProposal(AnyProposal):
    """Hypotheses, each self-contained, after the reasoning that led to them."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for place, fault in faults(self.hypotheses).items():
            raise ValueError(
                f"{self.hypotheses[place].trait!r:.60}: {fault}; correct it and return all hypotheses again"
            )
        return self


class CitingHypothesis(Hypothesis):
    """A proposed hypothesis, with the numbers of the raters' reasons that it came from."""

    reasons: CitedNumbers = []


class AnyCitingProposal(AnyProposal):
    """Hypotheses that cite raters' reasons, after the reasoning that led to them."""

    hypotheses: Sequence[CitingHypothesis]


class CitingProposal(HypothesisProposal):
    """Hypotheses that cite raters' reasons, each self-contained, after the reasoning that led to them."""

    hypotheses: Sequence[CitingHypothesis]


class HypothesisRating(BaseModel):
    """A score with its reason, for one of several criteria."""

    criterion: str
    reasoning: str
    score: OnScale


class HypothesisRatings(BaseModel):
    """One rating for each criterion asked about, no more and no fewer."""

    ratings: list[HypothesisRating]

    @model_validator(mode="after")
    def _every_criterion(self, info: ValidationInfo) -> Self:
        if info.context:
            expected = [criterion["id"] for criterion in info.context["criteria"]]
            got = [rating.criterion for rating in self.ratings]
            if sorted(got) != sorted(expected):
                raise ValueError(f"one rating each needed for {', '.join(expected)}; got {', '.join(got) or 'none'}")
        return self


def _listed(scores: list[float]) -> str:
    return ", ".join(show(score) for score in scores) or "none"
