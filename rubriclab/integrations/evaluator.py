"""What the evaluators for several tools share: an open rubric, the row of a text, and the metadata of a score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from rubriclab.data.annotations import Answer, QuestionFormat, aspects_about, classify_questions
from rubriclab.data.mapping import UNTYPED
from rubriclab.errors import DataError, UserError
from rubriclab.judges.stack import recorded_name
from rubriclab.lab import Lab
from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.characters import one_line
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import format_score
from rubriclab.ops.score import TextScorer
from rubriclab.ops.workspace import RubricLike
from rubriclab.report import wording

RowFunction = Callable[..., Mapping[str, Any]]

# Fields of a row that the inputs, the metadata or the variables of a text may hold under these names.
FIELDS = ("source", "context", "reference", "id", "group", "system")
# What a text is about.
ABOUT = {"source", "context"}


def row_of_text(
    inputs: Any, outputs: Any, reference: Any = None, metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the row of a text.

    `output` is `outputs`, or the field of it named `output`, or its only field. The fields `source`, `context`,
    `reference`, `id`, `group` and `system` of `inputs` are those of the row. Without a source or context among them,
    the only other input is the source. Fields that are still missing are taken from `metadata`. If `reference` is a
    text, or a mapping with a field `reference` or with a text as its only field, that is the reference.

    Raises:
        DataError: if there are several outputs or inputs, and none has the name of a field.
    """
    given = _present(inputs) if isinstance(inputs, Mapping) else {} if inputs is None else {"source": inputs}
    about = _present(metadata or {})
    row = {name: given[name] for name in FIELDS if name in given}
    others = [name for name in given if name not in FIELDS]
    if others and not given.keys() & ABOUT and (len(others) == 1 or not about.keys() & ABOUT):
        row["source"] = given[_only(others, "inputs", "source")]
    row = {name: about[name] for name in FIELDS if name in about} | row
    if isinstance(reference, Mapping):
        only = next(iter(reference.values())) if len(reference) == 1 else None
        reference = reference.get("reference", only)
    if isinstance(reference, str):
        row.setdefault("reference", reference)
    if isinstance(outputs, Mapping) and outputs:
        outputs = outputs["output" if "output" in outputs else _only(outputs.keys(), "outputs", "output")]
    return {**row, "output": outputs}


def open_scorer(
    rubric: RubricLike | TextScorer, store: str | Path | None, judge: str | None, options: Mapping[str, Any]
) -> TextScorer:
    """Return an open rubric: the one that is given, or else the one that `Lab.scorer` opens.

    Raises:
        RubriclabError: as `Lab.scorer` does.
    """
    return rubric if isinstance(rubric, TextScorer) else Lab(store, judge, progress=None, **options).scorer(rubric)


class Closing:
    """What is closed at the end of a `with` statement."""

    def close(self) -> None:
        """Close the rubric."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class OpenRubric(Closing):
    """A rubric that stays open until `close`, or for a `with` statement.

    Args:
        rubric: a version, a rubric, `NAME`, `NAME@3`, `NAME@production`, or what `Lab.scorer` returns.
        store: path or URL of the store; by default the user's own.
        judge: by default the one that the rubric was learned with.
        name: of the scores; by default that of the rubric.
        row: returns the row of a text; by default the function that the evaluator has for it.
        options: as for `Lab`: `max_cost`, `concurrency`, `record` and others.

    Attributes:
        opened: what `Lab.scorer` returns.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        SettingsError: for an unknown option.
    """

    opened: TextScorer
    _default_row: ClassVar[RowFunction] = staticmethod(row_of_text)

    def __init__(
        self,
        rubric: RubricLike | TextScorer,
        *,
        store: str | Path | None = None,
        judge: str | None = None,
        name: str | None = None,
        row: RowFunction | None = None,
        **options: Any,
    ) -> None:
        self.opened = open_scorer(rubric, store, judge, options)
        self._name = name or self.opened.name.partition("@")[0]
        self._row = row or self._default_row

    @property
    def name(self) -> str:
        """Name of the scores."""
        return self._name

    def close(self) -> None:
        """Close the rubric."""
        self.opened.close()


def metadata_of(score: Score) -> dict[str, Any]:
    """Return `rubric`, `judge`, `interval`, for verdicts `verdict`, and the criteria of a score.

    `criteria` has by id what `Score.to_row` has of each criterion.
    """
    return {
        "rubric": score.rubric,
        "judge": recorded_name(score.judge),
        "interval": list(score.interval) if score.interval else None,
        **({"verdict": score.verdict} if score.verdict else {}),
        "criteria": {
            part.id: {key: value for key, value in part.to_row().items() if key != "id"} for part in score.criteria
        },
    }


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _only(names: Any, of: str, field: str) -> str:
    if len(names) == 1:
        return str(next(iter(names)))
    known = ", ".join(sorted(map(str, names)))
    raise DataError(
        f"{of!r} has several fields ({known}), and none of them is named {field!r}.",
        f"Name one so, or give a function as `row`, which returns a mapping with the {field!r}.",
    )


def rationale(score: Score, rubric: Rubric) -> str:
    """Return the score with its verdict, interval and scale, then a line for each criterion with its rating and reason.

    Criteria with contributions are sorted by their size, the largest first. For a text without a score, the first line
    says why there is none.
    """
    judge = f"judge {one_line(recorded_name(score.judge))}"
    if score.score is None:
        first = f"no score by {score.rubric} ({judge}): {one_line(score.unscored or '')}"
    else:
        interval = f" {wording.score_interval(score.interval)}" if score.interval else ""
        scale = f"scale {scale_of(rubric)}"
        verdict = f"{one_line(score.verdict)}: " if score.verdict else ""
        first = f"{verdict}{wording.rounded(score.score)}{interval} by {score.rubric} ({scale}, {judge})"
    parts = sorted(score.criteria, key=lambda part: -abs(part.contribution or 0.0))
    return "\n".join((first, *(f"{criterion_result(part, rubric)}: {one_line(part.reason)}" for part in parts)))


def criterion_result(part: CriterionRating, rubric: Rubric, most: int | None = None) -> str:
    """Return what a criterion adds to the score, its title, cut after `most` characters, and its rating."""
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == part.id)
    points = "" if part.contribution is None else f"{part.contribution:+.2f} "
    rated = wording.answered(part, criterion, whole=not part.units)
    return f"{points}{one_line(wording.title(criterion, most))} ({rated})"


def scale_of(rubric: Rubric) -> str:
    """Return the ends of the scale of a rubric's scores, as `1 to 5`."""
    return f"{format_score(rubric.scores_on.low)} to {format_score(rubric.scores_on.high)}"


@contextmanager
def imported_from(library: str, extra: str) -> Iterator[None]:
    """Explain an import that fails because a library is not installed.

    Raises:
        UserError: if an import within the `with` statement fails.
    """
    try:
        yield
    except ImportError as error:
        raise UserError(
            f"{library} cannot be imported: {error}.", f"Install it with: pip install 'rubriclab[{extra}]'"
        ) from error


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a person said about a text.

    Attributes:
        text: the id of the text.
        aspect: what was scored.
        score: a number, a word that `level_scores` gives a number, or a comment.
        rater: the person's name; `None` if it is not known.
        reason: why; `None` if that was not said.
    """

    text: str
    aspect: str
    score: float | str
    rater: str | None = None
    reason: str | None = None


def rows_of_texts(
    texts: Iterable[tuple[str, Callable[[], Mapping[str, Any]]]], annotations: Sequence[Annotation]
) -> list[dict[str, Any]]:
    """Return the rows of texts with the fields `annotations` and `reasons`; see `annotated_rows`.

    Left out are texts without an output, such as failed runs, and texts that nobody scored and whose output or source
    is not clear, such as the calls of tools.

    Args:
        texts: the id of each, and what returns its row.
        annotations: in the order in which they were given.

    Raises:
        DataError: if it is not clear what the output or source of a scored text is; it names the id.
    """
    scored = {each.text for each in annotations}
    rows = []
    for text, row_of in texts:
        try:
            row = row_of()
        except DataError as error:
            if text in scored:
                raise DataError(f"{text}: {error.message}", error.hint) from error
            continue
        if row.get("output") is not None:
            rows.append({**row, "id": text})
    return annotated_rows(rows, annotations)


def annotated_rows(rows: Iterable[Mapping[str, Any]], annotations: Iterable[Annotation]) -> list[dict[str, Any]]:
    """Return rows with the fields `annotations` and `reasons`, in the order of the rows.

    The annotations of an aspect are a mapping of raters to scores, of which the last one of each rater counts. Unknown
    raters may be different people: beside known ones they are called `unnamed-` and the number of the annotation, and
    if no rater is known, the annotations are a list. Rows without annotations stay as they are.

    Numbers and words are scores, and a comment among them is kept in the field `answers`, by aspect and rater; see
    `classify_questions`. The comments of an aspect without scores are reasons for the aspect that its name
    contains, or else for every aspect that the rater scored in the text; a comment whose rater did not score it is kept
    in `answers` too.

    Args:
        rows: each with an `id`.
        annotations: in the order in which they were given.
    """
    given = list(annotations)
    answers = (Answer(each.aspect, each.rater or "", each.score) for each in given)
    questions = classify_questions(answers, UNTYPED)
    by_text: dict[str, dict[int, Annotation]] = {}
    for number, each in enumerate(given, start=1):
        by_text.setdefault(each.text, {})[number] = each
    return [{**row, **_fields(by_text.get(row["id"], {}), questions)} for row in rows]


def _unused(name: str, used: Collection[str | None]) -> str:
    while name in used:
        name += "-"
    return name


def _fields(annotations: Mapping[int, Annotation], questions: Mapping[str, QuestionFormat]) -> dict[str, Any]:
    scores: dict[str, dict[str, Annotation]] = {}
    comments: dict[tuple[str, str], Annotation] = {}
    left: list[Annotation] = []
    known = {each.rater for each in annotations.values()}
    for number, each in annotations.items():
        rater = each.rater or _unused(f"unnamed-{number}", known)
        if questions[each.aspect].kind == "comment":
            comments[each.aspect, rater] = each
        elif questions[each.aspect].accepts(each.score):
            scores.setdefault(each.aspect, {})[rater] = each
        else:
            left.append(each)
    aspects = [name for name, question in questions.items() if question.kind != "comment"]
    for comment in comments.values():
        rated = [aspect for aspect, by_rater in scores.items() if comment.rater in by_rater]
        about = [aspect for aspect in aspects_about(comment.aspect, aspects, rated) if aspect in rated]
        for aspect in about:
            scores[aspect][str(comment.rater)] = _with_reason(scores[aspect][str(comment.rater)], comment)
        if not about:
            left.append(comment)
    fields = {
        "annotations": {aspect: _scores(by_rater) for aspect, by_rater in scores.items()},
        "reasons": {aspect: why for aspect, by_rater in scores.items() if (why := _reasons(by_rater))},
        "answers": _answers(left),
    }
    return {name: values for name, values in fields.items() if values}


def _scores(by_rater: Mapping[str, Annotation]) -> Any:
    scores = {rater: each.score for rater, each in by_rater.items()}
    return scores if _any_known(by_rater) else list(scores.values())


def _reasons(by_rater: Mapping[str, Annotation]) -> Any:
    reasons = {rater: each.reason for rater, each in by_rater.items() if each.reason}
    return reasons if _any_known(by_rater) else "\n".join(reasons.values())


def _any_known(by_rater: Mapping[str, Annotation]) -> bool:
    return any(each.rater for each in by_rater.values())


def _answers(left: Iterable[Annotation]) -> dict[str, dict[str, str]]:
    """Return answers by aspect and rater: the last one of each, and all of unknown raters."""
    answers: dict[str, dict[str, str]] = {}
    for each in left:
        said = answers.setdefault(each.aspect, {})
        before = said.get("") if not each.rater else None
        said[each.rater or ""] = "\n".join(filter(None, [before, str(each.score)]))
    return answers


def _with_reason(annotation: Annotation, comment: Annotation) -> Annotation:
    return replace(annotation, reason="\n".join(filter(None, [annotation.reason, str(comment.score)])))
