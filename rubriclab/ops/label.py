"""Labelling of texts by people, on a page that several raters can use at once.

Each rater gets a list of items, in a separate order: all texts, and later some of them again, which tells whether the
rater is consistent. Judgments are stored at once. `labelled_rows` turns them into rows for `learn`.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rubriclab.data.annotations import PairwiseComparison, comparison_faults, select_comparisons
from rubriclab.data.cells import VERDICT_WORDS
from rubriclab.data.check import annotations_or_score
from rubriclab.data.mapping import ASPECT_FIELDS, NO_MAPPING, FieldMap, mapping_text
from rubriclab.data.readers import raw_file_rows
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.data.rows import RowError
from rubriclab.data.write import flatten
from rubriclab.display import Displayed
from rubriclab.errors import DataError, SettingsError
from rubriclab.models import judgment as judging, text as text_model
from rubriclab.models.base import FrozenModel
from rubriclab.models.characters import count
from rubriclab.ops.inputs import Data, accept_level_names, notify_of_left_out_data, other_columns, rows_of
from rubriclab.ops.options import LabelOptions
from rubriclab.ops.workspace import Workspace
from rubriclab.store.store import Store

# Decimal places of a rating where the scale allows decimals.
DECIMALS = 3
DEFAULT_SCALE = text_model.Scale(low=1, high=5, whole=True)
TEXT_COLUMNS = ("id", "group", "system", "source", "context", "reference", "output")


@dataclass(frozen=True, repr=False)
class LabelResult(Displayed):
    """The labels so far: `rows` are labelled texts, then the file's comparisons of texts, as `learn` reads them.

    `labelled` counts the texts in `rows`, `unlabelled` the other texts, and `texts` the texts that were rated on the
    page. `learn` holds the options of `learn` for these rows, by name.
    """

    aspect: str
    rows: tuple[Mapping[str, Any], ...]
    labelled: int
    texts: int
    raters: Mapping[str, judging.RaterProgress]
    agreement: judging.RaterAgreement | None
    unlabelled: int
    learn: Mapping[str, str]

    def to_rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.rows]

    def to_row(self) -> dict[str, Any]:
        return {
            "aspect": self.aspect,
            "labelled": self.labelled,
            "texts": self.texts,
            "raters": {rater: asdict(progress) for rater, progress in self.raters.items()},
            "agreement": self.agreement and asdict(self.agreement),
        }


class Submission(FrozenModel):
    """What the page sends when a rater has decided; a repeated `id` is stored once.

    `item` is a name rather than a position, so that an answer counts for the same item in any order.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,80}$")
    item: str
    kind: Literal["rating", "cannot judge", "skipped"]
    value: float | None = None
    reason: str = Field(default="", max_length=judging.MAX_JUDGMENT_REASON_LENGTH)
    seconds: float = Field(default=0.0, ge=0)
    among_skipped: bool = False  # whether the rater goes through the skipped items


@dataclass(frozen=True)
class ShownItem:
    """The item at a position of a rater's list of `total` items, and this rater's former judgment of it, if any."""

    position: int
    total: int
    name: str
    text: text_model.Example
    former: judging.HumanJudgment | None


class Labeling:
    """The texts of a page, with the raters' judgments in the store; safe for threads."""

    def __init__(
        self,
        store: Store,
        question: judging.LabelQuestion,
        texts: Sequence[LabelText],
        options: LabelOptions,
        *,
        comparisons: Sequence[PairwiseComparison] = (),
    ) -> None:
        self.question = question
        self.options = options
        self.texts = tuple(texts)
        self._text_by_key = {text.key: text for text in texts}
        self._store = store
        self._comparisons = tuple(comparisons)
        self._lock = threading.RLock()
        self._history = judging.History()
        self._last_read_number = 0
        self._items_by_rater_and_name: dict[str, dict[str, judging.Item]] = {}
        self._read_new_judgments()

    def items(self, rater: str) -> tuple[judging.Item, ...]:
        return tuple(self._items_by_name(rater).values())

    def shown_item(self, rater: str, position: int) -> ShownItem:
        items = self._items_by_name(rater)
        if not 0 <= position < len(items):
            raise SettingsError(f"There is no item {position + 1}: {rater} has {len(items)}.", "Load the page again.")
        name, item = list(items.items())[position]
        former = self._history.current_by_item(rater).get(item)
        return ShownItem(position, len(items), name, self._text_by_key[item.text].example, former)

    def next_position(self, rater: str, after: int = -1, *, among_skipped: bool = False) -> int | None:
        """Return the next position that the rater has neither answered nor skipped, or has skipped if `among_skipped`.

        The search begins after the position `after` and continues from the first one. `None` if no such item is left.
        """
        judgments = self._history.current_by_item(rater)
        wanted_kind = "skipped" if among_skipped else None
        kinds = [judgments[item].kind if item in judgments else None for item in self.items(rater)]
        wanted = [position for position, kind in enumerate(kinds) if kind == wanted_kind]
        later = (position for position in wanted if position > after)
        return next(later, wanted[0] if wanted else None)

    def store_decision(self, rater: str, submission: Submission) -> int:
        """Store a rater's decision, and return the item's position; a repeated submission changes nothing.

        Skipping an item that the rater has already answered, perhaps in another tab, changes nothing either.
        """
        items, scale = self._items_by_name(rater), self.question.scale
        item = items.get(submission.item)
        if item is None:
            raise SettingsError("The answer is about a text that is not here.", "Load the page again.")
        value = None
        if submission.kind == "rating":
            if submission.value is None or not scale.allows(submission.value):
                raise SettingsError(f"The score {submission.value} is not on the scale.", f"It is {scale.describe()}.")
            value = round(float(submission.value), DECIMALS)
        given = submission.model_dump(include={"id", "kind"}) | {"value": value, "reason": submission.reason.strip()}
        judgment = self._make_judgment(rater, item, seconds=min(submission.seconds, judging.MAX_SECONDS), **given)
        with self._lock:
            self._read_new_judgments()
            former = self._history.current_by_item(rater).get(item)
            if judgment.kind != "skipped" or former is None or former.kind == "skipped":
                self._store.add_judgment(judgment)
                self._read_new_judgments()
        return list(items).index(submission.item)

    def undo(self, rater: str, undo_id: str) -> int | None:
        """Withdraw a rater's latest judgment on this page; return its position. A reused `undo_id` changes nothing."""
        with self._lock:
            positions = {item: position for position, item in enumerate(self.items(rater))}
            withdrawal = self._history.find(rater, undo_id)
            if withdrawal is None:
                latest = self._history.latest(rater, positions)
                if latest is None:
                    return None
                withdrawal = self._make_judgment(rater, latest.item, id=undo_id, kind="withdrawal", withdraws=latest.id)
            if withdrawal.kind != "withdrawal":
                raise SettingsError("This id belongs to a judgment.", "Load the page again.")
            self._store.add_judgment(withdrawal)
            self._read_new_judgments()
            return positions.get(withdrawal.item)

    def progress(self, rater: str) -> judging.RaterProgress:
        with self._lock:
            return judging.rater_progress(self.items(rater), self._history.current_by_item(rater))

    def agreement(self) -> judging.RaterAgreement | None:
        return judging.rater_agreement(self._snapshot(), self.texts)

    def result(self) -> LabelResult:
        history = self._snapshot()
        rated_texts, raters = set[str](), dict[str, judging.RaterProgress]()
        for rater in history.raters:
            # The history may have judgments of texts in other files.
            items = set(self.items(rater))
            judgments = [judgment for item, judgment in history.current_by_item(rater).items() if item in items]
            rated_texts |= {rating.text for rating in judgments if rating.kind == "rating" and not rating.again}
            if judgments:
                raters[rater] = self.progress(rater)
        rows = tuple(labelled_rows(self.texts, history, self.question, self._comparisons, self.options.mapping))
        n_labelled = sum("over" not in row for row in rows)  # only comparisons have the column `over`
        return LabelResult(
            aspect=self.question.aspect.name,
            rows=rows,
            labelled=n_labelled,
            texts=len(rated_texts),
            raters=raters,
            agreement=judging.rater_agreement(history, self.texts),
            unlabelled=len(self.texts) - n_labelled,
            learn=learn_options(self.options, self.question.scale),
        )

    def _snapshot(self) -> judging.History:
        with self._lock:
            self._read_new_judgments()
            return judging.History(self._history.current_judgments())

    def _read_new_judgments(self) -> None:
        for number, judgment in self._store.judgments(self.question.digest, self._last_read_number):
            self._history.add(judgment)
            self._last_read_number = number

    def _items_by_name(self, rater: str) -> Mapping[str, judging.Item]:
        with self._lock:
            if rater not in self._items_by_rater_and_name:
                self._items_by_rater_and_name[rater] = {}
                for item in judging.arrange_items(self.texts, rater):
                    content = "\0".join((rater, item.text, "again" if item.again else ""))
                    name = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
                    self._items_by_rater_and_name[rater][name] = item
            return self._items_by_rater_and_name[rater]

    def _make_judgment(self, rater: str, item: judging.Item, **fields: Any) -> judging.HumanJudgment:
        about = {"question": self.question.digest, "aspect": self.question.aspect.name, "rater": rater}
        return judging.HumanJudgment(text=item.text, again=item.again, created=datetime.now(UTC), **about, **fields)


def prepare_labeling(workspace: Workspace, data: Data, options: LabelOptions) -> Labeling:
    """Return a `Labeling` of the texts of `data`. Raises DataError for a faulty row, or two texts with one id."""
    store = workspace.open_store(create=True)
    rows = rows_of(data, accept_level_names(options, label_question(options).scale), workspace.notify)
    texts, faults = dict[str, LabelText](), list[str]()
    for row in rows:
        if isinstance(row, RowError):
            faults.append(str(row))
            continue
        text = LabelText(row, other_columns(rows.raw_row, options.mapping))
        first_with_id = texts.setdefault(row.id, text)
        if first_with_id.key != text.key:
            faults.append(f"{rows.where}:{rows.line}: the id {row.id!r} is that of another text")
    examples = [text.example for text in texts.values()]
    faults += map(str, comparison_faults(rows.where, rows.comparisons, examples))
    notify_of_left_out_data(rows, workspace.notify, use_comparisons=True)
    if faults:
        next_faults = f"Also: {'; '.join(faults[1:4])}. " if len(faults) > 1 else ""
        hint = f"{next_faults}Correct them, or leave them out: `skip_faulty`."
        raise DataError(f"{count(len(faults), 'faulty row')}: {faults[0]}", hint, faults)
    if not texts:
        raise DataError(f"{rows.where} has no texts to label.", "Give rows with a field 'output'.")
    question = label_question(options, examples)
    comparisons = [pair for _, pair in select_comparisons(rows.comparisons, examples, question.aspect.name)]
    return Labeling(store, question, tuple(texts.values()), options, comparisons=comparisons)


def label_question(options: LabelOptions, examples: Sequence[text_model.Example] = ()) -> judging.LabelQuestion:
    """Return the question for raters, on the scale of the options or else a scale that has all labels of the file."""
    if options.grades:  # a level of `level_scores` is a number, or a range of numbers such as `6:1`
        problem = "`level_scores` replaces numbers by other scores, also the ratings that people give on this page."
        raise SettingsError(problem, "Change the numbers in the file instead.")
    aspect = text_model.find_aspect(options.task, options.aspect, options.definition)
    labels = [value for example in examples for value in annotations_or_score(example, aspect.name)]
    all_are_one_number = len(set(labels)) < 2 and not any(isinstance(each, text_model.WordScore) for each in labels)
    two_levels = None if all_are_one_number else text_model.two_level_scale(labels)
    scale_parts = [part.strip() for part in (options.scale or "").split(":")]
    # Two words, as in `bad:good`, name the levels; numbers are the ends of a scale.
    if len(scale_parts) == 2 and all(scale_parts) and not any(map(str.isdigit, options.scale or "")):
        scale = text_model.Scale(low=0, high=1, whole=True, names=(scale_parts[0], scale_parts[1]))
    elif options.scale:
        # `parse_scale` allows decimals if a label has them; with (0.0,) as labels, `1:5` allows only whole ratings.
        scale = text_model.parse_scale(options.scale, (0.0,))
    elif two_levels:
        scale = text_model.Scale(low=0, high=1, whole=True)
    elif all(DEFAULT_SCALE.contains(label) for label in labels):
        scale = DEFAULT_SCALE
    else:
        scale = text_model.infer_scale(labels)
    if outside := sorted({label for label in labels if not scale.contains(label)}):
        first = text_model.format_score(outside[0])
        problem = f"The file has labels that are not on the scale, {scale.describe()}, such as {first}."
        raise DataError(problem, "Give the scale of these labels, or leave `scale` out.")
    has_nameless_levels = scale.whole and not scale.names
    if two_levels and two_levels.names != ("0", "1") and has_nameless_levels and two_levels.same_ends(scale):
        scale = scale.model_copy(update={"names": two_levels.names})
    return judging.LabelQuestion(text_model.task_words(options.task), aspect, scale)


def learn_options(options: LabelOptions, scale: text_model.Scale) -> dict[str, str]:
    """Return, by name, the options by which `learn` reads labels on this scale."""
    words = {word: float(level) for level, word in enumerate(scale.names or ())}
    learn_knows_words = all(VERDICT_WORDS.get(word.casefold()) == level for word, level in words.items())
    level_scores = options.level_scores or ({} if learn_knows_words else words)
    levels = {word: text_model.format_score(score) for word, score in level_scores.items()}
    ends = f"{text_model.format_score(scale.low)}:{text_model.format_score(scale.high)}"
    scale_text = ends if scale.whole else f"{ends}:any"
    values = {"task": options.task, "aspect": options.aspect, "scale": scale_text, "levels": mapping_text(levels)}
    values |= {"map": mapping_text(user_columns(options.mapping)), "definition": options.definition or ""}
    return {name: value for name, value in values.items() if value}


@dataclass(frozen=True)
class LabelText(judging.TextToJudge):
    """A text to be judged, and the columns of its row that are not fields."""

    columns: Mapping[str, Any]


def labelled_rows(
    texts: Sequence[LabelText],
    history: judging.History,
    question: judging.LabelQuestion,
    comparisons: Sequence[PairwiseComparison] = (),
    mapping: FieldMap = NO_MAPPING,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each text with a label or in a comparison, then a row for each of the file's `comparisons`.

    A rater's label is the first judgment of a text; the second judgment only measures consistency. The score is the
    mean of all raters, including raters in the file. Columns are named as in `mapping`.
    """
    columns = user_columns(mapping)
    judgments = {text.key: list[judging.HumanJudgment]() for text in texts}
    for judgment in history.current_judgments():
        if judgment.kind in ("rating", "cannot judge") and not judgment.again and judgment.text in judgments:
            judgments[judgment.text].append(judgment)
    compared_ids = {name for pair in comparisons for name in (pair.better, pair.worse)}
    for text in texts:
        row = _labelled_row(text, judgments[text.key], question)
        has_label = any(question.aspect.name in row.get(field, {}) for field in ("scores", "annotations"))
        if has_label or text.example.id in compared_ids:
            yield _with_user_columns(row, columns)
    for pair in comparisons:
        preference = {"preferred": pair.better, "over": pair.worse, "tie": pair.tie or None}
        row = {**preference, "aspect": pair.aspect, "rater": pair.rater}
        yield {name: cell for name, cell in row.items() if cell is not None}


def check_no_cell_is_lost(labeling: Labeling, output: str | Path) -> None:
    """Raise `SettingsError` if a cell of the file `output` would be lost when the labels so far replace the file."""
    if not Path(output).is_file() or not Path(output).stat().st_size:
        return
    columns = user_columns(labeling.options.mapping)

    def cells(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:  # (id, output, column) of filled cells
        for row in map(flatten, rows):
            text = [" ".join(str(row.get(columns.get(name, name)) or "").split()) for name in ("id", "output")]
            yield from ((*text, column) for column, cell in row.items() if cell not in (None, ""))

    rows = (row if isinstance(row, Mapping) else {"": row} for _, row in raw_file_rows(output, ReadingOptions()).rows)
    if lost := set(cells(rows)).difference(cells(labeling.result().rows)):
        text_id, _, column = min(lost)
        fault = f"`output`: {output} has more than the texts and labels here, such as {column!r} of {text_id!r};"
        raise SettingsError(fault, "it would be replaced: give another name, or move the file away.")


def user_columns(mapping: FieldMap) -> dict[str, str]:
    """Return the mapped columns that labelled rows have: columns of a text's fields, of scores and of single raters."""
    columns = mapping.columns
    kept = [name for name in columns if name in TEXT_COLUMNS or name.startswith("scores.") or name.count(".") > 1]
    return {name: columns[name] for name in kept}


def _with_user_columns(row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a labelled row with the user's columns: a score moves from `scores` to the column mapped to it."""
    cells = {columns.get(name, name): cell for name, cell in row.items()}
    for name, column in columns.items():
        field, dot, aspect_and_rater = name.partition(".")
        if not dot:
            cells.setdefault(column, None)
        elif field == "scores":
            cells[column] = cells.get(field, {}).pop(aspect_and_rater, None)
        else:
            aspect, _, rater = aspect_and_rater.partition(".")
            cells[column] = cells.get(field, {}).get(aspect, {}).pop(rater, None)
    for field in ASPECT_FIELDS:
        cells[field] = {aspect: cell for aspect, cell in cells.get(field, {}).items() if cell != {}}
    return {name: cell for name, cell in cells.items() if cell != {}}


def _labelled_row(
    text: LabelText, judgments: Sequence[judging.HumanJudgment], question: judging.LabelQuestion
) -> dict[str, Any]:
    example, aspect = text.example, question.aspect.name
    scores, reasons = dict(example.scores), dict(example.reasons)
    annotations: dict[str, Any] = {
        name: text_model.named_annotations(example, name) or list(values)
        for name, values in example.annotations.items()
    }
    if new_scores := {each.rater: each.value for each in judgments if each.value is not None}:
        # In the file, an aspect has scores of raters or one score; raters without a name are named `earlier`.
        earlier_scores: dict[str, float] = text_model.named_annotations(example, aspect)
        if not earlier_scores and example.annotations.get(aspect):
            numbered = enumerate(example.annotations[aspect], start=1)
            earlier_scores = {f"{text_model.EARLIER_RATER} {number}": value for number, value in numbered}
        elif not earlier_scores and aspect in scores:
            earlier_scores = {text_model.EARLIER_RATER: scores[aspect]}
        annotations[aspect] = earlier_scores | new_scores
        scores[aspect] = math.fsum(annotations[aspect].values()) / len(annotations[aspect])
    if new_reasons := {each.rater: each.reason for each in judgments if each.reason}:
        earlier_reasons = text_model.named_reasons(example, aspect).items()
        reasons[aspect] = {rater or text_model.EARLIER_RATER: reason for rater, reason in earlier_reasons} | new_reasons
    level_words = {aspect: question.scale.names or ()}
    fields: dict[str, Any] = {name: getattr(example, name) for name in TEXT_COLUMNS}
    for field, cells in (("scores", scores), ("annotations", annotations)):
        fields[field] = {name: _as_written(cell, level_words.get(name, ())) for name, cell in cells.items()}
    fields["reasons"] = {name: dict(each) if isinstance(each, Mapping) else each for name, each in reasons.items()}
    return {name: value for name, value in fields.items() if value not in (None, {})} | dict(text.columns)


def _as_written(value: Any, level_words: Sequence[str]) -> Any:
    """Return scores as a person writes them: the word for a level, a whole number without decimals."""
    if isinstance(value, Mapping):
        return {rater: _as_written(score, level_words) for rater, score in value.items()}
    if isinstance(value, list):
        return [_as_written(score, level_words) for score in value]
    if isinstance(value, text_model.WordScore):
        return value.word
    if not float(value).is_integer():
        return value
    return level_words[int(value)] if level_words else int(value)
