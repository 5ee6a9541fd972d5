"""Langfuse (`pip install 'rubriclab[langfuse]'`): a rubric as an evaluator, and scores of people as labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rubriclab.errors import RubriclabError
from rubriclab.integrations import evaluator

with evaluator.imported_from("Langfuse", "langfuse"):
    from langfuse import Evaluation
    from langfuse.api import ObservationV2, ScoreV3

HUMAN_SOURCES = ("ANNOTATION",)  # the `source` of scores that people give on Langfuse's pages
LABEL_TYPES = ("NUMERIC", "BOOLEAN", "CATEGORICAL")  # scores of other types are notes and corrections


class TextUnscored(RubriclabError):
    """A text has no score, and a Langfuse evaluation needs a value."""


def row_of(
    *,
    input: Any,  # noqa: A002 (Langfuse's own names)
    output: Any,
    expected_output: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the row of a text (see `evaluator.row_of_text`); the expected output is the reference."""
    return evaluator.row_of_text(input, output, expected_output, metadata)


class LangfuseEvaluator(evaluator.OpenRubric):
    """An evaluator for `run_experiment`: it returns an `Evaluation` of each item, with the reason for its score.

    Arguments are those of `OpenRubric`; `row` is called with `input`, `output`, `expected_output`, `metadata` by name.
    """

    _default_row = staticmethod(row_of)

    @property
    def __name__(self) -> str:
        return self.name

    async def __call__(self, **fields: Any) -> Evaluation:
        """Return the evaluation of one text; raises `TextUnscored`, which Langfuse shows in place of a score."""
        row = self._row(**{name: fields.get(name) for name in ("input", "output", "expected_output", "metadata")})
        score = await self._scorer.score_row_async(row)
        comment, metadata = evaluator.rationale(score, self._scorer.rubric), evaluator.metadata_of(score)
        if score.score is None:
            raise TextUnscored(comment)
        return Evaluation(name=self.name, value=score.score, comment=comment, metadata=metadata, data_type="NUMERIC")


def rows(
    observations: Iterable[ObservationV2],
    scores: Iterable[ScoreV3],
    *,
    sources: Sequence[str] = HUMAN_SOURCES,
    row: evaluator.RowFunction | None = None,
) -> list[dict[str, Any]]:
    """Return a labelled row for each observation (see `evaluator.rows_of_texts`); a score's name is the aspect.

    The `id` of a row is the id of its observation. A score of a trace counts for its root observation. A person is
    named by `author_user_id`. Scores of the types TEXT and CORRECTION, of sessions and of experiments are left out.

    Args:
        observations: from `client.api.observations.get_many(fields="core,basic,io,metadata").data`.
        scores: from `client.api.scores.get_many(fields="details,subject,annotation").data`.
        sources: the sources whose scores count, among `ANNOTATION` (people), `API` (programs), `EVAL` (evaluators).
        row: returns the row of an observation, given `input`, `output` and `metadata` by name; by default `row_of`.
    """
    roots: dict[str, str] = {}  # the id of the root observation by trace
    texts: list[tuple[str, dict[str, Any]]] = []
    for observation in observations:
        if observation.is_root_observation or observation.parent_observation_id is None:
            roots[observation.trace_id] = observation.id
        fields = {name: getattr(observation, name) for name in ("input", "output", "metadata")}
        texts.append((observation.id, fields))
    annotations: list[evaluator.Annotation] = []
    for score in sorted(scores, key=lambda score: score.updated_at):
        if score.source not in sources or score.data_type not in LABEL_TYPES or score.subject is None:
            continue
        text_id = score.subject.id if score.subject.kind == "observation" else None
        if score.subject.kind == "trace":
            text_id = roots.get(score.subject.id)
        if text_id:
            value = score.value if isinstance(score.value, str) else float(score.value)
            reason = score.comment or None
            annotations.append(evaluator.Annotation(text_id, score.name, value, score.author_user_id, reason))
    return evaluator.rows_of_texts(row or row_of, texts, annotations)
