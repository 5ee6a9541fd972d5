"""The operations of `Lab` that score texts, and those that compare scores."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from rubriclab.lab.base import LabBase, asynchronous, synchronous, with_options
from rubriclab.ops import (
    compare as comparing,
    compare as drifting,
    evaluate as agreeing,
    evaluate as evaluating,
    explain as explaining,
    improve as improving,
    score as scoring,
    transfer as transferring,
)
from rubriclab.ops.compare import CompareResult
from rubriclab.ops.evaluate import Evaluation
from rubriclab.ops.explain import ScoreExplanation
from rubriclab.ops.improve import ImproveResult
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import (
    AgreeOptions,
    CompareOptions,
    DriftOptions,
    EvaluateOptions,
    ExplainOptions,
    ImproveOptions,
    ScoreOptions,
    TransferOptions,
)
from rubriclab.ops.score import TextScorer
from rubriclab.ops.scores import Scores
from rubriclab.ops.transfer import TransferResult
from rubriclab.ops.workspace import RubricLike, finish, iterate

if TYPE_CHECKING:
    from rubriclab.learning.scoring import Score
    from rubriclab.models.version import Version


class ScoringOperations(LabBase):
    """Scores, and what they show of rubrics, judges and texts."""

    @with_options(ScoreOptions)
    async def score_async(self, /, data: Data, rubric: RubricLike | None = None, **options: Any) -> Scores:
        """Return the scores of texts by a rubric.

        Args:
            data: as for `learn`; a list of strings are texts. Faulty rows have no score but a reason.
            rubric: a version, a rubric, `NAME`, `NAME@3` or `NAME@production`; without one, `task` and `aspect`.

        Raises:
            NotInStore: if there is no such rubric.
            NotConfirmed: if only an imported version that is not confirmed names the judge.
            JudgeError: if the provider fails.
            BudgetReached: if a cap on calls or money was reached.
        """
        with self._workspace() as workspace:
            return await scoring.score(workspace, data, rubric, self._options(ScoreOptions, options))

    @overload
    def score(
        self, data: Data, rubric: RubricLike | None = None, *, stream: Literal[False] = False, **options: Any
    ) -> Scores: ...
    @overload
    def score(
        self, data: Data, rubric: RubricLike | None = None, *, stream: Literal[True], **options: Any
    ) -> Iterator[Score]: ...
    @with_options(ScoreOptions)
    def score(
        self, data: Data, rubric: RubricLike | None = None, *, stream: bool = False, **options: Any
    ) -> Scores | Iterator[Score]:
        """Return the `Scores` of texts by a rubric, or with `stream` an iterator of `Score`, for data of any size.

        Args and errors are those of `score_async`.
        """
        if stream:
            return self._stream(data, rubric, options)
        return finish(lambda: self.score_async(data, rubric, **options))

    async def score_stream_async(
        self, data: Data, rubric: RubricLike | None = None, **options: Any
    ) -> AsyncGenerator[Score]:
        """Yield the score of each text as soon as it and those before it are known; memory does not grow with them."""
        with self._workspace() as workspace:
            chosen = self._options(ScoreOptions, options)
            scores = await workspace.off_event_loop(scoring.prepare_scoring, workspace, data, rubric, chosen)
            async for scored in scores.stream():
                yield scored.score
            scores.check_answered()

    @with_options(ScoreOptions)
    def scorer(self, /, rubric: RubricLike, **options: Any) -> TextScorer:
        """Return an open rubric that scores texts one at a time, from any thread or event loop; close it at the end.

        Args:
            rubric: a version, a rubric, `NAME`, `NAME@3` or `NAME@production`.

        Raises:
            NotInStore: if there is no such rubric.
            NotConfirmed: if only an imported version that is not confirmed names the judge.
        """
        return TextScorer(self._workspace(), rubric, self._options(ScoreOptions, options))

    @with_options(EvaluateOptions)
    async def evaluate_async(
        self, /, data: Data, rubrics: str | Version | Sequence[str | Version], **options: Any
    ) -> Evaluation:
        """Return how well rubrics agree with the human scores of held-out texts, beside baselines.

        Groups of texts that any of the rubrics has learned from are left out.

        Raises:
            DataError: if no text is left that has scores.
            NotInStore: if there is no such rubric.
        """
        with self._workspace() as workspace:
            chosen = self._options(EvaluateOptions, options)
            evaluation = await workspace.run(evaluating.evaluate, data, rubrics, chosen)
        evaluation.check_answered()
        return evaluation

    evaluate = synchronous(evaluate_async)

    @with_options(ExplainOptions)
    async def explain_async(
        self, /, rubric: str | Version, data: Data | None = None, **options: Any
    ) -> ScoreExplanation:
        """Return why a text has its score: each criterion's share with its reason, and the nearest labelled texts.

        Args:
            rubric: a version, `NAME`, `NAME@3` or `NAME@production`.
            data: as for `score`, or a `.txt` file; `id` names one of several texts. Without data, `id` names a text
                that the rubric was learned from, whose kept ratings are used.

        Raises:
            NotInStore: if there is no such rubric or labelled text.
            DataError: if the text cannot be read.
            SettingsError: if it is not clear which text is meant.
            JudgeError: if the provider fails.
        """
        with self._workspace() as workspace:
            return await workspace.run(explaining.explain, rubric, data, self._options(ExplainOptions, options))

    explain = synchronous(explain_async)

    @with_options(AgreeOptions)
    async def agree_async(self, /, data: Data, rubric: str | Version, **options: Any) -> agreeing.AgreeResult:
        """Return how far judges agree when each scores the texts by one rubric; the texts need no human scores.

        Raises:
            SettingsError: unless two different judges are named.
            DataError: if no text can be used.
        """
        with self._workspace() as workspace:
            result = await workspace.run(agreeing.agree, data, rubric, self._options(AgreeOptions, options))
        result.check_answered()
        return result

    agree = synchronous(agree_async)

    @with_options(TransferOptions)
    async def transfer_async(self, /, rubric: str | Version, to: Data, **options: Any) -> TransferResult:
        """Return a rubric's agreement on the texts of `to`, the evaluation of each action, and the version saved.

        Without labels the texts are compared with those that the rubric was learned from.

        Raises:
            NotInStore: if there is no such rubric.
            DataError: if no text can be used.
            SettingsError: for options that do not go together, or an action to save that could not be tried.
        """
        with self._workspace() as workspace:
            result = await workspace.run(transferring.transfer, rubric, to, self._options(TransferOptions, options))
        result.check_saved()
        return result

    transfer = synchronous(transfer_async)

    @with_options(DriftOptions)
    async def drift_async(
        self, /, data: Data, before: str | Version, after: str | Version | None = None, **options: Any
    ) -> CompareResult:
        """Return how the scores of texts, which need no labels, change from one version to another.

        Args:
            data: as for `score`.
            before, after: the versions; without `after`, two `judges` of one version.

        Raises:
            NotInStore: if there is no such rubric.
            SettingsError: unless there are two sides to compare.
        """
        with self._workspace() as workspace:
            result = await workspace.run(drifting.drift, data, before, after, self._options(DriftOptions, options))
        result.check_answered()
        return result

    drift = synchronous(drift_async)

    @with_options(CompareOptions)
    async def compare_async(
        self, /, before: Data, after: Data | None = None, rubric: str | Version | None = None, **options: Any
    ) -> CompareResult:
        """Return how the scores of one set of outputs differ from those of another, or rank the systems in one set.

        Args:
            before, after: as for `score`; without `after`, the systems that `before` names are ranked.
            rubric: the version that both are scored with.

        Raises:
            NotInStore: if there is no such rubric.
            SettingsError: if no rubric is named.
            DataError: if nothing can be compared.
        """
        with self._workspace() as workspace:
            return await workspace.run(comparing.compare, before, after, rubric, self._options(CompareOptions, options))

    compare = synchronous(compare_async)

    @with_options(ImproveOptions)
    async def improve_async(self, /, data: Data, rubric: str | Version, **options: Any) -> ImproveResult:
        """Return texts rewritten where a rubric finds faults, keeping what scores higher.

        Raises:
            NotInStore: if there is no such rubric.
            SettingsError: if the rubric gives no reasons to rewrite by.
        """
        with self._workspace() as workspace:
            return await improving.improve(workspace, data, rubric, self._options(ImproveOptions, options))

    improve = synchronous(improve_async)

    scorer_async = asynchronous(scorer)

    def _stream(self, data: Data, rubric: RubricLike | None, options: Mapping[str, Any]) -> Generator[Score]:
        scores = iterate(lambda: self.score_stream_async(data, rubric, **options))
        self._open.callback(scores.close)
        return scores
