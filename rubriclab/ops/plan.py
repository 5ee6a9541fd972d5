"""Which texts to label next."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from rubriclab.data.mapping import ReadingOptions
from rubriclab.data.readers import Rows
from rubriclab.data.rows import RowError
from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, NotInStore
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.matrix import centers_and_spreads, standardised
from rubriclab.learning.scoring import score_stream
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Example, text_digest
from rubriclab.models.version import Effort, TrainingRecord, Version
from rubriclab.ops.inputs import Data, notify_skipped, rows_of
from rubriclab.ops.workspace import JudgeChoice, JudgeOption, Notify, Workspace, judge_of, version_of
from rubriclab.option_names import command, option
from rubriclab.report.verdicts import unrecorded
from rubriclab.report.wording import count
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.intervals import DIGITS

if TYPE_CHECKING:
    from rubriclab.report.model import View


DEFAULT_COUNT = 10
FAULTS_SHOWN = 5


class PlanOptions(ReadingOptions, JudgeOption):
    """How labelling is planned."""

    count: int | None = Field(default=None, ge=1)
    """The number of texts to plan. Default: 10."""

    sample: int = Field(default=200, ge=1, le=5000)
    """The most texts that are rated; of more, these are drawn, the same ones each time."""


@dataclass(frozen=True)
class UnlabelledRow:
    """A text to choose from, with its row as it came; `key` is a digest of the text."""

    key: str
    example: Example
    row: Any


@dataclass(frozen=True, repr=False)
class PlanResult(Displayed):
    """The texts to label in order, and the effort."""

    version: Version
    plan: LabelPlan
    rows: tuple[Any, ...]
    effort: Effort

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows to label as they came, each with the reasons in `plan`."""
        return [{**row, "plan": plan_row(text)} for row, text in zip(self.rows, self.plan.texts, strict=True)]

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.planning import plan_view

        return plan_view(self.plan, self.version)


@dataclass(frozen=True, eq=False)
class PreparedPlan:
    """A plan before anything is asked: the version with its record, the judge, and the texts to choose from."""

    workspace: Workspace
    version: Version
    record: TrainingRecord
    choice: JudgeChoice
    pool: tuple[UnlabelledRow, ...]
    options: PlanOptions

    def estimate(self) -> DryRun:
        """Return an estimate of what is asked of the judge."""
        most = estimate_scoring(self.version.rubric, [text.example for text in self.pool])
        return dry_run({"judge": (self.choice.spec, most)}, self.workspace.options)

    async def run(self) -> PlanResult:
        """Return the plan.

        Raises:
            JudgeError: if no text could be scored.
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: from the judge; they concern every text.
        """
        rated = await self._rated()
        version, number = self.version, self.options.count or DEFAULT_COUNT
        result = make_plan(version.rubric, self.record, rated, number)
        row_of = {id(text.example): text.row for text in self.pool}
        rows = tuple(row_of[id(text.example)] for text in result.texts)
        return PlanResult(version, result, rows, self.workspace.effort())

    async def _rated(self) -> list[PoolText]:
        """Return the texts that could be scored, with their ratings, and say how many could not."""
        workspace, version = self.workspace, self.version
        rated, reasons, judge = list[PoolText](), list[str](), workspace.judge(self.choice)
        examples = [text.example for text in self.pool]
        with workspace.progress(workspace.ledger) as on_progress:
            async for score in score_stream(version.rubric, examples, judge, version.ref, workspace.under_way):
                if score.unscored:
                    reasons.append(score.unscored)
                else:
                    ratings = {rating.id: rating.score for rating in score.criteria if rating.applies}
                    rated.append(PoolText(examples[len(rated) + len(reasons)], ratings))
                done = len(rated) + len(reasons)
                on_progress(f"{done:,} of {len(examples):,} texts", done / len(examples))
        if not rated:
            texts = count(len(examples), "text")
            raise JudgeError(f"None of {texts} could be scored; the latest reason: {reasons[-1]}")
        if reasons:
            texts = count(len(reasons), "text")
            workspace.notify(f"left out: {texts} that could not be scored; the latest reason: {reasons[-1]}")
        return rated


def prepare_plan(workspace: Workspace, data: Data, rubric: str | Version, options: PlanOptions) -> PreparedPlan:
    """Return the plan of what to label next among the texts of `data`, before anything is asked.

    Texts that the rubric was learned from, or that have a label already, are left out.

    Raises:
        NotInStore: if there is no such rubric, or no record of its training.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        DataError: if there are no texts to choose from, or fewer than are to be planned.
    """
    rows = rows_of(data, options, workspace.notify)
    version = version_of(workspace, rubric)
    record = workspace.store.training(version.ref)
    if record is None or version.rubric.aggregation is None:
        raise NotInStore(
            f"{version.ref} cannot be planned for without the ratings of its training texts. {unrecorded(version)}",
            f"Learn the rubric again from these texts, without {option('methods')}, in this store.",
        )
    choice = judge_of(version, options.judge, workspace.store, workspace.notify)
    return PreparedPlan(workspace, version, record, choice, _pool(rows, version, options, workspace.notify), options)


async def plan(workspace: Workspace, data: Data, rubric: str | Version, options: PlanOptions) -> PlanResult:
    """Return which texts of `data` to label next so that the rubric improves most; errors as of `prepare_plan`."""
    prepared = await workspace.off_event_loop(prepare_plan, workspace, data, rubric, options)
    return await prepared.run()


def _pool(rows: Rows, version: Version, options: PlanOptions, notify: Notify) -> tuple[UnlabelledRow, ...]:
    """Return the texts to rate, and say which rows are left out; a bounded number of rows is held at a time."""
    learned, aspect = frozenset(version.provenance.texts), version.rubric.aspect.name
    faults, counts = list[str](), Counter[str]()

    def unlabelled() -> Iterator[UnlabelledRow]:
        for row in rows:
            if isinstance(row, RowError):
                faults.append(str(row))
            elif (key := text_digest(row)) in learned:
                counts["learned"] += 1
            elif aspect in row.scores:
                counts["labelled"] += 1
            else:
                counts["usable"] += 1
                yield UnlabelledRow(key, row, rows.row)

    # Digests are as good as random numbers, and do not depend on the order of the rows.
    drawn = heapq.nsmallest(options.sample, unlabelled(), key=lambda text: (text.key, text.example.id))
    pool = tuple({text.key: text for text in reversed(drawn)}.values())[::-1]
    notify_skipped(rows, notify)
    for fault in faults[:FAULTS_SHOWN]:
        notify(f"left out: {fault}")
    for number, what, why in (
        (len(faults) - FAULTS_SHOWN, "more faulty row", ""),
        (counts["learned"], "text", f" that {version.ref} has learned from"),
        (counts["labelled"], "text", f" with a label that {version.ref} has not learned from yet"),
        (len(drawn) - len(pool), "row", " with the same text as another one"),
    ):
        if number > 0:
            notify(f"left out: {count(number, what)}{why}")
    if len(drawn) < counts["usable"]:
        notify(f"rating {count(len(pool), 'text')} of {counts['usable']:,} ({option('sample')})")
    if not pool and (labelled := counts["learned"] + counts["labelled"]):
        raise DataError(
            f"All {labelled} usable rows have a label for {aspect!r} already.",
            f"Give texts without one; `{command('learn')}` takes the labels.",
        )
    if not pool:
        raise DataError(f"None of {count(len(faults), 'row')} can be used.", *faults[:1])
    if (options.count or 0) > len(pool):
        raise DataError(
            f"{option('count', str(options.count))} is more than the {count(len(pool), 'text')} to choose from.",
            f"Give a smaller one, or more texts ({option('sample')} bounds how many are rated).",
        )
    return pool


@dataclass(frozen=True, slots=True)
class PoolText:
    """A text without a label, and its ratings by the rubric's criteria; missing ratings are `None` or left out."""

    example: Example
    ratings: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class UnusualRating:
    """The rating that makes a text most unusual, by the criterion's weight and distance from the mean.

    Attributes:
        rating: the text's.
        mean: of the labelled texts' ratings.
    """

    criterion: Criterion
    rating: float
    mean: float


@dataclass(frozen=True, slots=True)
class SelectedText:
    """A text to label.

    Attributes:
        rank: from 1.
        new_group: whether no text of its group is labelled yet.
        unusual: `None` if no rating differs from the mean.
    """

    rank: int
    example: Example
    new_group: bool
    unusual: UnusualRating | None


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """The texts to label.

    Attributes:
        pool: number of texts compared.
    """

    texts: tuple[SelectedText, ...]
    pool: int


def make_plan(rubric: Rubric, record: TrainingRecord, pool: Sequence[PoolText], count: int) -> LabelPlan:
    """Return which texts of the pool to label; see `select_texts` for the order.

    The plan does not depend on the order of the pool.

    Args:
        record: of the training of `rubric`, which has an aggregation.
        pool: texts with ratings; ids may repeat, texts may not.
        count: how many to plan, at most the size of the pool.
    """
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    ordered = sorted(pool, key=_order)
    ratings = _ratings(ordered, [term.criterion for term in terms])
    column_of = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    labelled = record.matrix[:, [column_of[term.criterion] for term in terms]]
    sizes = np.abs([term.weight for term in terms])
    shares = sizes / sizes.sum()
    z, labelled_z = standardised_ratings(ratings, labelled)
    groups, labelled_groups = [text.example.group for text in ordered], [text.group for text in record.texts]
    chosen = select_texts(z, groups, labelled_z, labelled_groups, shares)[:count]
    texts = tuple(
        SelectedText(
            rank=rank,
            example=ordered[row].example,
            new_group=groups[row] not in labelled_groups,
            unusual=_unusual(rubric, shares * np.abs(z[row]), ratings[row], labelled),
        )
        for rank, row in enumerate(chosen, start=1)
    )
    return LabelPlan(texts, len(ordered))


def _order(text: PoolText) -> tuple[str, ...]:
    example = text.example
    return (example.id, example.group, example.output, example.source or "", example.context or "")


def _ratings(texts: Sequence[PoolText], criteria: Sequence[str]) -> FloatArray:
    return float_table(([text.ratings.get(name) for name in criteria] for text in texts), len(criteria))


def _unusual(rubric: Rubric, distances: FloatArray, ratings: FloatArray, labelled: FloatArray) -> UnusualRating | None:
    best = int(np.argmax(distances))
    if not distances[best] > 0 or rubric.aggregation is None:
        return None
    name = rubric.aggregation.terms[best].criterion
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == name)
    return UnusualRating(criterion, float(ratings[best]), round(float(np.nanmean(labelled[:, best])), DIGITS))


def standardised_ratings(pool: FloatArray, labelled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratings of both, shape (texts, criteria), standardised over both together; missing ones are 0."""
    scale = centers_and_spreads(np.vstack([pool, labelled]))
    return standardised(pool, *scale), standardised(labelled, *scale)


def select_texts(
    pool: FloatArray, groups: Sequence[str], labelled: FloatArray, labelled_groups: Sequence[str], shares: FloatArray
) -> list[int]:
    """Return the rows of the pool in the order of labelling.

    Labels of whole groups raise agreement within groups more than scattered ones. An optimal design of the labels
    (V-optimality) was measured to add nothing: see the record of decisions.

    Groups without any label come first. The next group is the one whose mean ratings are farthest from those of all
    groups labelled or selected before it (farthest-first traversal: Gonzalez 1985, "Clustering to minimize the maximum
    intercluster distance", Theoretical Computer Science 38). All its texts follow, those with the largest leverage, the
    distance from the mean of all texts, first. Distances are Euclidean, weighted by the criteria's shares.

    Args:
        pool, labelled: standardised ratings, shape (texts, criteria), as from `standardised_ratings`.
        groups, labelled_groups: of the texts.
        shares: of each criterion in the rubric's score, shape (criteria,), not negative, with the sum 1.
    """
    points, known = pool * np.sqrt(shares), labelled * np.sqrt(shares)
    rows_of = _rows_of(groups)
    names = list(rows_of)
    means = np.array([points[rows].mean(axis=0) for rows in rows_of.values()])
    seen = np.array([known[rows].mean(axis=0) for rows in _rows_of(labelled_groups).values()])
    distance = np.linalg.norm(means[:, np.newaxis] - seen, axis=2).min(axis=1)
    labelled_already = np.isin(names, list(labelled_groups))
    left = np.ones(len(names), dtype=bool)
    selected: list[int] = []
    while left.any():
        eligible = left & ~labelled_already if (left & ~labelled_already).any() else left
        # Equal up to rounding: ties must not be decided by the last bits of a sum.
        best = int(np.argmax(np.where(eligible, distance.round(9), -1.0)))
        left[best] = False
        leverage = np.square(points[rows_of[names[best]]]).sum(axis=1).round(9)
        selected.extend(np.array(rows_of[names[best]])[np.argsort(-leverage, kind="stable")].tolist())
        distance = np.minimum(distance, np.linalg.norm(means - means[best], axis=1))
    return selected


def _rows_of(groups: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return rows


def plan_row(planned: SelectedText) -> dict[str, object]:
    """Return what is planned of a text as one JSON object."""
    from rubriclab.report.planning import why

    return {"rank": planned.rank, "new_group": planned.new_group, "why": why(planned)}
