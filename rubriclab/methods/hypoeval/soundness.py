"""What is wrong with hypotheses as they are worded, whatever they claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from rubriclab.methods.hypoeval.thresholds import Described, level_fault, threshold_conflict
from rubriclab.methods.self_contained import leaning


class ScoredLevel(Described, Protocol):
    """The description of a level with the score that it stands for."""

    @property
    def score(self) -> float: ...


L_co = TypeVar("L_co", bound=ScoredLevel, covariant=True)


class Worded(Protocol[L_co]):
    """A hypothesis, in a reply or in a rubric."""

    @property
    def trait(self) -> str: ...

    @property
    def statement(self) -> str: ...

    @property
    def levels(self) -> Sequence[L_co]: ...


def faults(hypotheses: Sequence[Worded[ScoredLevel]]) -> dict[int, str]:
    """Return the places of the faulty hypotheses, each with what is wrong with it.

    Of two whose thresholds contradict each other the later one is faulty.
    """
    found: dict[int, str] = {}
    for place, hypothesis in enumerate(hypotheses):
        sound = [other for before, other in enumerate(hypotheses[:place]) if before not in found]
        if fault := _own_fault(hypothesis) or _conflict(hypothesis, sound):
            found[place] = fault
    return found


def _own_fault(hypothesis: Worded[ScoredLevel]) -> str | None:
    if found := leaning(f"{hypothesis.trait}. {hypothesis.statement}", question=False):
        return f"{found!r} points to something outside the hypothesis"
    return level_fault([level.description for level in _ordered(hypothesis)])


def _conflict(hypothesis: Worded[ScoredLevel], others: Sequence[Worded[ScoredLevel]]) -> str | None:
    own = _ordered(hypothesis)
    for other in others:
        if found := threshold_conflict(own, _ordered(other)):
            return f"{found} of {other.trait!r}"
    return None


def _ordered(hypothesis: Worded[ScoredLevel]) -> list[ScoredLevel]:
    return sorted(hypothesis.levels, key=lambda level: level.score)
