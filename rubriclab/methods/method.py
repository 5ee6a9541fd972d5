"""What every method is: settings, learning, scoring, and the most that either asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import BaseModel

from rubriclab.checklist import Checklist, Folder
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.literature import Finding
from rubriclab.methods.estimate import CallEstimate
from rubriclab.rubric import CriterionKind, Part
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import grouped_folds

# Settings by the name of the preset that sets them.
Presets = Mapping[str, Mapping[str, Any]]

# What is being done, and the share of the whole that is done, 0 to 1.
Progress = Callable[[str, float], None]


# With so much of what a score rests on missing, it would be another score: of another rubric, or of another text.
MISSING = 0.5

# Groups are left out one by one up to so many; a bundle of more than one group then is at most 2 % of the texts.
MOST_LEFT_OUT = 50


def silent(_doing: str, _share: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class TrainingInput:
    """What there is to learn from.

    Attributes:
        examples: labelled texts, each with a score for the assignment's aspect; may be empty for a method that needs no
            labels.
        assignment: task, aspect and scale.
        findings: from literature.
        checklist: seed questions; `None` where the method asks none.
    """

    examples: tuple[Example, ...]
    assignment: Assignment
    findings: tuple[Finding, ...] = ()
    checklist: Checklist | None = None

    @property
    def labels(self) -> dict[str, float]:
        """The human score of each example, by id."""
        return {example.id: example.scores[self.assignment.aspect.name] for example in self.examples}


@dataclass(frozen=True, slots=True)
class UnitVerdict:
    """What a judge found of one unit of a text by one criterion.

    Attributes:
        unit: its words.
        sentences: the places of the text's sentences that it stands in, from 0, as `split_sentences` counts them.
        value: 1 where the verdict speaks for the text, 0 where it speaks against it, a share in between where the unit
            was rated; `None` where there is no usable verdict.
        reason: the judge's, or what went wrong.
        support: the facts that bear it out, in their own words.
    """

    unit: str
    sentences: tuple[int, ...]
    value: float | None
    reason: str
    support: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CriterionRating:
    """One text's score by one criterion with the judge's reason, or no score and why it is missing.

    Attributes:
        applies: false where the judge found that the criterion cannot be asked of this text: that is an answer, and no
            failure.
        weight: the share that it counts for in this text, where questions weigh differently.
        units: the verdicts that the score is made of, where the text was judged piece by piece.
    """

    criterion: str
    score: float | None
    reason: str
    applies: bool = True
    weight: float | None = None
    units: tuple[UnitVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """A part of a rubric, and the ratings it was chosen from.

    Attributes:
        part: criteria kept and dropped, with evidence.
        examples: ids of the training texts, the rows of `ratings`.
        candidates: ids of the criteria that were rated, the columns of `ratings`; each is among the part's criteria,
            kept or dropped.
        ratings: one row for each example, one rating for each candidate; without a score where it is missing.
        scores: the examples' scores by the part, as scoring would give them; NaN where missing.
        reselected: the same, but each group's by what the other groups' labels alone would have chosen.
        optimistic: whether the labels had any part in what `scores` are computed by.
        notes: what the user should be told: requests in vain, and what was overruled.
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
        """The ratings' scores, shape (examples, candidates), NaN where missing."""
        return scores_of(self.ratings, len(self.candidates))


def _never(_settings: Any) -> bool:
    return False


def _no_faults(_part: Part) -> Iterable[str]:
    return ()


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


class ScoreFunction(Protocol):
    """Scores one text by a part: a number on the rubric's scale or `None`, and every criterion's rating."""

    async def __call__(
        self, example: Example, part: Part, assignment: Assignment, judge: Judge, /
    ) -> tuple[float | None, tuple[CriterionRating, ...]]: ...


@dataclass(frozen=True, slots=True)
class Method:
    """One way to evaluate, whole.

    Attributes:
        name: as users write it.
        settings: its hyperparameters.
        presets: named groups of settings; `paper` gives the setting of the paper where the defaults differ from it.
        prompts: the templates it may ask with.
        learn, score: the two phases.
        learning_at_most: the most that learning asks of the judge and of the generator, if no reply needs a repair.
        scoring_at_most: the most that scoring one text asks.
        needs_labels: whether its default settings cannot learn without a labelled text.
        checklists: the folder of `stores/` with the questions that it starts from; `None` if it asks none.
        needs_checklist: whether it cannot do without them, given its settings.
        joint_settings: what differs from its own defaults when it learns together with other methods.
        shares_call: whether its criteria can be rated in one call with those of other methods, given a part's settings.
        criterion_kind: the kind of its criteria.
        single_criterion: whether it scores by exactly one criterion.
        states: what the statement of its criterion is, for a method that scores the whole aspect.
        templates: the folder of its templates, for a method outside of rubriclab; `NAME/x` is `x.md` in it.
        part_faults: what else is wrong with a part of it that came from elsewhere.
    """

    name: str
    settings: type[BaseModel]
    presets: Presets
    prompts: tuple[str, ...]
    learn: LearnFunction
    score: ScoreFunction
    learning_at_most: Callable[[TrainingInput, Any], tuple[CallEstimate, CallEstimate]]
    scoring_at_most: Callable[[Example, Part, Assignment], CallEstimate]
    needs_labels: bool = True
    checklists: Folder | None = None
    needs_checklist: Callable[[Any], bool] = _never
    joint_settings: Mapping[str, Any] = field(default_factory=dict)
    shares_call: Callable[[Mapping[str, Any]], bool] = _never
    criterion_kind: CriterionKind = "score"
    single_criterion: bool = False
    states: Literal["definition", "explanation", "steps"] = "definition"
    templates: Path | None = None
    part_faults: Callable[[Part], Iterable[str]] = _no_faults


def scores_of(ratings: Sequence[Sequence[CriterionRating]], criteria: int) -> FloatArray:
    """Return the scores of ratings by so many criteria, shape (texts, criteria), NaN where there is none."""
    rows = [[np.nan if rated.score is None else rated.score for rated in row] for row in ratings]
    return np.array(rows, dtype=float).reshape(len(rows), criteria)


def left_out(groups: Sequence[str], predict: Callable[[np.ndarray, np.ndarray], FloatArray]) -> FloatArray:
    """Return predictions for each group of texts by what `predict` learns from texts of other groups.

    Groups are left out one by one, or in `MOST_LEFT_OUT` bundles where there are more of them, so that the number of
    times that is learned does not grow with the number of groups.

    `predict(others, inside)` takes two masks over the texts and returns the numbers for those inside, NaN where it has
    none. Where there is one group only, nothing can be left out, and all are NaN.
    """
    predicted = np.full(len(groups), np.nan)
    bundle = grouped_folds(groups, MOST_LEFT_OUT, seed=0)
    for number in range(int(bundle.max(initial=-1)) + 1) if len(set(groups)) > 1 else ():
        inside = bundle == number
        predicted[inside] = predict(~inside, inside)
    return predicted


def chosen_settings(model: type[BaseModel], presets: Presets, values: Mapping[str, Any]) -> BaseModel:
    """Return the settings that `values` ask for; `preset: NAME` sets those of one of the `presets` first.

    Raises:
        pydantic.ValidationError: for unknown names or values out of bounds.
        ValueError: for an unknown preset.
    """
    chosen = dict(values)
    preset = chosen.pop("preset", None)
    if preset is None:
        return model(**chosen)
    if not (isinstance(preset, str) and preset in presets):
        known = f"expected {' or '.join(map(repr, presets))}" if presets else "there is none"
        raise ValueError(f"unknown preset {preset!r}; {known}")
    return model(**{**presets[preset], **chosen})
