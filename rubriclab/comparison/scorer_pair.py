"""The same text scored before and after. Only numbers are kept for each text, as there can be many texts."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.rubric import Criterion
from rubriclab.scoring import CriterionScore, Score, score_text
from rubriclab.scoring.grouped_stream import grouped_stream
from rubriclab.scoring.rivals import RivalCounts, row_key, score_group
from rubriclab.scoring.stream import stream
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS
from rubriclab.store.diff import compare
from rubriclab.store.version import Version

CriterionState = Literal["kept", "changed", "removed", "added", "intercept"]


@dataclass(frozen=True, slots=True)
class CriterionPair:
    """A criterion before and after; one of them is `None` if it was added or removed, both for the intercept."""

    before: Criterion | None
    after: Criterion | None
    state: CriterionState

    @property
    def name(self) -> str:
        """The id, or both ids if they differ."""
        ids = dict.fromkeys(criterion.id for criterion in (self.before, self.after) if criterion)
        return " -> ".join(ids) or self.state


# The score of a text that is average by all criteria.
INTERCEPT = CriterionPair(None, None, "intercept")


def paired_criteria(before: Version, after: Version) -> tuple[CriterionPair, ...]:
    """Return the criteria of both versions, paired by meaning as in `rubriclab.store.diff`.

    Ids do not count, as every training assigns them anew.
    """
    diff = compare(before, after)
    added, removed = ({criterion.id for criterion in criteria} for criteria in (diff.added, diff.removed))
    changed = {change.after.id: change.before for change in diff.changed}
    reworded = {change.before.id for change in diff.changed}
    kept: dict[object, deque[Criterion]] = defaultdict(deque)
    for criterion in before.rubric.criteria:
        if criterion.id not in removed | reworded:
            kept[_wording(criterion)].append(criterion)
    pairs = []
    for criterion in after.rubric.criteria:
        if criterion.id in added:
            pairs.append(CriterionPair(None, criterion, "added"))
        elif criterion.id in changed:
            pairs.append(CriterionPair(changed[criterion.id], criterion, "changed"))
        else:
            pairs.append(CriterionPair(kept[_wording(criterion)].popleft(), criterion, "kept"))
    gone = (criterion for criterion in before.rubric.criteria if criterion.id in removed)
    return (*pairs, *(CriterionPair(criterion, None, "removed") for criterion in gone))


def contribution_changes(
    pairs: Sequence[CriterionPair], before: Score, after: Score, points_per_point: float
) -> FloatArray:
    """Return the change of each criterion's contribution to the score, shape (criteria,).

    A criterion of one version only changed the score by its whole contribution.

    Args:
        points_per_point: points on the scale before for each point on the scale after.
    """

    def contribution(criterion: Criterion | None, score: Score) -> float:
        rating = rating_of(criterion, score)
        return (rating.contribution or 0.0) if rating else 0.0

    return np.array(
        [points_per_point * contribution(pair.after, after) - contribution(pair.before, before) for pair in pairs]
    )


def rating_changes(
    pairs: Sequence[CriterionPair], before: Score, after: Score, scales: tuple[Scale, Scale]
) -> FloatArray:
    """Return the change of each criterion's rating as a share of its range, shape (criteria,).

    NaN if a rating is missing, and for text features, which have no fixed range.

    Args:
        scales: that criteria are rated on before and after.
    """

    def share(criterion: Criterion | None, score: Score, scale: Scale) -> float:
        rating = rating_of(criterion, score)
        if criterion is None or criterion.kind == "feature" or rating is None or rating.score is None:
            return math.nan
        return rating.score if criterion.kind == "question" else (rating.score - scale.low) / scale.width

    return np.array([share(pair.after, after, scales[1]) - share(pair.before, before, scales[0]) for pair in pairs])


def rating_of(criterion: Criterion | None, score: Score) -> CriterionScore | None:
    """Return a text's rating by a criterion; `None` if missing."""
    return next((rating for rating in score.criteria if criterion and rating.id == criterion.id), None)


def _wording(criterion: Criterion) -> object:
    return criterion.kind, criterion.trait, criterion.statement, criterion.levels


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
        changes: the effect of each row of the scorer pair, NaN if unknown.
    """

    id: str
    group: str
    before: float | None
    after: float | None
    unscored_before: str | None
    unscored_after: str | None
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
