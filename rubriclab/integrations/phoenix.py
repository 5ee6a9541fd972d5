"""Phoenix (`pip install 'rubriclab[phoenix]'`): a rubric as an evaluator, and annotations of people as labels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from rubriclab.integrations import evaluator
from rubriclab.judges.connect import EMBEDDED
from rubriclab.learning.scoring import Score

with evaluator.imported_from("Phoenix", "phoenix"):
    from phoenix.client.resources.experiments.types import AnnotatorKind, BaseEvaluator

HUMAN_KINDS = ("HUMAN",)  # the `annotator_kind` of people's annotations


def row_of(
    *,
    input: Any,  # noqa: A002 (Phoenix's own name)
    output: Any,
    expected: Any = None,
    metadata: Mapping[str, Any] | None = None,
    **_other: Any,
) -> dict[str, Any]:
    """Return the row of a text (see `evaluator.row_of_text`); the expected output is the reference."""
    return evaluator.row_of_text(input, output, expected, metadata)


class PhoenixEvaluator(evaluator.OpenRubric, BaseEvaluator):  # type: ignore[misc]
    """An evaluator for `run_experiment`, which gives each run a score, an explanation and metadata.

    If there is no score, the evaluation has no key `score`, and its explanation says why. The arguments are those of
    `OpenRubric`; `row` is called with `input`, `output`, `expected`, `metadata` and others by name.
    """

    _default_row = staticmethod(row_of)

    @property
    def _kind(self) -> AnnotatorKind:
        return AnnotatorKind.CODE if self._scorer.judge == EMBEDDED else AnnotatorKind.LLM

    def evaluate(self, **fields: Any) -> dict[str, Any]:
        return self._evaluation(self._scorer.score_row(self._row(**fields)))

    async def async_evaluate(self, **fields: Any) -> dict[str, Any]:
        return self._evaluation(await self._scorer.score_row_async(self._row(**fields)))

    def _evaluation(self, score: Score) -> dict[str, Any]:
        reason, metadata = evaluator.rationale(score, self._scorer.rubric), evaluator.metadata_of(score)
        explanation = {"explanation": reason, "metadata": metadata}
        if score.score is None:
            return explanation
        label = {"label": score.verdict} if score.verdict else {}
        return {"score": score.score, **label, **explanation}


def rows(
    spans: Iterable[Mapping[str, Any]],
    annotations: Iterable[Mapping[str, Any]],
    *,
    kinds: Sequence[str] = HUMAN_KINDS,
    row: evaluator.RowFunction | None = None,
) -> list[dict[str, Any]]:
    """Return a labelled row for each span (see `evaluator.rows_of_texts`); an annotation's name is the aspect.

    The `id` of a row is the id of its span. The human score is the `score` of an annotation, or else its `label`;
    annotations with neither are left out. A person is named by `user_id`.

    Args:
        spans: from `client.spans.get_spans`.
        annotations: from `client.spans.get_span_annotations`.
        kinds: the kinds of annotators that count, among `HUMAN`, `LLM` and `CODE`.
        row: returns the row of a span, given `input` and `output` by name; by default `row_of`.
    """
    texts: list[tuple[str, dict[str, Any]]] = []
    for span in spans:
        fields = {"input": _span_value(span, "input"), "output": _span_value(span, "output")}
        texts.append((span["context"]["span_id"], fields))
    answers: list[evaluator.Annotation] = []
    for annotation in sorted(annotations, key=lambda annotation: str(annotation["updated_at"])):
        result = annotation.get("result") or {}
        score = result.get("label") if result.get("score") is None else float(result["score"])
        if annotation["annotator_kind"] in kinds and score is not None:
            rater, reason = annotation.get("user_id"), result.get("explanation") or None
            answers.append(evaluator.Annotation(annotation["span_id"], annotation["name"], score, rater, reason))
    return evaluator.rows_of_texts(row or row_of, texts, answers)


def _span_value(span: Mapping[str, Any], field: Literal["input", "output"]) -> Any:
    attributes = span.get("attributes") or {}
    value = attributes.get(f"{field}.value")
    if attributes.get(f"{field}.mime_type") == "application/json" and isinstance(value, str):
        with suppress(ValueError):  # a text may be marked as JSON by mistake
            return json.loads(value)
    return value
