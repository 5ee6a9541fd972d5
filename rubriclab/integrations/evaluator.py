"""Shared parts of the integrations with tools.

In the order of the module: the import of a tool; the row of a text, a mapping of fields, which a rubric scores; rubrics
that are kept open for scoring; what a tool shows about a score; and rows with people's annotations, to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from rubriclab.data.annotations import Answer, Export, Task, export_rows
from rubriclab.data.cells import CSV_RULES
from rubriclab.errors import DataError, UserError
from rubriclab.judges.cache import short_judge_name
from rubriclab.lab import Lab
from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.characters import one_line
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import format_score
from rubriclab.ops.score import TextScorer
from rubriclab.ops.workspace import RubricLike
from rubriclab.report import wording
from rubriclab.running import Closing

RowFunction = Callable[..., Mapping[str, Any]]
RubricOrScorer = RubricLike | TextScorer

# Fields of a row that a tool may have among a text's inputs (in promptfoo, its variables) or metadata.
FIELDS = ("source", "context", "reference", "id", "group", "system")


@contextmanager
def imported_from(library: str, extra: str) -> Iterator[None]:
    """Raise `UserError` with the extra to install if an import within the `with` statement fails."""
    try:
        yield
    except ImportError as error:
        hint = f"Install it with: pip install 'rubriclab[{extra}]'"
        raise UserError(f"{library} cannot be imported: {error}.", hint) from error


def row_of_text(
    inputs: Any, outputs: Any, reference: Any = None, metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the row of a text: its output, and its `FIELDS` in `inputs` or else in `metadata`.

    Of several outputs or references, the one named `output` or `reference` is used. A single input outside `FIELDS` is
    the source if `inputs` has no `source` or `context`. Raises `DataError` if several inputs or outputs could be meant.
    """
    metadata = metadata or {}
    if not isinstance(inputs, Mapping):
        inputs = {"source": inputs}
    row = {name: metadata[name] for name in FIELDS if metadata.get(name) is not None}
    row |= {name: inputs[name] for name in FIELDS if inputs.get(name) is not None}
    other_inputs = {name: value for name, value in inputs.items() if name not in FIELDS and value is not None}
    # A single other input is the source even if the metadata have a source. Several are ignored if there is a source.
    source_fields = inputs if len(other_inputs) == 1 else row
    has_source = any(source_fields.get(name) is not None for name in ("source", "context"))
    if other_inputs and not has_source:
        row["source"] = _named_or_only_value(other_inputs, "inputs", "source")
    if isinstance(reference, Mapping):
        reference = next(iter(reference.values())) if len(reference) == 1 else reference.get("reference")
    if isinstance(reference, str):
        row.setdefault("reference", reference)
    if isinstance(outputs, Mapping) and outputs:
        outputs = _named_or_only_value(outputs, "outputs", "output")
    return {**row, "output": outputs}


def _named_or_only_value(fields: Mapping[str, Any], argument: str, field: str) -> Any:
    if field in fields:
        return fields[field]
    if len(fields) == 1:
        return next(iter(fields.values()))
    listing = ", ".join(sorted(map(str, fields)))
    hint = f"Name one of them {field!r}, or give a function as `row` that returns a mapping with this field."
    raise DataError(f"{argument!r} has several fields ({listing}), and none of them is named {field!r}.", hint)


def open_scorer(rubric: RubricOrScorer, at_least: float | None = None, /, **options: Any) -> TextScorer:
    """Return `rubric` if it is open, else open it by `Lab.scorer`; `options` are those of `Lab`.

    Raises SettingsError if `at_least` is not on the scale of the scores.
    """
    scorer = rubric if isinstance(rubric, TextScorer) else Lab(progress=None, **options).scorer(rubric)
    try:
        if at_least is not None:
            scorer.check_threshold(at_least)
    except BaseException:
        if scorer is not rubric:
            scorer.close()
        raise
    return scorer


class RubricHolder(Closing):
    """Holds an open rubric until `close` is called or its `with` statement ends."""

    _scorer: TextScorer

    def close(self) -> None:
        self._scorer.close()


class OpenRubric(RubricHolder):
    """An open rubric with a name for its scores, and a function that returns the row of a text.

    Args:
        rubric: a version, a rubric, `NAME`, `NAME@3`, `NAME@production`, or what `Lab.scorer` returns.
        name: the name of the scores; by default the rubric's.
        row: returns the row of a text; by default the function `row_of` of the integration.
        options: options of `Lab`: `store`, `judge`, `max_cost`, `concurrency`, `record` and others.

    Raises:
        RubriclabError: as `Lab.scorer` does; scoring raises what `TextScorer.score_row` does.
    """

    _default_row: ClassVar[RowFunction]

    def __init__(
        self, rubric: RubricOrScorer, *, name: str | None = None, row: RowFunction | None = None, **options: Any
    ) -> None:
        self._scorer = open_scorer(rubric, **options)
        self._name = name or self._scorer.name.partition("@")[0]
        self._row = row or self._default_row

    @property
    def name(self) -> str:
        return self._name


def metadata_of(score: Score) -> dict[str, Any]:
    """Return rubric, judge and interval of a score, its criteria by id, and, on a scale of two levels, its verdict."""
    metadata: dict[str, Any] = {"rubric": score.rubric, "judge": short_judge_name(score.judge)}
    metadata["interval"] = list(score.interval) if score.interval else None
    if score.verdict:
        metadata["verdict"] = score.verdict
    metadata["criteria"] = {}
    for rating in score.criteria:
        row = rating.to_row()
        metadata["criteria"][row.pop("id")] = row
    return metadata


def rationale(score: Score, rubric: Rubric) -> str:
    """Return a line with the score or why it is missing, and a line for each criterion, largest contribution first."""
    judge = f"judge {one_line(short_judge_name(score.judge))}"
    if score.score is None:
        score_line = f"no score by {score.rubric} ({judge}): {one_line(score.unscored or '')}"
    else:
        interval = f" {wording.score_interval(score.interval)}" if score.interval else ""
        scale = f"scale {scale_text(rubric)}"
        verdict = f"{one_line(score.verdict)}: " if score.verdict else ""
        score_line = f"{verdict}{wording.rounded(score.score)}{interval} by {score.rubric} ({scale}, {judge})"
    rating_lines = [f"{criterion_result(rating, rubric)}: {one_line(rating.reason)}" for rating in score.by_share]
    return "\n".join([score_line, *rating_lines])


def criterion_result(rating: CriterionRating, rubric: Rubric, max_length: int | None = None) -> str:
    """Return a text: the points that a criterion adds, its title of at most `max_length` characters, and its rating."""
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == rating.id)
    points = "" if rating.contribution is None else f"{rating.contribution:+.2f} "
    rating_text = wording.rating_text(rating, criterion, of_whole_text=not rating.units)
    return f"{points}{one_line(wording.title(criterion, max_length))} ({rating_text})"


def scale_text(rubric: Rubric) -> str:
    """Return the ends of the scale that a rubric's scores are on, as `1 to 5`."""
    return f"{format_score(rubric.score_scale.low)} to {format_score(rubric.score_scale.high)}"


@dataclass(frozen=True, slots=True)
class Annotation:
    """A person's answer on an aspect of the text `id`: a number, a level in words, or a comment."""

    id: str
    aspect: str
    score: float | str
    rater: str | None = None
    reason: str | None = None


def rows_of_texts(
    make_row: RowFunction, texts: Iterable[tuple[str, Mapping[str, Any]]], annotations: Sequence[Annotation]
) -> list[dict[str, Any]]:
    """Return rows of texts with the fields `annotations`, `reasons` and `answers`, like rows of an annotation tool.

    If a rater annotated an aspect several times, the last annotation counts. Raters without a name may be different
    people, so each is called `unnamed-NUMBER`. Texts without output are left out, and so are texts without annotations
    whose output or source is not clear, such as tool calls.

    Args:
        make_row: returns the row of a text.
        texts: the id of each text, with the arguments of `make_row` by name.
        annotations: in the order in which they were given.

    Raises:
        DataError: if the output or source of an annotated text is not clear; the message names its id.
    """
    answers: dict[str, dict[tuple[str, str], Answer]] = {}  # by the text's id, then by aspect and rater
    for number, annotation in enumerate(annotations, start=1):
        rater = annotation.rater or f"unnamed-{number}"
        answer = Answer(annotation.aspect, rater, annotation.score, reason=annotation.reason)
        answers.setdefault(annotation.id, {})[annotation.aspect, rater] = answer
    tasks = list[Task]()
    for number, (text_id, arguments) in enumerate(texts, start=1):
        try:
            row = make_row(**arguments)
        except DataError as error:
            if text_id in answers:
                raise DataError(f"{text_id}: {error.message}", error.hint) from error
            continue
        if row.get("output") is not None:
            tasks.append(Task(number, {**row, "id": text_id}, tuple(answers.get(text_id, {}).values())))
    # With `CSV_RULES`, a text such as "4" is a number, too. Empty `annotations`, `reasons` and `answers` are left out.
    rows = (row for _, row in export_rows(Export("annotations", [*tasks]), CSV_RULES, words_are_scores=True))
    return [{name: cell for name, cell in row.items() if cell != {}} for row in rows]
