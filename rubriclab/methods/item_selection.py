"""What training labels say of the questions: which ones leave, and what the others weigh.

The papers have no labels, and CheckEval finds no way to measure what its filter does. Here a question leaves if its
answers never vary, if they run against the labels, or if they repeat another question's. The last two could be chance,
with some thirty labels and as many questions; each rule says how much it takes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.questions import by_trait, is_handwritten, is_seed
from rubriclab.methods.replies import Number, Whole
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.interval import DIGITS

BoolArray = npt.NDArray[np.bool_]

# All the same; the same for each sub-dimension, shared by its questions; or by regression on the labels.
Weighing = Literal["equal", "sub-dimensions", "regression"]

# Answers that differ from the rest on one or two texts may well do so on the same ones: among some 400 pairs of
# questions and 30 texts it happens by chance. Three of 30 on the same texts do so for one pair in 4,060.
FEWEST_RARE = 3


class ChoosingSettings(BaseModel):
    """What choosing and weighing by labels hangs on, in the settings of every method that does so."""

    model_config = ConfigDict(frozen=True)

    fewest_answers: Whole = Field(10, ge=3, le=1000)
    """Answers on the training texts from which on these may speak against a question."""

    against: Number = Field(0.2, ge=0, le=0.5)
    """A question leaves where chance alone would give a correlation with the labels as far below zero in fewer cases
    than this: 0 lets every question stay, 0.5 none of negative correlation. On 30 labels, 0.2 cost nothing where all
    questions were sound (Spearman 0.65 on other texts with and without it), and brought 0.53 to 0.59 where of 24 four
    were turned round and six answered by lot."""

    ends: Number = Field(0, ge=0, le=0.5)
    """Share of the labelled texts at the lower and at the upper end on which generated questions are tried: one that
    the worst texts earn as often as the best leaves. 0 tries none."""

    repeated: Number = Field(0.95, gt=0, le=1)
    """Correlation of two questions' answers from which on the later one adds nothing."""

    selected: Whole = Field(0, ge=0, le=200)
    """Most questions kept, by correlation with the labels; 0 keeps all that are left."""

    penalty: Number = Field(30, ge=0.01, le=10_000)
    """Ridge penalty of weights by regression. On 30 labels a light one (1) overfits: Spearman 0.61 on other texts, 0.63
    with 30, 0.65 with equal weights, as CheckEval's paper too finds no gain in regression."""

    @property
    @abstractmethod
    def asks_labels(self) -> bool:
        """Whether the labels take questions out."""

    @property
    @abstractmethod
    def weighing(self) -> Weighing:
        """What the questions that stay come to weigh."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The answers of the training texts, shape (texts, questions).

    Attributes:
        good: 1 for the better answer, 0 for the other, shares for a text in parts; NaN where there is none.
        applies: false where a question cannot be asked of a text.
        labels: human scores, shape (texts,).
    """

    good: FloatArray
    applies: BoolArray
    labels: FloatArray

    def rows(self, chosen: BoolArray) -> Sheet:
        """Return the sheet of some of the texts."""
        return Sheet(self.good[chosen], self.applies[chosen], self.labels[chosen])


@dataclass(frozen=True, slots=True)
class Chosen:
    """Questions kept, in their order and with their weights; why the others leave, by id; and what was overruled."""

    questions: tuple[Criterion, ...]
    left: Mapping[str, str]
    notes: tuple[str, ...] = ()


def choose(questions: Sequence[Criterion], sheet: Sheet, settings: ChoosingSettings) -> Chosen:
    """Return what the labels leave of the questions, and what each weighs; without labels, all of them do.

    At least one question stays: where the labels speak against every one, the best of each sub-dimension.
    """
    r: list[float] = label_correlations(sheet.good, sheet.labels).tolist()
    order = sorted(range(len(questions)), key=lambda column: not is_seed(questions[column]))
    left, notes = _left(order, questions, sheet, r, settings) if settings.asks_labels else ({}, ())
    if settings.selected and len(sheet.labels):
        ranked = sorted((column for column in order if column not in left), key=lambda column: -_known(r[column]))
        reason = f"not among the {settings.selected} that track the labels best"
        left |= dict.fromkeys(ranked[settings.selected :], reason)
    kept = [column for column in range(len(questions)) if column not in left]
    weights = weigh([questions[column] for column in kept], sheet.good[:, kept], sheet.labels, settings)
    if not weights.any():
        weights, notes = np.ones(len(kept)), (*notes, "no question tracks the labels: all weigh the same")
    weightless = [column for column, weight in zip(kept, weights, strict=True) if not weight]
    left |= dict.fromkeys(weightless, "weight 0 in the regression on the labels")
    weighed = (_with_weight(questions[column], weight) for column, weight in zip(kept, weights, strict=True) if weight)
    return Chosen(tuple(weighed), {questions[column].id: left[column] for column in sorted(left)}, notes)


def weigh(
    questions: Sequence[Criterion], good: FloatArray, labels: FloatArray, settings: ChoosingSettings
) -> FloatArray:
    """Return the questions' weights, shape (questions,); zero for those that add nothing to the regression.

    Regression is CheckEval's (appendix C.2) held to what a checklist can mean: least squares with a ridge penalty,
    since there are about as many questions as labels, and no weight below zero. A missing answer takes the mean of its
    question's others. Weights are told in multiples of their mean.
    """
    if settings.weighing == "sub-dimensions":
        sizes = {trait: len(each) for trait, each in by_trait(questions).items()}
        return np.array([round(1 / sizes[question.trait], DIGITS) for question in questions])
    if settings.weighing == "equal" or not len(labels):
        return np.ones(len(questions))
    from sklearn.linear_model import Ridge

    filled = np.where(np.isnan(good), _means(good), good)
    # Rounded, because labels that are all the same are so only up to the last bits of their mean.
    found = np.round(Ridge(alpha=settings.penalty, positive=True, tol=1e-10).fit(filled, labels).coef_, 9)
    return np.round(found / found[found > 0].mean(), DIGITS) if (found > 0).any() else np.zeros(len(questions))


def _left(
    order: Sequence[int], questions: Sequence[Criterion], sheet: Sheet, r: Sequence[float], settings: ChoosingSettings
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return the columns that the labels speak against, with the reasons, and a note if these were overruled."""
    left = _unearned(questions, sheet, settings) | _unvarying(sheet, settings) | _against(sheet, r, settings)
    left |= _repeating([column for column in order if column not in left], questions, sheet, settings)
    if len(left) < len(questions):
        return left, ()
    best = _best_of_each(questions, r)
    note = f"the labels speak against every question: the best of each sub-dimension stay ({len(best)})"
    return {column: reason for column, reason in left.items() if column not in best}, (note,)


def _unvarying(sheet: Sheet, settings: ChoosingSettings) -> dict[int, str]:
    """Return the columns whose answers never vary.

    Were the answer another for every tenth text, 30 texts would all hide that in one of 24 cases.
    """
    found = {}
    for column, (good, applies) in enumerate(zip(sheet.good.T, sheet.applies.T, strict=True)):
        given = good[~np.isnan(good)]
        if not len(given) and (~applies).sum() >= settings.fewest_answers:
            found[column] = f"it cannot be asked of any of the {len(good)} training texts"
        elif len(given) >= settings.fewest_answers and len(set(given)) == 1:
            found[column] = f"the same answer for all {len(given)} training texts that it was asked of"
    return found


def _against(sheet: Sheet, r: Sequence[float], settings: ChoosingSettings) -> dict[int, str]:
    """Return the columns whose correlation with the labels lies below zero by more than chance allows, one-sided.

    Questions are written to speak for a text, so that one a little below zero is more likely a weak one by bad luck.
    """
    given = (~np.isnan(sheet.good)).sum(axis=0)
    found = {}
    for column, (correlation, n) in enumerate(zip(r, given.tolist(), strict=True)):
        if correlation < 0 and n >= settings.fewest_answers and (p := chance_below(correlation, n)) < settings.against:
            found[column] = (
                f"runs against the labels: correlation {correlation:.2f} over {n} training texts, "
                f"so low by chance in {p:.1%} of cases"
            )
    return found


def _unearned(questions: Sequence[Criterion], sheet: Sheet, settings: ChoosingSettings) -> dict[int, str]:
    """Return the columns of generated questions that the worst texts earn as often as the best.

    Nonsense earns such a question, or every text does.
    """
    worst, best = _ends(sheet.labels, settings.ends)
    found = {}
    for column, question in enumerate(questions):
        low, high = (sheet.good[rows, column] for rows in (worst, best))
        low, high = low[~np.isnan(low)], high[~np.isnan(high)]
        if is_handwritten(question) or min(len(low), len(high)) < FEWEST_RARE or low.mean() < high.mean():
            continue
        found[column] = (
            f"the worst texts earn it as often as the best: {low.sum():g} of the {len(low)} rated lowest, "
            f"{high.sum():g} of the {len(high)} rated highest"
        )
    return found


def _ends(labels: FloatArray, share: float) -> tuple[BoolArray, BoolArray]:
    """Return which texts have the lowest and the highest labels; none where the two ends cannot be told apart."""
    count = math.floor(float(share) * len(labels))
    ordered = np.sort(labels)
    if not count or ordered[count - 1] >= ordered[-count]:
        nobody = np.zeros(len(labels), dtype=bool)
        return nobody, nobody
    return labels <= ordered[count - 1], labels >= ordered[-count]


def chance_below(r: float, n: int) -> float:
    """Return how often unrelated numbers would have a correlation as low as `r` over `n` texts (Student's t)."""
    from scipy.special import stdtr

    if abs(r) >= 1:
        return float(r > 0)
    return float(stdtr(n - 2, r * np.sqrt((n - 2) / (1 - r * r))))


def _repeating(
    order: Sequence[int], questions: Sequence[Criterion], sheet: Sheet, settings: ChoosingSettings
) -> dict[int, str]:
    """Return the columns that answer as an earlier one in `order` does, wherever they can be asked."""
    r, shared, rare = _pairs(sheet.good)
    kept: list[int] = []
    found = {}
    for column in order:
        adds = [(~np.isnan(sheet.good[:, column]) & ~sheet.applies[:, other]).any() for other in kept]
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
            found[column] = f"answers as {questions[first].id} does (correlation {r[first, column]:.2f} over {n} texts)"
        else:
            kept.append(column)
    return found


def _pairs(good: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each pair of columns the correlation, the texts that have both, and the first one's rarer answers."""
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
