"""The forms in which a judge answers HypoEval's prompts; reasoning stands before every verdict.

What depends on the question (the scale, the ids asked for) is checked against the prompt's fields, which the parser
passes as validation context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ValidationInfo, model_validator

from rubriclab.characters import is_blank
from rubriclab.data.scale import show
from rubriclab.methods.hypoeval.thresholds import level_fault, threshold_conflict
from rubriclab.methods.replies import Number, OnScale
from rubriclab.methods.standing_alone import leaning
from rubriclab.rubric import Level


class LevelText(BaseModel):
    """One level of a proposed hypothesis."""

    score: Number
    description: str


class Hypothesis(BaseModel):
    """A proposed hypothesis: one trait, level by level."""

    trait: str
    statement: str
    levels: list[LevelText]

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

    def fault(self) -> str | None:
        """Return what is wrong with the wording of the hypothesis by itself; `None` if nothing is."""
        if found := leaning(f"{self.trait}. {self.statement}", question=False):
            return f"{found!r} points to something outside the hypothesis"
        return level_fault([level.description for level in self.ordered_levels()])

    def conflict(self, others: Sequence[Hypothesis]) -> str | None:
        """Return what contradicts one of the others, if anything does."""
        own = self.ordered_levels()
        for other in others:
            if found := threshold_conflict(own, other.ordered_levels()):
                return f"{found} of {other.trait!r}"
        return None

    def ordered_levels(self) -> tuple[Level, ...]:
        """Return the levels as a rubric holds them, lowest first."""
        levels = sorted(self.levels, key=lambda level: level.score)
        return tuple(Level(score=level.score, description=level.description.strip()) for level in levels)


class Proposal(BaseModel):
    """Hypotheses, after the reasoning that led to them."""

    reasoning: str
    hypotheses: list[Hypothesis]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not self.hypotheses:
            raise ValueError("at least one hypothesis is needed")
        for place, hypothesis in enumerate(self.hypotheses):
            if found := hypothesis.fault() or hypothesis.conflict(self.hypotheses[:place]):
                raise ValueError(f"{hypothesis.trait!r:.60}: {found}; mend it and return all hypotheses again")
        return self


class AnyProposal(Proposal):
    """Hypotheses in the right form, whatever is wrong with their wording."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not self.hypotheses:
            raise ValueError("at least one hypothesis is needed")
        return self


class NamedRating(BaseModel):
    """A score with its reason, for one of several criteria."""

    criterion: str
    reasoning: str
    score: OnScale


class Ratings(BaseModel):
    """One rating for each criterion asked about, no more and no fewer."""

    ratings: list[NamedRating]

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
