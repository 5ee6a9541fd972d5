"""Texts rewritten where a rubric finds faults, keeping what scores higher."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError
from rubriclab.estimate import CallEstimate, DryRun, dry_run, estimate_prompts, estimate_scoring
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import Ledger, Metered
from rubriclab.provenance import Effort
from rubriclab.revision import (
    Improvement,
    ImproveSettings,
    RevisionMetrics,
    RevisionSummary,
    improve_stream,
    require_reasons,
    revision_metrics,
    summarize_revisions,
    typical_rewrite_prompt,
)
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import apart
from rubriclab.services.base import JudgeOption
from rubriclab.services.inputs import Data, ReadRow, notify_left_out, own_columns, remembered, row_count, rows_of
from rubriclab.services.judge_choice import JudgeChoice, judge_named, judge_of
from rubriclab.services.workspace import Workspace, version_of
from rubriclab.store import Version

Role = Literal["judge", "writer"]

if TYPE_CHECKING:
    from rubriclab.report.model import View


class ImproveOptions(ReadingOptions, JudgeOption):
    """How texts are rewritten."""

    rounds: int = Field(default=2, ge=1, le=20)
    """The maximum number of rewrites of one text."""

    good_from: float = Field(default=0.75, gt=0, le=1)
    """The share of the scale from which on a score is no fault."""

    take: Literal["better", "every"] = "better"
    """Accept rewrites that score higher, or every rewrite, as in DCR's paper."""

    writer: str | None = None
    """Who rewrites. Default: the judge."""


@dataclass(frozen=True, repr=False)
class ImproveResult(Displayed):
    """The texts with every round, the gain over all of them, and the effort."""

    texts: tuple[Improvement, ...]
    summary: RevisionSummary
    effort: Effort

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each row: its fields with the new `output`, and the record in `improvement`."""
        return [text.to_row() for text in self.texts]

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.revision import improvement_view

        return improvement_view(self.summary, self.effort)


@dataclass(eq=False)
class Improving:
    """Improvement that has not begun: iterate over `stream()`, then ask for the `summarize_revisions()`.

    Attributes:
        rubric: that of the version, with a call for each text.
    """

    workspace: Workspace
    data: Data
    version: Version
    rubric: Rubric
    choices: Mapping[Role, JudgeChoice]
    options: ImproveOptions
    metrics: list[RevisionMetrics] = field(default_factory=list)
    failures: dict[Role, str] = field(default_factory=dict)
    """By role, the latest reason why a reply could not be used."""

    def __post_init__(self) -> None:
        self.ledgers: dict[Role, Ledger] = {role: Ledger() for role in self.choices}

    def estimate(self) -> DryRun:
        """Return an estimate of what is asked by role; a text that becomes longer can take more."""
        rows = rows_of(self.data, self.options, self.workspace.notify)
        texts = [row for row in rows if isinstance(row, Example)]
        rewriting = estimate_prompts(typical_rewrite_prompt(self.rubric, text) for text in texts)
        judging = estimate_scoring(self.rubric, texts, "apart") * (1 + self.options.rounds)
        most: dict[Role, CallEstimate] = {"judge": judging, "writer": rewriting * self.options.rounds}
        roles = {str(role): (choice.spec, most[role]) for role, choice in self.choices.items()}
        return dry_run(roles, self.workspace.options)

    async def stream(self) -> AsyncGenerator[Improvement]:
        """Yield each text with every round, in the order of the rows; of a faulty row, the fault.

        Raises:
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: from the judges; they concern every text.
        """
        workspace, options = self.workspace, self.options
        judges, rows = self._judges(), rows_of(self.data, options, workspace.notify)
        ahead: deque[ReadRow] = deque()
        texts = improve_stream(
            self.rubric,
            remembered(rows, ahead),
            judges["judge"],
            self.version.ref,
            workspace.under_way,
            writer=judges["writer"],
            settings=ImproveSettings(rounds=options.rounds, good_from=options.good_from, take=options.take),
        )
        total = row_count(self.data) if workspace.shows_progress else 0
        with workspace.progress(workspace.ledger) as on_progress:
            async with aclosing(texts):
                async for improved in texts:
                    row = ahead.popleft().row
                    text = replace(improved, columns=own_columns(row, options.mapping))
                    self.metrics.append(revision_metrics(text))
                    self._remember_failures(text)
                    yield text
                    on_progress(f"{len(self.metrics):,} texts", len(self.metrics) / total if total else -1.0)
        notify_left_out(rows, workspace.notify)

    def summary(self) -> RevisionSummary:
        """Return the gain over the texts so far."""
        return summarize_revisions(self.rubric, self.version.ref, self.metrics, self._judge_name)

    def check_answered(self) -> None:
        """Return unless a role had prompts and not one reply.

        Raises:
            JudgeError: if so.
        """
        for role, ledger in self.ledgers.items():
            if ledger.silent and role in self.failures:
                raise JudgeError(f"The {role} gave no reply at all; the latest reason: {self.failures[role]}")

    def _remember_failures(self, text: Improvement) -> None:
        if text.before and text.before.unscored:
            self.failures["judge"] = text.before.unscored
        if text.rounds and text.rounds[-1].rejected == "no usable rewriting":
            self.failures["writer"] = text.rounds[-1].reason

    def _judges(self) -> dict[Role, Judge]:
        """Return the judge of each role, with a ledger of its own beside the one that they share."""
        judge = self.workspace.judge(self.choices["judge"])
        writer = self.choices["writer"]
        judges: dict[Role, Judge] = {
            "judge": judge,
            "writer": judge if writer.spec == self.choices["judge"].spec else self.workspace.judge(writer),
        }
        self._judge_name = judge.name
        return {role: Metered(each, self.ledgers[role]) for role, each in judges.items()}


def prepare_improvement(workspace: Workspace, data: Data, rubric: str | Version, options: ImproveOptions) -> Improving:
    """Return the improvement of texts by a rubric, before anything is asked.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        SettingsError: if the rubric gives no reasons to rewrite by.
    """
    version = version_of(workspace, rubric)
    require_reasons(version.rubric, version.ref)
    alone = apart(version.rubric)
    if alone is not version.rubric:
        workspace.notify(
            f"{version.ref} was learned from scores of texts that were rated together; here each text is rated by "
            "itself, before and after it is rewritten, as a rewrite has no rivals"
        )
    judge = judge_of(version, options.judge, workspace.store, workspace.notify)
    writer = judge
    if options.writer:
        spec = options.writer
        writer = JudgeChoice(spec if spec == judge.spec else judge_named(spec, workspace.notify))
    return Improving(workspace, data, version, alone, {"judge": judge, "writer": writer}, options)


async def improve(workspace: Workspace, data: Data, rubric: str | Version, options: ImproveOptions) -> ImproveResult:
    """Return texts rewritten where a rubric finds faults, keeping what scores higher.

    Raises:
        RubriclabError: as `prepare_improvement` and `Improving.stream` do.
        JudgeError: if a role had prompts and not one reply.
    """
    improving = await workspace.off_event_loop(prepare_improvement, workspace, data, rubric, options)
    texts = tuple([text async for text in improving.stream()])
    improving.check_answered()
    return ImproveResult(texts, improving.summary(), workspace.effort())
