"""What a service takes and returns, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.scoring import Score
from rubriclab.services.rubric_description import DescriptionModel, shown_judge


class _Taken(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class InputText(_Taken):
    """A text to score."""

    output: str
    """The text."""
    source: str | None = None
    """What it was made from, such as the article of a summary or the question of an answer."""
    context: str | None = None
    """What else the judge is shown, such as the dialogue before a response."""
    reference: str | None = None
    """A text by a person for the same source, for criteria that compare with one."""
    id: str | None = None
    """By default derived from the text."""
    group: str | None = None
    """What texts share that have the same source; by default derived from it."""
    system: str | None = None
    """Which system wrote the text."""


class InputTexts(_Taken):
    """Several texts to score; they are scored at the same time."""

    texts: Annotated[tuple[InputText, ...], Field(min_length=1, strict=False)]
    """The texts."""


class UnitResult(DescriptionModel):
    """The answer for a piece of a text."""

    unit: str
    sentences: tuple[int, ...]
    """The sentences that it is in, from 0."""
    value: float | None
    """1 in favour of the text, 0 against it, null without a usable answer."""
    reason: str
    support: tuple[str, ...]
    """The facts that support it."""


class CriterionResult(DescriptionModel):
    """A text's score by one criterion."""

    id: str
    score: float | None
    """Null if the judge gave no usable rating, or the criterion does not apply."""
    reason: str
    """The judge's reason, or why there is no score."""
    applies: bool
    """Whether the criterion can be asked of this text."""
    weight: float | None = None
    """Of a criterion that is weighted within its method."""
    units: tuple[UnitResult, ...] = ()
    """The pieces of a text that is judged piece by piece."""
    contribution: float | None = None
    """What it adds to the score of an average text, in points; with learned weights only."""


class ScoreResult(DescriptionModel):
    """A text's score; either `score` or `unscored` is null."""

    id: str
    aspect: str
    score: float | None
    """On the scale of the rubric."""
    criteria: tuple[CriterionResult, ...]
    unscored: str | None
    """Why there is no score."""
    rubric: str
    """The rubric with its version."""
    judge: str
    interval: tuple[float, float] | None = None
    """What holds the score that people would give; left out if the rubric has no intervals."""
    rivals: Literal["together"] | None = None
    """Present if texts of one group were rated in one call: such scores are not comparable with others."""


class ScoreResults(DescriptionModel):
    """The scores of several texts, in their order."""

    scores: tuple[ScoreResult, ...]


class Health(DescriptionModel):
    """That the service works."""

    status: Literal["ok"]


class ProblemDetails(DescriptionModel):
    """Why a request failed (RFC 9457)."""

    title: str
    status: int
    code: str
    """The kind of problem, which does not change with its wording."""
    detail: str
    request: str
    """The id of the request, by which the service's log names it."""


def score_row(score: Score) -> Mapping[str, Any]:
    """Return a score as `ScoreResult`: as `rubriclab score` writes it."""
    return {**score.to_row(), "judge": shown_judge(score.judge)}
