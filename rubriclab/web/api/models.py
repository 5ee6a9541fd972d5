"""What a service takes and returns, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.judges.recording import PREFIX, recorded_name
from rubriclab.rubric import Criterion, CriterionKind
from rubriclab.scoring import Score
from rubriclab.services.text_scorer import TextScorer


class _Taken(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class _Returned(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


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


class UnitResult(_Returned):
    """The answer for a piece of a text."""

    unit: str
    sentences: tuple[int, ...]
    """The sentences that it is in, from 0."""
    value: float | None
    """1 in favour of the text, 0 against it, null without a usable answer."""
    reason: str
    support: tuple[str, ...]
    """The facts that support it."""


class CriterionResult(_Returned):
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


class ScoreResult(_Returned):
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


class ScoreResults(_Returned):
    """The scores of several texts, in their order."""

    scores: tuple[ScoreResult, ...]


class LevelDescription(_Returned):
    """What a text is like that deserves a score."""

    score: float
    description: str


class CriterionDescription(_Returned):
    """A criterion of the rubric."""

    id: str
    kind: CriterionKind
    trait: str
    statement: str
    levels: tuple[LevelDescription, ...] = ()


class AspectDescription(_Returned):
    """What is judged."""

    name: str
    definition: str


class ScaleDescription(_Returned):
    """The ends of the scale of scores."""

    low: float
    high: float


class RubricDescription(_Returned):
    """The rubric that scores."""

    rubric: str
    """Its name with its version."""
    digest: str
    """Equal rubrics have equal digests."""
    task: str
    aspect: AspectDescription
    scale: ScaleDescription
    judge: str
    needs: tuple[str, ...]
    """Fields that every text should have, since all texts had them that the rubric was learned from."""
    verdict: Literal["better", "not better", "inconclusive"] | None
    """Whether it agrees better with people than what costs nothing; null if that was not measured."""
    criteria: tuple[CriterionDescription, ...]


class Health(_Returned):
    """That the service works."""

    status: Literal["ok"]


class ProblemDetails(_Returned):
    """Why a request failed (RFC 9457)."""

    title: str
    status: int
    code: str
    """The kind of problem, which does not change with its wording."""
    detail: str
    request: str
    """The id of the request, by which the service's log names it."""


def shown_judge(judge: str) -> str:
    """Return a judge without the path of its recording."""
    name = recorded_name(judge)
    return PREFIX.rstrip(":") if name.startswith(PREFIX) else name


def score_row(score: Score) -> Mapping[str, Any]:
    """Return a score as `ScoreResult`: as `rubriclab score` writes it."""
    return {**score.to_row(), "judge": shown_judge(score.judge)}


def rubric_description(scorer: TextScorer) -> RubricDescription:
    """Return what may be known of the rubric; labelled texts in its prompts are left out."""
    rubric, version = scorer.rubric, scorer.version
    provenance = version.provenance if version else None
    validation = provenance.validation if provenance else None
    return RubricDescription(
        rubric=scorer.name,
        digest=rubric.digest,
        task=rubric.task,
        aspect=AspectDescription(name=rubric.aspect.name, definition=rubric.aspect.definition),
        scale=ScaleDescription(low=rubric.scores_on.low, high=rubric.scores_on.high),
        judge=shown_judge(scorer.judge),
        needs=(provenance.text_fields or ()) if provenance else (),
        verdict=validation.outcome if validation else None,
        criteria=tuple(map(_described, rubric.criteria)),
    )


def _described(criterion: Criterion) -> CriterionDescription:
    levels = tuple(LevelDescription(score=level.score, description=level.description) for level in criterion.levels)
    return CriterionDescription(
        id=criterion.id, kind=criterion.kind, trait=criterion.trait, statement=criterion.statement, levels=levels
    )
