"""Baselines beside the rubrics that are evaluated: versions like any other, made on the spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from rubriclab.cli.session import note
from rubriclab.cli.settings import method_settings
from rubriclab.cli.texts import rows_of
from rubriclab.data import Example, labelled
from rubriclab.errors import DataError, SettingsError
from rubriclab.learning import train
from rubriclab.methods.baselines.few_shot import FewShotSettings, demonstrations
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import TrainingInput
from rubriclab.scoring.score import assignment_of
from rubriclab.services.learn import default_name

if TYPE_CHECKING:
    from rubriclab.cli.session import JudgeChoice, Session
    from rubriclab.methods.names import BaselineName
    from rubriclab.store import Version

# Which of several equally fitting texts are shown as demonstrations.
SEED = 42


@dataclass(frozen=True)
class RequestedBaselines:
    """A baseline for the aspect, scale and judge of a rubric."""

    name: BaselineName
    like: Version
    choice: JudgeChoice
    shown: tuple[Example, ...]
    settings: BaseModel

    @property
    def training_input(self) -> TrainingInput:
        """What it is made from: nothing but the texts it shows, if it shows any."""
        rubric = self.like.rubric
        return TrainingInput(self.shown, replace(assignment_of(rubric), scale=rubric.scores_on))

    def at_most(self, texts: Sequence[Example]) -> CallEstimate:
        """Return the most that making it and scoring `texts` asks."""
        method = METHODS[self.name]
        training_input = TrainingInput((*texts, *self.shown), self.training_input.assignment)
        judge, generator = method.learning_at_most(training_input, self.settings)
        return judge + generator

    async def make(self, work: Session) -> Version:
        """Return its version, asking for what it writes down once; the one that the store holds, or else a new one."""
        method, judge = METHODS[self.name], work.judge(self.choice)
        trained = await train(
            method,
            self.training_input,
            self.settings,
            judge=judge,
            generator=judge,
            seed=SEED,
            model_versions=lambda: sorted(work.ledger.model_versions),
        )
        rubric = self.like.rubric
        name = default_name(rubric.task, rubric.aspect.name, self.name)
        known = work.store.log(name) if name in work.store.names() else ()
        same = [version for version in known if version.digest == trained.rubric.digest]
        if same:
            return same[0]
        source = self.choice.named_by
        made = trained.provenance.model_copy(update={"judge_from": source, "generator_from": source})
        return work.store.save(name, trained.rubric, made, work.effort())


def wanted_baselines(
    versions: Sequence[Version], choices: Mapping[str, JudgeChoice], given: Mapping[str, Any]
) -> list[RequestedBaselines]:
    """Return the baselines asked for, once for each aspect and scale that the versions judge.

    Raises:
        SettingsError: if demonstrations are needed and no labelled texts are named, or a setting is for another method.
        DataError: if there are none with a score for the aspect.
    """
    found: list[RequestedBaselines] = []
    settings = _settings(given)
    first: dict[str, Version] = {}
    for version in versions:
        rubric = version.rubric
        like = first.setdefault(f"{rubric.task} {rubric.aspect} {rubric.scores_on}", version)
        if like is version:
            for name, chosen in settings.items():
                shown = _shown(version, given, chosen) if name == "few_shot" else ()
                found.append(RequestedBaselines(name, version, choices[version.ref], shown, chosen))
        elif settings and choices[like.ref] != choices[version.ref]:
            note(
                f"the baselines are asked of {choices[like.ref].spec}, the judge of {like.ref} and not of {version.ref}"
            )
    return found


def _settings(given: Mapping[str, Any]) -> dict[BaselineName, BaseModel]:
    """Return the settings of each baseline asked for, from the command line and the configuration."""
    names: list[BaselineName] = list(dict.fromkeys(given["baselines"]))
    pairs: dict[str, list[str]] = {name: [] for name in names}
    for pair in given["settings"]:
        method = pair.partition(".")[0].strip()
        if method not in pairs:
            wanted = ", ".join(names) or "none"
            raise SettingsError(f"--set {pair!r} is for no baseline that is evaluated ({wanted}).")
        pairs[method].append(pair)
    return {name: method_settings(METHODS[name], pairs[name], given["configured"]) for name in names}


def _shown(version: Version, given: Mapping[str, Any], settings: BaseModel) -> tuple[Example, ...]:
    """Return the labelled texts that few_shot shows."""
    if not given["labelled"]:
        raise SettingsError(
            "The baseline few_shot shows labelled texts, and none are named;",
            "give some that are not evaluated, such as those learned from: --labelled PATH.",
        )
    aspect = version.rubric.aspect.name
    rows = rows_of(given["labelled"], given)
    usable = labelled((row for row in rows if isinstance(row, Example)), aspect)
    inside = [example for example in usable if version.rubric.scores_on.contains(example.scores[aspect])]
    if not inside:
        raise DataError(f"{given['labelled']}: no usable row has a score for {aspect!r} on the rubric's scale.")
    chosen = {each.example for each in demonstrations(inside, aspect, FewShotSettings.model_validate(settings).k, SEED)}
    return tuple(example for example in inside if example.id in chosen)
