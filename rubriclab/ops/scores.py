"""Results of scoring, which `rubriclab.ops.score` fills row by row: the scores, their counts and their distribution.

From labels (human scores) of some texts, `ScoreDistribution` also estimates the mean human score of all scored texts.
`ScoringBySeveral` scores the same texts by several versions or judges, for `compare`, `drift` and `agree`.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import combinations
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from rubriclab.data.reading_options import ReadingOptions
from rubriclab.data.write import data_frame
from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.judges.cache import short_judge_name
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.paired_scores import MAX_UNSCORED, ScoredText, score_by_several
from rubriclab.learning.scoring import RivalCounts, Score, addresses_judge
from rubriclab.models.base import FrozenModel
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Effort, Version
from rubriclab.ops.inputs import Data, accept_level_names, read_texts, rows_of, with_progress
from rubriclab.ops.workspace import JudgeChoice, Workspace, no_reply_message
from rubriclab.stats import prediction_powered as ppi
from rubriclab.stats.intervals import Interval, cluster_numbers, renumber, standard_error

# At most this many reasons and slices are counted separately; all further reasons and slices are counted together.
MAX_REASONS, OTHER_REASON = 20, "another reason"
MAX_SLICES, OTHER_SLICE = 50, "other values"
BINS = 10  # of the histogram
N_LOWEST = 3  # how many of the lowest scores are listed
ERROR_MARGIN = 0.05  # for `labels_needed`, as a share of the scale's width: 0.2 points on a scale from 1 to 5


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A score with the user's row, and whether the text speaks to the judge; `example` is `None` for a faulty row."""

    score: Score
    row: Any
    example: Example | None = None
    addresses_judge: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, with the columns of the user's row."""
        return join_columns(self.row, {**self.score.to_row(), "addresses_judge": self.addresses_judge})

    def replies_row(self) -> dict[str, Any]:
        """Return which criteria have no rating and why, and the raw replies that could not be used."""
        missing = {rating.id: rating.reason for rating in self.score.criteria if rating.answers_missing}
        replies = [asdict(reply) for reply in self.score.replies]
        return {"id": self.score.id, "unscored": self.score.unscored, "missing": missing, "replies": replies}

    def to_cells(self) -> dict[str, Any]:
        """Return the score as a row of a table without lists and objects, with the columns of the user's row."""
        return join_columns(self.row, {**_score_cells(self), **criterion_cells(self.score)})


def join_columns(row: Any, score_cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's columns and the cells of the score; a column named like a cell becomes `input.NAME`."""
    cells: dict[str, Any] = {}
    for name, cell in row.items() if isinstance(row, Mapping) else ():
        if name == "id":
            # The score's own id is not repeated; a spreadsheet may hold 7.0 for 7.
            id_cell = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
            if str(id_cell) == score_cells.get("id"):
                continue
        cells[f"input.{name}" if name in score_cells else str(name)] = cell
    return {**cells, **score_cells}


def _score_cells(scored: ScoredRow) -> dict[str, Any]:
    score = scored.score
    low, high = score.interval or (None, None)
    cells: dict[str, Any] = {"id": score.id, "score": score.score, "low": low, "high": high, "unscored": score.unscored}
    if score.verdict:
        cells["verdict"] = score.verdict
    cells["addresses_judge"] = scored.addresses_judge
    if score.rivals:  # the text was rated in one call with others of its group
        cells["rivals"] = score.rivals
    return cells | {rating.id: rating.score for rating in score.criteria}


def criterion_cells(score: Score) -> dict[str, Any]:
    """Return each criterion's cells: `ID` (its rating), `ID.contribution` (to the score, in points) and `ID.reason`."""
    cells: dict[str, Any] = {}
    for rating in score.criteria:
        cells[rating.id] = rating.score
        if rating.contribution is not None:
            cells[f"{rating.id}.contribution"] = rating.contribution
        cells[f"{rating.id}.reason"] = rating.reason
    return cells


_cached_adapter = cache(TypeAdapter)  # made at its first use, which takes a while


def parse_score(row: Mapping[str, Any]) -> Score:
    """Return the score in a row that `ScoredRow.to_row` made; ValidationError if the row has no valid score."""
    score: Score = _cached_adapter(Score).validate_python({name: row[name] for name in Score.__slots__ if name in row})
    return score


@dataclass(slots=True)
class ScoreCounts:
    """Counts of scored rows. A text may have a row for each rater: `rows` counts all, other fields count it once."""

    rows: int = 0
    texts: int = 0
    faulty: int = 0
    unscored: int = 0
    addresses_judge: int = 0  # texts that speak to the judge
    answers: int = 0
    answers_missing: int = 0
    missing_fields: Counter[str] = field(default_factory=Counter)  # texts without a field that all training texts had
    latest_reason: str | None = None  # why the latest judged text has no score
    first_fault: str | None = None  # why the first faulty row has no text
    rivals: RivalCounts = field(default_factory=RivalCounts)  # of calls that rated several texts of a group

    def add(self, scored: ScoredRow) -> None:
        score = scored.score
        self.texts += 1
        self.unscored += score.score is None
        self.addresses_judge += scored.addresses_judge
        self.answers += score.answers
        self.answers_missing += score.answers_missing
        if score.criteria:  # the text was sent to the judge
            self.latest_reason = score.unscored
        if scored.example is None and score.score is None:
            self.faulty += 1
            self.first_fault = self.first_fault or score.unscored


class SliceSummary(FrozenModel):
    """A slice: the texts with the same value in the column that the option `by` names."""

    name: str
    texts: int
    labels: int
    mean: float
    human_mean: Interval


@dataclass(slots=True)
class ScoreDistribution:
    """The scores of texts, their distribution, and an estimate of the mean score that people would give the texts.

    Attributes:
        training_labels: used to estimate the mean human score if the texts have no labels of their own.
        values, groups, labels, slices: columns of a table with a row for each scored text: its score, the hash of its
            group, its label (NaN without a label), and the number of its slice.
        unscored: the number of texts without a score for each reason.
        threshold: the lowest score that passes; `None` unless the rubric's labels have two levels.
        lowest: the `N_LOWEST` lowest scores, each with the id of its text.
    """

    scale: Scale
    training_labels: ppi.LabelledScores | None = None
    values: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("q"))
    labels: array[float] = field(default_factory=lambda: array("d"))
    slices: array[int] = field(default_factory=lambda: array("q"))
    slice_numbers: dict[str, int] = field(default_factory=dict)  # by the slice's name
    unscored: Counter[str] = field(default_factory=Counter)
    threshold: float | None = None
    lowest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, score: Score, group: str | None = None, label: float = math.nan, slice_name: str = "") -> None:
        if score.score is not None:
            self.values.append(score.score)
            self.lowest = sorted({*self.lowest, (score.score, score.id)})[:N_LOWEST]
            self.groups.append(hash(score.id if group is None else group))
            self.labels.append(label)
            is_separate = slice_name in self.slice_numbers or len(self.slice_numbers) < MAX_SLICES
            name = slice_name if is_separate else OTHER_SLICE
            self.slices.append(self.slice_numbers.setdefault(name, len(self.slice_numbers)))
            return
        reason = score.unscored or ""
        is_separate = reason in self.unscored or len(self.unscored) < MAX_REASONS
        self.unscored[reason if is_separate else OTHER_REASON] += 1

    @property
    def mean(self) -> float | None:
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def pass_rate(self) -> float | None:
        """The share of the texts with a score that pass; `None` without a threshold or without scores."""
        if self.threshold is None or not self.values:
            return None
        return sum(value >= self.threshold for value in self.values) / len(self.values)

    @property
    def standard_deviation(self) -> float | None:
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def histogram(self) -> tuple[int, ...]:
        """The numbers of scores in `BINS` bins of equal width; the outer bins include scores beyond the scale."""
        positions = (np.array(self.values) - self.scale.low) / self.scale.width * BINS
        return tuple(np.bincount(np.clip(positions.astype(int), 0, BINS - 1), minlength=BINS).tolist())

    @property
    def human_mean(self) -> Interval:
        """The estimated mean human score of the texts with a score; without a value if there are too few labels."""
        texts = self._scored_set()
        # If each slice has enough labels, the mean is estimated slice by slice, which is more exact.
        mean = self._human_mean_of(texts, np.array(self.slices, dtype=np.int64))
        return self._human_mean_of(texts) if mean.value is None else mean

    def slice_rows(self) -> list[SliceSummary]:
        slices = np.array(self.slices)
        rows = []
        for name, number in sorted(self.slice_numbers.items()):
            texts = self._scored_set(slices == number)
            n_texts, n_labels = len(texts.scores), len(texts.labelled.labels)
            mean, human_mean = float(texts.scores.mean()), self._human_mean_of(texts).rounded()
            rows.append(SliceSummary(name=name, texts=n_texts, labels=n_labels, mean=mean, human_mean=human_mean))
        return rows

    def _scored_set(self, mask: npt.NDArray[np.bool_] | slice = slice(None)) -> ppi.ScoredSet:
        values, labels, groups = (np.array(column)[mask] for column in (self.values, self.labels, self.groups))
        return ppi.ScoredSet(values, labels, renumber(groups), np.ones(len(values)))

    def _human_mean_of(self, texts: ppi.ScoredSet, stratum: npt.ArrayLike = 0) -> Interval:
        mean, width = Interval(None), self.scale.width
        if len(texts.scores) and self.has_own_labels:
            mean = ppi.mean_by_own_labels(texts, np.broadcast_to(stratum, len(texts.scores)), width=width)
        elif len(texts.scores) and self.training_labels:
            sizes = len(texts.scores), int(texts.group.max()) + 1
            mean = ppi.corrected_mean(float(texts.scores.mean()), *sizes, self.training_labels, width=width)
        return mean.within(self.scale.low, self.scale.high)

    @property
    def labelled(self) -> ppi.LabelledScores | None:
        """The labels that the mean human score is estimated from: of the texts themselves, else from training."""
        return self._scored_set().labelled if self.has_own_labels else self.training_labels

    @property
    def has_own_labels(self) -> bool:
        return not np.isnan(np.array(self.labels)).all()

    @property
    def labels_needed(self) -> int | None:
        """How many labels of randomly drawn texts would give `human_mean` an interval of ± `margin`.

        `None` without labels, or if they suffice: the labelled texts have scores distributed like those of all texts.
        """
        labelled = self.labelled
        if labelled is None or self.human_mean.value is None:
            return None
        if not ppi.distributions_differ(np.array(self.values), len(set(self.groups)), labelled):
            return None
        # If there are many scored texts, the 95 % interval is ± 1.96 standard errors.
        error_of_mean = standard_error(labelled.residuals, labelled.group)
        return math.ceil(len(labelled.labels) * (1.96 * error_of_mean / self.margin) ** 2)

    @property
    def margin(self) -> float:
        return ERROR_MARGIN * self.scale.width

    def meets(self, minimum: float) -> bool | None:
        """Return whether the mean human score (without labels: the mean score or pass rate) is at least `minimum`.

        The answer is `None` if the interval includes `minimum`, if the mean human score has no interval, or if
        too many texts have no score.
        """
        n_unscored = self.unscored.total()
        mean = self.mean if self.threshold is None else self.pass_rate
        if mean is None or n_unscored > MAX_UNSCORED * (n_unscored + len(self.values)):
            return None
        interval = self.human_mean
        if interval.value is not None and interval.low is None:
            return None
        low = mean if interval.low is None else interval.low
        high = mean if interval.high is None else interval.high
        if low < minimum <= high:
            return None
        return low >= minimum

    def to_row(self) -> dict[str, Any]:
        labelled, labels_of = self.labelled, "texts" if self.has_own_labels else "learning"
        slices = self.slice_rows() if set(self.slice_numbers) - {""} else []
        return {
            "human_mean": asdict(self.human_mean.rounded()),
            "labels": len(labelled.labels) if labelled else 0,
            "labels_of": labels_of if labelled else None,
            "labels_needed": self.labels_needed,
            "mean": self.mean,
            **({} if self.threshold is None else {"pass_rate": self.pass_rate}),
            "standard_deviation": self.standard_deviation,
            "histogram": list(self.histogram),
            "unscored_by_reason": dict(self.unscored),
            "slices": [each.model_dump(mode="json") for each in slices],
        }


def summarize_scores(scores: Iterable[Score], scale: Scale, threshold: float | None = None) -> ScoreDistribution:
    summary = ScoreDistribution(scale, threshold=threshold)
    for score in scores:
        summary.add(score)
    return summary


@dataclass(frozen=True, repr=False)
class Scores(Displayed):
    """Scores in the order of the texts; `warnings` say what makes them less reliable."""

    scored: tuple[ScoredRow, ...]
    rubric: str
    effort: Effort  # calls, tokens, money and time that the command used
    summary: ScoreDistribution
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Score]:
        return (row.score for row in self.scored)

    def __len__(self) -> int:
        return len(self.scored)

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> Scores: ...
    def __getitem__(self, index: int | slice) -> Score | Scores:
        if not isinstance(index, slice):
            return self.scored[index].score
        scored, summary = self.scored[index], self.summary
        summary = summarize_scores((row.score for row in scored), summary.scale, summary.threshold)
        return Scores(scored, self.rubric, self.effort, summary)

    @property
    def values(self) -> tuple[float | None, ...]:
        """The scores as numbers, `None` for a text without a score."""
        return tuple(score.score for score in self)

    @property
    def mean(self) -> float:
        """The mean of the scores, NaN if no text has one."""
        return math.nan if self.summary.mean is None else self.summary.mean

    @property
    def unscored(self) -> tuple[Score, ...]:
        """The texts without a score, each with the reason."""
        return tuple(score for score in self if score.score is None)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each score, as `rubriclab score` writes them."""
        return [row.to_row() for row in self.scored]

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each score and, among others, a column for each criterion."""
        return data_frame(map(_score_cells, self.scored))


def scored_training_labels(workspace: Workspace, version: Version, judge: str) -> ppi.LabelledScores | None:
    """Return the version's training labels with held-out scores by this judge; `None` if the store has none."""
    if short_judge_name(judge) != short_judge_name(version.provenance.judge):
        return None
    record = workspace.open_store(access="read").training(version.ref)
    texts = [text for text in record.texts if text.predicted is not None] if record else []
    if not texts:
        return None
    labels, scores = np.array([(text.label, text.predicted) for text in texts], dtype=float).T
    systems = ppi.number_systems([text.system for text in texts])
    return ppi.LabelledScores(labels, scores, cluster_numbers([text.group for text in texts]), systems)


@dataclass(eq=False)
class ScoringBySeveral:
    """Scoring of the same texts by several scorers: versions, each with its judge."""

    workspace: Workspace
    scorers: Sequence[tuple[Version, JudgeChoice]]
    data: Data
    options: ReadingOptions
    fresh: bool = False  # whether cached answers are ignored
    # For the scorer at each position: how many texts have a score, and the latest reason for a missing score.
    _n_scored: Counter[int] = field(default_factory=Counter)
    _latest_reasons: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.options = accept_level_names(self.options, *(each.rubric.score_scale for each, _ in self.scorers))

    def read_texts(self) -> Iterable[Example]:
        return read_texts(rows_of(self.data, self.options, self.workspace.notify), self.workspace.notify)

    def estimate(self, texts: Iterable[Example] | None = None, *, scorer_names: Sequence[str]) -> DryRun:
        """Estimate the calls of `stream` for each scorer, under the scorer's name in `scorer_names`."""
        texts_to_score = tuple(self.read_texts() if texts is None else texts)
        estimates = {}
        for name, (version, judge) in zip(scorer_names, self.scorers, strict=True):
            estimates[name] = judge.spec, estimate_scoring(version.rubric, texts_to_score)
        return dry_run(estimates, self.workspace.options)

    async def stream(self, texts: Sequence[Example] | None = None) -> AsyncGenerator[ScoredText]:
        """Yield each usable text, or each of `texts`, with its score by each scorer, in order."""
        workspace = self.workspace
        scorers = [(version, workspace.judge(choice, fresh=self.fresh)) for version, choice in self.scorers]
        judge_names = [choice.spec for _, choice in self.scorers]
        identities = [(version.ref, judge.identity) for version, judge in scorers]
        for first, second in combinations(range(len(judge_names)), 2):
            # One judge may have two names: its own, and that of its recording.
            if judge_names[first] != judge_names[second] and identities[first] == identities[second]:
                problem = f"{judge_names[first]} and {judge_names[second]} are the same judge;"
                raise SettingsError(problem, "a judge cannot be compared with itself.")
        n_addressing = n_texts = 0
        stream = score_by_several(scorers, self.read_texts() if texts is None else texts, workspace.texts_at_once)
        async with aclosing(with_progress(workspace, stream, self.data if texts is None else texts)) as scored_texts:
            async for example, scores in scored_texts:
                for index, score in enumerate(scores):
                    self._n_scored[index] += score.score is not None
                    if score.unscored:
                        self._latest_reasons[index] = score.unscored
                n_addressing += addresses_judge(example.output)
                n_texts += 1
                yield example, scores
        if n_addressing:
            workspace.notify(f"{n_addressing:,} of {n_texts:,} texts address the judge")

    @property
    def unanswered(self) -> str | None:
        """The message that one scorer's replies all failed; `None` if there is no such scorer."""
        for index, (version, judge) in enumerate(self.scorers):
            n_scored, reason = self._n_scored[index], self._latest_reasons.get(index)
            if message := no_reply_message(judge.spec, version.ref, n_scored, reason, self.workspace.ledger):
                return message
        return None
