"""An open rubric that scores texts one at a time, from any thread or event loop: what other tools call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Real
from reprlib import repr as short
from typing import Any, Self

from rubriclab.data.mapping import FIELDS
from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.scoring import Score
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import show
from rubriclab.models.version import Effort, Version
from rubriclab.ops.compare import CompareOptions, CompareResult, compare
from rubriclab.ops.inputs import Data
from rubriclab.ops.score import ScoreOptions, prepare_scoring, score_all
from rubriclab.ops.scores import ScoreCounts, Scores
from rubriclab.ops.workspace import BackgroundLoop, RubricLike, Workspace
from rubriclab.option_names import did_you_mean


def row_of_fields(output: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a text that is given by names of fields.

    Raises:
        SettingsError: for a name that is not a field.
    """
    for name in fields:
        if name.partition(".")[0] not in FIELDS:
            known = f"{did_you_mean(name, FIELDS)}Known are: {', '.join(FIELDS)}."
            raise SettingsError(f"A text has no field {name!r}.", known)
    return {"output": output, **fields}


class TextScorer:
    """A rubric, opened with its judge. All texts share the judge's limits, its budget and the store's answers.

    It may be called from several threads and event loops at once. Close it, or use it in a `with` statement.

    Attributes:
        rubric: the rubric that scores.
        name: what scores name as their rubric, as in `helpfulness@2`.
        version: the version in the store; `None` for a rubric that is not stored.
        judge: the name of the judge.

    Args:
        workspace: closed with the scorer.
        wrap: returns the judge that is asked instead, given the connected one.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
    """

    rubric: Rubric
    name: str
    version: Version | None
    judge: str

    def __init__(
        self,
        workspace: Workspace,
        rubric: RubricLike,
        options: ScoreOptions,
        wrap: Callable[[Judge], Judge] = lambda judge: judge,
    ) -> None:
        self._workspace = workspace
        self._options = options
        self._wrap = wrap
        self._loop = BackgroundLoop()
        try:
            self._loop.run(lambda: self._open(rubric))
        except BaseException:
            self.close()
            raise

    def __call__(self, output: str, **fields: Any) -> Score:
        """Return the score of one text, as `score_row` does; `fields` are its `source`, `context`, `id` and others.

        Raises:
            SettingsError: for an unknown field, and as `score_row` does.
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: as the judge does.
        """
        return self.score_row(row_of_fields(output, fields))

    def score_row(self, row: Mapping[str, Any]) -> Score:
        """Return the score of the text in a row; a faulty row has no score but the fault as its reason.

        Raises:
            SettingsError: if the text has no source or context, and all texts that the version was learned from had.
            StoreUnavailable: if the file of the store was removed or replaced.
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: as the judge does.
        """
        return self._loop.run(lambda: self._score(row))

    async def score_row_async(self, row: Mapping[str, Any]) -> Score:
        """Return the score of the text in a row without blocking the running event loop."""
        return await self._loop.run_async(lambda: self._score(row))

    def score_rows(self, rows: Data) -> Scores:
        """Return the scores of several texts, which are scored at the same time.

        Args:
            rows: rows as mappings, or a path or a table, as for `Lab.score`.
        """
        data = list(rows) if isinstance(rows, Iterator) else rows
        return self._loop.run(lambda: self._score_all(data))

    async def score_rows_async(self, rows: Data) -> Scores:
        """Return the scores of several texts without blocking the running event loop."""
        data = list(rows) if isinstance(rows, Iterator) else rows
        return await self._loop.run_async(lambda: self._score_all(data))

    async def respond(self) -> None:
        """Return once the thread that scores has time for something else.

        Raises:
            StoreUnavailable: if the file of the store was removed or replaced.
        """
        await self._loop.run_async(self._check_store)

    def compare(self, before: Data, after: Data, options: CompareOptions | None = None) -> CompareResult:
        """Return how the scores of two sets of outputs differ, as `Lab.compare` does; the judge is the scorer's.

        Raises:
            SettingsError: if the rubric is not stored.
            DataError: as `Lab.compare` does.
        """
        version = self.version
        if version is None:
            raise SettingsError("Outputs are compared by a version, and this rubric is not stored.", "Save it first.")
        chosen = (options or CompareOptions()).model_copy(update={"judge": self._options.judge})
        return self._loop.run(lambda: compare(self._workspace, before, after, version, chosen))

    @property
    def effort(self) -> Effort:
        """Calls, tokens and cost since the rubric was opened."""
        return self._workspace.effort()

    def share_of_scale(self, score: float) -> float:
        """Return where a score lies on the rubric's scale, from 0 (the lowest score) to 1 (the highest)."""
        scale = self.rubric.scores_on
        return (score - scale.low) / scale.width

    def check_threshold(self, threshold: float) -> None:
        """Check that a threshold lies on the scale of the rubric's scores.

        Raises:
            SettingsError: if it does not, or is not a number.
        """
        if isinstance(threshold, bool) or not isinstance(threshold, Real):
            raise SettingsError(f"The threshold is {short(threshold)}, not a number.", "Give a score on the scale.")
        scale = self.rubric.scores_on
        if not scale.low <= threshold <= scale.high:
            ends = f"{show(scale.low)} to {show(scale.high)}"
            raise SettingsError(
                f"The threshold {threshold} is not on the scale of {self.name}, {ends}.", "Give a score on that scale."
            )

    def close(self) -> None:
        """Cancel the texts under way, and close the store and the judge's connections."""
        self._loop.close(self._workspace.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _open(self, rubric: RubricLike) -> None:
        # In the thread of the loop, which alone uses the store.
        opened = prepare_scoring(self._workspace, (), rubric, self._options)
        self.rubric, self.name, self.version = opened.rubric, opened.name, opened.version
        judge = self._wrap(self._workspace.judge(opened.choice))
        self.judge = judge.name
        self._scoring = replace(opened, judge=judge)

    async def _score(self, row: Mapping[str, Any]) -> Score:
        return (await self._score_all([row]))[0]

    async def _check_store(self) -> None:
        # Answers that are paid for would be written to the removed file.
        self._workspace.store.check_file()

    async def _score_all(self, rows: Data) -> Scores:
        await self._check_store()
        return await score_all(replace(self._scoring, data=rows, counts=ScoreCounts()))
