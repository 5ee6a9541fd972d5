"""Scores of texts as results: with the rows that they are of, counted, as a sequence and as a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from rubriclab.comparison.columns import ScoredText, score_columns
from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.provenance import Effort
from rubriclab.scoring import Score
from rubriclab.scoring.addresses_judge import addresses_judge
from rubriclab.scoring.rivals import RivalCounts
from rubriclab.services.inputs import Data, row_count, rows_of, usable_examples
from rubriclab.services.judge_choice import JudgeChoice, check_distinct, unanswered
from rubriclab.services.score_distribution import ScoreDistribution, summarize_scores
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A score with the row it is of.

    Attributes:
        row: as it came.
        example: the text; `None` for a faulty row.
        addresses_judge: whether the text speaks to whoever scores it; see `rubriclab.scoring.addresses_judge`.
    """

    score: Score
    row: Any
    example: Example | None = None
    addresses_judge: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, with the columns of the row that it is of."""
        return with_columns(self.row, {**self.score.to_row(), "addresses_judge": self.addresses_judge})

    def replies_row(self) -> dict[str, Any]:
        """Return which criteria have no rating and why, and the raw replies that could not be used."""
        score = self.score
        missing = {each.id: each.reason for each in score.criteria if each.answers_missing}
        replies = [asdict(reply) for reply in score.replies]
        return {"id": score.id, "unscored": score.unscored, "missing": missing, "replies": replies}

    def to_cells(self) -> dict[str, Any]:
        """Return the score as cells of a table, with the columns of the row and three for each criterion.

        These are the criterion's score under its id, `ID.contribution` and `ID.reason`. A rubric without learned
        weights has no contributions.
        """
        return with_columns(self.row, {**_flat(self), **criterion_cells(self.score)})


def with_columns(row: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a user's row and what was found of it; `input.NAME` is a column that has a name of these.

    An `id` that is the row's own stands once.
    """
    columns = row if isinstance(row, Mapping) else {}
    renamed = {f"input.{name}" if name in found else str(name): cell for name, cell in columns.items()}
    if "id" in columns and "id" in found and same_name(columns["id"], found["id"]):
        del renamed["input.id"]
    return {**renamed, **found}


def same_name(own: Any, name: Any) -> bool:
    """Return whether a row's own id is `name`: a spreadsheet may hold 7.0 for 7."""
    return bool(str(int(own) if isinstance(own, float) and own.is_integer() else own) == name)


@dataclass(slots=True)
class ScoreCounts:
    """Rows, those without a score, or that address the judge; answers and those missing.

    Attributes:
        without: the number of texts without each field that all training texts had.
        reason: the latest reason why a text that was judged has no score.
        rivals: what was rated together.
    """

    rows: int = 0
    unscored: int = 0
    addresses_judge: int = 0
    answers: int = 0
    answers_missing: int = 0
    without: Counter[str] = field(default_factory=Counter)
    reason: str | None = None
    rivals: RivalCounts = field(default_factory=RivalCounts)

    def add(self, scored: ScoredRow) -> None:
        """Count one more row."""
        score = scored.score
        self.rows += 1
        self.unscored += score.score is None
        self.addresses_judge += scored.addresses_judge
        self.answers += score.answers
        self.answers_missing += score.answers_missing
        self.reason = score.unscored if score.criteria else self.reason


@dataclass(frozen=True, repr=False)
class Scores(Displayed):
    """Scores of texts, in the order of the texts, with their summary.

    Attributes:
        rivals: what was rated together; `None` for a part of the scores.
        warnings: what makes scores less reliable, such as texts without a source.
    """

    scored: tuple[ScoredRow, ...]
    rubric: str
    effort: Effort
    summary: ScoreDistribution
    rivals: RivalCounts | None = None
    warnings: tuple[str, ...] = ()

    def view(self) -> View:
        """Return how many there are, their mean, and the first."""
        from rubriclab.report.lists import scores_view

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
            scored = self.scored[index]
            kept = (row.score for row in scored)
            summary = summarize_scores(kept, self.summary.scale, self.summary.threshold)
            return Scores(scored, self.rubric, self.effort, summary)
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
        from rubriclab.report.export import data_frame

        return data_frame(map(_flat, self.scored))


def criterion_cells(score: Score) -> dict[str, Any]:
    """Return each criterion's score under its id, with `ID.contribution`, in points, and `ID.reason`."""
    details: dict[str, Any] = {}
    for criterion in score.criteria:
        details[criterion.id] = criterion.score
        if criterion.contribution is not None:
            details[f"{criterion.id}.contribution"] = criterion.contribution
        details[f"{criterion.id}.reason"] = criterion.reason
    return details


def _flat(scored: ScoredRow) -> dict[str, Any]:
    score = scored.score
    low, high = score.interval or (None, None)
    row: dict[str, Any] = {"id": score.id, "score": score.score, "low": low, "high": high, "unscored": score.unscored}
    row |= {"verdict": score.verdict} if score.verdict else {}
    row["addresses_judge"] = scored.addresses_judge
    if score.rivals:
        row["rivals"] = score.rivals
    criteria: Mapping[str, float | None] = {criterion.id: criterion.score for criterion in score.criteria}
    return {**row, **criteria}


class ColumnScorer(NamedTuple):
    """A version and the judge that scores by it."""

    version: Version
    judge: JudgeChoice


@dataclass(eq=False)
class ColumnScoring:
    """Scoring of the same texts by several scorers: iterate over `stream()`."""

    workspace: Workspace
    scorers: Sequence[ColumnScorer]
    data: Data
    options: ReadingOptions
    _scored: list[int] = field(init=False)
    _reasons: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self._scored, self._reasons = [0] * len(self.scorers), [None] * len(self.scorers)

    def texts(self) -> Iterable[Example]:
        """Return the usable texts, read as they are asked for; others are left out, which is said."""
        return usable_examples(rows_of(self.data, self.options, self.workspace.notify), self.workspace.notify)

    def estimate(self, roles: Sequence[str], texts: Iterable[Example] | None = None) -> DryRun:
        """Return an estimate of what is asked of the judge of each scorer, by these names of theirs."""
        given = tuple(self.texts() if texts is None else texts)
        estimates = {
            role: (judge.spec, estimate_scoring(version.rubric, given))
            for role, (version, judge) in zip(roles, self.scorers, strict=True)
        }
        return dry_run(estimates, self.workspace.options)

    async def stream(self, texts: Sequence[Example] | None = None) -> AsyncGenerator[ScoredText]:
        """Yield each usable text, or each of `texts`, with its score by each scorer, in order.

        Raises:
            SettingsError: if one judge is named twice for the same version.
            DataError: if no text can be used.
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: from the judges; they concern every text.
        """
        workspace = self.workspace
        columns = [(version, workspace.judge(judge)) for version, judge in self.scorers]
        for ref in {version.ref for version, _ in columns}:
            sides = zip(self.scorers, columns, strict=True)
            check_distinct({scorer.judge.spec: judge for scorer, (version, judge) in sides if version.ref == ref})
        ids, addressing, done = set[str](), 0, 0
        total = len(texts) if texts is not None else row_count(self.data) if workspace.shows_progress else 0
        with workspace.progress(workspace.ledger) as on_progress:
            scored = score_columns(columns, self.texts() if texts is None else texts, workspace.under_way)
            async with aclosing(scored):
                async for example, scores in scored:
                    for place, score in enumerate(scores):
                        self._scored[place] += score.score is not None
                        self._reasons[place] = score.unscored or self._reasons[place]
                    ids.add(example.id)
                    addressing += addresses_judge(example.output)
                    done += 1
                    yield example, scores
                    on_progress(f"{done:,} texts", done / total if total else -1.0)
        if texts is None and len(ids) < done:
            workspace.notify("some ids are repeated; each of these texts counts")
        if addressing:
            workspace.notify(f"{addressing:,} of {done:,} texts address the judge")

    @property
    def unanswered(self) -> str | None:
        """Which scorer gave no score at all, after replies have failed."""
        for (version, judge), scored, reason in zip(self.scorers, self._scored, self._reasons, strict=True):
            if fault := unanswered(judge.spec, version.ref, scored, reason, self.workspace.ledger):
                return fault
        return None
