"""A rubric as a scorer for `mlflow.genai.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr

from rubriclab.integrations.evaluator import RowFunction, row_of_text
from rubriclab.integrations.library import imported_from
from rubriclab.integrations.rationale import rationale
from rubriclab.judges.connect import EMBEDDED
from rubriclab.judges.recording import recorded_name
from rubriclab.lab import Lab
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.services.rubric_choice import RubricLike
from rubriclab.services.scores import criterion_cells
from rubriclab.services.text_scorer import TextScorer

with imported_from("MLflow", "mlflow"):
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Trace
    from mlflow.genai.scorers import Scorer

# The code of the error of a text without a score.
UNSCORED = "UNSCORED"


def rubric_scorer(
    rubric: RubricLike,
    *,
    store: str | Path | None = None,
    judge: str | None = None,
    name: str | None = None,
    at_least: float | None = None,
    row: RowFunction | None = None,
    **options: Any,
) -> MLflowScorer:
    """Return a rubric as a scorer; close it at the end, or use it in a `with` statement.

    Args:
        rubric: a version, a rubric, `NAME`, `NAME@3` or `NAME@production`.
        store: path or URL of the store; by default the user's own.
        judge: by default the one that the rubric was learned with.
        name: of the feedback; by default that of the rubric.
        at_least: the lowest score that passes in `EvaluationResult.passed`, on the scale of the rubric; by default no
            score passes, as MLflow knows no scale.
        row: returns the row of a text, given `inputs`, `outputs`, `expectations` and `trace` by name; by default
            `row_of`.
        options: as for `Lab`: `max_cost`, `concurrency`, `record` and others.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        SettingsError: for an unknown option, or a threshold that is not on the scale.
    """
    opened = Lab(store, judge, progress=None, **options).scorer(rubric)
    try:
        return MLflowScorer(opened, name=name, at_least=at_least, row=row or row_of)
    except BaseException:
        opened.close()
        raise


class MLflowScorer(Scorer):  # type: ignore[misc]
    """A scorer that returns one feedback for each text: the score, its rationale, and metadata.

    The metadata are texts: `rubriclab.rubric`, `rubriclab.judge`, `rubriclab.low` and `rubriclab.high` (the interval),
    and for each criterion its score under its id, `ID.contribution`, in points, and `ID.reason`. A text without a score
    has no value but an error with the code `UNSCORED` and the reason.

    Attributes:
        rubric: `NAME@NUMBER`.
        judge: the name of the judge.
        at_least: the lowest score that passes; `None` if none was given.
    """

    rubric: str
    judge: str
    at_least: float | None = None
    _opened: TextScorer = PrivateAttr()
    _row: RowFunction = PrivateAttr()

    def __init__(self, opened: TextScorer, *, name: str | None, at_least: float | None, row: RowFunction) -> None:
        """Use an open rubric, which is closed with the scorer.

        Raises:
            SettingsError: if the threshold is not on the rubric's scale.
        """
        if at_least is not None:
            opened.check_threshold(at_least)
        super().__init__(
            name=name or opened.name.partition("@")[0],
            description=f"The {opened.rubric.aspect.name} of a text, scored by {opened.name}.",
            # Each request has a time limit and is repeated a limited number of times; MLflow would drop a late score.
            timeout=0,
            rubric=opened.name,
            judge=recorded_name(opened.judge),
            at_least=at_least,
        )
        self._opened = opened
        self._row = row
        if at_least is not None:
            self._pass_if = lambda value: value is not None and value >= at_least

    def __call__(
        self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Trace | None = None
    ) -> Feedback:
        """Return the feedback about one text.

        Raises:
            DataError: if it is not clear what the text and its source are.
            RubriclabError: as `TextScorer.score_row` does.
        """
        row = self._row(inputs=inputs, outputs=outputs, expectations=expectations, trace=trace)
        return _feedback(self.name, self._opened.score_row(row), self._opened.rubric)

    def close(self) -> None:
        """Close the rubric."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def row_of(*, inputs: Any, outputs: Any, expectations: Any = None, **_other: Any) -> dict[str, Any]:
    """Return the row of a text.

    `output` is `outputs`, or the field of it named `output`, or its only field. The fields `source`, `context`,
    `reference`, `id`, `group` and `system` of `inputs` are those of the row; without a source or context among them,
    the only other input is the source. The expectation `expected_response` is the reference.

    Raises:
        DataError: if there are several outputs or inputs, and none has the name of a field.
    """
    expected = expectations.get("expected_response") if isinstance(expectations, Mapping) else None
    return row_of_text(inputs, outputs, expected)


def _feedback(name: str, score: Score, rubric: Rubric) -> Feedback:
    judge = recorded_name(score.judge)
    low, high = score.interval or (None, None)
    about = {"rubric": score.rubric, "judge": judge, "low": low, "high": high}
    metadata = {f"rubriclab.{key}": value for key, value in about.items()} | criterion_cells(score)
    return Feedback(
        name=name,
        value=score.score,
        error=None if score.unscored is None else AssessmentError(UNSCORED, score.unscored),
        rationale=rationale(score, rubric),
        source=AssessmentSource("CODE" if judge == EMBEDDED else "LLM_JUDGE", judge),
        metadata={key: str(value) for key, value in metadata.items() if value is not None},
    )
