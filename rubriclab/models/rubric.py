"""The rubric that learning produces and scoring uses: frozen data without code, identified by its digest.

A rubric has a part for each method that it was learned with. A part has the criteria by which texts are rated. The
generator is the model that proposes criteria; the evidence of a criterion says what the generator was shown. The
aggregation has a weight for each criterion. The last functions find what changed between the criteria of two rubrics.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from rubriclab.display import Displayed
from rubriclab.models.aggregation import Aggregation, Term
from rubriclab.models.base import MAX_SCORING_NUMBER, BoundedFloat, Count, FrozenModel, digest
from rubriclab.models.characters import describe
from rubriclab.models.text import Aspect, Assignment, Material, Scale, Units, Words, format_score, task_words

# A smaller weight would have no effect beside a weight of usual size.
MIN_WEIGHT = 1e-12

CriterionKind = Literal["hypothesis", "question", "score", "trait", "feature"]

DIRECT_METHOD = "direct"


class Level(FrozenModel):
    """Description of a text that deserves `score` on a criterion."""

    score: BoundedFloat
    description: str = Field(min_length=1)


class CitedReason(FrozenModel):
    """A rater's reason that the generator cites: the id of its text, and the rater's name (empty if unknown)."""

    example: str
    rater: str = ""


class Evidence(FrozenModel):
    """Origin of a criterion, and its agreement with the training labels.

    Attributes:
        origin: what the criterion was made from; if `definition`, from the aspect's definition alone.
        examples: ids of the labelled texts that the generator was shown, or whose raters' reasons it was shown.
        reasons: the raters' reasons from which the generator says that it made the criterion.
        findings: ids of the literature findings that the generator was shown.
        refined: number of refinement rounds.
        pearson: correlation with the labels of the training texts.
        judged, missing: numbers of training texts with a usable rating, and of texts whose rating failed.
        answers: counts of the answers `yes`, `no` and `n/a` on the training texts.
        heldout: correlation with the labels of the training texts that were not used to make the criterion, or if all
            were used, the cross-validated correlation. `None` if it was not measured.
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
    reasons: tuple[CitedReason, ...] = Field((), exclude_if=lambda reasons: not reasons)
    findings: tuple[str, ...] = ()
    refined: Count = 0
    pearson: float | None = None
    judged: Count = 0
    missing: Count = 0
    answers: Mapping[str, Count] | None = None
    heldout: float | None = None


class Question(FrozenModel):
    """Origin of a yes/no question, and the meaning of its answers.

    Attributes:
        origin: `seed` if written by hand. A question derived from a seed question is `diversified` if it asks about
            another side of the same sub-dimension, `elaborated` if it asks about a finer point. Others are `proposed`.
        seed: id of the seed question that this one was derived from, if any.
        better: the answer of a better text.
        support: the material whose facts the judge has to name for the answer yes; `None` if it need not name facts.
        absent: the answer for a text without the thing that the question is about; `None` if unspecified.
        broken: the answer for a text that is empty or makes no sense; `None` if unspecified.
    """

    origin: Literal["seed", "diversified", "elaborated", "proposed"]
    seed: str | None = None
    better: Literal["yes", "no"] = "yes"
    support: Material | None = None
    absent: Literal["yes", "no", "n/a"] | None = None
    broken: Literal["yes", "no", "n/a"] | None = None


class Demonstration(FrozenModel):
    """A labelled text, whose id is `example`, in the prompt before the text to score."""

    example: str
    output: str
    source: str | None = None
    context: str | None = None
    score: BoundedFloat


class Criterion(FrozenModel):
    """A criterion of a rubric.

    Attributes:
        kind: `hypothesis`, a statement with levels; `question`, answered yes or no, with its sub-dimension as `trait`;
            `score`, a holistic rating of the aspect, whose `statement` instructs the judge; `trait`, a statement that
            is rated on the scale without levels; or `feature`, a measure of the text, whose `id` is its name.
        weight: its weight in the score by its method alone; `Term.weight` is its weight in the rubric's score.
        demonstrations, steps: labelled texts and evaluation steps in the criterion's prompt.
        needs_source: whether the judge compares the text with its source or context. A prompt shows these only if one
            of its criteria needs them.
    """

    id: str
    kind: CriterionKind
    trait: str = Field(min_length=1)
    statement: str = Field(min_length=1)
    levels: tuple[Level, ...] = ()
    weight: float = Field(default=1.0, ge=MIN_WEIGHT, le=MAX_SCORING_NUMBER, allow_inf_nan=False)
    evidence: Evidence
    question: Question | None = None
    demonstrations: tuple[Demonstration, ...] = ()
    steps: str = ""
    needs_source: bool = Field(True, exclude_if=lambda needed: needed)

    @property
    def title(self) -> str:
        return self.statement if self.question else self.trait

    def with_evidence(self, **changes: Any) -> Self:
        return self.model_copy(update={"evidence": self.evidence.model_copy(update=changes)})

    @model_validator(mode="after")
    def _matches_kind(self) -> Self:
        if (self.kind == "hypothesis") != bool(self.levels):
            got = f"got {len(self.levels)} in a {self.kind}"
            raise ValueError(f"expected levels in a hypothesis and in no other kind, {got}")
        if (self.kind == "question") != bool(self.question):
            got = "one" if self.question else "none"
            raise ValueError(f"expected `question` in a question and in no other kind, got {got} in a {self.kind}")
        return self


class DroppedCriterion(FrozenModel):
    """A criterion that was rejected, and the reason."""

    criterion: Criterion
    reason: str


class Part(FrozenModel):
    """The criteria that one method learned, and the settings with which it learned them and scores texts.

    Attributes:
        dimensions: definitions of the sub-dimensions that the criteria's traits name, if any.
        units: the units that a text is segmented into, for a method that judges units.
    """

    method: str
    settings: Mapping[str, JsonValue]
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    dropped: tuple[DroppedCriterion, ...] = ()
    dimensions: Mapping[str, str] | None = None
    units: Units | None = None


class Rubric(Displayed, FrozenModel):
    """What raters of one aspect reward, in a part for each method.

    Attributes:
        aggregation: how the ratings become one score; without aggregation, the score is the mean of the parts' scores.
        dropped: rejected criteria of methods without a part in the rubric; other rejected criteria are in the parts.
    """

    format: Literal[1] = 1
    task: Words
    aspect: Aspect
    scale: Scale
    parts: tuple[Part, ...] = Field(min_length=1)
    aggregation: Aggregation | None = None
    dropped: tuple[DroppedCriterion, ...] = Field((), exclude_if=lambda dropped: not dropped)

    @model_validator(mode="after")
    def _has_one_term_per_criterion(self) -> Self:
        if self.aggregation:
            ids = Counter(criterion.id for criterion in self.criteria)
            terms = Counter(term.criterion for term in self.aggregation.terms)
            unmatched = next((name for name in (ids | terms) if (ids[name], terms[name]) != (1, 1)), None)
            if unmatched is not None:
                counts = f"{ids[unmatched]} and {terms[unmatched]} for {describe(unmatched)}"
                raise ValueError(f"expected one criterion and one term of the aggregation for each id, got {counts}")
        return self

    @functools.cached_property
    def digest(self) -> str:
        """The rubric's identity: equal content has an equal digest."""
        return digest(self.model_dump(mode="json"))

    @property
    def asks_directly(self) -> bool:
        """Whether scores come from asking the judge directly for one score: a baseline without criteria."""
        return [part.method for part in self.parts] == [DIRECT_METHOD]

    @property
    def assignment(self) -> Assignment:
        """What prompts say of the task: its words, the aspect, and the scale of the criteria's ratings."""
        return Assignment(task_words(self.task), self.aspect, self.scale)

    @property
    def score_scale(self) -> Scale:
        """The scale of the rubric's scores; its criteria are rated on `scale`, which may be another one."""
        onto = self.aggregation.onto if self.aggregation else None
        return onto or self.scale

    @property
    def terms(self) -> dict[str, Term]:
        """The summands of a score, one for each weighted criterion, by criterion id; empty without learned weights."""
        return {term.criterion: term for term in self.aggregation.terms} if self.aggregation else {}

    @property
    def threshold(self) -> float | None:
        """The lowest score that passes: the learned one or else 0.5; `None` if scores are not on two levels."""
        if not self.score_scale.has_two_levels:
            return None
        learned = self.aggregation.threshold if self.aggregation else None
        return 0.5 if learned is None else learned

    def verdict(self, score: float | None) -> str | None:
        """Return the level of a text with this score; `None` without a score, or if scores are not on two levels."""
        names = self.score_scale.names
        if names is None or self.threshold is None or score is None:
            return None
        return names[1] if score >= self.threshold else names[0]

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return tuple(criterion for part in self.parts for criterion in part.criteria)

    @property
    def all_dropped(self) -> tuple[DroppedCriterion, ...]:
        return (*(criterion for part in self.parts for criterion in part.dropped), *self.dropped)


def in_prompt_order(criteria: Iterable[Criterion]) -> list[Criterion]:
    """Return criteria sorted by id, with h9 before h10, as prompts list them."""
    return sorted(criteria, key=lambda criterion: (len(criterion.id), criterion.id))


def criterion_prompt_fields(criterion: Criterion) -> dict[str, Any]:
    return criterion.model_dump(mode="json", include={"id", "trait", "statement", "levels"})


# Two criteria of one kind with wordings at least this similar (0 to 100) count as the same criterion, changed.
# Ids cannot identify a criterion, since every learning run assigns new ids.
MIN_SIMILARITY = 75.0
# Only this many characters of a text are compared, since the time is quadratic in their number.
MAX_COMPARED_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The value of one field before and after a change; `None` if the field is absent."""

    field: str
    before: JsonValue
    after: JsonValue


@dataclass(frozen=True, slots=True)
class CriterionChange:
    """A criterion in both versions, its changes, and the similarity of the wordings (0 to 100)."""

    before: Criterion
    after: Criterion
    similarity: float
    changes: tuple[FieldChange, ...]


def field_changes(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> tuple[FieldChange, ...]:
    names = dict.fromkeys((*before, *after))
    changes = (FieldChange(name, before.get(name), after.get(name)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def matched_criteria(old: Sequence[Criterion], new: Sequence[Criterion]) -> list[CriterionChange]:
    """Return pairs of similar criteria, sorted as in `new`. The criteria that are most similar are paired first."""
    from rapidfuzz import fuzz

    similar_pairs: list[tuple[float, int, int]] = []  # the negative similarity, and the indices in `old` and `new`
    for old_index, before in enumerate(old):
        for new_index, after in enumerate(new):
            if before.kind == after.kind:
                similarity = fuzz.token_sort_ratio(_compared_text(before), _compared_text(after))
                if similarity >= MIN_SIMILARITY:
                    similar_pairs.append((-similarity, old_index, new_index))
    matched_old: set[int] = set()
    matches: dict[int, CriterionChange] = {}  # by index in `new`
    for negative_similarity, old_index, new_index in sorted(similar_pairs):
        if old_index not in matched_old and new_index not in matches:
            matched_old.add(old_index)
            before, after = old[old_index], new[new_index]
            changes = field_changes(_compared_fields(before), _compared_fields(after))
            matches[new_index] = CriterionChange(before, after, -negative_similarity, changes)
    return [match for _, match in sorted(matches.items())]


def _compared_text(criterion: Criterion) -> str:
    texts = (criterion.trait, criterion.statement, *(level.description for level in criterion.levels))
    return " ".join(text[:MAX_COMPARED_CHARACTERS] for text in texts)


def _compared_fields(criterion: Criterion) -> dict[str, JsonValue]:
    fields = criterion.model_dump(mode="json", include={"trait", "statement", "weight"})
    fields |= {f"level {format_score(level.score)}": level.description for level in criterion.levels}
    if question := criterion.question:
        fields |= {"better answer": question.better, "origin": question.origin, "seed": question.seed}
    if question and question.support:
        fields["supported by facts of"] = question.support
    if not criterion.needs_source:
        fields["needs the source"] = False
    for demonstration in criterion.demonstrations:
        values = demonstration.model_dump(mode="json", exclude={"example"}, exclude_none=True)
        fields |= {f"demonstration {demonstration.example}, {name}": value for name, value in values.items()}
    return fields
