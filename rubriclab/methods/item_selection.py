"""Selection and weighting of questions by training labels.

The papers use no labels, and CheckEval finds no way to measure what its filter does. Here a question is dropped if its
answers never vary, if they correlate negatively with the labels, or if they repeat another question's answers. With
about thirty labels and as many questions the last two may be chance; each rule has a threshold against that.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rubriclab.data.example import Example
from rubriclab.errors import SettingsError
from rubriclab.methods.questions import by_trait, is_handwritten, is_seed
from rubriclab.methods.replies import Number, Whole
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import BoolArray, FloatArray, label_correlations
from rubriclab.stats.interval import DIGITS

# Equal weights; equal weights of the sub-dimensions, shared by their questions; or weights by regression on the labels.
Weighing = Literal["equal", "sub-dimensions", "regression"]

# Two questions with one or two rare answers may have them on the same texts by chance, among 400 pairs of questions and
# 30 texts. With three rare answers of 30, one pair in 4,060 does.
FEWEST_RARE = 3


class SelectionSettings(BaseModel):
    """Hyperparameters of selection and weighting by labels, for every method with questions."""

    model_config = ConfigDict(frozen=True)

    fewest_answers: Whole = Field(default=10, ge=3, le=1000)
    """Fewest answers on training texts that can speak against a question."""

    against: Number = Field(default=0.2, ge=0, le=0.5)
    """Significance level (one-sided) at which a question with a negative correlation with the labels is dropped: 0
    keeps every question, 0.5 none with a negative correlation. On 30 labels, 0.2 cost nothing if all questions were
    good (Spearman 0.65 on other texts with and without it), and raised 0.53 to 0.59 if of 24 questions four were
    reversed and six were answered at random."""

    ends: Number = Field(default=0, ge=0, le=0.5)
    """Share of the labelled texts with the lowest and with the highest labels on which generated questions are tried: a
    question that the worst texts pass as often as the best is dropped. 0 tries none."""

    repeated: Number = Field(default=0.95, gt=0, le=1)
    """Correlation of two questions' answers from which the later one is redundant."""

    selected: Whole = Field(default=0, ge=0, le=200)
    """Most questions kept, by correlation with the labels; 0 keeps all remaining ones."""

    penalty: Number = Field(default=30, ge=0.01, le=10_000)
    """Ridge penalty of weights by regression. On 30 labels a small one (1) overfits: Spearman 0.61 on other texts, 0.63
    with 30, 0.65 with equal weights. CheckEval's paper finds no gain in regression either."""

    @property
    @abstractmethod
    def asks_labels(self) -> bool:
        """Whether labels drop questions."""

    @property
    @abstractmethod
    def weighing(self) -> Weighing:
        """How the selected questions are weighted."""

    @property
    @abstractmethod
    def needs_labels(self) -> str | None:
        """The setting that needs labelled texts; `None` if there is none."""


def check_labels(settings: SelectionSettings, examples: Sequence[Example]) -> None:
    """Check that there are labelled texts if a setting needs them.

    Raises:
        SettingsError: if there are none.
    """
    if settings.needs_labels and not examples:
        raise SettingsError(
            f"The setting {settings.needs_labels} needs labelled texts, and there are none.",
            "Give labelled texts, or leave the setting at its default.",
        )


@dataclass(frozen=True, slots=True)
class AnswerMatrix:
    """The answers on the training texts, shape (texts, questions).

    Attributes:
        good: 1 for the good answer, 0 for the other, a share for a text in parts; NaN if missing.
        applies: false if a question is not applicable to a text.
        labels: human scores, shape (texts,).
    """

    good: FloatArray
    applies: BoolArray
    labels: FloatArray

    def rows(self, chosen: BoolArray) -> AnswerMatrix:
        """Return the answers on some of the texts."""
        return AnswerMatrix(self.good[chosen], self.applies[chosen], self.labels[chosen])


@dataclass(frozen=True, slots=True)
class SelectedQuestions:
    """The selected questions with their weights, why the others were dropped, by id, and notes for the user."""

    questions: tuple[Criterion, ...]
    dropped: Mapping[str, str]
    notes: tuple[str, ...] = ()


def select_questions(
    questions: Sequence[Criterion], answers: AnswerMatrix, settings: SelectionSettings
) -> SelectedQuestions:
    """Return the questions that the labels select, with weights; without labels, all of them.

    At least one question is kept: if the labels speak against all, the best of each sub-dimension.
    """
    r: list[float] = label_correlations(answers.good, answers.labels).tolist()
    order = sorted(range(len(questions)), key=lambda column: not is_seed(questions[column]))
    dropped, notes = _dropped(order, questions, answers, r, settings) if settings.asks_labels else ({}, ())
    if settings.selected and len(answers.labels):
        ranked = sorted((column for column in order if column not in dropped), key=lambda column: -_known(r[column]))
        reason = f"not among the {settings.selected} that track the labels best"
        dropped |= dict.fromkeys(ranked[settings.selected :], reason)
    kept = [column for column in range(len(questions)) if column not in dropped]
    weights = question_weights([questions[column] for column in kept], answers.good[:, kept], answers.labels, settings)
    if not weights.any():
        weights, notes = np.ones(len(kept)), (*notes, "no question tracks the labels: all weigh the same")
    weightless = [column for column, weight in zip(kept, weights, strict=True) if not weight]
    dropped |= dict.fromkeys(weightless, "weight 0 in the regression on the labels")
    weighed = (_with_weight(questions[column], weight) for column, weight in zip(kept, weights, strict=True) if weight)
    return SelectedQuestions(
        tuple(weighed), {questions[column].id: dropped[column] for column in sorted(dropped)}, notes
    )


def question_weights(
    questions: Sequence[Criterion], good: FloatArray, labels: FloatArray, settings: SelectionSettings
) -> FloatArray:
    """Return the questions' weights, shape (questions,); zero for those that add nothing to the regression.

    The regression is CheckEval's (appendix C.2) with non-negative weights, since a question is written to speak for a
    text, and a ridge penalty, since there are about as many questions as labels. Missing answers are imputed by the
    mean of the question. Weights are multiples of their mean.
    """
    if settings.weighing == "sub-dimensions":
        sizes = {trait: len(each) for trait, each in by_trait(questions).items()}
        return np.array([round(1 / sizes[question.trait], DIGITS) for question in questions])
    if settings.weighing == "equal" or not len(labels):
        return np.ones(len(questions))
    from sklearn.linear_model import Ridge

    filled = np.where(np.isnan(good), _means(good), good)
    # Rounded, because constant labels are equal only up to rounding errors of their mean.
    coefficients = np.round(Ridge(alpha=settings.penalty, positive=True, tol=1e-10).fit(filled, labels).coef_, 9)
    return (
        np.round(coefficients / coefficients[coefficients > 0].mean(), DIGITS)
        if (coefficients > 0).any()
        else np.zeros(len(questions))
    )


def _dropped(
    order: Sequence[int],
    questions: Sequence[Criterion],
    answers: AnswerMatrix,
    r: Sequence[float],
    settings: SelectionSettings,
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return the columns to drop, with the reasons, and a note if some are kept nevertheless."""
    dropped = _unearned(questions, answers, settings) | _unvarying(answers, settings) | _against(answers, r, settings)
    dropped |= _repeating([column for column in order if column not in dropped], questions, answers, settings)
    if len(dropped) < len(questions):
        return dropped, ()
    best = _best_of_each(questions, r)
    note = f"the labels speak against every question: the best of each sub-dimension stay ({len(best)})"
    return {column: reason for column, reason in dropped.items() if column not in best}, (note,)


def _unvarying(answers: AnswerMatrix, settings: SelectionSettings) -> dict[int, str]:
    """Return the columns with constant answers.

    If every tenth text had another answer, 30 texts would all have the same one in one of 24 cases.
    """
    constant = {}
    for column, (good, applies) in enumerate(zip(answers.good.T, answers.applies.T, strict=True)):
        present = good[~np.isnan(good)]
        if not len(present) and (~applies).sum() >= settings.fewest_answers:
            constant[column] = f"it cannot be asked of any of the {len(good)} training texts"
        elif len(present) >= settings.fewest_answers and len(set(present)) == 1:
            constant[column] = f"the same answer for all {len(present)} training texts that it was asked of"
    return constant


def _against(answers: AnswerMatrix, r: Sequence[float], settings: SelectionSettings) -> dict[int, str]:
    """Return the columns whose correlation with the labels is significantly below zero (one-sided).

    Questions are written to speak for a text, so a slightly negative correlation is more likely due to chance.
    """
    present = (~np.isnan(answers.good)).sum(axis=0)
    negative = {}
    for column, (correlation, n) in enumerate(zip(r, present.tolist(), strict=True)):
        if correlation < 0 and n >= settings.fewest_answers and (p := p_below(correlation, n)) < settings.against:
            negative[column] = (
                f"runs against the labels: correlation {correlation:.2f} over {n} training texts, "
                f"so low by chance in {p:.1%} of cases"
            )
    return negative


def _unearned(questions: Sequence[Criterion], answers: AnswerMatrix, settings: SelectionSettings) -> dict[int, str]:
    """Return the columns of generated questions that the worst texts pass as often as the best.

    Every text passes such a question, or even nonsense does.
    """
    worst, best = _ends(answers.labels, settings.ends)
    unearned = {}
    for column, question in enumerate(questions):
        low, high = (answers.good[rows, column] for rows in (worst, best))
        low, high = low[~np.isnan(low)], high[~np.isnan(high)]
        if is_handwritten(question) or min(len(low), len(high)) < FEWEST_RARE or low.mean() < high.mean():
            continue
        unearned[column] = (
            f"the worst texts earn it as often as the best: {low.sum():g} of the {len(low)} rated lowest, "
            f"{high.sum():g} of the {len(high)} rated highest"
        )
    return unearned


def _ends(labels: FloatArray, share: float) -> tuple[BoolArray, BoolArray]:
    """Return the masks of the texts with the lowest and the highest labels; empty if the two ends overlap."""
    count = math.floor(float(share) * len(labels))
    ordered = np.sort(labels)
    if not count or ordered[count - 1] >= ordered[-count]:
        none = np.zeros(len(labels), dtype=bool)
        return none, none
    return labels <= ordered[count - 1], labels >= ordered[-count]


def p_below(r: float, n: int) -> float:
    """Return the one-sided p-value of a correlation as low as `r` over `n` texts (Student's t)."""
    from scipy.special import stdtr

    if abs(r) >= 1:
        return float(r > 0)
    return float(stdtr(n - 2, r * np.sqrt((n - 2) / (1 - r * r))))


def _repeating(
    order: Sequence[int], questions: Sequence[Criterion], answers: AnswerMatrix, settings: SelectionSettings
) -> dict[int, str]:
    """Return the columns that repeat the answers of an earlier one in `order`, on all texts that they apply to."""
    r, shared, rare = _pairs(answers.good)
    kept: list[int] = []
    repeated = {}
    for column in order:
        adds = [(~np.isnan(answers.good[:, column]) & ~answers.applies[:, other]).any() for other in kept]
        alike = [
            other
            for other, more in zip(kept, adds, strict=True)
            if not more
            and shared[other, column] >= settings.fewest_answers
            and min(rare[other, column], rare[column, other]) >= FEWEST_RARE
            and r[other, column] >= settings.repeated
        ]
        if alike:
            first, n = alike[0], int(shared[alike[0], column])
            repeated[column] = (
                f"answers as {questions[first].id} does (correlation {r[first, column]:.2f} over {n} texts)"
            )
        else:
            kept.append(column)
    return repeated


def _pairs(good: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each pair of columns the correlation, the common texts, and the rarer answers of the first one."""
    has = (~np.isnan(good)).astype(float)
    filled = np.where(np.isnan(good), 0.0, good)
    n, ones, squares = has.T @ has, filled.T @ has, (filled**2).T @ has
    spread = n * squares - ones**2
    scale = np.sqrt(np.maximum(spread * spread.T, 0))
    r = np.divide(n * (filled.T @ filled) - ones * ones.T, scale, out=np.zeros_like(scale), where=scale > 1e-9)
    return np.round(r, 9), n, np.minimum(ones, n - ones)


def _best_of_each(questions: Sequence[Criterion], r: Sequence[float]) -> list[int]:
    columns = {question.id: column for column, question in enumerate(questions)}
    groups = ([columns[each.id] for each in group] for group in by_trait(questions).values())
    return [max(group, key=lambda column: _known(r[column])) for group in groups]


def _with_weight(question: Criterion, weight: float) -> Criterion:
    return question.model_copy(update={"weight": float(weight)})


def _means(good: FloatArray) -> FloatArray:
    has = ~np.isnan(good)
    means: FloatArray = np.where(has, good, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    return means


def _known(r: float) -> float:
    return -2.0 if math.isnan(r) else r
