"""Scores of texts that are rated in one call with the other texts of their group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rubriclab.aggregation import RivalLimits
from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.judges.judge import Judge
from rubriclab.methods.single_call import rival_calls, rivals_key
from rubriclab.rubric import Rubric
from rubriclab.scoring.grouped_stream import grouped_stream
from rubriclab.scoring.rival_orders import OrderCheck
from rubriclab.scoring.score import Score, assignment_of, counted, fault_id, score_rivals, unscored


@dataclass(slots=True)
class RivalCounts:
    """What was rated together in one run.

    Attributes:
        calls: number of calls about texts, without repetitions in another order.
        texts: number of texts in them.
        without_rivals: number of texts that were alone in their call.
        continued: number of groups whose texts were too far apart and were rated in separate calls; a lower bound if
            there are very many groups.
        orders: scores of some texts in two orders.
    """

    calls: int = 0
    texts: int = 0
    without_rivals: int = 0
    continued: int = 0
    orders: OrderCheck = field(default_factory=lambda: OrderCheck(0))

    def add_call(self, texts: int) -> None:
        """Count a call about so many texts."""
        self.calls += 1
        self.texts += texts
        self.without_rivals += texts == 1

    def to_row(self) -> dict[str, Any]:
        """Return the counts as one JSON object, with the agreement of two orders if it was measured."""
        orders = self.orders.agreement()
        return {
            "calls": self.calls,
            "texts": self.texts,
            "without_rivals": self.without_rivals,
            "continued_groups": self.continued,
            "orders": asdict(orders) if orders else None,
        }

    def add_continued(self) -> None:
        """Count a group whose texts were too far apart."""
        self.continued += 1


def row_key(row: Example | RowError) -> Hashable | None:
    """Return what is the same for all texts that may share a call; `None` for a faulty row."""
    return rivals_key(row) if isinstance(row, Example) else None


def score_rivals_stream(
    rubric: Rubric,
    rows: Iterable[Example | RowError],
    judge: Judge,
    name: str,
    *,
    limits: RivalLimits,
    under_way: int = 16,
    counts: RivalCounts | None = None,
) -> AsyncGenerator[Score]:
    """Yield one score a row, in order, with texts of one group rated in one call; see `grouped_stream`.

    Args:
        counts: filled with what was rated together; its `orders` says how many calls to repeat in the reverse order.

    Raises:
        SettingsError: if nothing may be under way.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    kept = RivalCounts() if counts is None else counts

    async def work(group: list[Example | RowError]) -> list[Score]:
        first = group[0]
        if isinstance(first, RowError):
            return [unscored(fault_id(first), str(first), rubric, name, judge)]
        examples = [row for row in group if isinstance(row, Example)]
        return await score_group(rubric, examples, judge, name, limits=limits, counts=kept)

    return grouped_stream(rows, row_key, work, under_way, on_continued=kept.add_continued)


async def score_group(
    rubric: Rubric,
    examples: Sequence[Example],
    judge: Judge,
    name: str,
    *,
    limits: RivalLimits,
    counts: RivalCounts,
) -> list[Score]:
    """Return the scores of texts, those of one group rated in one call or, beyond the limits, in several.

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does, after all calls have ended, as some are paid for.
    """
    calls = rival_calls(examples, rubric.parts, assignment_of(rubric), limits)
    rated = await asyncio.gather(
        *(_score_call(rubric, [examples[place] for place in call], judge, name, counts) for call in calls),
        return_exceptions=True,
    )
    by_place = dict[int, Score]()
    for call, scores in zip(calls, rated, strict=True):
        if isinstance(scores, BaseException):
            raise scores
        by_place.update(zip(call, scores, strict=True))
    return [by_place[place] for place in range(len(examples))]


async def _score_call(
    rubric: Rubric, examples: Sequence[Example], judge: Judge, name: str, counts: RivalCounts
) -> list[Score]:
    counts.add_call(len(examples))
    repeated = counts.orders.begin(len(examples))
    scores = await score_rivals(rubric, examples, judge, name)
    if repeated:
        reverse = await score_rivals(rubric, examples[::-1], judge, name)
        counts.orders.add([score.score for score in scores], [score.score for score in reverse])
    return [counted(score, judge) for score in scores]
