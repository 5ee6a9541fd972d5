"""The same text scored before and after. Only numbers are kept for each text, as there can be many texts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.drift.criteria import (
    INTERCEPT,
    CriterionPair,
    contribution_changes,
    paired_criteria,
    rating_changes,
    rating_of,
)
from rubriclab.judges.judge import Judge
from rubriclab.scoring import Score, score_text
from rubriclab.scoring.grouped_stream import grouped_stream
from rubriclab.scoring.rivals import RivalCounts, row_key, score_group
from rubriclab.scoring.stream import stream
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS
from rubriclab.store.version import Version


@dataclass(frozen=True)
class VersionWithJudge:
    """A version and the judge that scores by it."""

    version: Version
    judge: str

    @property
    def scale(self) -> Scale:
        """The scale of its scores."""
        return self.version.rubric.scores_on


@dataclass(frozen=True, slots=True, eq=False)
class PairedScore:
    """A text's scores before and after, on the scale before.

    Attributes:
        before, after: `None` if unscored, with the reason in `unscored_before` and `unscored_after`.
        interval_before, interval_after: of the scores, if known.
        changes: the effect of each row of the scorer pair, NaN if unknown.
    """

    id: str
    group: str
    before: float | None
    after: float | None
    unscored_before: str | None
    unscored_after: str | None
    interval_before: tuple[float, float] | None
    interval_after: tuple[float, float] | None
    changes: FloatArray

    @property
    def difference(self) -> float | None:
        """After minus before; `None` if either is missing."""
        return None if self.before is None or self.after is None else round(self.after - self.before, DIGITS)


@dataclass(frozen=True)
class ScorerPair:
    """Two scorers of the same texts.

    Attributes:
        threshold: a text flips if its score is at or above it on one side only; on the scale before.
        criteria: of both versions.
    """

    before: VersionWithJudge
    after: VersionWithJudge
    threshold: float
    criteria: tuple[CriterionPair, ...]

    @property
    def scale(self) -> Scale:
        """The scale of all figures: the scale of the scores before."""
        return self.before.scale

    @property
    def rescaled(self) -> bool:
        """Whether scores after are mapped to the scale before."""
        return not self.after.scale.same_ends(self.scale)

    @property
    def by_contribution(self) -> bool:
        """Whether contributions of criteria are known on both sides."""
        return all(scorer.version.rubric.aggregation for scorer in (self.before, self.after))

    @cached_property
    def rows(self) -> tuple[CriterionPair, ...]:
        """The sources of change: the criteria, and with contributions the intercept."""
        return (*self.criteria, INTERCEPT) if self.by_contribution else self.criteria

    def pair(self, group: str, before: Score, after: Score) -> PairedScore:
        """Return two scores of one text as a pair."""
        return PairedScore(
            id=before.id,
            group=group,
            before=before.score,
            after=None if after.score is None else self._on_scale(after.score),
            unscored_before=before.unscored,
            unscored_after=after.unscored,
            interval_before=before.interval,
            interval_after=after.interval and (self._on_scale(after.interval[0]), self._on_scale(after.interval[1])),
            changes=self._changes(before, after),
        )

    def flips(self, pair: PairedScore) -> bool | None:
        """Return whether the text crosses the threshold; `None` if a score is missing."""
        if pair.before is None or pair.after is None:
            return None
        return (pair.before >= self.threshold) != (pair.after >= self.threshold)

    def to_row(self, pair: PairedScore, before: Score, after: Score) -> dict[str, Any]:
        """Return a pair as one JSON object with the reasons of both sides, the largest effects first."""
        sizes = np.nan_to_num(np.abs(pair.changes), nan=-1.0)
        return {
            "id": pair.id,
            "group": pair.group,
            "before": pair.before,
            "after": pair.after,
            "difference": pair.difference,
            "flips": self.flips(pair),
            "interval_before": pair.interval_before,
            "interval_after": pair.interval_after,
            "unscored_before": pair.unscored_before,
            "unscored_after": pair.unscored_after,
            "criteria": [
                _criterion_row(self.rows[row], float(pair.changes[row]), before, after)
                for row in np.argsort(-sizes, kind="stable").tolist()
            ],
        }

    def _changes(self, before: Score, after: Score) -> FloatArray:
        if not self.by_contribution:
            scales = self.before.version.rubric.scale, self.after.version.rubric.scale
            return np.round(rating_changes(self.criteria, before, after, scales), DIGITS)
        if before.score is None or after.score is None:
            return np.full(len(self.rows), np.nan)
        changes = contribution_changes(self.criteria, before, after, self.scale.width / self.after.scale.width)
        difference = self._on_scale(after.score) - before.score
        return np.round([*changes, difference - changes.sum()], DIGITS)

    def _on_scale(self, score: float) -> float:
        # On equal scales the score stays as it is, to the last bit.
        return round(self.after.scale.moved_to(self.scale, score), DIGITS) if self.rescaled else score


def scorer_pair(before: VersionWithJudge, after: VersionWithJudge, threshold: float | None = None) -> ScorerPair:
    """Return two scorers as a pair; the default threshold is the middle of the scale."""
    middle = before.scale.low + before.scale.width / 2
    criteria = paired_criteria(before.version, after.version)
    return ScorerPair(before, after, middle if threshold is None else threshold, criteria)


def score_both(
    scorers: ScorerPair, texts: Iterable[Example], before: Judge, after: Judge, under_way: int
) -> AsyncGenerator[tuple[PairedScore, Score, Score]]:
    """Yield each text's pair with both scores, in order; at most `under_way` texts are held at a time.

    Raises:
        SettingsError: if `under_way` is below 1.
        JudgeRefused, BudgetReached, ReplayMiss: from the judges; they concern every text.
    """

    sides = (scorers.before.version, before), (scorers.after.version, after)

    async def score(texts: Sequence[Example]) -> list[tuple[PairedScore, Score, Score]]:
        first, second = await _both(*(_scores(version, texts, judge) for version, judge in sides))
        pairs = zip(texts, first, second, strict=True)
        return [(scorers.pair(text.group, one, other), one, other) for text, one, other in pairs]

    async def score_one(example: Example) -> tuple[PairedScore, Score, Score]:
        (pair,) = await score([example])
        return pair

    if any(version.rubric.aggregation and version.rubric.aggregation.rivals for version, _ in sides):
        return grouped_stream(texts, row_key, score, under_way)
    return stream(texts, score_one, under_way)


async def _scores(version: Version, texts: Sequence[Example], judge: Judge) -> list[Score]:
    """Return the scores of texts of one group, rated together if the version was learned so."""
    rivals = version.rubric.aggregation.rivals if version.rubric.aggregation else None
    if rivals:
        return await score_group(version.rubric, texts, judge, version.ref, limits=rivals, counts=RivalCounts())
    return await asyncio.gather(*(score_text(version.rubric, text, judge, version.ref) for text in texts))


async def _both(*scorings: Coroutine[Any, Any, list[Score]]) -> list[list[Score]]:
    """Return the scores of both sides; if one fails, the other is still awaited, as its replies are paid for."""
    results = await asyncio.gather(*scorings, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def _criterion_row(pair: CriterionPair, change: float, before: Score, after: Score) -> dict[str, Any]:
    old, new = rating_of(pair.before, before), rating_of(pair.after, after)
    return {
        "criterion": pair.name,
        "state": pair.state,
        "change": None if np.isnan(change) else change,
        "score_before": old.score if old else None,
        "score_after": new.score if new else None,
        "reason_before": old.reason if old else None,
        "reason_after": new.reason if new else None,
    }
