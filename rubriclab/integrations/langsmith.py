"""LangSmith (`pip install 'rubriclab[langsmith]'`): a rubric as an evaluator, and feedback of people as labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from rubriclab.integrations.evaluator import (
    Annotation,
    OpenRubric,
    RowFunction,
    imported_from,
    metadata_of,
    rationale,
    row_of_text,
    rows_of_texts,
)
from rubriclab.learning.scoring import Score

with imported_from("LangSmith", "langsmith"):
    from langsmith.evaluation import EvaluationResult, RunEvaluator
    from langsmith.schemas import Example, Feedback, Run

# The type of feedback that people give on LangSmith's pages.
PEOPLE = ("app",)


def row_of(run: Run, example: Example | None = None) -> dict[str, Any]:
    """Return the row of a run, made by `row_of_text` from the inputs and the run's outputs.

    The reference and metadata are the outputs and metadata of the example. Without an `id`, it is that of the run.
    """
    inputs = example.inputs if example and example.inputs else run.inputs
    reference, metadata = (example.outputs, example.metadata) if example else (None, None)
    row = row_of_text(inputs, run.outputs, reference, metadata)
    return {"id": str(run.id), **row}


class LangSmithEvaluator(OpenRubric, RunEvaluator):  # type: ignore[misc]
    """An evaluator for `evaluate` and `aevaluate`, which returns one `EvaluationResult` for each run.

    `score` is on the scale of the rubric, which `feedback_config` says, `comment` its `rationale`, and `metadata` what
    `metadata_of` returns; LangSmith gets it as `extra`. A text without a score has no number but the reason as its
    comment, and counts as an error.

    The arguments are those of `OpenRubric`; `name` is the key of the feedback, and `row` is given the run and the
    example.
    """

    _default_row = staticmethod(row_of)

    @property
    def feedback_keys(self) -> list[str]:
        """The key of the feedback."""
        return [self.name]

    def evaluate_run(self, run: Run, example: Example | None = None, *_ids: Any, **_named: Any) -> EvaluationResult:
        """Return the feedback about a run."""
        return self._result(self._open.score_row(self._row(run, example)))

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, *_ids: Any, **_named: Any
    ) -> EvaluationResult:
        """Return the feedback about a run without blocking the running event loop."""
        return self._result(await self._open.score_row_async(self._row(run, example)))

    def _result(self, score: Score) -> EvaluationResult:
        scale, about = self._open.rubric.scores_on, metadata_of(score)
        return EvaluationResult(
            key=self.name,
            score=score.score,
            comment=rationale(score, self._open.rubric),
            metadata=about,
            feedback_config={"type": "continuous", "min": scale.low, "max": scale.high},
            extra=about if score.unscored is None else {**about, "error": True},  # of these, what is sent to LangSmith
        )


def rows(
    runs: Iterable[Run],
    feedback: Iterable[Feedback],
    *,
    sources: Sequence[str] = PEOPLE,
    row: RowFunction | None = None,
) -> list[dict[str, Any]]:
    """Return runs as `rows_of_texts` does, with feedback as scores of people by aspect, its key.

    The `id` of a row is that of its run, and its `group` the example that the run is about, so outputs for the same
    example are in one group. A person is named by `user_name`, or by `user_id` if several have the same name or none.
    Feedback without a score or a value, a correction for instance, is left out.

    Args:
        runs: as `client.runs.query` or `client.list_runs` returns them, with their inputs and outputs.
        feedback: as `client.list_feedback` returns it.
        sources: the types of feedback that count: `app` is that of people on LangSmith's pages, `api` what programs
            sent, `model` that of evaluators.
        row: returns the row of a run; by default `row_of`.
    """
    texts = ((str(run.id), partial(_grouped, row or row_of, run)) for run in runs)
    given = [
        (each, score if isinstance(score, str) else float(score), each.feedback_source)
        for each in sorted(feedback, key=lambda each: each.modified_at)
        if each.run_id is not None and each.feedback_source is not None and each.feedback_source.type in sources
        if isinstance(score := each.value if each.score is None else each.score, str | int | float)
    ]
    people = {(source.user_name, source.user_id) for _, _, source in given}
    ids = Counter(name for name, number in people if number)
    found = list[Annotation]()
    for each, score, source in given:
        name, number = source.user_name, str(source.user_id) if source.user_id else None
        rater = number if number and (not name or ids[name] > 1) else name
        found.append(Annotation(str(each.run_id), each.key, score, rater, each.comment or None))
    return rows_of_texts(texts, found)


def _grouped(row: RowFunction, run: Run) -> dict[str, Any]:
    """Return the row of a run, by default in the group of the example that it is about."""
    example = {} if run.reference_example_id is None else {"group": str(run.reference_example_id)}
    return {**example, **row(run)}
