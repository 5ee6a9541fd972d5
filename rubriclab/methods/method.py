"""The interface of a method, which learns one part of a rubric (some criteria) and scores texts by it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import BaseModel

from rubriclab.judges.judge import Judge
from rubriclab.methods.sources import Checklist, Finding, Folder
from rubriclab.models.rubric import Criterion, CriterionKind, Part
from rubriclab.models.text import Assignment, Example, group_keys, sort_by_content
from rubriclab.stats.correlation import MIN_RATINGS, FloatArray, float_table, pearson
from rubriclab.stats.intervals import grouped_folds, predict_folds, round_or_none

# The settings that each preset stands for, by its name.
Presets = Mapping[str, Mapping[str, Any]]
# Called with the current step in words, and the completed share of the whole work.
Progress = Callable[[str, float], None]

# A text with this share of missing answers or more has no score: fewer questions would amount to another rubric.
TOO_LARGE_MISSING_SHARE = 0.5
# The largest number of folds in cross-validation. If there are no more groups of texts than this, each is a fold.
MAX_FOLDS = 50


def ignore_progress(_stage: str, _share: float) -> None:
    """No-op progress callback."""


@dataclass(frozen=True, slots=True)
class TrainingInput:
    """The input of learning.

    Attributes:
        examples: texts with labels for the assignment's aspect; may be empty if the method needs no labels.
        findings: what publications say that raters reward or penalize.
        checklist: seed questions; `None` if the method uses none.
        jointly_rated_examples: labelled texts that joint training (with other methods) rates instead of `learn`.
    """

    examples: tuple[Example, ...]
    assignment: Assignment
    findings: tuple[Finding, ...] = ()
    checklist: Checklist | None = None
    jointly_rated_examples: tuple[Example, ...] = ()

    @property
    def texts_for_generator(self) -> tuple[Example, ...]:
        """The labelled texts that prompts to the generator may show."""
        return self.examples or self.jointly_rated_examples

    @property
    def in_order(self) -> tuple[Example, ...]:
        """The examples, ordered by their content, so that results do not depend on ids or the order of rows."""
        return sort_by_content(self.examples)

    @property
    def groups(self) -> tuple[str, ...]:
        """The key of the group of each example `in_order`: a digest of the group's texts, and its name."""
        return group_keys(self.in_order)

    @property
    def label_array(self) -> FloatArray:
        """The human scores of `in_order`, shape (examples,)."""
        return np.array([example.scores[self.assignment.aspect.name] for example in self.in_order], dtype=float)

    @property
    def labels(self) -> dict[str, float]:
        """The human score of each example, by id."""
        return {example.id: example.scores[self.assignment.aspect.name] for example in self.examples}


@dataclass(frozen=True, slots=True)
class UnitVerdict:
    """A judge's verdict by one criterion on `unit`, the words of a unit of a text, such as a sentence.

    Attributes:
        sentences: indices of the sentences that contain the unit, from 0, in the order of `split_sentences`.
        value: 1 in favor of the text, 0 against it; or a number between, if the unit was rated; `None` if missing.
        reason: the judge's reason, or why there is no verdict.
        support: the wording of each fact that supports the unit.
    """

    unit: str
    sentences: tuple[int, ...]
    value: float | None
    reason: str
    support: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CriterionRating:
    """One text's score by one criterion with the judge's reason, or no score and why it is missing.

    A question gives 1 if its answer is in favor of the text, else 0. With `units`, the score is their mean value.

    Attributes:
        id: of the criterion.
        applies: false if the criterion is not applicable to this text, which is an answer and not a failure.
        weight: of the criterion within its method (the weights sum to 1); `None` if the method has no weights.
        units: the verdicts that the score is computed from, if the text was judged unit by unit.
        contribution: points by which the rating moves the score from an average text's score, if weights are learned.
        name: the criterion's title if the rating is part of a score and of a criterion of the rubric; else empty.
    """

    id: str
    score: float | None
    reason: str
    applies: bool = True
    weight: float | None = None
    units: tuple[UnitVerdict, ...] = ()
    contribution: float | None = None
    name: str = field(default="", compare=False)

    @property
    def answers_missing(self) -> int:
        """The number of missing answers: of its units if the text was judged unit by unit, else 0 or 1."""
        if self.units:
            return sum(verdict.value is None for verdict in self.units)
        return int(self.applies and self.score is None)

    def to_row(self) -> dict[str, Any]:
        """Return the rating as one JSON object, without the optional fields that its method leaves empty."""
        # `asdict` would take a third of the time of scoring a text offline.
        row: dict[str, Any] = {"id": self.id, "name": self.name} if self.name else {"id": self.id}
        row |= {"score": self.score, "reason": self.reason, "applies": self.applies}
        if self.weight is not None:
            row["weight"] = self.weight
        if self.units:
            row["units"] = tuple(asdict(verdict) for verdict in self.units)
        if self.contribution is not None:
            row["contribution"] = self.contribution
        return row


@dataclass(frozen=True, slots=True)
class Learned:
    """A part of a rubric, and the ratings it was selected from.

    Attributes:
        examples: ids of the training texts, the rows of `ratings`.
        candidates: ids of the rated criteria, the columns of `ratings`; the part has kept some and dropped the others.
        scores: the examples' scores by the part, as scoring would give them, shape (examples,); NaN if missing.
        reselected: the same, but each group is scored by the criteria that the labels of the other groups select.
        optimistic: whether labels influenced the criteria or weights behind `scores`.
        notes: messages for the user, for instance about failed requests.
    """

    part: Part
    examples: tuple[str, ...]
    candidates: tuple[str, ...]
    ratings: tuple[tuple[CriterionRating, ...], ...]
    scores: FloatArray
    reselected: FloatArray
    optimistic: bool = True
    notes: tuple[str, ...] = ()

    @property
    def matrix(self) -> FloatArray:
        """The scores of the ratings, shape (examples, candidates); NaN if missing."""
        return float_table(([rating.score for rating in row] for row in self.ratings), len(self.candidates))


@dataclass(frozen=True, slots=True)
class LearningCalls:
    """The estimated numbers of calls to judge and generator in learning, for the estimate of its cost.

    Attributes:
        shown: number of labelled texts in a prompt to the generator.
        jointly_rated_criteria: number of criteria by which joint training, not `learn`, rates the texts.
    """

    judge: int
    generator: int = 0
    shown: int = 0
    jointly_rated_criteria: int = 0


class LearnFunction(Protocol):
    """Learns a part of a rubric; raises JudgeError if nothing could be learned."""

    async def __call__(
        self,
        training_input: TrainingInput,
        settings: Any,
        *,
        judge: Judge,
        generator: Judge,
        seed: int,
        on_progress: Progress,
    ) -> Learned: ...


# Proposes criteria from the labelled texts that a part rates wrong. Returns a part with these criteria, and notes.
ExtendFunction = Callable[..., Coroutine[Any, Any, tuple[Part, tuple[str, ...]]]]

# A text's score on the rubric's scale, `None` if it has none, and its rating by every criterion.
Scored = tuple[float | None, tuple[CriterionRating, ...]]

# Scores one text by a part.
ScoreFunction = Callable[[Example, Part, Assignment, Judge], Coroutine[Any, Any, Scored]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of learning and applying one part of a rubric.

    Attributes:
        name: the name that users write.
        note: what the method scores by, in a few words.
        is_baseline: whether reports show it as a baseline that rubrics are compared with.
        settings: the model of its hyperparameters.
        presets: named groups of settings; `paper` has the settings of the paper where the defaults differ from it.
        prompts: the names of all its templates.
        learn, score: the functions that learn a part and that score a text by the part.
        learning_calls: returns the estimated calls of learning; by default one for each labelled text.
        needs_labels: whether learning with the default settings needs labelled texts.
        leaves_rating_to_joint_training: whether, in joint training, `learn` rates no texts itself, given the settings.
        extend: proposes more criteria from the ratings of joint training; `None` if the method proposes no more.
        checklists: the folder of `stores/` with the method's seed questions; `None` if it uses none.
        needs_checklist: whether the method needs seed questions, given its settings.
        joint_settings: settings that differ from the defaults in joint training.
        shares_call: whether its criteria can share a call with criteria of other methods, given a part's settings.
        criterion_kind: the kind of its criteria.
        single_criterion: whether it scores by exactly one criterion.
        statement_kind: what its single criterion's statement is: the aspect's definition, an explanation, or steps.
        templates: the folder of its templates, for a method of another package; `NAME/x` is `x.md` in it.
        part_faults: returns the faults of an imported part that only the method itself can find.
        generator_sees_reasons: whether the generator is shown raters' reasons for their scores, given the settings.
    """

    name: str
    settings: type[BaseModel]
    presets: Presets
    prompts: tuple[str, ...]
    learn: LearnFunction
    score: ScoreFunction
    note: str = ""
    is_baseline: bool = False
    learning_calls: Callable[[TrainingInput, Any], LearningCalls] = lambda data, _: LearningCalls(len(data.examples))
    needs_labels: bool = True
    leaves_rating_to_joint_training: Callable[[Any], bool] = lambda _settings: False
    extend: ExtendFunction | None = None
    checklists: Folder | None = None
    needs_checklist: Callable[[Any], bool] = lambda _settings: False
    joint_settings: Mapping[str, Any] = field(default_factory=dict)
    shares_call: Callable[[Mapping[str, Any]], bool] = lambda _settings: False
    criterion_kind: CriterionKind = "score"
    single_criterion: bool = False
    statement_kind: Literal["definition", "explanation", "steps"] = "definition"
    templates: Path | None = None
    part_faults: Callable[[Part], Iterable[str]] = lambda _part: ()
    generator_sees_reasons: Callable[[Any], bool] = lambda _settings: False


def with_agreement(
    criterion: Criterion,
    scores: FloatArray,
    labels: FloatArray,
    text_count: int,
    answer_counts: Mapping[str, int] | None = None,
    *,
    min_scores: int = MIN_RATINGS,
) -> Criterion:
    """Return the criterion with evidence: its correlation with the labels, and its numbers of scores and answers.

    `text_count` is the number of texts that should have a score; missing `scores` are NaN. A correlation needs
    `min_scores` scores. If the criterion is a question, `answer_counts` says how often each answer was given.
    """
    has_score = ~np.isnan(scores)
    score_count = int(has_score.sum())
    r = round_or_none(pearson(scores[has_score], labels[has_score])) if score_count >= min_scores else None
    n_missing = text_count - score_count
    return criterion.with_evidence(pearson=r, judged=score_count, missing=n_missing, answers=answer_counts)


def cross_validated(groups: Sequence[str], predict: Callable[[np.ndarray, np.ndarray], FloatArray]) -> FloatArray:
    """Return a prediction for each text from the texts of other groups, shape (texts,); NaN if there is one group.

    `predict` takes masks of the training texts and the held-out texts; it returns predictions for the held-out texts.
    """
    if len(set(groups)) < 2:
        return np.full(len(groups), np.nan)
    return predict_folds(grouped_folds(groups, MAX_FOLDS, seed=0), predict)


def choose_settings(model: type[BaseModel], presets: Presets, values: Mapping[str, Any]) -> BaseModel:
    """Return settings from `values`; `values["preset"]` may name the one of `presets` that has the other settings.

    Raises ValueError for an unknown preset, pydantic's ValidationError for unknown names or values out of bounds.
    """
    settings = dict(values)
    preset = settings.pop("preset", None)
    if preset is None:
        return model(**settings)
    if isinstance(preset, str) and preset in presets:
        return model(**{**presets[preset], **settings})
    expected = f"expected {' or '.join(map(repr, presets))}" if presets else "this method has no presets"
    raise ValueError(f"unknown preset {preset!r}; {expected}")


def pick_evenly(texts: Sequence[Example], max_texts: int) -> tuple[Example, ...]:
    """Return up to `max_texts` of the texts, evenly spaced from the first to the last."""
    indices = np.linspace(0, len(texts) - 1, min(max_texts, len(texts))).round().astype(int)
    return tuple(texts[index] for index in indices)
