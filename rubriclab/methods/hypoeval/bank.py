"""The bank of hypotheses, the bandit that ranks them, and the selection from it (HypoEval, section 2).

A hypothesis is an arm, a labelled text is a pull, and the reward is the mean utility of its ratings so far plus an
exploration bonus, as in upper confidence bounds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.methods.hypoeval.settings import HypoEvalSettings, Procedure
from rubriclab.methods.method import cross_validated
from rubriclab.models.rubric import Criterion, DroppedCriterion
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.intervals import DIGITS

# The paper states theta in points of its 1 to 5 scale.
PAPER_WIDTH = 4.0

# Share of the top k that must be wrong at the end of training for a text to enter the bank of wrong examples.
FINAL_WRONG_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Arm:
    """A hypothesis in the bandit.

    Attributes:
        id: the id of the hypothesis, which breaks ties in rankings.
        visits: number of labelled texts with a rating.
        total: sum of the utilities of these ratings.
        visited: the step of the latest visit.
    """

    id: str
    visits: int = 0
    total: float = 0.0
    visited: int = 0

    @property
    def accuracy(self) -> float:
        """The mean utility over the visits, 0 without any."""
        return self.total / self.visits if self.visits else 0.0

    def seen(self, utility: float | None, step: int) -> Arm:
        """Return the arm after a visit at `step`; unchanged after a failed rating (`None`)."""
        return self if utility is None else Arm(self.id, self.visits + 1, self.total + utility, step)


def utility(rating: float, label: float, scale: Scale) -> float:
    """Return `1 - ((rating - label) / width)^2`, in [0, 1]: the paper's L with a = 1 and b = 1/16 on 1 to 5."""
    return 1.0 - ((rating - label) / scale.width) ** 2


def is_wrong(rating: float, label: float, theta: float, scale: Scale) -> bool:
    """Return whether a rating differs from the label by more than `theta` points of a 1 to 5 scale."""
    return abs(rating - label) > tolerance(theta, scale)


def tolerance(theta: float, scale: Scale) -> float:
    """Return `theta` points of a 1 to 5 scale in points of `scale`."""
    return theta * scale.width / PAPER_WIDTH


def wrong_needed(top: int, step: int, total: int) -> float:
    """Return w_hyp: the number of the `top` hypotheses that must be wrong for a text to enter the wrong bank.

    The paper leaves it open; in the published code it rises with the 0-based number of the text out of `total`.
    """
    return top * FINAL_WRONG_SHARE * (step - 1) / total


def reward(arm: Arm, step: int, alpha: float, procedure: Procedure) -> float:
    """Return the arm's mean utility plus its exploration bonus, after `step` labelled texts.

    An updated bonus makes arms comparable whenever they were last visited; by the rule of the paper and its code,
    bonuses are those of the last visit and out of date. An arm without visits has utility 0 and the largest bonus.
    """
    at = step if procedure == "improved" else arm.visited
    return round(arm.accuracy, DIGITS) + round(alpha * math.sqrt(math.log(max(at, 1)) / max(arm.visits, 1)), DIGITS)


def ranked(arms: Iterable[Arm], step: int, alpha: float, procedure: Procedure) -> list[Arm]:
    """Return the arms by decreasing reward; equal ones by id."""
    return sorted(arms, key=lambda arm: (-reward(arm, step, alpha, procedure), arm.id))


class Bank:
    """Hypotheses by id. Ids are assigned in the order of addition and never reused."""

    def __init__(self, settings: HypoEvalSettings) -> None:
        self._settings = settings
        self._known: dict[str, Criterion] = {}
        self._arms: dict[str, Arm] = {}
        self._reasons: dict[str, str] = {}

    def add(self, proposed: Iterable[Criterion]) -> tuple[Criterion, ...]:
        """Add proposed hypotheses and return them with their ids."""
        added = []
        for criterion in proposed:
            name = f"h{len(self._known) + 1:02d}"
            self._known[name] = criterion.model_copy(update={"id": name})
            self._arms[name] = Arm(name)
            added.append(self._known[name])
        return tuple(added)

    @property
    def alive(self) -> tuple[Criterion, ...]:
        """The hypotheses that are not dropped, in the order of addition."""
        return tuple(self._known[name] for name in self._arms)

    def top(self, count: int, step: int) -> tuple[Criterion, ...]:
        """Return the `count` hypotheses of the highest reward after `step` texts, best first."""
        best = ranked(self._arms.values(), step, self._settings.alpha, self._settings.procedure)[:count]
        return tuple(self._known[arm.id] for arm in best)

    def most_accurate(self) -> tuple[Criterion, ...]:
        """Return all hypotheses that are not dropped by decreasing mean utility, without bonus; equal ones by id."""
        arms = sorted(self._arms.values(), key=lambda arm: (-arm.accuracy, arm.id))
        return tuple(self._known[arm.id] for arm in arms)

    def visit(self, name: str, utility: float | None, step: int) -> None:
        """Record the utility of a rating."""
        self._arms[name] = self._arms[name].seen(utility, step)

    def drop(self, name: str, reason: str) -> None:
        """Drop a hypothesis for `reason`; its evidence is kept."""
        del self._arms[name]
        self._reasons[name] = reason

    def keep_only(self, pool: Iterable[Criterion]) -> None:
        """Drop every hypothesis outside of `pool`."""
        names = {criterion.id for criterion in pool}
        for criterion in self.alive:
            if criterion.id not in names:
                self.drop(criterion.id, "neither among the best nor new when new hypotheses were proposed")

    def trim(self, size: int, step: int) -> None:
        """Keep the `size` hypotheses of the highest reward."""
        kept = {criterion.id for criterion in self.top(size, step)}
        for criterion in self.alive:
            if criterion.id not in kept:
                self.drop(criterion.id, f"reward below the best {size} after {step} labelled texts")

    def annotate(self, name: str, pearson: float | None, judged: int, missing: int) -> None:
        """Add the final evidence to a hypothesis."""
        criterion = self._known[name]
        update = {"pearson": pearson, "judged": judged, "missing": missing}
        self._known[name] = criterion.model_copy(update={"evidence": criterion.evidence.model_copy(update=update)})

    def get(self, name: str) -> Criterion:
        """Return a hypothesis with its evidence so far, dropped or not."""
        return self._known[name]

    def every_id(self) -> Sequence[str]:
        """Return the ids of all hypotheses, also of dropped ones."""
        return tuple(self._known)

    def dropped(self) -> tuple[DroppedCriterion, ...]:
        """Return the dropped hypotheses with the reasons, in the order of addition."""
        return tuple(
            DroppedCriterion(criterion=self._known[name], reason=self._reasons[name])
            for name in self._known
            if name in self._reasons
        )


def select(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the criteria kept, best first: at most `selected`, by Pearson correlation.

    Columns with ratings of less than half of the texts are not eligible. Columns with a negative correlation are kept
    only if none is positive, unless the procedure is the paper's or its code's. Ties go to the earlier column; columns
    without a correlation come last.
    """
    r = np.nan_to_num(label_correlations(matrix, labels), nan=-2.0)
    rated = (~np.isnan(matrix)).mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])
    eligible = [column for column in range(matrix.shape[1]) if rated[column] >= 0.5]
    if settings.procedure == "improved" and any(r[column] > 0 for column in eligible):
        eligible = [column for column in eligible if r[column] > 0]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless(matrix: FloatArray, labels: FloatArray, rounds_left: int, settings: HypoEvalSettings) -> list[int]:
    """Return the columns to drop, `rounds_left` rounds of rating before the end.

    Successive halving (Karnin, Koren and Somekh 2013, ICML, "Almost Optimal Exploration in Multi-Armed Bandits") for
    several best arms: one and a half times as many as are selected enter the last round, and twice as many each round
    before it. Columns without a correlation are dropped first.
    """
    r = label_correlations(matrix, labels)
    ranked = sorted(range(len(r)), key=lambda column: (-np.nan_to_num(r[column], nan=-2.0), column))
    return sorted(ranked[math.ceil(0.75 * 2**rounds_left * settings.selected) :])


def predictions(matrix: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return the mean over the selected columns, NaN if none of them has a rating; shape (texts,)."""
    chosen = matrix[:, list(columns)]
    rated = ~np.isnan(chosen)
    counts = rated.sum(axis=1)
    sums = np.where(rated, chosen, 0.0).sum(axis=1)
    return np.where(counts > 0, (sums / np.maximum(counts, 1)).round(DIGITS), np.nan)


def reselected(matrix: FloatArray, labels: FloatArray, groups: Sequence[str], settings: HypoEvalSettings) -> FloatArray:
    """Return cross-validated predictions: each text's by the criteria that the other groups' labels select; NaN if
    none."""

    def predict(others: np.ndarray, inside: np.ndarray) -> FloatArray:
        return predictions(matrix[inside], select(matrix[others], labels[others], settings))

    return cross_validated(groups, predict)


def final_bank(
    learned: Sequence[Criterion], literature: Sequence[Criterion], size: int, procedure: Procedure, draw: random.Random
) -> tuple[Criterion, ...]:
    """Return at most `size` hypotheses from labels and literature, each given best first.

    If there are none of one kind, the others may fill the bank.
    """
    if not (learned and literature):
        return _some([*learned, *literature], size, procedure, draw)
    half = size // 2
    if procedure == "paper":
        return (*draw.sample(learned, min(half, len(learned))), *draw.sample(literature, min(half, len(literature))))
    if procedure == "published":
        kept = tuple(learned[:half])
        return (*kept, *literature[: size - len(kept)])
    added = tuple(literature[: max(half, size - len(learned))])
    return (*learned[: size - len(added)], *added)


def _some(side: Sequence[Criterion], size: int, procedure: Procedure, draw: random.Random) -> tuple[Criterion, ...]:
    return tuple(draw.sample(side, min(size, len(side))) if procedure == "paper" else side[:size])
