"""Which texts to label next."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from rubriclab.active_learning import LabelPlan, PoolText, plan as make_plan
from rubriclab.data import Example, RowError, Rows
from rubriclab.data.example import text_digest
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, NotInStore
from rubriclab.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.option_names import command, option
from rubriclab.provenance import Effort
from rubriclab.report.planning import plan_row
from rubriclab.report.verdicts import unrecorded
from rubriclab.report.wording import count
from rubriclab.scoring import score_stream
from rubriclab.services.base import JudgeOption
from rubriclab.services.inputs import Data, notify_skipped, rows_of
from rubriclab.services.judge_choice import JudgeChoice, judge_of
from rubriclab.services.workspace import Notify, Workspace, version_of
from rubriclab.store import Version
from rubriclab.training_record import TrainingRecord

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
