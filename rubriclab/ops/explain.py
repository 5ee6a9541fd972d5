"""Explain a text's score: each criterion's contribution and reason, and labelled texts with similar ratings.

The text is plain text (a `.txt` file or `-`) or a row of data, which the judge rates now; or it is a text that the
rubric was learned from, whose ratings are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.display import Displayed
from rubriclab.errors import DataError, NotInStore, SettingsError
from rubriclab.learning.estimate import dry_run
from rubriclab.learning.scoring import Score, score_of_ratings
from rubriclab.methods.method import CriterionRating
from rubriclab.models.aggregation import TOO_MUCH_MISSING_WEIGHT, Aggregation, average_score
from rubriclab.models.base import Unreadable, decode_text, read_file, read_stdin
from rubriclab.models.characters import did_you_mean, join_names
from rubriclab.models.text import Example
from rubriclab.models.version import RecordedText, TrainingRecord, Version
from rubriclab.ops import inputs
from rubriclab.ops.options import ExplainOptions, ScoreOptions
from rubriclab.ops.score import prepare_scoring
from rubriclab.ops.versions import training_record
from rubriclab.ops.workspace import Job, JudgedResult, Workspace, load_version

MAX_IDS_IN_ERROR = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    text: RecordedText
    distance: float  # from the explained text, in standard deviations of the criteria's ratings


@dataclass(frozen=True, repr=False)
class ScoreExplanation(JudgedResult, Displayed):
    """A text's score and what it was computed from."""

    version: Version
    example: Example
    score: Score
    # The score of a text with the average rating by every criterion; the contributions of the criteria are added to it.
    average: float | None  # `None` without learned weights
    labelled: RecordedText | None  # the record of the text if the rubric was learned from it
    nearest: tuple[Neighbour, ...]
    unanswered: str | None = None  # the error's message if replies failed and the text has no score

    def to_row(self) -> dict[str, Any]:
        labelled = {"label": self.labelled.label, "predicted": self.labelled.predicted} if self.labelled else None
        replies = [asdict(reply) for reply in self.score.replies]
        nearest = []
        for neighbour in self.nearest:
            scores = {"label": neighbour.text.label, "predicted": neighbour.text.predicted}
            nearest.append({"id": neighbour.text.id, "distance": round(neighbour.distance, 6), **scores})
        details = {"average": self.average, "labelled": labelled, "replies": replies, "nearest": nearest}
        return {**self.score.to_row(), **details}


def explain(
    workspace: Workspace, data: inputs.Data | None, rubric: str | Version | None, options: ExplainOptions
) -> Job[ScoreExplanation]:
    """Explain the score of the text in `data`; without `data`, of a text that the rubric was learned from."""
    version = load_version(workspace, rubric)
    options = inputs.accept_level_names(options, version.rubric.score_scale)
    if data is None:
        return _explain_recorded(workspace, version, options)
    if isinstance(data, str | Path) and (str(data) == "-" or Path(data).suffix == ".txt"):
        source = None if options.source is None else _read_text(options.source)
        context = None if options.context is None else _read_text(options.context)
        example = Example(id="text", output=_read_text(str(data)), group="text", source=source, context=context)
        if missing := [name for name, count in inputs.missing_fields(version, [example]).items() if count]:
            problem = f"The text has no {join_names(missing)}"
            hint = f"Give {join_names(f'`{name}=FILE`' for name in missing)}."
            raise SettingsError(f"{problem}, and every text that {version.ref} was learned from had one.", hint)
    else:
        example = _find_row(workspace, data, options)
        inputs.check_text_fields(version, [example], data, options, notify=workspace.notify)
    scoring = prepare_scoring(workspace, [example], version, ScoreOptions(judge=options.judge))

    async def run() -> ScoreExplanation:
        record = await workspace.off_event_loop(workspace.store.training, version.ref)
        (scored,) = [row async for row in scoring.stream()]
        explanation = build_explanation(version, record, example, scored.score, options.nearest)
        return replace(explanation, unanswered=scoring.unanswered)

    return Job(scoring.estimate, run)


def _explain_recorded(workspace: Workspace, version: Version, options: ExplainOptions) -> Job[ScoreExplanation]:
    if options.id is None:
        raise SettingsError("There is no text to explain:", "give a file, or the id of a labelled text with `id=ID`.")
    record = training_record(workspace.store, version.ref)
    indices = {text.id: index for index, text in enumerate(record.texts)}
    if options.id not in indices:
        hint = did_you_mean(options.id, indices).strip()
        raise NotInStore(f"{version.ref} was not learned from a text {options.id!r}.", hint)
    text, cells = record.texts[indices[options.id]], record.cells[indices[options.id]]
    ratings = []
    for candidate, cell in zip(record.candidates, cells, strict=True):
        if candidate.kept:
            ratings.append(CriterionRating(candidate.criterion.id, cell.score, cell.reason, cell.applies))

    async def run() -> ScoreExplanation:
        score = score_of_ratings(version.rubric, text.id, ratings, version.ref, version.provenance.judge)
        return build_explanation(version, record, text.example, score, options.nearest)

    return Job(lambda: dry_run({}, workspace.options), run)  # the ratings are recorded, so no judge is asked


def build_explanation(
    version: Version, record: TrainingRecord | None, example: Example, score: Score, max_nearest: int
) -> ScoreExplanation:
    aggregation = version.rubric.aggregation
    content = (example.output, example.source, example.context)
    texts = record.texts if record else ()
    equal_texts = [text for text in texts if (text.output, text.source, text.context) == content]
    # If several texts are equal, the text with the example's id is taken; if no text has it, the first text.
    labelled = min(equal_texts, key=lambda text: text.id != example.id, default=None)
    nearest: tuple[Neighbour, ...] = ()
    if record and aggregation:
        ratings = {rating.id: rating.score for rating in score.criteria}
        # One more than is shown, since the nearest text may be the explained one.
        neighbours = nearest_texts(record, aggregation, ratings, max_nearest + 1)
        nearest = tuple(neighbour for neighbour in neighbours if neighbour.text is not labelled)[:max_nearest]
    average = average_score(aggregation, version.rubric.scale) if aggregation else None
    return ScoreExplanation(version, example, score, average, labelled, nearest)


def nearest_texts(
    record: TrainingRecord, aggregation: Aggregation, ratings: Mapping[str, float | None], max_texts: int
) -> tuple[Neighbour, ...]:
    """Return the labelled texts whose ratings by the same criteria are nearest to `ratings`, the nearest first.

    The distance is the root of the weighted mean of squared differences of standardized ratings. The weights are the
    absolute weights of the criteria in the score. Criteria that rate only one of the two texts are left out; if they
    have half of the total weight or more, the labelled text is left out.
    """
    columns = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates) if candidate.kept}
    rated_ids = columns.keys() & {rating_id for rating_id, rating in ratings.items() if rating is not None}
    terms = [term for term in aggregation.terms if term.criterion in rated_ids]
    if not terms or not max_texts:
        return ()
    weights = np.array([abs(term.weight) for term in terms])
    spreads = np.array([term.spread for term in terms])
    explained_ratings = np.array([ratings[term.criterion] for term in terms], dtype=float)
    labelled_ratings = record.matrix[:, [columns[term.criterion] for term in terms]]
    differences = (labelled_ratings - explained_ratings) / spreads
    shared_weights = np.where(np.isnan(differences), 0.0, weights)
    total_weights = shared_weights.sum(axis=1)
    weighted_squares = (shared_weights * np.square(np.nan_to_num(differences))).sum(axis=1)
    comparable = np.flatnonzero(total_weights > (1 - TOO_MUCH_MISSING_WEIGHT) * weights.sum())
    distances = np.sqrt(weighted_squares[comparable] / total_weights[comparable])
    neighbours = map(Neighbour, [record.texts[row] for row in comparable], distances.tolist())
    return tuple(sorted(neighbours, key=lambda neighbour: (neighbour.distance, neighbour.text.id))[:max_texts])


def _find_row(workspace: Workspace, data: inputs.Data, options: ExplainOptions) -> Example:
    """Return the row with the id `options.id`, or the only row."""
    for name, path in (("source", options.source), ("context", options.context)):
        if path is not None:
            problem = f"`{name}` belongs to a plain text, and {inputs.describe_data(data)} has rows;"
            raise SettingsError(problem, f"write the {name} in the row's field '{name}'.")
    examples: list[Example] = []
    for row in inputs.read_texts(inputs.rows_of(data, options, workspace.notify), workspace.notify):
        if row.id == options.id:
            return row
        examples.append(row)
    if options.id is not None:
        raise DataError(f"{inputs.describe_data(data)} has no text with the id {options.id!r}.")
    if len(examples) != 1:
        ids = ", ".join(example.id for example in examples[:MAX_IDS_IN_ERROR])
        problem = f"{inputs.describe_data(data)} has {len(examples):,} texts, and only one can be explained;"
        raise SettingsError(problem, f"choose one with `id=ID`; the first ids are {ids}.")
    return examples[0]


def _read_text(path: str) -> str:
    name = "Standard input" if path == "-" else path
    try:
        text = decode_text(read_stdin() if path == "-" else read_file(Path(path))).strip()
    except Unreadable as error:
        raise DataError(f"{name} cannot be read: {error}.", "Give the path of a text file.") from None
    if not text:
        raise DataError(f"{name} has no text.", "Give the text to explain.")
    return text
