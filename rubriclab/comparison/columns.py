"""Columns of scores of the same texts, and pairs of them. Only numbers are kept of a pair, as there can be many."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.rubric import Criterion, Rubric
from rubriclab.scoring import CriterionScore, Score, score_text
from rubriclab.scoring.grouped_stream import grouped_stream
from rubriclab.scoring.rivals import RivalCounts, row_key, score_group
from rubriclab.scoring.stream import stream
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS, rounded
from rubriclab.store.diff import matched_criteria
from rubriclab.store.version import Version

CriterionState = Literal["kept", "changed", "removed", "added"]
ScoredText = tuple[Example, tuple[Score, ...]]


def score_columns(
    columns: Sequence[tuple[Version, Judge]], texts: Iterable[Example], under_way: int
) -> AsyncGenerator[ScoredText]:
    """Yield each text with its score by each version and judge, in order; `under_way` texts are held at a time.

    Raises:
        SettingsError: if `under_way` is below 1.
        JudgeRefused, BudgetReached, ReplayMiss: from the judges; they concern every text.
    """

    async def score(group: Sequence[Example]) -> list[ScoredText]:
        # If one judge fails, the others are still awaited, as their replies are paid for.
        scorings = (_scores(version, group, judge) for version, judge in columns)
        scored = await asyncio.gather(*scorings, return_exceptions=True)
        for result in scored:
            if isinstance(result, BaseException):
                raise result
        rows = zip(*(result for result in scored if not isinstance(result, BaseException)), strict=True)
        return list(zip(group, rows, strict=True))

    async def score_one(example: Example) -> ScoredText:
        (text,) = await score([example])
        return text

    if any(version.rubric.aggregation and version.rubric.aggregation.rivals for version, _ in columns):
        return grouped_stream(texts, row_key, score, under_way)
    return stream(texts, score_one, under_way)


async def _scores(version: Version, texts: Sequence[Example], judge: Judge) -> list[Score]:
    """Return the scores of texts of one group, rated together if the version was learned so."""
    rivals = version.rubric.aggregation.rivals if version.rubric.aggregation else None
    if rivals:
        return await score_group(version.rubric, texts, judge, version.ref, limits=rivals, counts=RivalCounts())
    return await asyncio.gather(*(score_text(version.rubric, text, judge, version.ref) for text in texts))


class CriterionPair(NamedTuple):
    """A criterion before and after; one of them is `None` if it was added or removed."""

    before: Criterion | None
    after: Criterion | None
    state: CriterionState

    @property
    def name(self) -> str:
        """The id, or both ids if they differ."""
        return " -> ".join(dict.fromkeys(criterion.id for criterion in self[:2] if criterion))


@dataclass(frozen=True, slots=True, eq=False)
class PairedScore:
    """Two scores of one text, or of two outputs, on the scale before.

    Attributes:
        before, after: `None` if unscored, with the reason in `unscored_before` and `unscored_after`.
        changes: of each criterion's rating, as a share of its range, and of its contribution to the score, in points,
            shape (criteria, 2); NaN if unknown.
    """

    id: str
    group: str
    before: float | None
    after: float | None
    unscored_before: str | None
    unscored_after: str | None
    changes: FloatArray

    def crosses(self, threshold: float) -> bool | None:
        """Return whether only one of the scores is at or above the threshold; `None` if one is missing."""
        if self.before is None or self.after is None:
            return None
        return (self.before >= threshold) != (self.after >= threshold)


@dataclass(frozen=True)
class RubricPair:
    """The rubrics that gave two columns of scores, with the criteria of both."""

    before: Rubric
    after: Rubric
    criteria: tuple[CriterionPair, ...]

    @property
    def scale(self) -> Scale:
        """The scale of all figures: the scale of the scores before."""
        return self.before.scores_on

    @property
    def rescaled(self) -> bool:
        """Whether scores after are mapped to the scale before."""
        return not self.after.scores_on.same_ends(self.scale)

    def pair(self, group: str, before: Score, after: Score) -> PairedScore:
        """Return two scores as a pair."""
        second = after.score
        if second is not None and self.rescaled:  # On equal scales the score stays as it is, to the last bit.
            second = round(self.after.scores_on.moved_to(self.scale, second), DIGITS)
        return PairedScore(
            id=before.id if before.id == after.id else f"{before.id} -> {after.id}",
            group=group,
            before=before.score,
            after=second,
            unscored_before=before.unscored,
            unscored_after=after.unscored,
            changes=np.array(list(self._changes(before, after)), dtype=float).reshape(-1, 2),
        )

    def _ratings(
        self, before: Score, after: Score
    ) -> Iterator[tuple[CriterionPair, CriterionScore | None, CriterionScore | None]]:
        old, new = ({rating.id: rating for rating in score.criteria} for score in (before, after))
        for pair in self.criteria:
            first = old.get(pair.before.id) if pair.before else None
            yield pair, first, new.get(pair.after.id) if pair.after else None

    def _changes(self, before: Score, after: Score) -> Iterator[tuple[float, float]]:
        weighted = self.before.aggregation and self.after.aggregation
        per_point = self.scale.width / self.after.scores_on.width
        for pair, old, new in self._ratings(before, after):
            share = _share(pair.after, new, self.after) - _share(pair.before, old, self.before)
            # A criterion of one version only changed the score by its whole contribution.
            points = per_point * _contribution(pair.after, new) - _contribution(pair.before, old)
            yield share, points if weighted else math.nan

    def to_row(self, pair: PairedScore, before: Score, after: Score, threshold: float) -> dict[str, Any]:
        """Return a pair as one JSON object with the reasons of both sides."""
        both = pair.before is not None and pair.after is not None
        return {
            "id": pair.id,
            "group": pair.group,
            "before": pair.before,
            "after": pair.after,
            "difference": round((pair.after or 0.0) - (pair.before or 0.0), DIGITS) if both else None,
            "flips": pair.crosses(threshold),
            "unscored_before": pair.unscored_before,
            "unscored_after": pair.unscored_after,
            "criteria": [
                {
                    "criterion": criterion.name,
                    "state": criterion.state,
                    "change": rounded(share),
                    "contribution": rounded(points),
                    "score_before": old.score if old else None,
                    "score_after": new.score if new else None,
                    "reason_before": old.reason if old else None,
                    "reason_after": new.reason if new else None,
                }
                for (criterion, old, new), (share, points) in zip(
                    self._ratings(before, after), pair.changes.tolist(), strict=True
                )
            ],
        }


def _share(criterion: Criterion | None, rating: CriterionScore | None, rubric: Rubric) -> float:
    """Return a rating as a share of its range; NaN if missing, and for text features, which have no fixed range."""
    if criterion is None or criterion.kind == "feature" or rating is None or rating.score is None:
        return math.nan
    return rating.score if criterion.kind == "question" else (rating.score - rubric.scale.low) / rubric.scale.width


def _contribution(criterion: Criterion | None, rating: CriterionScore | None) -> float:
    if criterion is None:
        return 0.0
    return math.nan if rating is None or rating.contribution is None else rating.contribution


def paired_rubrics(before: Rubric, after: Rubric) -> RubricPair:
    """Return two rubrics with their criteria paired by meaning; ids do not count, as training assigns them anew."""
    matches = {match.after.id: match for match in matched_criteria(before.criteria, after.criteria)}
    pairs = []
    for criterion in after.criteria:
        match = matches.get(criterion.id)
        state: CriterionState = "added" if match is None else "changed" if match.changes else "kept"
        pairs.append(CriterionPair(match.before if match else None, criterion, state))
    matched = {match.before.id for match in matches.values()}
    pairs += [CriterionPair(each, None, "removed") for each in before.criteria if each.id not in matched]
    return RubricPair(before, after, tuple(pairs))
