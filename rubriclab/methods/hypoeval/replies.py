"""The reply models of HypoEval's prompts.

Reasoning comes before every verdict. The scale and the ids are checked against the prompt's fields, which the parser
passes as validation context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ValidationInfo, model_validator

from rubriclab.bounds import LONGEST_WORDING
from rubriclab.characters import is_blank
from rubriclab.data.fields import LONGEST_NAME
from rubriclab.data.scale import show
from rubriclab.methods.reasons import CitedNumbers, NothingToCite
from rubriclab.methods.replies import Number, at_most
from rubriclab.rubric import Level


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


class HypothesisProposal(BaseModel):
    """Hypotheses, each self-contained, after the reasoning that led to them."""

    reasoning: str
    hypotheses: Sequence[Hypothesis]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.hypotheses:
            raise ValueError("at least one hypothesis is needed")
        return self


class CitingHypothesis(Hypothesis):
    """A proposed hypothesis, with the numbers of the raters' reasons that it came from."""

    reasons: CitedNumbers = []


class CitingProposal(HypothesisProposal):
    """Hypotheses that cite raters' reasons, each self-contained, after the reasoning that led to them."""

    hypotheses: Sequence[CitingHypothesis]


def _listed(scores: list[float]) -> str:
    return ", ".join(show(score) for score in scores) or "none"
