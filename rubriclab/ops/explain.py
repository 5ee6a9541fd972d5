"""Why a text has its score: each criterion's share of it with the reason, and the nearest labelled texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from rubriclab.data.mapping import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import DataError, NotInStore, SettingsError
from rubriclab.learning.estimate import DryRun, dry_run
from rubriclab.learning.scoring import CriterionScore, Score
from rubriclab.models.aggregation import average_score, combine
from rubriclab.models.base import (
    Unreadable,
    read_file,
    read_stdin,
    text_of,
)
from rubriclab.models.characters import did_you_mean, listed
from rubriclab.models.text import Example
from rubriclab.models.version import (
    Neighbour,
    RecordedText,
    TrainingRecord,
    Version,
    nearest_texts,
)
from rubriclab.ops.inputs import Data, check_text_fields, describe, missing_fields, rows_of
from rubriclab.ops.score import ScoreOptions, prepare_scoring
from rubriclab.ops.versions import training_record
from rubriclab.ops.workspace import (
    Answered,
    JudgeOption,
    Workspace,
    version_of,
)

PLAIN_TEXT = ".txt"
# Ids that an error names.
MOST_NAMED = 5


class ExplainOptions(ReadingOptions, JudgeOption):
    """Which text is explained, and how it is read."""

    id: str | None = None
    """The id of the text, if there are several; without texts, of one that the rubric was learned from."""

    source: str | None = None
    """For a plain text: the file with its source."""

    nearest: int = Field(default=5, ge=0)
    """The number of labelled texts that are shown, the most similarly rated first."""


@dataclass(frozen=True, repr=False)
class ScoreExplanation(Answered, Displayed):
    """A text's score with everything that it rests on.

    Attributes:
        average: the score of a text that every criterion rates as average; the contributions of the criteria lead from
            there to the score. `None` if the rubric has no learned weights.
        labelled: the text as the rubric was learned from it, with label and held-out score; `None` for another text.
        nearest: the labelled texts with the most similar ratings; empty if the store has no training record.
        unanswered: that the text has no score after replies have failed.
    """

    version: Version
    example: Example
    score: Score
    average: float | None
    labelled: RecordedText | None
    nearest: tuple[Neighbour, ...]
    unanswered: str | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the explanation as one JSON object."""
        held_out = self.labelled and {"label": self.labelled.label, "predicted": self.labelled.predicted}
        return {
            **self.score.to_row(),
            "average": self.average,
            "labelled": held_out,
            "replies": [asdict(reply) for reply in self.score.replies],
            "nearest": [
                {
                    "id": neighbour.text.id,
                    "distance": round(neighbour.distance, 6),
                    "label": neighbour.text.label,
                    "predicted": neighbour.text.predicted,
                }
                for neighbour in self.nearest
            ],
        }


@dataclass(frozen=True)
class Explaining:
    """An explanation that has not begun."""

    workspace: Workspace
    version: Version
    example: Example
    options: ExplainOptions
    recorded: bool = False

    def estimate(self) -> DryRun:
        """Return an estimate of what it asks of the judge: nothing for a text that the rubric was learned from."""
        return dry_run({}, self.workspace.options) if self.recorded else self._scoring().estimate()

    async def run(self) -> ScoreExplanation:
        """Return the explanation.

        Raises:
            JudgeError: if the provider fails.
            BudgetReached: if a cap on calls or money was reached.
        """
        record = await self.workspace.off_event_loop(lambda: self.workspace.store.training(self.version.ref))
        if self.recorded and record:
            return explained(self.version, record, self.example, None, self.options.nearest)
        scoring = await self.workspace.off_event_loop(self._scoring)
        (scored,) = [each async for each in scoring.stream()]
        found = explained(self.version, record, self.example, scored.score, self.options.nearest)
        return replace(found, unanswered=scoring.unanswered)

    def _scoring(self) -> Any:
        return prepare_scoring(self.workspace, [self.example], self.version, ScoreOptions(judge=self.options.judge))


def prepare_explanation(
    workspace: Workspace, rubric: str | Version, data: Data | None, options: ExplainOptions
) -> Explaining:
    """Return the explanation of one text's score.

    Args:
        data: a text as `.txt` file or `-`, or rows as for `score`; `None` for a text that the rubric was learned from.

    Raises:
        NotInStore: if there is no such rubric or labelled text.
        SettingsError: if it is not clear which text is meant; if it has no source or context, and all texts that the
            version was learned from had one.
        DataError: if the text cannot be read.
    """
    version = version_of(workspace, rubric)
    if data is None:
        return Explaining(workspace, version, _recorded_text(workspace, version, options.id).example, options, True)
    example = _example(workspace, data, options)
    if not _is_plain_text(data):
        check_text_fields(version, [example], data, options)
    elif lacking := [name for name, number in missing_fields(version, [example]).items() if number]:
        raise SettingsError(
            f"The text has no {listed(lacking)}, and every text that {version.ref} was learned from had one.",
            "Give `source=FILE`." if lacking == ["source"] else "Give a row with this field instead.",
        )
    return Explaining(workspace, version, example, options)


async def explain(
    workspace: Workspace, rubric: str | Version, data: Data | None, options: ExplainOptions
) -> ScoreExplanation:
    """Return why a text has its score; see `prepare_explanation` and `Explaining.run`."""
    explaining = await workspace.off_event_loop(prepare_explanation, workspace, rubric, data, options)
    return await explaining.run()


def explained(
    version: Version, record: TrainingRecord | None, example: Example, score: Score | None, most: int
) -> ScoreExplanation:
    """Return the explanation of a score, or without one, of the kept ratings of a labelled text.

    Args:
        record: the training record of the version, if there is one.
        most: the number of nearest texts.
    """
    aggregation = version.rubric.aggregation
    same = (
        [each for each in record.texts if (each.output, each.source) == (example.output, example.source)]
        if record
        else []
    )
    labelled = next((text for text in same if text.id == example.id), same[0] if same else None)
    if score is None:
        if not (record and labelled):
            raise ValueError("expected a score for a text that the rubric was not learned from")
        score = _recorded_score(version, record, labelled)
    ratings = {each.id: each.score for each in score.criteria}
    nearest: tuple[Neighbour, ...] = ()
    if record and aggregation:
        others = nearest_texts(record, aggregation, ratings, most + 1)
        nearest = tuple(each for each in others if each.text is not labelled)[:most]
    average = average_score(aggregation, version.rubric.scale) if aggregation else None
    return ScoreExplanation(version, example, score, average, labelled, nearest)


def _recorded_score(version: Version, record: TrainingRecord, text: RecordedText) -> Score:
    aggregation = version.rubric.aggregation
    if aggregation is None:
        raise ValueError("expected a rubric with learned weights")
    row = next(row for each, row in zip(record.texts, record.cells, strict=True) if each is text)
    pairs = zip(record.candidates, row, strict=True)
    cells = {candidate.criterion.id: cell for candidate, cell in pairs if candidate.kept}
    combined = combine(
        aggregation, {name: cell.score for name, cell in cells.items() if cell.applies}, version.rubric.scale
    )
    criteria = tuple(
        CriterionScore(name, cell.score, cell.reason, cell.applies, contribution=combined.contributions.get(name))
        for name, cell in cells.items()
    )
    interval = None if combined.low is None or combined.high is None else (combined.low, combined.high)
    unscored = None if combined.score is not None else "too few of its ratings are usable"
    judge, aspect = version.provenance.judge, version.rubric.aspect.name
    return Score(text.id, aspect, combined.score, criteria, unscored, version.ref, judge, interval)


def _recorded_text(workspace: Workspace, version: Version, name: str | None) -> RecordedText:
    if name is None:
        raise SettingsError(
            "There is no text to explain:",
            "give a file, or the id of a text that the rubric was learned from with `id=ID`.",
        )
    texts = {text.id: text for text in training_record(workspace, version.ref).texts}
    if name not in texts:
        raise NotInStore(f"{version.ref} was not learned from a text {name!r}.", f"{did_you_mean(name, texts)}".strip())
    return texts[name]


def _example(workspace: Workspace, data: Data, options: ExplainOptions) -> Example:
    if _is_plain_text(data):
        source = None if options.source is None else _plain_text(options.source)
        return Example("text", _plain_text(str(data)), "text", source)
    if options.source is not None:
        raise SettingsError(
            f"`source` belongs to a plain text, and {describe(data)} has rows;",
            "write the source in the row's field 'source'.",
        )
    return _chosen(rows_of(data, options, workspace.notify), data, options.id)


def _is_plain_text(data: Data) -> bool:
    return isinstance(data, str | Path) and (str(data) == "-" or Path(data).suffix == PLAIN_TEXT)


def _chosen(rows: Any, data: Data, name: str | None) -> Example:
    found: list[Example] = []
    for row in rows:
        if not isinstance(row, Example):
            raise DataError(f"A row cannot be used: {row}", "Correct the row, or leave it out.")
        if name is None or row.id == name:
            found.append(row)
        if name is not None and found:
            return found[0]
    if name is not None:
        raise DataError(f"{describe(data)} has no text with the id {name!r}.")
    if len(found) != 1:
        ids = ", ".join(example.id for example in found[:MOST_NAMED])
        raise SettingsError(
            f"{describe(data)} has {len(found):,} texts, and one is explained;",
            f"name it with `id=ID`, such as one of {ids}.",
        )
    return found[0]


def _plain_text(path: str) -> str:
    try:
        text = text_of(read_stdin() if path == "-" else read_file(Path(path))).strip()
    except Unreadable as error:
        raise DataError(f"{path} cannot be read: {error}.", "Give the path of a text file.") from None
    if not text:
        raise DataError(f"{'Standard input' if path == '-' else path} has no text.", "Give the text to explain.")
    return text
