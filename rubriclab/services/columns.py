"""Texts scored by one or several versions and judges at the same time: what drift, agree and compare share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from rubriclab.comparison.columns import ScoredText, score_columns
from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.scoring.addresses_judge import addresses_judge
from rubriclab.services.inputs import Data, row_count, rows_of, usable_examples
from rubriclab.services.judge_choice import JudgeChoice, check_distinct, unanswered
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version


class ColumnScorer(NamedTuple):
    """A version and the judge that scores by it."""

    version: Version
    judge: JudgeChoice


@dataclass(eq=False)
class ColumnScoring:
    """Scoring of the same texts by several scorers: iterate over `stream()`."""

    workspace: Workspace
    scorers: Sequence[ColumnScorer]
    data: Data
    options: ReadingOptions
    _scored: list[int] = field(init=False)
    _reasons: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self._scored, self._reasons = [0] * len(self.scorers), [None] * len(self.scorers)

    def texts(self) -> Iterable[Example]:
        """Return the usable texts, read as they are asked for; others are left out, which is said."""
        return usable_examples(rows_of(self.data, self.options, self.workspace.notify), self.workspace.notify)

    def estimate(self, roles: Sequence[str], texts: Iterable[Example] | None = None) -> DryRun:
        """Return an estimate of what is asked of the judge of each scorer, by these names of theirs."""
        given = tuple(self.texts() if texts is None else texts)
        estimates = {
            role: (judge.spec, estimate_scoring(version.rubric, given))
            for role, (version, judge) in zip(roles, self.scorers, strict=True)
        }
        return dry_run(estimates, self.workspace.options)

    async def stream(self, texts: Sequence[Example] | None = None) -> AsyncGenerator[ScoredText]:
        """Yield each usable text, or each of `texts`, with its score by each scorer, in order.

        Raises:
            SettingsError: if one judge is named twice for the same version.
            DataError: if no text can be used.
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: from the judges; they concern every text.
        """
        workspace = self.workspace
        columns = [(version, workspace.judge(judge)) for version, judge in self.scorers]
        for ref in {version.ref for version, _ in columns}:
            sides = zip(self.scorers, columns, strict=True)
            check_distinct({scorer.judge.spec: judge for scorer, (version, judge) in sides if version.ref == ref})
        ids, addressing, done = set[str](), 0, 0
        total = len(texts) if texts is not None else row_count(self.data) if workspace.shows_progress else 0
        with workspace.progress(workspace.ledger) as on_progress:
            scored = score_columns(columns, self.texts() if texts is None else texts, workspace.under_way)
            async with aclosing(scored):
                async for example, scores in scored:
                    for place, score in enumerate(scores):
                        self._scored[place] += score.score is not None
                        self._reasons[place] = score.unscored or self._reasons[place]
                    ids.add(example.id)
                    addressing += addresses_judge(example.output)
                    done += 1
                    yield example, scores
                    on_progress(f"{done:,} texts", done / total if total else -1.0)
        if texts is None and len(ids) < done:
            workspace.notify("some ids are repeated; each of these texts counts")
        if addressing:
            workspace.notify(f"{addressing:,} of {done:,} texts address the judge")

    @property
    def unanswered(self) -> str | None:
        """Which scorer gave no score at all, after replies have failed."""
        for (version, judge), scored, reason in zip(self.scorers, self._scored, self._reasons, strict=True):
            if fault := unanswered(judge.spec, version.ref, scored, reason, self.workspace.ledger):
                return fault
        return None
