"""The rubric: what learning produces and scoring loads. Frozen plain data without code; its digest is its identity."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from rubriclab.aggregation import Aggregation
from rubriclab.base_models import LARGEST, Bounded, Count, FrozenModel
from rubriclab.data.aspect import Aspect, Words
from rubriclab.data.fields import describe
from rubriclab.data.scale import Scale
from rubriclab.digest import digest
from rubriclab.display import Displayed
from rubriclab.methods.names import PartName
from rubriclab.segmentation import Material, Units

if TYPE_CHECKING:
    from rubriclab.report.model import View

FORMAT: Literal[1] = 1

# A weight below this would vanish beside others.
LEAST_WEIGHT = 1e-12


class Level(FrozenModel):
    """What a text looks like that deserves `score` on one criterion."""

    score: Bounded
    description: str = Field(min_length=1)


class RewardPoint(FrozenModel):
    """A hypothesis at one ranking of the bandit.

    Attributes:
        step: training examples seen by then.
        visits: how many of them this hypothesis was scored on.
        utility: mean utility over the visits, at most 1.
        bonus: exploration bonus; reward = utility + bonus.
    """

    step: Count
    visits: Count
    utility: float
    bonus: float


class Evidence(FrozenModel):
    """Where a criterion came from and what speaks for it.

    Attributes:
        origin: what the generator saw when it proposed the criterion; `definition` where only the aspect's definition
            stands behind it.
        examples: ids of the labelled texts that it saw.
        findings: ids of the literature findings that it saw.
        refined: rounds of refinement that followed.
        rewards: the way through the bandit, thinned to 100 points where it is longer; empty where it never took part.
        pearson: correlation with the human scores of the training texts; `None` where undefined.
        judged: training texts with a usable rating.
        missing: training texts whose rating failed.
        answers: how often a question was answered `yes`, `no` and `n/a` on the training texts.
        heldout: correlation with the labels of training texts that had no part in making it; if all of them had, of
            trials that were made from some alone. `None` where there is no such figure.
    """

    origin: Literal[
        "labels",
        "labels and literature",
        "literature",
        "prior knowledge",
        "written by hand",
        "seed questions",
        "definition",
    ]
    examples: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    refined: Count = 0
    rewards: tuple[RewardPoint, ...] = ()
    pearson: float | None = None
    judged: Count = 0
    missing: Count = 0
    answers: Mapping[str, Count] | None = None
    heldout: float | None = None


class Question(FrozenModel):
    """How a yes/no question came about, and how its answer counts.

    Attributes:
        origin: written by hand (`seed`); made from a seed, as another side of its sub-dimension or a finer point of it;
            or `proposed` with its sub-dimension.
        seed: the id of the question it was made from; `None` for one that was made from none.
        better: the answer that speaks for the text.
        support: whose facts must be named for the answer to be yes; `None` where the judge simply says yes or no.
        absent: the answer where the thing that is asked about is not in the text; `None` where nothing is said of that.
        broken: the answer for a text that is empty or makes no sense; `None` where nothing is said of that.
    """

    origin: Literal["seed", "diversified", "elaborated", "proposed"]
    seed: str | None = None
    better: Literal["yes", "no"] = "yes"
    support: Material | None = None
    absent: Literal["yes", "no", "n/a"] | None = None
    broken: Literal["yes", "no", "n/a"] | None = None


class Demonstration(FrozenModel):
    """A labelled text that a judge is shown before the one to score."""

    example: str
    output: str
    source: str | None = None
    context: str | None = None
    score: Bounded


class Criterion(FrozenModel):
    """One thing that a rubric looks at.

    Attributes:
        kind: a `hypothesis` with levels; a yes/no `question`, whose `trait` is its sub-dimension; one `score` of the
            whole aspect, whose `statement` is what the judge is given to go by; or a `measure` of a text's surface,
            whose `id` is its name in the catalogue.
        demonstrations: labelled texts shown with it.
        steps: evaluation steps that the task is told with; empty for none.
    """

    id: str
    kind: Literal["hypothesis", "question", "score", "measure"]
    trait: str = Field(min_length=1)
    statement: str = Field(min_length=1)
    levels: tuple[Level, ...] = ()
    weight: float = Field(1.0, ge=LEAST_WEIGHT, le=LARGEST, allow_inf_nan=False)
    evidence: Evidence
    question: Question | None = None
    demonstrations: tuple[Demonstration, ...] = ()
    steps: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.kind == "hypothesis") != bool(self.levels):
            raise ValueError("levels belong to a hypothesis, and every hypothesis needs some")
        if (self.kind == "question") != bool(self.question):
            raise ValueError("`question` belongs to a criterion of that kind, and every one needs it")
        return self


class DroppedCriterion(FrozenModel):
    """A criterion that was considered and left out, and why."""

    criterion: Criterion
    reason: str


class Part(FrozenModel):
    """What one method contributed: its criteria, and the settings that it was learned with and scores with.

    Attributes:
        dimensions: what is meant by each sub-dimension that the criteria's traits name, where there are any.
        units: what a text is taken apart into, for a method that judges it piece by piece.
    """

    method: PartName
    settings: Mapping[str, JsonValue]
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    dropped: tuple[DroppedCriterion, ...] = ()
    dimensions: Mapping[str, str] | None = None
    units: Units | None = None


class Rubric(Displayed, FrozenModel):
    """What raters of one aspect reward, as parts that are scored one by one.

    Attributes:
        combination: how the criteria of all parts come to one score; without it a rubric's score is the mean of its
            parts' scores.
    """

    format: Literal[1] = FORMAT
    task: Words
    aspect: Aspect
    scale: Scale
    parts: tuple[Part, ...] = Field(min_length=1)
    aggregation: Aggregation | None = None

    def view(self) -> View:
        """Return what the rubric judges and its criteria."""
        from rubriclab.report.version import rubric_view

        return rubric_view(self)

    @model_validator(mode="after")
    def _combined(self) -> Self:
        if self.aggregation:
            ids, terms = Counter(c.id for c in self.criteria), Counter(t.criterion for t in self.aggregation.terms)
            if odd := [name for name in (ids | terms) if (ids[name], terms[name]) != (1, 1)]:
                counts = f"{ids[odd[0]]} of the one and {terms[odd[0]]} of the other"
                raise ValueError(
                    f"expected one criterion and one term of the combination for each id, got {counts} "
                    f"for {describe(odd[0])}"
                )
        return self

    @functools.cached_property
    def digest(self) -> str:
        """The rubric's identity: equal content, equal digest."""
        return digest(self.model_dump(mode="json"))

    @property
    def scores_on(self) -> Scale:
        """The scale that texts' scores are on; criteria are asked on `scale`, which may be another one."""
        return (self.aggregation and self.aggregation.onto) or self.scale

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """All criteria, part by part."""
        return tuple(criterion for part in self.parts for criterion in part.criteria)


def by_id(criteria: Iterable[Criterion]) -> list[Criterion]:
    """Return criteria in the order in which prompts list them, whatever they are ranked by: h9 before h10."""
    return sorted(criteria, key=lambda criterion: (len(criterion.id), criterion.id))


def criterion_payload(criterion: Criterion) -> dict[str, Any]:
    """Return what a judge is shown of a criterion."""
    return {
        "id": criterion.id,
        "trait": criterion.trait,
        "statement": criterion.statement,
        "levels": [{"score": level.score, "description": level.description} for level in criterion.levels],
    }
