"""A rubric on other texts, or with another judge: its agreement there, what to do about it, and the result saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import Field

from rubriclab.checklist import seed_questions
from rubriclab.data import Aspect, Assignment, Example, find_aspect, labelled, task_words
from rubriclab.data.check import FEWEST_LABELS
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.scale import Scale, parse_scale, scale_of
from rubriclab.display import Displayed
from rubriclab.errors import ChecklistError, DataError, SettingsError
from rubriclab.estimate import CallEstimate, DryRun, dry_run, estimate_scoring
from rubriclab.evaluation import unseen
from rubriclab.judges.judge import Judge
from rubriclab.learning import Trained
from rubriclab.learning.candidates import EarlierRubric, Plan
from rubriclab.literature import Finding, load_findings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.names import JOINT
from rubriclab.option_names import option
from rubriclab.provenance import Action, Effort
from rubriclab.report.wording import count
from rubriclab.rubric import Rubric
from rubriclab.services.base import JudgeOption, ScaleText
from rubriclab.services.inputs import Data, describe, usable_texts
from rubriclab.services.judge_choice import JudgeChoice, generator_of, imported_source, judge_of
from rubriclab.services.settings import resolve_settings
from rubriclab.services.training import TrainingRun
from rubriclab.services.workspace import Notify, Workspace, version_of
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

TrainingOf = Callable[[Sequence[Example]], TrainingRun]


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


def target_texts(data: Data, version: Version, options: TransferOptions, notify: Notify) -> TargetTexts:
    """Return the usable texts of `data` that the version was not learned from, with their usable labels.

    Raises:
        DataError: if there is no such text, or labelled texts share an id.
        SettingsError: for an unknown aspect, or a scale that is not understood.
    """
    rubric, name = version.rubric, describe(data)
    aspect = _aspect(rubric, options)
    examples = usable_texts(data, options, [(aspect.name, rubric.scores_on)], notify)
    texts = unseen(examples, [version.provenance])
    if len(texts) < len(examples):
        left_out = f"{len(examples) - len(texts)} of {len(examples)} texts"
        notify(f"{left_out} left out: {version.ref} was learned from them, or from others of their groups")
    if not texts:
        raise DataError(f"{name} has no usable text that {version.ref} was not learned from.", "Give other texts.")
    rated = labelled(texts, aspect.name)
    scale = _scale(rated, aspect.name, version, options, notify)
    usable = _usable_labels(rated, aspect.name, scale, name, notify)
    by_id = {text.id: text for text in usable}
    every_text = tuple(by_id.get(text.id, text) for text in texts)
    return TargetTexts(name, every_text, usable, aspect, scale)


def _aspect(rubric: Rubric, options: TransferOptions) -> Aspect:
    name = options.aspect or rubric.aspect.name
    if name == rubric.aspect.name and not options.definition:
        return rubric.aspect
    return find_aspect(rubric.task, name, options.definition)


def _usable_labels(
    rated: Sequence[Example], aspect: str, scale: Scale, name: str, notify: Notify
) -> tuple[Example, ...]:
    """Return the texts with usable labels, or none if these are too few, and say which are not usable."""
    on_scale = tuple(text for text in rated if scale.contains(text.scores[aspect]))
    if len(on_scale) < len(rated):
        notify(f"left out: {count(len(rated) - len(on_scale), 'label')} outside of {scale.describe()}")
    if len({text.id for text in on_scale}) < len(on_scale):
        raise DataError(f"{name}: some labelled texts share an id.", "Give each text its own id.")
    if len(on_scale) < FEWEST_LABELS or len({text.scores[aspect] for text in on_scale}) == 1:
        notify(
            f"{name}: {len(on_scale)} usable labels for {aspect!r} are too few to measure agreement (at least "
            f"{FEWEST_LABELS}, not all equal); the texts are compared without labels"
        )
        return ()
    return on_scale


def _scale(rated: Sequence[Example], aspect: str, version: Version, options: TransferOptions, notify: Notify) -> Scale:
    """Return the scale of the target's labels, and say which it is if it was inferred from them.

    Labels that all lie on the rubric's scale are taken to be on it, though they may cover only a part of it.
    """
    source = version.rubric.scores_on
    labels = [text.scores[aspect] for text in rated]
    if options.scale:
        return parse_scale(options.scale, labels)
    if not labels:
        return source
    scale = scale_of(labels, (score for text in rated for score in text.annotations.get(aspect, ())))
    ends = f"{source.low:g} to {source.high:g}"
    if source.low <= scale.low and scale.high <= source.high:
        if scale.width <= source.width / 2:
            notify(
                f"the labels lie between {scale.low:g} and {scale.high:g} and are taken to be on the rubric's scale, "
                f"{ends} ({option('scale')} overrides it)"
            )
        return source
    notify(
        f"the labels lie between {scale.low:g} and {scale.high:g}, which is taken as their scale "
        f"({option('scale')} overrides it); scores of {version.ref} are mapped linearly to it from {ends}"
    )
    return scale


def training_like(version: Version, target: TargetTexts, workspace: Workspace) -> TrainingOf | None:
    """Return the training by the methods and settings that the version was learned with.

    It starts from the checklists and findings that ship, without findings about the raters of data sets that the
    version was learned without. `None`, with a notice, if none of the methods has a checklist for the aspect.
    """
    recorded, task, aspect = version.provenance.settings, version.rubric.task, target.aspect.name
    methods = [METHODS[name] for name in recorded if name != JOINT]
    resolved = resolve_settings(methods, joint=True, configured=workspace.settings, recorded=recorded)
    startable = []
    for method in methods:
        settings = resolved.methods[method.name]
        try:
            needed = method.needs_checklist(settings)
            startable.append((method, settings, seed_questions(method.checklists, task, aspect, needed=needed)))
        except ChecklistError:
            continue
    if not startable:
        _notify_no_checklist(version, aspect, workspace.notify)
        return None
    assignment, findings = Assignment(task_words(task), target.aspect, target.scale), _findings(version, aspect)

    def training(texts: Sequence[Example]) -> TrainingRun:
        plans = [
            Plan(method, TrainingInput(tuple(texts), assignment, findings, checklist), settings)
            for method, settings, checklist in startable
        ]
        return TrainingRun(tuple(plans), resolved.joint)

    return training


def _findings(version: Version, aspect: str) -> tuple[Finding, ...]:
    return load_findings(version.rubric.task, aspect, without=version.provenance.literature_without)


def _notify_no_checklist(version: Version, aspect: str, notify: Notify) -> None:
    notify(f"{version.ref} cannot be relearned: its methods need a checklist, and none ships for {aspect}")
