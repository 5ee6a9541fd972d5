"""Ratings in other forms than a row for each text: exports of annotation tools, a row for each rating, comparisons.

Supported are Label Studio's JSON (https://labelstud.io/guide/export), data sets of Argilla 2 (`records.to_datasets()`,
with columns `QUESTION.responses`, `.users` and `.status`), and doccano's JSON Lines (a list `label`, and `Comments`).
Each row of an export becomes a `Task`: a text with the raters' answers to the tool's questions. Then answers that are
numbers or words for levels become annotations of an aspect that is named like the question. Comments become reasons.
Other answers are kept in the column `answers`, and a note quotes the first of them.

A comparison is a row without an `output` that names texts by their `id`: `{"preferred": "a1-s3", "over": "a1-s1"}`, or
`{"ranking": ["a1-s3", ["a1-s1", "a1-s2"]]}`, best first, with ties in nested lists. After the last row,
`comparison_faults` checks that the texts exist and are of one group, and `fit_scores` estimates scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

from rubriclab.data.cells import JSON_RULES, LEVEL_RANKS, MAX_COLUMN_LEVELS, CellRules, propose_level_scores
from rubriclab.data.mapping import ABSENT, ASPECT_FIELDS, NO_MAPPING, RATING_FIELDS, FieldMap, look_up
from rubriclab.data.rows import FieldError, Fields, RowError, mapped_aspects, unmapped_aspect
from rubriclab.errors import DataError
from rubriclab.models.characters import PREVIEW_LENGTH, count, describe
from rubriclab.models.text import Example, Scale, with_label

# Columns of converted rows; a column of an export with such a name becomes `data.NAME`.
_CREATED_COLUMNS = ("annotations", "reasons", "answers")
# A score is a number or a word for a level, a choice is one of a few other words, and a comment is free text.
AnswerKind = Literal["score", "choice", "comment", "other"]
# An answer in words that is given only once and has at least this many characters is a remark, not a choice.
MIN_REMARK_LENGTH = 25


@dataclass(frozen=True, slots=True)
class Answer:
    """A rater's answer to a question, and the reason; `kind` is `None` if the export does not tell the kind."""

    question: str
    rater: str
    value: Any
    kind: AnswerKind | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A text with its other columns and the raters' answers; `line` is the number of its first line."""

    line: int
    columns: Mapping[str, Any]
    answers: tuple[Answer, ...] = ()


@dataclass(slots=True)
class Export:
    """The tasks of an export, with a fault in the place of each row that could not be read.

    `name` says the tool and format. `left_out` counts unused answers by reason: `drafts`, `skipped annotations` and so
    on. `choices` has, for each question that is answered by words without scores, the distinct words.
    """

    name: str
    tasks: list[Task | RowError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionFormat:
    """The kind of the answers to a question; `remarks` are texts, in lower case, given in place of such answers."""

    kind: AnswerKind
    remarks: frozenset[str] = frozenset()

    def accepts(self, value: Any) -> bool:
        return _is_number_or_text(value) and not (isinstance(value, str) and value.strip().casefold() in self.remarks)


def export_rows(export: Export, rules: CellRules, *, words_are_scores: bool = False) -> list[tuple[int, Any]]:
    """Return numbered rows of the tasks; add notes and choices to the export.

    With `words_are_scores`, choices become annotations even if the scores of their words are unknown.
    """
    # The kind of a question follows from all answers to it, so they are collected first.
    tasks_and_answers = [(task, answer) for task in export.tasks if isinstance(task, Task) for answer in task.answers]
    answers_by_question: dict[str, list[Answer]] = {}
    for _, answer in tasks_and_answers:
        answers_by_question.setdefault(answer.question, []).append(answer)
    formats = dict[str, QuestionFormat]()
    for question, answers in answers_by_question.items():
        formats[question] = _question_format(answers, rules, words_are_scores)
        if formats[question].kind == "choice":
            words = (answer.value.strip() for answer in answers if isinstance(answer.value, str))
            export.choices[question] = tuple(dict.fromkeys(words))
    unused_answers = [(task, answer) for task, answer in tasks_and_answers if not _find_uses(answer, task, formats)]
    export.notes += _notes(unused_answers, formats, export.choices)
    columns = _CREATED_COLUMNS if unused_answers else ("annotations", "reasons")
    rows = list[tuple[int, Any]]()
    for task in export.tasks:
        if isinstance(task, RowError):
            rows.append((task.line, task))
            continue
        created_cells: dict[str, dict[str, dict[str, Any]]] = {column: {} for column in columns if formats}
        for answer in task.answers:
            for column, aspect in _find_uses(answer, task, formats) or [("answers", answer.question)]:
                if column != "reasons":
                    created_cells[column].setdefault(aspect, {})[answer.rater] = answer.value
                reason = str(answer.value) if column == "reasons" else answer.reason
                if reason and column != "answers":
                    reason_by_rater = created_cells["reasons"].setdefault(aspect, {})
                    reasons = filter(None, [reason_by_rater.get(answer.rater), reason])
                    reason_by_rater[answer.rater] = "\n".join(reasons)
        cells = {f"data.{name}" if name in _CREATED_COLUMNS else name: cell for name, cell in task.columns.items()}
        rows.append((task.line, {**cells, **created_cells}))
    return rows


def _question_format(answers: Sequence[Answer], rules: CellRules, words_are_scores: bool) -> QuestionFormat:
    # Answers that are neither a number nor a text do not show whether the question asks for scores or comments.
    usable_answers = [answer for answer in answers if answer.kind != "other" and _is_number_or_text(answer.value)]
    if not usable_answers:
        return QuestionFormat("other")
    kinds = {answer.kind for answer in usable_answers}
    if "comment" in kinds:
        return QuestionFormat("comment")
    texts = Counter(answer.value.strip().casefold() for answer in usable_answers if isinstance(answer.value, str))
    scored = {text for text in texts if rules.parse_number(text) is not None or rules.score_of_word(text) is not None}
    scored_or_level_words = scored | (texts.keys() & LEVEL_RANKS.keys())
    # Long answers that are given only once are remarks, unless the tool says that they are choices.
    remarks = frozenset[str]()
    if "choice" not in kinds:
        given_once = {text for text in texts.keys() - scored_or_level_words if texts[text] == 1}
        remarks = frozenset(text for text in given_once if len(text) >= MIN_REMARK_LENGTH or "\n" in text)
    levels = texts.keys() - remarks
    # Numbers are scores, and so are words if all of them have scores or are usual words for levels.
    has_numbers = "score" in kinds or texts.total() < len(usable_answers)
    if has_numbers or (levels and levels <= scored_or_level_words and len(remarks) <= len(levels)):
        return QuestionFormat("score", remarks)
    # Other texts are levels or choices if they are few and occur twice on average, else comments.
    has_few_levels = len(levels) <= min(MAX_COLUMN_LEVELS, sum(texts[level] for level in levels) / 2)
    if "choice" not in kinds and (len(remarks) > len(levels) or not has_few_levels):
        return QuestionFormat("comment")
    answers_are_scores = words_are_scores or scored or len(scored_or_level_words) > len(levels) / 2
    return QuestionFormat("score" if answers_are_scores else "choice", remarks)


def _is_number_or_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _find_uses(answer: Answer, task: Task, formats: Mapping[str, QuestionFormat]) -> list[tuple[str, str]]:
    """Return the created columns (`annotations` or `reasons`) in which an answer is used, each with its aspect."""
    question_format = formats[answer.question]
    if not question_format.accepts(answer.value) or question_format.kind not in ("score", "comment"):
        return []
    if question_format.kind == "score":
        return [("annotations", answer.question)]
    # A comment is about the aspect that its question names, else about the aspects that its rater scored.
    aspects = [question for question, each in formats.items() if each.kind == "score"]
    named_aspects = [aspect for aspect in aspects if aspect.casefold() in answer.question.casefold()]
    if named_aspects:
        return [("reasons", max(named_aspects, key=len))]
    rated = {each.question for each in task.answers if each.rater == answer.rater and _is_number_or_text(each.value)}
    return [("reasons", aspect) for aspect in aspects if aspect in rated]


def _notes(
    unused: Sequence[tuple[Task, Answer]], formats: Mapping[str, QuestionFormat], choices: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    unusable_answers, comments_without_aspect = list[str](), list[str]()
    for task, answer in unused:
        text_id = task.columns.get("id")
        row = f"row {task.line}" if text_id is None else f"row {task.line} (id {text_id!r})"
        if formats[answer.question].kind not in ("score", "comment"):
            continue
        if formats[answer.question].accepts(answer.value):
            comments_without_aspect.append(f"by {answer.rater!r} in {row}")
            continue
        value = describe(answer.value) if isinstance(answer.value, bool | None) else repr(answer.value)
        if len(value) > PREVIEW_LENGTH:
            value = f"{value[:PREVIEW_LENGTH]}…"
        unusable_answers.append(f"{value} to {answer.question!r} in {row}")
    if unusable_answers:
        reason = "since they are not one number or word"
        yield f"answers left out, {reason}: {len(unusable_answers)}; the first: {unusable_answers[0]}"
    if comments_without_aspect:
        reason = "since their rater scored nothing in the text"
        yield f"comments left out, {reason}: {len(comments_without_aspect)}; the first: {comments_without_aspect[0]}"
    comment_questions = ", ".join(repr(question) for question, each in formats.items() if each.kind == "comment")
    other_questions = ", ".join(repr(question) for question, each in formats.items() if each.kind == "other")
    if comment_questions:
        yield f"answers to {comment_questions} read as reasons"
    for question, words in choices.items():
        proposal = propose_level_scores(words) or "`level_scores`"
        yield f"choices in {question!r} not read, since their words have no scores; if these are levels, add {proposal}"
    if other_questions:
        yield f"answers to {other_questions} not read, since none of them is one number or word"


# A value with one of these keys is about a region: a part of a text, image, audio or video.
_REGION_KEYS = frozenset({"start", "startOffset", "x", "points", "vertices", "rle", "sequence", "ranges"})
# Endings of the columns of a question in a data set of Argilla.
_RESPONSES, _RATERS, _STATUS = ".responses", ".responses.users", ".responses.status"
_ENDINGS = (_RESPONSES, _RATERS, _STATUS, ".suggestion", ".suggestion.score", ".suggestion.agent")


def read_export(
    where: str, rows: Iterable[tuple[int, Any]], first_row: Any, format_name: str, rules: CellRules
) -> tuple[Export, list[tuple[int, Any]]] | None:
    """Return an export with its numbered rows; `None`, without reading `rows`, if `first_row` is not of an export."""
    converter = _find_converter(first_row, format_name)
    if converter is None:
        return None
    name, read_task = converter
    export = Export(name)
    for line, row in rows:
        try:
            export.tasks.append(row if isinstance(row, RowError) else read_task(export, line, row))
        except FieldError as fault:
            export.tasks.append(fault.to_row_error(where, line))
    return export, export_rows(export, rules)


def _find_converter(row: Any, format_name: str) -> tuple[str, Callable[[Export, int, Any], Task]] | None:
    if not isinstance(row, Mapping):
        return None
    if {"id", "annotator", "annotation_id", "lead_time"} <= row.keys():
        fault = "This export of Label Studio has a row for each annotation and does not say which columns are answers."
        raise DataError(fault, "Export JSON.")
    if any(isinstance(name, str) and name.endswith(_RATERS) for name in row):
        return "Argilla data set", _argilla_task
    if format_name in ("CSV", "TSV", "Excel workbook"):
        return None
    if all(isinstance(row.get(name), Mapping) for name in ("fields", "responses")) and "suggestions" in row:
        hint = "Export the data set: dataset.records.to_datasets().to_json(FILE)."
        raise DataError("These records of Argilla do not say which responses are drafts or discarded.", hint)
    if isinstance(row.get("label"), list) and {"text", "Comments"} <= row.keys():
        return "doccano export", _doccano_task
    if _label_studio_annotations(row) is not None:
        return "Label Studio JSON export", _label_studio_task
    return None


def _label_studio_annotations(row: Any) -> list[Any] | None:
    if not isinstance(row, Mapping) or not isinstance(row.get("data"), Mapping):
        return None
    annotations = row.get("annotations", row.get("completions"))
    return annotations if isinstance(annotations, list) else None


def _label_studio_task(export: Export, line: int, row: Any) -> Task:
    annotations = _label_studio_annotations(row)
    if annotations is None:
        raise FieldError(None, describe(row), "a task like the first one")
    for annotation in annotations:
        if not isinstance(annotation, Mapping):
            raise FieldError("annotations", describe(annotation), "annotations as Label Studio exports")
    # A rater's latest annotation replaces the earlier ones.
    answers_by_rater: dict[str, tuple[Answer, ...]] = {}
    for annotation in sorted(annotations, key=lambda each: str(each.get("updated_at") or each.get("created_at") or "")):
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            export.left_out["skipped annotations"] += 1
            continue
        person = annotation.get("completed_by")
        person = (person.get("email") or person.get("id")) if isinstance(person, Mapping) else person
        rater = f"annotation-{annotation.get('id')}" if person in (None, "") else str(person)
        export.left_out["earlier annotations by the same rater"] += rater in answers_by_rater
        answers_by_rater[rater] = tuple(_label_studio_answers(annotation.get("result") or [], rater))
    drafts = row.get("drafts")
    export.left_out["drafts"] += len(drafts) if isinstance(drafts, list) else 0
    columns = row["data"] if "id" in row["data"] else {"id": row.get("id"), **row["data"]}
    return Task(line, columns, tuple(answer for answers in answers_by_rater.values() for answer in answers))


def _label_studio_answers(results: Any, rater: str) -> Iterator[Answer]:
    values_by_question: dict[str, list[Any]] = {}
    for result in results if isinstance(results, list) else [results]:
        if not isinstance(result, Mapping):
            raise FieldError("annotations", f"the result {describe(result)}", "annotations as Label Studio exports")
        if isinstance(result.get("from_name"), str):  # relations between regions have no name
            values_by_question.setdefault(result["from_name"], []).append(result.get("value"))
    for question, values in values_by_question.items():
        # Several values rate regions of the text, not the whole text.
        value = values[0] if len(values) == 1 else {"regions": values}
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        kind: AnswerKind | None = None
        if isinstance(value, Mapping):
            value, kind = _label_studio_value(value)
        if value not in ("", []):
            yield Answer(question, rater, value, kind)


def _label_studio_value(stored: Mapping[str, Any]) -> tuple[Any, AnswerKind]:
    if _REGION_KEYS.isdisjoint(stored):
        for name in ("rating", "number"):
            if name in stored:
                return stored[name], "score"
        choices, text = stored.get("choices"), stored.get("text")
        if isinstance(choices, list):
            return choices[0] if len(choices) == 1 else choices, "choice"
        if isinstance(text, list):
            return "\n".join(map(str, text)), "comment"
        if isinstance(text, str):
            return text, "comment"
    return dict(stored), "other"


def _argilla_task(export: Export, line: int, row: Any) -> Task:
    if not isinstance(row, Mapping):
        raise FieldError(None, describe(row), "a record like the first")
    answers: dict[tuple[str, str], Answer] = {}
    n_responses = 0
    for question in [str(name).removesuffix(_RESPONSES) for name in row if str(name).endswith(_RESPONSES)]:
        cells = [row.get(f"{question}{end}") for end in (_RESPONSES, _RATERS, _STATUS)]
        texts = [cell for cell in cells if isinstance(cell, str)]
        if texts and texts[0]:
            hint = "Export it as JSON Lines or Parquet, which keep lists: dataset.records.to_datasets().to_json(FILE)."
            raise DataError(f"In this Argilla data set responses are {describe(texts[0])}, expected lists.", hint)
        lists = [cell for cell in cells if cell is not None]
        if not all(isinstance(each, list | tuple) for each in lists) or len(set(map(len, lists))) > 1:
            expected = "lists of one length: the responses, their raters and their status"
            raise FieldError("responses", describe(row), expected)
        length = len(lists[0]) if lists else 0
        values, raters, statuses = ([None] * length if cell is None else cell for cell in cells)
        for value, rater, status in zip(values, raters, statuses, strict=True):
            n_responses += 1
            if status not in (None, "submitted"):
                export.left_out[f"{status} responses"] += 1
            elif value != "":
                answer = Answer(question, str(rater or f"response-{n_responses}"), value)
                export.left_out["earlier responses by the same rater"] += (question, answer.rater) in answers
                answers[question, answer.rater] = answer
    own_columns = [name for name in row if not str(name).endswith(_ENDINGS) and name not in ("status", "_server_id")]
    return Task(line, {name: row[name] for name in own_columns}, tuple(answers.values()))


def _doccano_task(_export: Export, line: int, row: Any) -> Task:
    labels = row.get("label") if isinstance(row, Mapping) else None
    if not isinstance(labels, list):
        raise FieldError(None, describe(row), "a text with a list of labels")
    return Task(line, {**row, "label": labels if len(labels) > 1 else next(iter(labels), None)})


# Rows of ratings with equal cells in these fields are of one text.
_IDENTIFYING_FIELDS = ("output", "source", "context", "group", "system")


def is_rating(row: Any, mapping: FieldMap, rules: CellRules) -> bool:
    """Return whether a row has all mapped columns, a text, and one rating of the text with its rater or aspect."""
    if not isinstance(row, Mapping) or any(look_up(row, column) is ABSENT for column in mapping.columns.values()):
        return False
    fields = Fields(row, mapping, rules)
    maps_aspects = bool(mapped_aspects(mapping))
    has_scores = maps_aspects or any(str(name).partition(".")[0] in ASPECT_FIELDS for name in row)
    is_one_rating = (has_scores and fields.has_value("rater")) or (maps_aspects and fields.has_value("aspect"))
    return is_one_rating and fields.has_value("output")


def join_ratings(
    where: str, numbered_rows: Sequence[tuple[int, Any]], mapping: FieldMap, rules: CellRules
) -> tuple[list[tuple[int, Any]], tuple[str, ...]]:
    """Return a row for each text, with the line of its first rating, and notes on what was joined and left out.

    A rating that is not a number becomes a fault, and so does a rater's second rating of a text. Rows that are no
    ratings stay. Raises DataError if no rating is of a mapped aspect.
    """
    ratings = {line: Fields(row, mapping, rules) for line, row in numbered_rows if is_rating(row, mapping, rules)}
    unmapped_aspects = {line: unmapped_aspect(fields) for line, fields in ratings.items()}
    left_out = {line: aspect for line, aspect in unmapped_aspects.items() if aspect}
    aspect_counts = ", ".join(f"{aspect!r} ({number})" for aspect, number in Counter(left_out.values()).items())
    if len(left_out) == len(ratings):
        hint = f"Map one of these aspects: `mapping=scores.{next(iter(left_out.values()))}=COLUMN`."
        raise DataError(f"{where}: no rating is of a mapped aspect, but of {aspect_counts}.", hint)
    ids = [str(fields.value("id")) for fields in ratings.values() if fields.has_value("id")]
    # If all ids differ, they identify ratings, not texts.
    key_fields = (*_IDENTIFYING_FIELDS, "id") if len(set(ids)) < len(ids) else _IDENTIFYING_FIELDS
    has_raters = any(fields.has_value("rater") for fields in ratings.values())
    # A joined row has the ratings of its text in `annotations`. The mapped columns of ratings stay, but are empty.
    empty_columns = [column for name, column in mapping.columns.items() if name.partition(".")[0] in RATING_FIELDS]
    rows_of_texts: dict[tuple[str, ...], dict[str, Any]] = {}
    rows: list[tuple[int, Any]] = []
    for line, row in numbered_rows:
        if line not in ratings:
            rows.append((line, row))
        elif line not in left_out:
            fields = ratings[line]
            key = tuple(str(fields.value(name)) for name in key_fields)
            if key not in rows_of_texts:
                cells = {name: cell for name, cell in row.items() if str(name).partition(".")[0] not in RATING_FIELDS}
                rows_of_texts[key] = {**cells, **dict.fromkeys(empty_columns), "annotations": {}, "reasons": {}}
                rows.append((line, rows_of_texts[key]))
            elif ids and "id" not in key_fields:
                # The id of the first rating does not identify the text.
                rows_of_texts[key][mapping.columns.get("id", "id")] = None
            try:
                _add_rating(rows_of_texts[key], fields, has_raters)
            except FieldError as error:
                rows.append((line, error.to_row_error(where, line, fields)))
    details = [f"{len(ratings) - len(left_out):,} ratings of {len(rows_of_texts):,} texts"]
    if left_out:
        details.append(f"ratings of other aspects left out: {aspect_counts}")
    return rows, tuple(details)


def _add_rating(row_of_text: dict[str, Any], fields: Fields, has_raters: bool) -> None:
    rated_aspect = str(fields.value("aspect")).strip().casefold() if fields.has_value("aspect") else ""
    rater = fields.read_name("rater")
    if has_raters and not rater:
        raise FieldError("rater", "nothing", "the rater of this rating")
    for parent in ASPECT_FIELDS:
        is_reason = parent == "reasons"
        cells = row_of_text["reasons" if is_reason else "annotations"]
        for aspect, cell in fields.cells_by_aspect(parent):
            if rated_aspect and mapped_aspects(fields.mapping) and aspect.strip().casefold() != rated_aspect:
                continue
            field = f"{parent}.{aspect}"
            value = fields.parse_reason(field, cell) if is_reason else fields.parse_number(field, cell)
            if value is None:
                continue
            if not rater and is_reason:
                cells[aspect] = f"{cells.get(aspect, '')}\n{value}"
            elif not rater:
                cells[aspect] = [*cells.get(aspect, ()), cell]
            elif rater in cells.setdefault(aspect, {}):
                raise FieldError(field, f"a second rating by {rater!r}", "one by each rater in all rows with this text")
            else:
                cells[aspect][rater] = cell


_RANKING_FORM = "a list of at least two ids, best first, with ties in nested lists"
_YES_OR_NO: Mapping[Any, bool] = {"true": True, "1": True, "false": False, "0": False}
# With fewer scores, the scale is the better source for the center and the spread of estimates.
MIN_SCORES_FOR_SPREAD = 10
# The width of the scale in standard deviations: one in twenty normally distributed scores is then off the scale.
SCALE_WIDTH_IN_DEVIATIONS = 4


@dataclass(frozen=True, slots=True)
class PairwiseComparison:
    """A rater's comparison of two texts, given by their ids: the first is better, or, with `tie`, both are equal."""

    better: str
    worse: str
    tie: bool = False
    aspect: str | None = None
    rater: str | None = None


NumberedComparisons = Sequence[tuple[int, PairwiseComparison]]


def parse_comparisons(
    row: Any, where: str, line: int, mapping: FieldMap = NO_MAPPING, rules: CellRules = JSON_RULES
) -> tuple[PairwiseComparison, ...] | RowError | None:
    """Return the comparisons in a row, or its first fault; `None` if the row does not compare texts.

    A ranking becomes all of its pairs, which gives consistent estimates (Azari Soufiani, Chen, Parkes & Xia 2013,
    "Generalized method-of-moments for rank aggregation").
    """
    if not isinstance(row, Mapping):
        return None
    fields = Fields(row, mapping, rules)
    if fields.has_value("output") or not any(map(fields.has_value, ("preferred", "over", "ranking"))):
        return None
    try:
        pairs = _ranked_pairs(fields) if fields.has_value("ranking") else [_preferred_pair(fields)]
        aspect = fields.read_name("aspect") if fields.has_value("aspect") else None
        rater = fields.read_name("rater") if fields.has_value("rater") else None
    except FieldError as fault:
        return fault.to_row_error(where, line)
    return tuple(PairwiseComparison(better, worse, tie, aspect, rater) for better, worse, tie in pairs)


def _preferred_pair(fields: Fields) -> tuple[str, str, bool]:
    ids = [fields.value(name) if fields.has_value(name) else None for name in ("preferred", "over")]
    better, worse = _text_id(fields, "preferred", ids[0]), _text_id(fields, "over", ids[1])
    if better == worse:
        raise FieldError("over", f"{worse!r}, the same text", "the id of another text")
    tie = fields.value("tie") if fields.has_value("tie") else False
    if isinstance(tie, str) and not fields.rules.typed_cells:
        tie = _YES_OR_NO.get(tie.strip().lower(), tie)
    if not isinstance(tie, bool):
        raise FieldError("tie", describe(tie), "true or false")
    return better, worse, tie


def _ranked_pairs(fields: Fields) -> list[tuple[str, str, bool]]:
    if fields.has_value("preferred") or fields.has_value("over"):
        preference_field = "preferred" if fields.has_value("preferred") else "over"
        raise FieldError(preference_field, "a preference beside a ranking", "either of the two in one row")
    ranking = fields.value("ranking")
    if isinstance(ranking, str) and not fields.rules.typed_cells:
        ranking = [[name.strip() for name in rank.split("=")] for rank in ranking.split(">")]
    if not isinstance(ranking, list | tuple):
        raise FieldError("ranking", describe(ranking), _RANKING_FORM)
    ids_by_rank = [ids if isinstance(ids, list | tuple) else [ids] for ids in ranking]
    if not all(ids_by_rank):
        raise FieldError("ranking", "an empty list in the ranking", _RANKING_FORM)
    ranked_ids = [(rank, _text_id(fields, "ranking", name)) for rank, ids in enumerate(ids_by_rank) for name in ids]
    occurrences = Counter(text_id for _, text_id in ranked_ids)
    repeated_ids = [text_id for text_id, number in occurrences.items() if number > 1]
    if repeated_ids:
        raise FieldError("ranking", f"{repeated_ids[0]!r} twice", "each text once")
    if len(ranked_ids) < 2:
        raise FieldError("ranking", count(len(ranked_ids), "text"), _RANKING_FORM)
    return [(better, worse, rank == other_rank) for (rank, better), (other_rank, worse) in combinations(ranked_ids, 2)]


def _text_id(fields: Fields, field: str, value: Any) -> str:
    name = fields.parse_name(field, value)
    if name is None:
        raise FieldError(field, "nothing" if value is None else describe(value), "the id of a text")
    return name


def select_comparisons(
    comparisons: NumberedComparisons, examples: Sequence[Example], aspect: str
) -> NumberedComparisons:
    """Return the comparisons about `aspect`; a comparison without an aspect is about the only aspect of the file."""
    only_aspect = next(iter(_scored_or_compared_aspects(comparisons, examples)), aspect)
    return [(line, comparison) for line, comparison in comparisons if (comparison.aspect or only_aspect) == aspect]


def comparison_faults(
    where: str, comparisons: NumberedComparisons, examples: Sequence[Example], ids_in_faulty_rows: Collection[str] = ()
) -> Iterator[RowError]:
    """Yield comparisons' faults: an unknown id, two groups, an unclear aspect; at most one for each line."""
    groups = {example.id: example.group for example in examples}
    has_several_aspects = len(_scored_or_compared_aspects(comparisons, examples)) > 1
    faulty_lines = set[int]()
    for line, comparison in comparisons:
        better, worse = comparison.better, comparison.worse
        if line in faulty_lines or not {better, worse}.isdisjoint(ids_in_faulty_rows):
            continue  # a fault of this line, or of a compared text's row, is known already
        unknown_ids = [name for name in (better, worse) if name not in groups]
        if unknown_ids:
            got = f"a comparison with {unknown_ids[0]!r}"
            fault = RowError(where, line, None, got, "the id of a text in this data")
        elif groups[better] != groups[worse]:
            got = f"a comparison of {better!r} (group {groups[better]!r}) with {worse!r} (group {groups[worse]!r})"
            fault = RowError(where, line, None, got, "two texts of one group")
        elif has_several_aspects and comparison.aspect is None:
            fault = RowError(where, line, "aspect", "nothing", "the aspect of the comparison, as there are several")
        else:
            continue
        faulty_lines.add(line)
        yield fault


def _scored_or_compared_aspects(comparisons: NumberedComparisons, examples: Sequence[Example]) -> set[str]:
    aspects = {comparison.aspect for _, comparison in comparisons if comparison.aspect}
    return aspects.union(*(example.scores.keys() | example.annotations.keys() for example in examples))


def fit_scores(
    examples: Sequence[Example], comparisons: Sequence[PairwiseComparison], aspect: str, scale: Scale
) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Return the examples with a score for `aspect` if raters scored or compared them, and notes for the user.

    Each comparison is about `aspect` and within a group. Texts with a score keep it. Texts without one get an estimate
    from all scores and comparisons (`rubriclab.stats.pairs.joint_scores`), limited to the scale. Groups without any
    score are centered at the mean of all scores or, if these are fewer than ten or all equal, at the scale's middle.
    """
    rated_scores = {example.id: example.scores[aspect] for example in with_label(examples, aspect)}
    fitted, notes = dict[str, float](), list[str]()
    if comparisons:
        n_comparisons = count(len(comparisons), "comparison")
        has_enough_scores = len(rated_scores) >= MIN_SCORES_FOR_SPREAD and len(set(rated_scores.values())) > 1
        estimates = _estimate_scores(examples, rated_scores, comparisons, None if has_enough_scores else scale)
        for text_id in estimates.keys() - rated_scores.keys():
            fitted[text_id] = min(max(estimates[text_id], scale.low), scale.high)
        if fitted:
            beside_scores = f" beside {len(rated_scores)} scores" if rated_scores else ""
            labels_are = f"{count(len(fitted), 'label')} {'is' if len(fitted) == 1 else 'are'}"
            notes.append(f"{labels_are} fitted to {n_comparisons}{beside_scores}, by a Bradley-Terry model")
        else:
            notes.append(f"{n_comparisons} ignored: every text in them has a score for {aspect!r}")
        fitted_groups = {example.group for example in examples if example.id in fitted}
        groups_without_scores = fitted_groups - {example.group for example in examples if example.id in rated_scores}
        if groups_without_scores:
            alone = f"{count(len(groups_without_scores), 'group')} with comparisons alone"
            center = "the mean of the scores" if has_enough_scores else "the middle of the scale"
            notes.append(
                f"{alone}: only the order within a group is known there, and each group is centered at {center}"
            )
    result = list[Example]()
    for example in examples:
        # A text with a label keeps it, even if another text has the same id.
        fit = {aspect: fitted[example.id]} if example.id in fitted else {}
        result += with_label([example], aspect) or [replace(example, scores={**example.scores, **fit})]
    return tuple(result), tuple(notes)


def _estimate_scores(
    examples: Sequence[Example],
    score_by_id: Mapping[str, float],
    comparisons: Sequence[PairwiseComparison],
    scale: Scale | None,
) -> dict[str, float]:
    """Return estimated scores by id, with the center and spread of `scale` or, if that is `None`, of `score_by_id`."""
    import numpy as np

    from rubriclab.stats.pairs import Comparisons, joint_scores

    group_by_id = {example.id: example.group for example in examples}
    ids = sorted(group_by_id)
    index_by_id = {text_id: index for index, text_id in enumerate(ids)}
    ordered = sorted(comparisons, key=lambda comparison: (comparison.better, comparison.worse, comparison.tie))
    better = np.array([index_by_id[comparison.better] for comparison in ordered])
    worse = np.array([index_by_id[comparison.worse] for comparison in ordered])
    pairs = Comparisons(better, worse, np.array([comparison.tie for comparison in ordered]))
    scores = np.array([score_by_id.get(text_id, np.nan) for text_id in ids], dtype=float)
    groups = np.unique([group_by_id[text_id] for text_id in ids], return_inverse=True)[1]
    if scale:
        center, spread = scale.low + scale.width / 2, scale.width / SCALE_WIDTH_IN_DEVIATIONS
    else:
        center, spread = float(np.nanmean(scores)), float(np.nanstd(scores))
    estimates = joint_scores(scores, groups, pairs, center=center, spread=spread).values
    return {text_id: float(value) for text_id, value in zip(ids, estimates, strict=True) if np.isfinite(value)}
