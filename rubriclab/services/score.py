"""Texts to scores with reasons, at once or as a stream."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from pydantic import Field

from rubriclab.data import Assignment, Example, Rows, find_aspect, parse_scale, task_words
from rubriclab.data.row import RowError
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError, SettingsError, UserError
from rubriclab.judges.connect import EMBEDDED
from rubriclab.learning.unlabelled import MOST, judged_rubric, measured_rubric
from rubriclab.option_names import command, option
from rubriclab.provenance import Effort
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score, score_stream
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.services.base import JudgeOption, RowOptions, ScaleText
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.inputs import Data, can_be_read_again, notify_comparisons, row_count, rows_of
from rubriclab.services.judge_choice import JudgeChoice, judge_named, judge_of
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View

# What scores without a learned rubric name as theirs.
UNVALIDATED = "unvalidated"
# What scores by a rubric that is no version name as theirs.
UNSAVED = "unsaved"

# A reference (`NAME`, `NAME@3`, `NAME@production`), a version, or a rubric that is not stored.
RubricLike = str | Version | Rubric


class ScoreOptions(RowOptions, JudgeOption):
    """How texts are scored."""

    task: str | None = None
    """Without a rubric: the kind of text."""

    aspect: str | None = None
    """Without a rubric: the aspect to score. Nothing then says how far people would agree."""

    definition: str | None = None
    """Without a rubric: what the aspect means; shipped for those of the well-known data sets."""

    scale: ScaleText | None = None
    """Without a rubric: the scale of the scores. Default: 1 to 5."""

    abstain_above: float | None = Field(default=None, gt=0)
    """Mark texts whose interval is wider, in points of the scale: their score is for a person to decide."""


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A score with the row it is of, as that came; `abstained` is `None` where no width was given."""

    score: Score
    row: Any
    abstained: bool | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object."""
        return self.score.to_row() if self.abstained is None else {**self.score.to_row(), "abstained": self.abstained}


@dataclass(slots=True)
class ScoreCounts:
    """Rows, those without a score and those left to a person; answers and those missing.

    `reason` is the latest reason why a text that was judged has no score.
    """

    rows: int = 0
    unscored: int = 0
    abstained: int = 0
    answers: int = 0
    answers_missing: int = 0
    reason: str | None = None

    def add(self, scored: ScoredRow) -> None:
        """Count one more row."""
        score = scored.score
        self.rows += 1
        self.unscored += score.score is None
        self.abstained += bool(scored.abstained)
        self.answers += score.answers
        self.answers_missing += score.answers_missing
        self.reason = score.unscored if score.criteria else self.reason


@dataclass(eq=False)
class Scoring:
    """Scoring that has not begun: iterate over `stream()` for one scored row for each row, in order."""

    workspace: Workspace
    data: Data
    rubric: Rubric
    name: str
    choice: JudgeChoice
    options: ScoreOptions
    counts: ScoreCounts = field(default_factory=ScoreCounts)

    def at_most(self) -> DryRun:
        """Return the most that it asks of the judge."""
        estimate = scoring_at_most(self.rubric, rows_of(self.data, self.options))
        return dry_run({"judge": (self.choice.spec, estimate)}, self.workspace.options)

    async def stream(self) -> AsyncGenerator[ScoredRow]:
        """Yield one scored row for each row, in order; a faulty row has no score but the fault as its reason.

        Raises:
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: as the judge does; they concern every text.
        """
        work, rows = self.workspace, rows_of(self.data, self.options)
        ahead: deque[Any] = deque()
        scores = score_stream(self.rubric, _remembered(rows, ahead), work.judge(self.choice), self.name, work.under_way)
        total = row_count(self.data) if work.shows_progress else 0
        with work.progress(work.ledger) as on_progress:
            async with aclosing(scores):
                async for score in scores:
                    scored = self._scored(score, ahead.popleft())
                    self.counts.add(scored)
                    yield scored
                    on_progress(f"{self.counts.rows:,} texts", self.counts.rows / total if total else -1.0)
        notify_comparisons(rows, work.notify)

    def check_answered(self) -> None:
        """Return unless there were prompts and not one had a reply.

        Raises:
            JudgeError: if so.
        """
        if self.counts.reason and self.workspace.ledger.silent:
            raise JudgeError(f"The provider gave no reply at all; the latest reason: {self.counts.reason}")

    def _scored(self, score: Score, row: Any) -> ScoredRow:
        above = self.options.abstain_above
        return ScoredRow(score, row, None if above is None else score.width is not None and score.width > above)


@dataclass(frozen=True)
class Scores(Displayed):
    """Scores of texts, in the order of the texts."""

    scored: tuple[ScoredRow, ...]
    rubric: str
    effort: Effort

    def view(self) -> View:
        """Return how many there are, their mean, and the first."""
        from rubriclab.report.scores import scores_view

        return scores_view(self)

    def __iter__(self) -> Iterator[Score]:
        return (scored.score for scored in self.scored)

    def __len__(self) -> int:
        return len(self.scored)

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> Scores: ...
    def __getitem__(self, index: int | slice) -> Score | Scores:
        if isinstance(index, slice):
            return Scores(self.scored[index], self.rubric, self.effort)
        return self.scored[index].score

    @property
    def values(self) -> tuple[float | None, ...]:
        """The numbers, `None` for a text without a score."""
        return tuple(score.score for score in self)

    @property
    def mean(self) -> float:
        """The mean of the scores, NaN if no text has one."""
        values = [value for value in self.values if value is not None]
        return math.fsum(values) / len(values) if values else math.nan

    @property
    def unscored(self) -> tuple[Score, ...]:
        """Those without a number, each with the reason."""
        return tuple(score for score in self if score.score is None)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each score, as `rubriclab score` writes them."""
        return [scored.to_row() for scored in self.scored]

    def to_frame(self) -> Any:
        """Return a pandas data frame: id, score, interval, reason for its absence, and a column for each criterion.

        Raises:
            UserError: if pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UserError("A data frame needs pandas, which is not installed.", "Use to_rows().") from None
        return pandas.DataFrame([_flat(scored) for scored in self.scored])


def prepare_scoring(workspace: Workspace, data: Data, rubric: RubricLike | None, options: ScoreOptions) -> Scoring:
    """Return the scoring of texts by a rubric, or, without one, of an aspect before there are labels.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        SettingsError: for options that do not go together.
        DataError: if there are too few texts to compare.
    """
    if rubric is None:
        return _unvalidated(workspace, data, options)
    if left_out := [option(name) for name in ("task", "aspect", "definition", "scale") if getattr(options, name)]:
        workspace.notify(f"{', '.join(left_out)}: left out, as {option('rubric')} says it")
    if isinstance(rubric, Rubric):
        _check_intervals(rubric, "the rubric", options)
        choice = JudgeChoice(judge_named(options.judge, workspace.notify))
        return Scoring(workspace, data, rubric, UNSAVED, choice, options)
    version = version_of(workspace, rubric)
    _check_intervals(version.rubric, version.ref, options)
    choice = judge_of(version, options.judge, workspace.store, workspace.notify)
    return Scoring(workspace, data, version.rubric, version.ref, choice, options)


async def score(workspace: Workspace, data: Data, rubric: RubricLike | None, options: ScoreOptions) -> Scores:
    """Return the scores of texts by a rubric.

    Raises:
        RubriclabError: as `prepare_scoring` and `Scoring.stream` do.
        JudgeError: if there were prompts and not one had a reply.
    """
    scoring = prepare_scoring(workspace, data, rubric, options)
    scored = tuple([row async for row in scoring.stream()])
    scoring.check_answered()
    return Scores(scored, scoring.name, workspace.effort())


def score_at_most(workspace: Workspace, data: Data, rubric: RubricLike | None, options: ScoreOptions) -> DryRun:
    """Return the most that `score` would ask of the judge."""
    return prepare_scoring(workspace, data, rubric, options).at_most()


def version_of(workspace: Workspace, rubric: str | Version) -> Version:
    """Return the version that is meant; of an imported one, what the store now says of its confirmation."""
    if isinstance(rubric, Version) and not rubric.imported:
        return rubric
    return workspace.store.load(rubric if isinstance(rubric, str) else rubric.ref)


def _unvalidated(workspace: Workspace, data: Data, options: ScoreOptions) -> Scoring:
    """Return the scoring of an aspect without labels, and say that nothing is known of its agreement with people."""
    if not (options.task and options.aspect):
        raise SettingsError(
            f"There is nothing to score by: expected {option('rubric', 'REF')},",
            f"or without labels {option('task', 'TASK')} {option('aspect', 'ASPECT')}.",
        )
    if options.abstain_above is not None:
        raise SettingsError(
            f"{option('abstain_above')}: without labels scores have no intervals;", "leave it out, or learn."
        )
    aspect = find_aspect(options.task, options.aspect, options.definition)
    assignment = Assignment(task_words(options.task), aspect, parse_scale(options.scale or "1:5"))
    judge = judge_named(options.judge, workspace.notify)
    workspace.notify(
        f"unvalidated: no label says how far these scores agree with people's; label about 30 texts and run "
        f"{command('learn', task=options.task, aspect=aspect.name)}"
    )
    workspace.open_store(create=True)
    rubric = judged_rubric(assignment) if judge != EMBEDDED else _measured(workspace, data, assignment, options)
    return Scoring(workspace, data, rubric, UNVALIDATED, JudgeChoice(judge), options)


def _measured(workspace: Workspace, data: Data, assignment: Assignment, options: ScoreOptions) -> Rubric:
    if not can_be_read_again(data):
        source = "standard input" if data == "-" else "an iterator"
        raise SettingsError(
            f"Without labels and a language model, texts are compared with each other, and {source} cannot be read "
            "twice;",
            f"give {'a file' if data == '-' else 'a list or a file'}, or name a language model with {option('judge')}.",
        )
    compared = [row for row in islice(rows_of(data, options), MOST) if isinstance(row, Example)]
    rubric = measured_rubric(assignment, compared)
    workspace.notify(
        f"scored by {len(rubric.criteria)} surface measures, as no language model is named; "
        f"compared with each other: {len(compared):,} texts"
    )
    return rubric


def _check_intervals(rubric: Rubric, name: str, options: ScoreOptions) -> None:
    aggregation = rubric.aggregation
    if options.abstain_above is None or (aggregation and aggregation.conformal):
        return
    why = "was learned from too few texts for that" if aggregation else "does not combine its criteria by weights"
    raise SettingsError(
        f"{option('abstain_above')}: {name} gives no intervals, as it {why};",
        f"score without it, or learn a rubric of several methods: leave {option('methods')} out.",
    )


def _remembered(rows: Rows, ahead: deque[Any]) -> Iterator[Example | RowError]:
    """Yield the rows, keeping each as it came until its score is here."""
    for row in rows:
        ahead.append(rows.row)
        yield row


def _flat(scored: ScoredRow) -> dict[str, Any]:
    score = scored.score
    low, high = score.interval or (None, None)
    row: dict[str, Any] = {"id": score.id, "score": score.score, "low": low, "high": high, "unscored": score.unscored}
    if scored.abstained is not None:
        row["abstained"] = scored.abstained
    criteria: Mapping[str, float | None] = {criterion.id: criterion.score for criterion in score.criteria}
    return {**row, **criteria}
