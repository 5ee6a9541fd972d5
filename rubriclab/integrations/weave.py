"""Weave (`pip install 'rubriclab[weave]'`): a rubric as a scorer, and annotations of people as labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import PrivateAttr

from rubriclab.integrations import evaluator
from rubriclab.integrations.evaluator import RowFunction, RubricOrScorer
from rubriclab.ops.score import TextScorer

with evaluator.imported_from("Weave", "weave"):
    import weave
    from weave import Scorer
    from weave.trace.call import Call
    from weave.trace.feedback import Feedback

# The `feedback_type` of an annotation on Weave's pages is this prefix, then the name of the annotated field.
ANNOTATION_PREFIX = "wandb.annotation."


class WeaveScorer(Scorer, evaluator.RubricHolder):  # type: ignore[misc]
    """A scorer for `Evaluation`; close it at the end, or use it in a `with` statement.

    The arguments are those of `OpenRubric`; `row` is called with `output` and the columns of the data set by name.
    """

    rubric: str
    _scorer: TextScorer = PrivateAttr()
    _row: RowFunction = PrivateAttr()

    def __init__(
        self, rubric: RubricOrScorer, *, name: str | None = None, row: RowFunction | None = None, **options: Any
    ) -> None:
        scorer = evaluator.open_scorer(rubric, **options)
        super().__init__(name=name or scorer.name.partition("@")[0], rubric=scorer.name)
        self._scorer, self._row = scorer, row or row_of

    @weave.op  # type: ignore[untyped-decorator]
    async def score(self, *, output: Any, **columns: Any) -> dict[str, Any]:
        """Return `score`, `reason` (why the text has this score) and metadata; Weave's means ignore a missing score."""
        if columns.get("inputs") == {key: value for key, value in columns.items() if key != "inputs"}:
            del columns["inputs"]  # Weave adds all columns under this name
        score = await self._scorer.score_row_async(self._row(output=output, **columns))
        reason = evaluator.rationale(score, self._scorer.rubric)
        return {"score": score.score, "reason": reason, **evaluator.metadata_of(score)}


def row_of(*, output: Any, **columns: Any) -> dict[str, Any]:
    """Return the row of a text (see `evaluator.row_of_text`); the columns of the data set are the inputs."""
    return evaluator.row_of_text(columns, output)


def rows(
    calls: Iterable[Call], feedback: Iterable[Feedback], *, row: RowFunction | None = None
) -> list[dict[str, Any]]:
    """Return a labelled row for each call (see `evaluator.rows_of_texts`); the annotated field's name is the aspect.

    The `id` of a row is the id of its call. A person is named by `wb_user_id`, or else by `creator`. Reactions, notes
    and results of scorers are left out.

    Args:
        calls: from `client.get_calls`.
        feedback: from `client.get_feedback`.
        row: returns the row of a call, given `output` and its inputs by name; by default `row_of`.
    """
    texts: list[tuple[str, dict[str, Any]]] = []
    for call in calls:
        inputs = {str(name): value for name, value in call.inputs.items() if name != "self"}
        texts.append((call.id, {**inputs, "output": call.output}))
    annotations: list[evaluator.Annotation] = []
    for answer in sorted(feedback, key=lambda answer: answer.created_at):
        value, aspect = answer.payload.get("value"), answer.feedback_type.removeprefix(ANNOTATION_PREFIX)
        is_annotation = answer.feedback_type.startswith(ANNOTATION_PREFIX)
        if is_annotation and isinstance(value, str | int | float):
            score = value if isinstance(value, str) else float(value)
            call_id = answer.weave_ref.rpartition("/")[2]
            annotations.append(evaluator.Annotation(call_id, aspect, score, answer.wb_user_id or answer.creator))
    return evaluator.rows_of_texts(row or row_of, texts, annotations)
