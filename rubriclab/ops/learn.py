"""The command `learn`: it learns a rubric from labelled texts with one method, or jointly with several.

`learn` plans the training (`prepare_training`: settings, checklists and texts of each method), runs it, and saves the
rubric as a version. A setting can come from these places, each of which overrides those before it: the method's
defaults; its defaults for joint training; a configuration file or a `Lab`; the environment; the command line or the
options of a call; the version from which `transfer` learns again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar, Unpack

from pydantic import BaseModel, ValidationError

from rubriclab.base_options import first_fault
from rubriclab.data.check import describe_scored_aspects, label_limitations, training_examples
from rubriclab.data.reading_options import changed_options
from rubriclab.errors import ChecklistError, SettingsError, UnknownMethod
from rubriclab.judges.connect import EMBEDDED
from rubriclab.judges.judge import Judge
from rubriclab.learning.candidates import EarlierRubric, Plan
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_learning
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.train import Trained, joint_learning_calls, train_joint, train_method
from rubriclab.methods.catalogue import DEFAULT_METHODS, JOINT, METHODS, settings_names
from rubriclab.methods.method import Method, Progress, TrainingInput, choose_settings
from rubriclab.methods.sources import Checklist, find_checklist
from rubriclab.models.characters import count, did_you_mean, join_names
from rubriclab.models.text import Assignment, Example, find_aspect, named_reasons, shipped_aspects, task_words
from rubriclab.models.version import Effort, Version, check_name
from rubriclab.ops.check import lint
from rubriclab.ops.inputs import Data, describe_data, rows_of
from rubriclab.ops.literature import benchmark_notes, chosen_findings, excluded_benchmarks
from rubriclab.ops.options import LearnOptions, SettingsTables, to_settings_tables
from rubriclab.ops.workspace import Job, JudgeChoice, Notify, Workspace, judge_or_offline

_log = logging.getLogger(__name__)
M = TypeVar("M", bound=BaseModel)


class RunArguments(TypedDict):  # what `train_joint` and `train_method` both take
    judge: Judge
    generator: Judge
    seed: int
    model_versions: NotRequired[Callable[[], Sequence[str]]]
    on_progress: NotRequired[Progress]


@dataclass(frozen=True)
class TrainingRun:
    """The plans and settings of a joint training, or the single plan of a method that learns alone."""

    plans: tuple[Plan, ...]
    joint: JointSettings | None = None

    def estimate(self) -> tuple[CallEstimate, CallEstimate]:
        """Return the estimated calls of the judge and of the generator."""
        plan = self.plans[0]
        if self.joint:
            calls = joint_learning_calls(self.plans, self.joint)
        else:
            calls = plan.method.learning_calls(plan.training_input, plan.settings)
        return estimate_learning(calls, plan.training_input.assignment, plan.training_input.examples)

    async def run(self, *, earlier: EarlierRubric | None = None, **arguments: Unpack[RunArguments]) -> Trained:
        """Train; in a joint training, the criteria of an `earlier` rubric are candidates too."""
        if self.joint:
            return await train_joint(self.plans, self.joint, earlier=earlier, **arguments)
        (plan,) = self.plans
        return await train_method(plan.method, plan.training_input, plan.settings, **arguments)


@dataclass(frozen=True)
class LearnResult:
    version: Version
    effort: Effort  # calls, tokens, money and time that the command used
    store: str  # its file or address


def learn(workspace: Workspace, data: Data, options: LearnOptions) -> Job[LearnResult]:
    """Learn a rubric from labelled texts, in one file or several, and save it as a version."""
    # Strings in a list are names of files, since they cannot be texts with labels.
    if isinstance(data, list | tuple) and all(isinstance(each, str | Path) for each in data):
        data = [Path(each) for each in data]
    training = prepare_training(workspace, data, options)
    default_name = "-".join(filter(None, (options.task, options.aspect, options.single_method))).lower()
    name = check_name(options.name or re.sub(r"[^a-z0-9._-]+", "-", default_name).strip("-._"))
    spec = judge_or_offline(options.judge, workspace.notify)

    async def run() -> LearnResult:
        store = await workspace.off_event_loop(workspace.open_store, create=True)
        _notify_unused_reasons(training, options.generator or spec, workspace.notify)
        judge_choice, address = JudgeChoice(spec), workspace.options.generator_api_base
        judge = workspace.judge(judge_choice)
        generator_choice = JudgeChoice(options.generator or spec, address, overrides_api_base=address is not None)
        generator = workspace.generator(generator_choice, judge_choice, judge)
        n_calls = sum(estimate.calls for estimate in training.estimate())
        with workspace.progress(workspace.ledger) as on_progress:

            def report(stage: str, share: float) -> None:
                n_left = max(n_calls - workspace.ledger.calls - workspace.ledger.cached, 0)
                on_progress(f"{stage}; about {n_left:,} of {n_calls:,} calls left", share)

            train = partial(training.run, judge=judge, generator=generator, seed=options.seed)
            result = await train(model_versions=workspace.model_versions, on_progress=report)
        training_input = training.plans[0].training_input
        assignment = training_input.assignment
        given_scale = assignment.scale if options.scale else None
        limitations = label_limitations(training_input.examples, assignment.aspect.name, given_scale)
        update = {"literature_without": excluded_benchmarks(options), "grades": options.grades, "limits": limitations}
        provenance = result.provenance.model_copy(update=update | {"reading": changed_options(options)})
        save = partial(store.save, name, result.rubric, provenance, workspace.effort(), training=result.record)
        version = await workspace.off_event_loop(save)
        for note in result.notes:
            workspace.notify(note)
        return LearnResult(version, workspace.effort(), store.address)

    def estimate() -> DryRun:
        judge_calls, generator_calls = training.estimate()
        roles = {"judge": (spec, judge_calls), "generator": (options.generator or spec, generator_calls)}
        return dry_run(roles, workspace.options)

    return Job(estimate, run)


def _notify_unused_reasons(training: TrainingRun, generator: str, notify: Notify) -> None:
    training_input = training.plans[0].training_input
    aspect = training_input.assignment.aspect.name
    n_reasons = sum(len(named_reasons(example, aspect)) for example in training_input.examples)
    why = ""
    if generator == EMBEDDED:
        why = "the offline judge does not read reasons; a language model does"
    elif not any(plan.method.generator_sees_reasons(plan.settings) for plan in training.plans):
        why = f"{join_names(plan.method.name for plan in training.plans)} will not propose criteria from labelled texts"
    if n_reasons and why:
        notify(f"left unused: {count(n_reasons, 'reason')} of raters, since {why}")


def prepare_training(workspace: Workspace, data: Data, options: LearnOptions) -> TrainingRun:
    if not options.aspect:
        scored = describe_scored_aspects([row for row in rows_of(data, options) if isinstance(row, Example)])
        hint = "Name the aspect to learn: `aspect=ASPECT`."
        raise SettingsError(f"`aspect` is missing. {describe_data(data)}: {scored}.", hint)
    if "text_features" in options.methods:
        hint = "Add them to other methods: `text_features=include`."
        raise SettingsError("`methods`: text features alone cannot make a rubric.", hint)
    if single_method := options.single_method:
        if options.joint_options:
            option = next(iter(options.joint_options))
            problem = f"`{option}` is for rubrics of several methods: `methods={single_method}` alone names only one."
            raise SettingsError(problem, "Leave `methods` out, or name several.")
        names, settings = [single_method], options.settings
    else:
        names = list(dict.fromkeys(options.methods or DEFAULT_METHODS))
        if options.text_features == "include":
            names.append("text_features")
        settings = {**options.settings, JOINT: {**options.settings.get(JOINT, {}), **options.joint_options}}
    methods = [method_named(name) for name in names]
    resolved = resolve_settings(methods, joint=not single_method, configured=workspace.settings, options=settings)
    if single_method and options.checklist and not methods[0].checklists:
        workspace.notify(f"`checklist` is left out: {single_method} asks no questions of a checklist")
    checklists: list[tuple[Method, Checklist | None]] = []
    for method in methods:
        file = options.checklist if method.checklists else None
        is_required = method.needs_checklist(resolved.methods[method.name]) or bool(file)
        try:
            checklist = find_checklist(method.checklists, options.task, options.aspect, file, is_required=is_required)
        except ChecklistError as error:
            if options.methods or options.checklist:
                raise
            # The user did not name this method, and the other methods can learn without it.
            _log.info("%s takes no part: %s", method.name, error)
        else:
            checklists.append((method, checklist))
    first_checklist = next((checklist for _, checklist in checklists if checklist), None)
    needs_labels = not single_method or methods[0].needs_labels
    training_input = _training_input(data, first_checklist, options, workspace.notify, needs_labels=needs_labels)
    plans = []
    for method, checklist in checklists:
        plans.append(Plan(method, replace(training_input, checklist=checklist), resolved.methods[method.name]))
    return TrainingRun(tuple(plans), resolved.joint)


def _training_input(
    data: Data, checklist: Checklist | None, options: LearnOptions, notify: Notify, *, needs_labels: bool
) -> TrainingInput:
    task, checklist_file = options.task, options.checklist
    if checklist_file and checklist:
        for duplicate in lint(checklist).duplicates:
            notify(f"{checklist_file}: the question {duplicate.question!r} asks the same as {duplicate.repeats!r}")
    is_shipped = options.aspect in (aspect.name for aspect in shipped_aspects(task))
    definition = options.definition or None
    # A shipped aspect keeps its own definition, unless the user gives a definition or a checklist file.
    if not definition and checklist and (checklist_file or not is_shipped):
        definition = checklist.definition
    aspect = find_aspect(task, options.aspect, definition)
    rows, skip_faulty = rows_of(data, options, notify), options.skip_faulty
    training = training_examples(rows, aspect.name, options.scale, needs_labels=needs_labels, skip_faulty=skip_faulty)
    assignment = Assignment(task_words(task), aspect, training.scale)
    findings = chosen_findings(aspect.name, options, notify)
    for note in (*training.notes, *benchmark_notes(describe_data(data), training.examples, findings)):
        notify(note)
    return TrainingInput(training.examples, assignment, findings, checklist)


def method_named(name: str) -> Method:
    try:
        return METHODS[name]
    except UnknownMethod:
        names = [name for name in METHODS if name != "text_features"]
        hint = f"{did_you_mean(name, names)}The known ones are: {', '.join(names)}."
        raise SettingsError(f"`methods`: there is no method {name!r}.", hint) from None


@dataclass(frozen=True)
class ResolvedSettings:
    methods: Mapping[str, BaseModel]
    joint: JointSettings | None = None


def resolve_settings(
    methods: Sequence[Method],
    *,
    joint: bool,
    configured: SettingsTables | None = None,
    options: SettingsTables | None = None,
    recorded: SettingsTables | None = None,
) -> ResolvedSettings:
    """Return the settings of the methods, and of their joint training if `joint`.

    Settings `recorded` in a version override the `options` of the user, which override those `configured` in a file.
    """
    configured, options = configured or {}, options or {}
    # The owner of a setting is a method or joint training.
    names = [method.name for method in methods]
    owners = [JOINT, *names] if joint else names
    for owner in (*to_settings_tables(configured), *to_settings_tables(options)):
        if owner not in settings_names():
            hint = f"{did_you_mean(owner, settings_names())}Methods are: {', '.join(settings_names())}."
            raise SettingsError(f"`settings`: {owner!r} is no method.", hint)
    for owner, owner_settings in options.items():
        if owner not in owners:
            first_setting = next((f"{owner}.{key}" for key in owner_settings), owner)
            why = f"{owner} takes no part in this training" if joint else f"only {names[0]} is learned"
            raise SettingsError(f"`settings`: {first_setting} is for another method; {why}.")
    recorded_tables = dict(recorded or {})
    # If one method made the version alone, ignore settings equal to its defaults: joint training has other defaults.
    if JOINT not in recorded_tables:
        for name, table in recorded_tables.items():
            defaults = method_named(name).settings().model_dump(mode="json")
            recorded_tables[name] = {key: value for key, value in table.items() if value != defaults.get(key)}
    joint_defaults: SettingsTables = {method.name: method.joint_settings for method in methods} if joint else {}
    merged: dict[str, dict[str, Any]] = {owner: {} for owner in owners}
    for layer in (joint_defaults, configured, options, recorded_tables):
        for owner in owners:
            merged[owner] |= layer.get(owner, {})
    resolved = {}
    for method in methods:
        make_settings = partial(choose_settings, method.settings, method.presets, merged[method.name])
        resolved[method.name] = _validate(method.name, method.settings, make_settings)
    if not joint:
        return ResolvedSettings(resolved)
    return ResolvedSettings(resolved, _validate(JOINT, JointSettings, partial(JointSettings, **merged[JOINT])))


def _validate(name: str, model: type[BaseModel], make_settings: Callable[[], M]) -> M:
    try:
        return make_settings()
    except ValidationError as error:
        hint = None
        fault = error.errors(include_url=False)[0]
        if fault["type"] == "extra_forbidden":
            preset = [] if name == JOINT else ["preset"]
            known_names = [*preset, *sorted(model.model_fields)]
            unknown_name = str(fault["loc"][-1])
            hint = f"{did_you_mean(unknown_name, known_names)}The known ones are: {', '.join(known_names)}."
        raise SettingsError(f"{first_fault(error, name)}.", hint) from None
    except ValueError as error:
        raise SettingsError(f"{name}.preset: {error}.") from None
