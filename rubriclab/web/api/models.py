"""What a service takes and returns, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.learning.scoring import Score
from rubriclab.ops.versions import DescriptionModel, GivenText, shown_judge


class _Taken(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class InputText(_Taken, GivenText):
    """A text to score."""

    system: str | None = None
    """Which system wrote the text."""


class InputTexts(_Taken):
    """Several texts to score; they are scored at the same time."""

    texts: Annotated[tuple[InputText, ...], Field(min_length=1, strict=False)]
    """The texts."""


class UnitResult(DescriptionModel):
    """The answer for a piece of a text."""

    unit: str
    """The piece, as the judge was asked about it."""
    sentences: tuple[int, ...]
    """The sentences that it is in, from 0."""
    value: float | None
    """1 in favour of the text, 0 against it, null without a usable answer."""
    reason: str
    """The judge's reason, or why there is no value."""
    support: tuple[str, ...]
    """The facts that support it."""


class CriterionResult(DescriptionModel):
    """A text's score by one criterion."""

    id: str
    """The criterion, as in the rubric."""
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
    """That of the text."""
    aspect: str
    """What is judged."""
    score: float | None
    """On the scale of the rubric."""
    criteria: tuple[CriterionResult, ...]
    """The score by each criterion; empty if the text was not judged."""
    unscored: str | None
    """Why there is no score."""
    rubric: str
    """The rubric with its version."""
    judge: str
    """Who rated the text; `recorded` for a recording."""
    interval: tuple[float, float] | None = None
    """What holds the score that people would give; left out if the rubric has no intervals."""
    verdict: str | None = None
    """Of a rubric for verdicts, the level of the text; its score is the probability of the better level."""
    rivals: Literal["together"] | None = None
    """Present if texts of one group were rated in one call: such scores are not comparable with others."""


class ScoreResults(DescriptionModel):
    """The scores of several texts."""

    scores: tuple[ScoreResult, ...]
    """In the order of the texts."""
    warnings: tuple[str, ...]
    """What makes scores less reliable, such as texts without a source where the rubric was learned from texts with one;
    mostly empty."""


class Health(DescriptionModel):
    """That the service works."""

    status: Literal["ok"]
    """Present if the thread that scores responds."""


class ProblemDetails(DescriptionModel):
    """Why a request failed (RFC 9457)."""

    title: str
    """The words of the status."""
    status: int
    """The HTTP status of the response."""
    code: str
    """The kind of problem, for programs."""
    detail: str
    """What is wrong with this request."""
    request: str
    """The id of the request, by which the service's log names it."""


def score_row(score: Score) -> Mapping[str, Any]:
    """Return a score as `ScoreResult`: as `rubriclab score` writes it."""
    return {**score.to_row(), "judge": shown_judge(score.judge)}
