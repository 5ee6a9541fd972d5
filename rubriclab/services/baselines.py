"""Baselines beside the rubrics that are evaluated: versions like any other, made on the spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from rubriclab.data import Example, labelled
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import DataError, SettingsError
from rubriclab.estimate import CallEstimate, estimate_learning
from rubriclab.learning import train
from rubriclab.methods.baselines import FewShotSettings, demonstrations
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.names import BASELINE_NAMES
from rubriclab.option_names import option
from rubriclab.provenance import Provenance
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import assignment_of
from rubriclab.services.base import SettingsTables
from rubriclab.services.inputs import Data, describe, rows_of
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.learn import default_name
from rubriclab.services.settings import method_named, resolve_settings
from rubriclab.services.workspace import Notify, Workspace
from rubriclab.store import Version

# Which of several equally fitting texts are shown as demonstrations.
SEED = 42


@dataclass(frozen=True)
class RequestedBaseline:
    """A baseline for the aspect, scale and judge of a version; `shown` are the demonstrations of `few_shot`."""

    name: str
    version: Version
    choice: JudgeChoice
    shown: tuple[Example, ...]
    settings: BaseModel

    @property
    def label(self) -> str:
        """What it is called before it is a version."""
        return f"{self.name} beside {self.version.ref}"

    @property
    def training_input(self) -> TrainingInput:
        """What it is made from: nothing but the texts it shows, if it shows any."""
        rubric = self.version.rubric
        return TrainingInput(self.shown, replace(assignment_of(rubric), scale=rubric.scores_on))

    def estimate(self, texts: Sequence[Example]) -> CallEstimate:
        """Return an estimate of what making it and scoring `texts` asks."""
        training_input = TrainingInput((*texts, *self.shown), self.training_input.assignment)
        calls = method_named(self.name).learning_calls(training_input, self.settings)
        judge, generator = estimate_learning(calls, training_input.assignment, training_input.examples)
        return judge + generator

    async def make(self, workspace: Workspace) -> MadeBaseline:
        """Return its rubric, which is saved only when it has scored a text."""
        judge = workspace.judge(self.choice)
        trained = await train(
            method_named(self.name),
            self.training_input,
            self.settings,
            judge=judge,
            generator=judge,
            seed=SEED,
            model_versions=workspace.model_versions,
        )
        sources = {"judge_from": self.choice.named_by, "generator_from": self.choice.named_by}
        provenance = trained.provenance.model_copy(update=sources)
        return MadeBaseline(self, trained.rubric, provenance)


@dataclass(frozen=True)
class MadeBaseline:
    """The rubric of a baseline with its provenance."""

    requested: RequestedBaseline
    rubric: Rubric
    provenance: Provenance

    @property
    def name(self) -> str:
        """Its name in the store."""
        return default_name(self.rubric.task, self.rubric.aspect.name, self.requested.name)

    async def find(self, workspace: Workspace) -> Version | None:
        """Return the version in the store that holds the same rubric, or `None`."""

        def found() -> Version | None:
            store = workspace.store
            versions = store.log(self.name) if self.name in store.names() else ()
            return next((version for version in versions if version.digest == self.rubric.digest), None)

        return await workspace.off_event_loop(found)

    async def save(self, workspace: Workspace) -> Version:
        """Return its new version."""
        return await workspace.store.save_async(self.name, self.rubric, self.provenance, workspace.effort())


def requested_baselines(
    workspace: Workspace,
    names: Sequence[str],
    versions: Sequence[Version],
    choices: Mapping[str, JudgeChoice],
    *,
    demonstrated: Data | None,
    chosen: SettingsTables,
    reading: ReadingOptions,
) -> list[RequestedBaseline]:
    """Return the baselines named, once for each aspect and scale that the versions judge.

    Args:
        choices: the judge of each version, by reference.
        demonstrated: labelled texts that `few_shot` shows.
        chosen: settings of these baselines.

    Raises:
        SettingsError: if demonstrations are needed and no labelled texts are named, or a setting is for another method.
        DataError: if there are none with a score for the aspect.
    """
    requested: list[RequestedBaseline] = []
    settings = _settings(names, chosen, workspace.settings)
    first: dict[str, Version] = {}
    for version in versions:
        rubric = version.rubric
        same_kind = first.setdefault(f"{rubric.task} {rubric.aspect} {rubric.scores_on}", version)
        choice = choices[version.ref]
        if same_kind is version:
            for name, values in settings.items():
                shown = _shown(version, demonstrated, reading, values, workspace.notify) if name == "few_shot" else ()
                requested.append(RequestedBaseline(name, version, choice, shown, values))
        elif settings and choices[same_kind.ref] != choice:
            workspace.notify(
                f"the baselines ask {choices[same_kind.ref].spec}, the judge of {same_kind.ref}, not that of "
                f"{version.ref}"
            )
    return requested


def _settings(names: Sequence[str], chosen: SettingsTables, configured: SettingsTables) -> Mapping[str, BaseModel]:
    for name in names:
        if name not in BASELINE_NAMES:
            raise SettingsError(
                f"{option('baselines')}: there is no baseline {name!r}.", f"Known are: {', '.join(BASELINE_NAMES)}."
            )
    for owner in chosen:
        if owner not in names:
            raise SettingsError(
                f"{option('settings')}: {owner} is none of the baselines that are evaluated "
                f"({', '.join(names) or 'none'})."
            )
    if not names:
        return {}
    methods = [method_named(name) for name in dict.fromkeys(names)]
    return resolve_settings(methods, joint=False, configured=configured, chosen=chosen).methods


def _shown(
    version: Version, demonstrated: Data | None, reading: ReadingOptions, settings: BaseModel, notify: Notify
) -> tuple[Example, ...]:
    """Return the labelled texts that few_shot shows."""
    if demonstrated is None:
        raise SettingsError(
            "The baseline few_shot shows labelled texts, and none are named;",
            f"give some that are not evaluated, such as those learned from: {option('labelled', 'PATH')}.",
        )
    aspect = version.rubric.aspect.name
    rows = rows_of(demonstrated, reading, notify)
    usable = labelled((row for row in rows if isinstance(row, Example)), aspect)
    inside = [example for example in usable if version.rubric.scores_on.contains(example.scores[aspect])]
    if not inside:
        raise DataError(f"{describe(demonstrated)}: no usable row has a score for {aspect!r} on the rubric's scale.")
    k = FewShotSettings.model_validate(settings).k
    chosen = {demonstration.example for demonstration in demonstrations(inside, aspect, k, SEED)}
    return tuple(example for example in inside if example.id in chosen)
