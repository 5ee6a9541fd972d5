"""LangSmith (`pip install 'rubriclab[langsmith]'`): a rubric as an evaluator, and feedback of people as labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rubriclab.integrations import evaluator
from rubriclab.learning.scoring import Score

with evaluator.imported_from("LangSmith", "langsmith"):
    from langsmith.evaluation import EvaluationResult, RunEvaluator
    from langsmith.schemas import Example, Feedback, Run

HUMAN_SOURCES = ("app",)  # the type of the source of feedback that people give on LangSmith's pages


def row_of(run: Run, example: Example | None = None) -> dict[str, Any]:
    """Return the row of a run; the outputs of the example, if any, are the reference."""
    inputs = example.inputs if example and example.inputs else run.inputs
    reference = example.outputs if example else None
    metadata = example.metadata if example else None
    return {"id": str(run.id), **evaluator.row_of_text(inputs, run.outputs, reference, metadata)}


class LangSmithEvaluator(evaluator.OpenRubric, RunEvaluator):  # type: ignore[misc]
    """An evaluator for `evaluate` and `aevaluate`: one `EvaluationResult` for each run.

    The score is on the scale of the rubric, given in `feedback_config`. The comment has the score with the reason of
    each criterion. `metadata` and `extra` have the result of `metadata_of`; only `extra` is sent to LangSmith. If a
    text has no score, the comment says why, and `extra` has `error`.

    The arguments are those of `OpenRubric`; `name` is the feedback's key, and `row` is called with run and example.
    """

    _default_row = staticmethod(row_of)

    @property
    def feedback_keys(self) -> list[str]:
        return [self.name]

    def evaluate_run(self, run: Run, example: Example | None = None, *_args: Any, **_kwargs: Any) -> EvaluationResult:
        return self._result(self._scorer.score_row(self._row(run, example)))

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, *_args: Any, **_kwargs: Any
    ) -> EvaluationResult:
        return self._result(await self._scorer.score_row_async(self._row(run, example)))

    def _result(self, score: Score) -> EvaluationResult:
        scale, metadata = self._scorer.rubric.score_scale, evaluator.metadata_of(score)
        return EvaluationResult(
            key=self.name,
            score=score.score,
            comment=evaluator.rationale(score, self._scorer.rubric),
            metadata=metadata,
            feedback_config={"type": "continuous", "min": scale.low, "max": scale.high},
            extra=metadata if score.unscored is None else {**metadata, "error": True},
        )


def rows(
    runs: Iterable[Run],
    feedback: Iterable[Feedback],
    *,
    sources: Sequence[str] = HUMAN_SOURCES,
    row: evaluator.RowFunction | None = None,
) -> list[dict[str, Any]]:
    """Return a labelled row for each run (see `evaluator.rows_of_texts`); the key of feedback is the aspect.

    The `id` of a row is the id of its run, and its `group` is the id of the run's example. A person is named by
    `user_name`, or by `user_id` if the name is missing or shared. Feedback without a score or value is left out.

    Args:
        runs: from `client.runs.query` or `client.list_runs`, with their inputs and outputs.
        feedback: from `client.list_feedback`.
        sources: the types of source that count, among `app` (people), `api` (programs) and `model` (evaluators).
        row: returns the row of a run; by default `row_of`.
    """
    row_function = row or row_of

    def row_in_group(run: Run) -> Mapping[str, Any]:
        example = run.reference_example_id
        return row_function(run) if example is None else {"group": str(example), **row_function(run)}

    annotations: list[evaluator.Annotation] = []
    people: list[tuple[str | None, str | None]] = []  # the name and the id of the rater of each annotation
    for answer in sorted(feedback, key=lambda answer: answer.modified_at):
        label = answer.value if answer.score is None else answer.score
        source = answer.feedback_source
        if answer.run_id is None or source is None or source.type not in sources:
            continue
        if isinstance(label, str | int | float):
            label = label if isinstance(label, str) else float(label)
            rater, reason = source.user_name, answer.comment or None
            annotations.append(evaluator.Annotation(str(answer.run_id), answer.key, label, rater, reason))
            people.append((source.user_name, str(source.user_id) if source.user_id else None))
    n_users_by_name = Counter(name for name, user_id in set(people) if user_id)
    for index, (name, user_id) in enumerate(people):
        if user_id and (not name or n_users_by_name[name] > 1):
            annotations[index] = replace(annotations[index], rater=user_id)
    return evaluator.rows_of_texts(row_in_group, [(str(run.id), {"run": run}) for run in runs], annotations)
