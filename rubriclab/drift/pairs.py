"""The same text scored by two sides, and what is kept of it: numbers, as texts can be many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.drift.criteria import AVERAGE, CriterionPair, contribution_changes, matched, rating_of, score_changes
from rubriclab.judges.judge import Judge
from rubriclab.rubric import DIGITS
from rubriclab.scoring import Score, score_text
from rubriclab.scoring.stream import stream
from rubriclab.stats.correlation import FloatArray
from rubriclab.store.version import Version

Ends = tuple[float, float]


@dataclass(frozen=True)
class Scorer:
    """A version and who is asked by it."""

    version: Version
    judge: str

    @property
    def scale(self) -> Scale:
        """What its scores are on."""
        return self.version.rubric.scores_on


@dataclass(frozen=True, slots=True, eq=False)
class PairedScore:
    """What is kept of a text that two sides have scored, on the scale of the side before.

    Attributes:
        before, after: the scores; `None` where there is none, and why in `unscored_before` and `unscored_after`.
        interval_before, interval_after: of the scores, where they have one.
        changes: how far each row of the pairing moved, NaN where that is not known.
    """

    id: str
    group: str
    before: float | None
    after: float | None
    unscored_before: str | None
    unscored_after: str | None
    interval_before: Ends | None
    interval_after: Ends | None
    changes: FloatArray

    @property
    def difference(self) -> float | None:
        """After less before; `None` where a side has no score."""
        return None if self.before is None or self.after is None else round(self.after - self.before, DIGITS)


@dataclass(frozen=True)
class ScorerPair:
    """Two sides that score the same texts.

    Attributes:
        flip_at: the score that a text flips at, on the scale of the side before: it is at least as high on one side
            and lower on the other.
        criteria: of both versions.
    """

    before: Scorer
    after: Scorer
    flip_at: float
    criteria: tuple[CriterionPair, ...]

    @property
    def scale(self) -> Scale:
        """What all figures are on: the scale that users of the side before know."""
        return self.before.scale

    @property
    def mapped(self) -> bool:
        """Whether scores of the side after are moved to the scale of the side before."""
        return (self.after.scale.low, self.after.scale.high) != (self.scale.low, self.scale.high)

    @property
    def by_contribution(self) -> bool:
        """Whether both sides know what each criterion contributes to a score."""
        return all(side.version.rubric.aggregation for side in (self.before, self.after))

    @cached_property
    def rows(self) -> tuple[CriterionPair, ...]:
        """What changes are counted for: the criteria, and with contributions what none of them explains."""
        return (*self.criteria, AVERAGE) if self.by_contribution else self.criteria

    def pair(self, group: str, before: Score, after: Score) -> PairedScore:
        """Return what is kept of two scores of one text."""
        return PairedScore(
            id=before.id,
            group=group,
            before=before.score,
            after=self._moved(after.score),
            unscored_before=before.unscored,
            unscored_after=after.unscored,
            interval_before=before.interval,
            interval_after=after.interval and (self._moved_end(after.interval[0]), self._moved_end(after.interval[1])),
            changes=self._changes(before, after),
        )

    def crossed(self, pair: PairedScore) -> bool | None:
        """Return whether the text crosses the line; `None` where a side has no score."""
        if pair.before is None or pair.after is None:
            return None
        return (pair.before >= self.flip_at) != (pair.after >= self.flip_at)

    def to_row(self, pair: PairedScore, before: Score, after: Score) -> dict[str, Any]:
        """Return a pair as one JSON object, with both sides' reasons, what moved the score most first."""
        sizes = np.nan_to_num(np.abs(pair.changes), nan=-1.0)
        return {
            "id": pair.id,
            "group": pair.group,
            "before": pair.before,
            "after": pair.after,
            "difference": pair.difference,
            "flips": self.crossed(pair),
            "interval_before": pair.interval_before,
            "interval_after": pair.interval_after,
            "unscored_before": pair.unscored_before,
            "unscored_after": pair.unscored_after,
            "criteria": [
                _criterion_row(self.rows[place], float(pair.changes[place]), before, after)
                for place in np.argsort(-sizes, kind="stable").tolist()
            ],
        }

    def _changes(self, before: Score, after: Score) -> FloatArray:
        if not self.by_contribution:
            scales = self.before.version.rubric.scale, self.after.version.rubric.scale
            return np.round(score_changes(self.criteria, before, after, scales), DIGITS)
        if before.score is None or after.score is None:
            return np.full(len(self.rows), np.nan)
        changes = contribution_changes(self.criteria, before, after, self.scale.width / self.after.scale.width)
        difference = self._moved_end(after.score) - before.score
        return np.round([*changes, difference - changes.sum()], DIGITS)

    def _moved(self, score: float | None) -> float | None:
        return None if score is None else self._moved_end(score)

    def _moved_end(self, score: float) -> float:
        # Where the scales agree nothing may hang on the last bits: a score stays what it is.
        return round(self.after.scale.moved_to(self.scale, score), DIGITS) if self.mapped else score


def pairing(before: Scorer, after: Scorer, flip_at: float | None = None) -> ScorerPair:
    """Return two sides side by side; texts flip at the middle of the scale unless another score is given."""
    middle = before.scale.low + before.scale.width / 2
    return ScorerPair(before, after, middle if flip_at is None else flip_at, matched(before.version, after.version))


def score_both(
    sides: ScorerPair, rows: Iterable[Example], before: Judge, after: Judge, under_way: int
) -> AsyncGenerator[tuple[PairedScore, Score, Score]]:
    """Yield each text's pair with both scores, in order; at most `under_way` texts are held at a time.

    Raises:
        SettingsError: if not even one text may be under way.
        JudgeRefused, BudgetReached, ReplayMiss: as the judges do; they concern every text.
    """

    async def both(example: Example) -> tuple[PairedScore, Score, Score]:
        first, second = await _all(
            score_text(sides.before.version.rubric, example, before, sides.before.version.ref),
            score_text(sides.after.version.rubric, example, after, sides.after.version.ref),
        )
        return sides.pair(example.group, first, second), first, second

    return stream(rows, both, under_way)


async def _all(*work: Any) -> list[Score]:
    """Return all results; where one of them ends the run the others are waited for, as their answers are paid for."""
    found = await asyncio.gather(*work, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return [each for each in found if isinstance(each, Score)]


def _criterion_row(row: CriterionPair, change: float, before: Score, after: Score) -> dict[str, Any]:
    ours, theirs = rating_of(row.before, before), rating_of(row.after, after)
    return {
        "criterion": row.name,
        "state": row.state,
        "change": None if np.isnan(change) else change,
        "score_before": ours.score if ours else None,
        "score_after": theirs.score if theirs else None,
        "reason_before": ours.reason if ours else None,
        "reason_after": theirs.reason if theirs else None,
    }
