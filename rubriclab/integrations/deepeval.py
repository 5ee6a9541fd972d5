"""DeepEval (`pip install 'rubriclab[deepeval]'`): a rubric as a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rubriclab.integrations.evaluator import RubricHolder, RubricOrScorer, imported_from, open_scorer, rationale
from rubriclab.judges.cache import short_judge_name
from rubriclab.learning.scoring import Score

with imported_from("DeepEval", "deepeval"):
    from deepeval.metrics import BaseMetric
    from deepeval.metrics.utils import check_llm_test_case_params
    from deepeval.test_case import LLMTestCase, SingleTurnParams


class RubricMetric(BaseMetric, RubricHolder):  # type: ignore[misc]
    """A metric for `assert_test` and `evaluate`; close it at the end, or use it in a `with` statement.

    DeepEval's scores lie between 0 and 1: `score` and `threshold` are shares of the rubric's scale; `result.score` and
    `at_least` are scores on this scale. A text without a score fails; `error` is the reason.

    Args:
        rubric, row, options: as for `OpenRubric`.
        at_least: the lowest score that passes, on the scale of the rubric. The default is the threshold of a rubric
            with two levels (such as pass and fail); without any threshold nothing passes or fails.
        flaky: whether a failure is only a warning, as in DeepEval.

    Attributes:
        result: the `Score` of the latest test case.
        score: the score as a share of the scale, from 0 to 1, or `None`.
        score_breakdown: the rating by each criterion, by criterion id.
        reason: the score in words, with the reason of each criterion.
    """

    score: float | None
    reason: str | None
    error: str | None
    _required_params: ClassVar = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]

    def __init__(
        self,
        rubric: RubricOrScorer,
        at_least: float | None = None,
        *,
        row: Callable[[LLMTestCase], Mapping[str, Any]] | None = None,
        flaky: bool = False,
        **options: Any,
    ) -> None:
        self._scorer = scorer = open_scorer(rubric, at_least, **options)
        at_least = scorer.rubric.threshold if at_least is None else at_least
        # DeepEval copies a metric by giving these attributes to `__init__`, so all copies share the open rubric.
        self.rubric, self.at_least, self.flaky = scorer, at_least, flaky
        self.row = row or row_of
        self.evaluation_model = short_judge_name(scorer.judge)
        self.result: Score | None = None
        if at_least is not None:
            self.threshold = scorer.share_of_scale(at_least)

    @property
    def __name__(self) -> str:
        return f"Rubric {self._scorer.name}"

    def measure(self, test_case: LLMTestCase, *_arguments: Any, **_display: Any) -> float | None:
        return self._record(self._scorer.score_row(self._reset_and_make_row(test_case)))

    async def a_measure(self, test_case: LLMTestCase, *_arguments: Any, **_display: Any) -> float | None:
        return self._record(await self._scorer.score_row_async(self._reset_and_make_row(test_case)))

    def is_successful(self) -> bool | None:
        """Return whether the latest test case passes; `None` without `at_least`."""
        score = None if self.error or self.result is None else self.result.score
        self.success = None
        if self.at_least is not None:
            self.success = score is not None and score >= self.at_least
        return self.success

    def _reset_and_make_row(self, test_case: LLMTestCase) -> Mapping[str, Any]:
        self.result = self.score = self.reason = self.error = None
        check_llm_test_case_params(test_case, self._required_params, None, None, self, None, test_case.multimodal)
        return self.row(test_case)

    def _record(self, score: Score) -> float | None:
        self.result = score
        self.score = None if score.score is None else self._scorer.share_of_scale(score.score)
        self.error = score.unscored
        self.reason = rationale(score, self._scorer.rubric)
        self.score_breakdown = {rating.id: rating.score for rating in score.criteria}
        self.is_successful()
        return self.score


def row_of(test_case: LLMTestCase) -> dict[str, Any]:
    """Return the row of a test case; the pieces of its retrieval context, or else of its context, are joined."""
    pieces = test_case.retrieval_context or test_case.context or ()
    context = "\n\n".join(piece if isinstance(piece, str) else f"{piece.source}: {piece.context}" for piece in pieces)
    row = {
        "output": test_case.actual_output,
        "source": test_case.input,
        "context": context or None,
        "reference": test_case.expected_output,
        "id": test_case.name,
    }
    return {field: value for field, value in row.items() if value is not None}
