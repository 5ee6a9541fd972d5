"""A rubric on other texts, or with another judge: its agreement there, what to do about it, and the result saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import Field

from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.judges.judge import Judge
from rubriclab.learning import Trained
from rubriclab.learning.candidates import EarlierRubric
from rubriclab.option_names import option
from rubriclab.provenance import Action, Effort
from rubriclab.services.base import JudgeOption, ScaleText
from rubriclab.services.inputs import Data
from rubriclab.services.judge_choice import JudgeChoice, generator_of, imported_source, judge_of
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.transfer_target import target_texts
from rubriclab.services.transfer_training import TrainingOf, training_like
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version
from rubriclab.transfer.new_version import as_trained
from rubriclab.transfer.results import Transfer
from rubriclab.transfer.run import (
    FittedTransfer,
    RelearnFunction,
    SourceRubric,
    TargetTexts,
    transfer as run_transfer,
)

if TYPE_CHECKING:
    from rubriclab.report.model import View


class TransferOptions(ReadingOptions, JudgeOption):
    """How a rubric is transferred."""

    aspect: str | None = None
    """The aspect of the target's labels. Default: the rubric's."""

    definition: str | None = None
    """What that aspect means; included for the aspects of well-known data sets."""

    scale: ScaleText | None = None
    """The scale of the target's labels. Default: taken from the labels."""

    no_relearn: bool = False
    """Do not learn again, which takes the most calls."""

    save: bool = False
    """Save the result as a version whose parent is the rubric."""

    action: Action | None = None
    """The way to save. Default: the recommended one."""

    name: str | None = None
    """The name to save under. Default: the rubric's."""

    seed: int = Field(default=42, ge=0)
    """Of draws and folds."""


@dataclass(frozen=True, repr=False)
class TransferResult(Displayed):
    """The evaluation of a rubric on target texts, the version saved if one was asked for, and the effort.

    `not_saved` says why the way to save could not be measured.
    """

    transfer: Transfer
    saved: Version | None
    effort: Effort
    not_saved: str | None = None

    def check_saved(self) -> None:
        """Return if nothing was to be saved that could not be.

        Raises:
            SettingsError: otherwise.
        """
        if self.not_saved:
            raise SettingsError(self.not_saved)

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.transfer import transfer_view

        return transfer_view(self.transfer)


@dataclass(frozen=True, eq=False)
class PreparedTransfer:
    """A version, a target and a judge; the generator proposes criteria if the rubric is relearned by `training`."""

    workspace: Workspace
    options: TransferOptions
    version: Version
    target: TargetTexts
    choice: JudgeChoice
    generator: JudgeChoice
    training: TrainingOf | None

    @cached_property
    def source(self) -> SourceRubric:
        """The version with the record of its training."""
        version = self.version
        record = self.workspace.store.training(version.ref)
        return SourceRubric(version.ref, version.rubric, version.provenance, record)

    def estimate(self) -> DryRun:
        """Return an estimate of what is asked."""
        total = estimate_scoring(self.version.rubric, self.target.examples)
        if self.training:
            total += sum(self.training(self.target.labelled).estimate(), CallEstimate())
        judge = {"judge": (self.choice.spec, total)}
        return dry_run(judge, self.workspace.options)

    async def run(self) -> TransferResult:
        """Return the evaluation, and the version saved if one was asked for.

        Raises:
            JudgeError: if no text could be scored.
            JudgeRefused, BudgetReached, ReplayMiss: from the judge; they concern every text.
        """
        workspace = self.workspace
        workspace.collect_used_answers()
        judge = workspace.judge(self.choice)
        source = await workspace.off_event_loop(lambda: self.source)
        with workspace.progress(workspace.ledger) as on_progress:
            fitted = await run_transfer(
                source,
                self.target,
                judge,
                relearn=self._relearn(judge),
                seed=self.options.seed,
                under_way=workspace.under_way,
                on_progress=on_progress,
            )
        if not self.options.save:
            return TransferResult(fitted.transfer, None, workspace.effort())
        return await self._saved(fitted, judge)

    def _relearn(self, judge: Judge) -> RelearnFunction | None:
        """Return the training; the version's generator proposes criteria here, too."""
        if (training := self.training) is None:
            return None
        workspace = self.workspace
        generator = judge if self.generator == self.choice else workspace.judge(self.generator)

        async def relearn(texts: Sequence[Example], earlier: EarlierRubric) -> Trained:
            return await training(texts).run(
                judge,
                generator,
                seed=self.options.seed,
                earlier=earlier,
                model_versions=workspace.model_versions,
            )

        return relearn

    async def _saved(self, fitted: FittedTransfer, judge: Judge) -> TransferResult:
        workspace = self.workspace
        action = self.options.action or fitted.transfer.recommended or "reuse"
        if action not in fitted.adapted:
            reason = next(each.skipped for each in fitted.transfer.actions if each.action == action)
            not_saved = f"{action} cannot be saved: {reason}."
            return TransferResult(fitted.transfer, None, workspace.effort(), not_saved)
        trained = as_trained(self.source, fitted, action, judge, workspace.model_versions())
        named_by = await workspace.off_event_loop(self._named_by, action)
        provenance = trained.provenance.model_copy(update=named_by)
        name, parent = self.options.name or self.version.name, self.version.ref
        version = await workspace.store.save_async(
            name,
            trained.rubric,
            provenance,
            workspace.effort(),
            parent,
            training=trained.record,
            used=workspace.ledger.used,
        )
        return TransferResult(fitted.transfer, version, workspace.effort())

    def _named_by(self, action: Action) -> dict[str, str | None]:
        """Return which imported versions named the judge and the generator that the provenance records."""
        generator_from = self.generator.named_by
        if action != "relearn":
            recorded = self.version.provenance.generator_from
            inherited = imported_source(self.version, recorded, self.workspace.store)
            generator_from = inherited.ref if inherited else None
        return {"judge_from": self.choice.named_by, "generator_from": generator_from}


def prepare_transfer(
    workspace: Workspace, rubric: str | Version, to: Data, options: TransferOptions
) -> PreparedTransfer:
    """Return the transfer of a rubric to the texts of `to`, before anything is asked.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        SettingsError: for options that do not go together.
        DataError: if no text can be used.
    """
    if options.action and not options.save:
        raise SettingsError(f"{option('action')} says what to save.", f"Give {option('save')} with it.")
    if options.action == "relearn" and options.no_relearn:
        raise SettingsError(
            f"{option('action', 'relearn')} is not tried with {option('no_relearn')}.", "Leave one of them out."
        )
    version = version_of(workspace, rubric)
    target = target_texts(to, version, options, workspace.notify)
    if options.save and not target.labelled:
        raise SettingsError("There are no labels to fit the rubric to, so there is nothing to save.", "Give labels.")
    training = None
    if target.labelled and not options.no_relearn:
        training = training_like(version, target, workspace)
    choice = judge_of(version, options.judge, workspace.store, workspace.notify)
    generator = generator_of(version, workspace.store, workspace.notify) if training else None
    return PreparedTransfer(workspace, options, version, target, choice, generator or choice, training)


async def transfer(workspace: Workspace, rubric: str | Version, to: Data, options: TransferOptions) -> TransferResult:
    """Return the agreement of a rubric on the texts of `to`: as it is, recalibrated, and learned again.

    Raises:
        RubriclabError: as `prepare_transfer` and `PreparedTransfer.run` do.
        SettingsError: if the way to save could not be measured.
    """
    prepared = await workspace.off_event_loop(prepare_transfer, workspace, rubric, to, options)
    result = await prepared.run()
    result.check_saved()
    return result


def transfer_estimate(workspace: Workspace, rubric: str | Version, to: Data, options: TransferOptions) -> DryRun:
    """Return an estimate of what `transfer` asks."""
    return prepare_transfer(workspace, rubric, to, options).estimate()
