"""What programs and assistants are told of a rubric, without labelled texts and its origin, and the texts they give."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from rubriclab.judges.recording import PREFIX, recorded_name
from rubriclab.rubric import Criterion, CriterionKind, Rubric
from rubriclab.store import Version


class GivenText(BaseModel):
    """A text to score, as programs and assistants give it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

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


class DescriptionModel(BaseModel):
    """Base of what is told to programs."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class LevelDescription(DescriptionModel):
    """What a text is like that deserves a score."""

    score: float
    """On the scale of the criterion."""
    description: str
    """What such a text is like."""


class CriterionDescription(DescriptionModel):
    """A criterion of the rubric."""

    id: str
    """Names it in scores."""
    kind: CriterionKind
    """What the judge is asked for."""
    trait: str
    """What it is about, in a few words."""
    statement: str
    """What the judge is asked."""
    levels: tuple[LevelDescription, ...] = ()
    """What texts of each score are like, if the criterion says it."""
    weight: float | None = None
    """Its share of the score; the sizes of all weights sum to 1. Null without learned weights."""


class AspectDescription(DescriptionModel):
    """What is judged."""

    name: str
    """Such as coherence."""
    definition: str
    """What it means."""


class ScaleDescription(DescriptionModel):
    """The ends of the scale of scores."""

    low: float
    """The lowest score."""
    high: float
    """The highest score."""


class RubricDescription(DescriptionModel):
    """The rubric that scores."""

    rubric: str
    """Its name with its version."""
    digest: str
    """Equal rubrics have equal digests."""
    task: str
    """The kind of text."""
    aspect: AspectDescription
    """What the rubric judges."""
    scale: ScaleDescription
    """The scale of the scores."""
    judge: str
    """Who rates the texts; `recorded` for a recording."""
    needs: tuple[str, ...]
    """Fields that every text should have, since all texts had them that the rubric was learned from."""
    verdict: Literal["better", "not better", "inconclusive"] | None
    """Whether it agrees better with people than the same judge asked directly; null if that was not measured."""
    criteria: tuple[CriterionDescription, ...]
    """What the judge rates, in the order of the rubric."""


def shown_judge(judge: str) -> str:
    """Return a judge without the path of its recording."""
    name = recorded_name(judge)
    return PREFIX.rstrip(":") if name.startswith(PREFIX) else name


def describe_rubric(rubric: Rubric, name: str, judge: str, version: Version | None) -> RubricDescription:
    """Return the description of a rubric, which is known as `name` and rated by `judge`."""
    provenance = version.provenance if version else None
    validation = provenance.validation if provenance else None
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    weights = {term.criterion: term.weight for term in terms}
    return RubricDescription(
        rubric=name,
        digest=rubric.digest,
        task=rubric.task,
        aspect=AspectDescription(name=rubric.aspect.name, definition=rubric.aspect.definition),
        scale=ScaleDescription(low=rubric.scores_on.low, high=rubric.scores_on.high),
        judge=shown_judge(judge),
        needs=(provenance.text_fields or ()) if provenance else (),
        verdict=validation.outcome if validation else None,
        criteria=tuple(_criterion(criterion, weights.get(criterion.id)) for criterion in rubric.criteria),
    )


def _criterion(criterion: Criterion, weight: float | None) -> CriterionDescription:
    return CriterionDescription(
        id=criterion.id,
        kind=criterion.kind,
        trait=criterion.trait,
        statement=criterion.statement,
        levels=tuple(LevelDescription(score=each.score, description=each.description) for each in criterion.levels),
        weight=weight,
    )
