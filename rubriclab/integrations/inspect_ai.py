"""Inspect AI (`pip install 'rubriclab[inspect-ai]'`): a rubric as a scorer of a task."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anyio import to_thread

from rubriclab.integrations.evaluator import RubricOrScorer, imported_from, metadata_of, open_scorer, rationale

with imported_from("Inspect AI", "inspect-ai"):
    import inspect_ai.scorer as inspect_scorer
    from inspect_ai.scorer import Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState

# Fields of a row that the metadata of a sample may hold under these names.
METADATA_FIELDS = ("source", "context", "reference", "group", "system")


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def rubric_scorer(
    rubric: RubricOrScorer,
    *,
    store: str | Path | None = None,
    judge: str | None = None,
    row: Callable[[TaskState, Target], Mapping[str, Any]] | None = None,
    **options: Any,
) -> Scorer:
    """Return a rubric as a scorer for Inspect, with the metrics mean and standard error.

    The explanation of a score has the reason of each criterion; its metadata come from `metadata_of`. A text without a
    score gets `Score.unscored`, which metrics leave out, with the reason `grader_failed` if too many of its ratings are
    missing, else `scoring_failed`. The arguments are as for `evaluator.OpenRubric`; `row` gets state and target.
    """
    text_scorer = open_scorer(rubric, store=store, judge=judge, **options)
    if text_scorer is not rubric:
        atexit.register(text_scorer.close)  # Inspect does not say when a scorer is no longer needed
    row_function = row or row_of

    async def score(state: TaskState, target: Target) -> inspect_scorer.Score:
        # In a thread, since Inspect may run its tasks with asyncio or with Trio.
        result = await to_thread.run_sync(text_scorer.score_row, row_function(state, target))
        details: dict[str, Any] = {"answer": state.output.completion, "metadata": metadata_of(result)}
        details["explanation"] = rationale(result, text_scorer.rubric)
        if result.score is None:
            reason = "grader_failed" if result.criteria else "scoring_failed"
            return inspect_scorer.Score.unscored(reason=reason, **details)
        return inspect_scorer.Score(value=result.score, **details)

    return score


def row_of(state: TaskState, target: Target) -> dict[str, Any]:
    """Return the row of a text: the completion, and the sample's input, target, id and fields in its metadata."""
    row = {"output": state.output.completion, "source": state.input_text, "id": str(state.sample_id)}
    if target.text:
        row["reference"] = target.text
    return row | {name: state.metadata[name] for name in METADATA_FIELDS if state.metadata.get(name) is not None}
