"""Scores of texts as results: with the rows that they are of, counted, as a sequence and as a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from rubriclab.data import Example
from rubriclab.display import Displayed
from rubriclab.provenance import Effort
from rubriclab.scoring import Score
from rubriclab.scoring.rivals import RivalCounts
from rubriclab.services.score_distribution import ScoreDistribution, summarize_scores

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
