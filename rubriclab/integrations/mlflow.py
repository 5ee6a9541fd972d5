"""MLflow (`pip install 'rubriclab[mlflow]'`): a scorer for evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PrivateAttr

from rubriclab.integrations import evaluator
from rubriclab.judges.cache import short_judge_name
from rubriclab.judges.connect import EMBEDDED
from rubriclab.ops.score import TextScorer
from rubriclab.ops.scores import criterion_cells

with evaluator.imported_from("MLflow", "mlflow"):
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Trace
    from mlflow.genai.scorers import Scorer


class MLflowScorer(Scorer, evaluator.RubricHolder):  # type: ignore[misc]
    """A scorer for `mlflow.genai.evaluate`; close it at the end, or use it in a `with` statement.

    Each text gets one feedback: the score, its rationale and metadata. All values of the metadata are strings:
    `rubriclab.rubric`, `rubriclab.judge`, the interval from `rubriclab.low` to `rubriclab.high`, `rubriclab.verdict` if
    there is one, and for each criterion `ID` (its score), `ID.contribution` and `ID.reason`. A text without a score has
    no value, but an error with the code `UNSCORED` and the reason.

    Args:
        at_least: the lowest score for which `EvaluationResult.passed` is true, on the scale of the rubric; by default
            the threshold of a rubric with two levels; without any threshold no score passes.
        row: returns the row of a text, given `inputs`, `outputs`, `expectations` and `trace` by name.
        rubric, name, options: as for `OpenRubric`.
    """

    rubric: str
    judge: str
    at_least: float | None = None
    _scorer: TextScorer = PrivateAttr()
    _row: evaluator.RowFunction = PrivateAttr()

    def __init__(
        self,
        rubric: evaluator.RubricOrScorer,
        *,
        at_least: float | None = None,
        name: str | None = None,
        row: evaluator.RowFunction | None = None,
        **options: Any,
    ) -> None:
        scorer = evaluator.open_scorer(rubric, at_least, **options)
        at_least = scorer.rubric.threshold if at_least is None else at_least
        super().__init__(
            name=name or scorer.name.partition("@")[0],
            description=f"The {scorer.rubric.aspect.name} of a text, scored by {scorer.name}.",
            # No time limit: MLflow would drop a late score, and each request has its own limit.
            timeout=0,
            rubric=scorer.name,
            judge=short_judge_name(scorer.judge),
            at_least=at_least,
        )
        self._scorer, self._row = scorer, row or row_of
        if at_least is not None:
            self._pass_if = lambda value: value is not None and value >= at_least  # MLflow reads it

    def __call__(
        self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Trace | None = None
    ) -> Feedback:
        row = self._row(inputs=inputs, outputs=outputs, expectations=expectations, trace=trace)
        score = self._scorer.score_row(row)
        judge = short_judge_name(score.judge)
        low, high = score.interval or (None, None)
        values = {"rubric": score.rubric, "judge": judge, "low": low, "high": high, "verdict": score.verdict}
        metadata = {f"rubriclab.{key}": value for key, value in values.items()} | criterion_cells(score)
        return Feedback(
            name=self.name,
            value=score.score,
            error=None if score.unscored is None else AssessmentError("UNSCORED", score.unscored),
            rationale=evaluator.rationale(score, self._scorer.rubric),
            source=AssessmentSource("CODE" if judge == EMBEDDED else "LLM_JUDGE", judge),
            metadata={key: str(value) for key, value in metadata.items() if value is not None},
        )


def row_of(*, inputs: Any, outputs: Any, expectations: Any = None, **_other: Any) -> dict[str, Any]:
    """Return the row of a text (see `evaluator.row_of_text`); the expectation `expected_response` is the reference."""
    expected = expectations.get("expected_response") if isinstance(expectations, Mapping) else None
    return evaluator.row_of_text(inputs, outputs, expected)
