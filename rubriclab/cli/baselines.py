"""Baselines beside the rubrics that are evaluated: versions like any other, made on the spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubriclab.cli.learn import default_name
from rubriclab.data import Example, labelled, parse_mapping, read
from rubriclab.data.mapping import NATIVE
from rubriclab.errors import DataError, SettingsError
from rubriclab.learning import train
from rubriclab.methods.baselines.few_shot import FewShotSettings, demonstrations
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import Estimate
from rubriclab.methods.method import Lesson
from rubriclab.scoring.score import assignment_of

if TYPE_CHECKING:
    from rubriclab.cli.session import Choice, Session
    from rubriclab.methods.names import BaselineName
    from rubriclab.store import Version

# Which of several equally fitting texts are shown as demonstrations.
SEED = 42


@dataclass(frozen=True)
class Wanted:
    """A baseline for the aspect, scale and judge of a rubric."""

    name: BaselineName
    like: Version
    choice: Choice
    shown: tuple[Example, ...]

    @property
    def lesson(self) -> Lesson:
        """What it is made from: nothing but the texts it shows, if it shows any."""
        return Lesson(self.shown, assignment_of(self.like.rubric))

    def at_most(self, texts: Sequence[Example]) -> Estimate:
        """Return the most that making it and scoring `texts` asks."""
        method = METHODS[self.name]
        lesson = Lesson((*texts, *self.shown), self.lesson.assignment)
        judge, generator = method.learning_at_most(lesson, method.settings())
        return judge + generator

    async def make(self, work: Session) -> Version:
        """Return its version, asking for what it writes down once, and keep it in the store."""
        method, judge = METHODS[self.name], work.judge(self.choice)
        trained = await train(
            method,
            self.lesson,
            method.settings(),
            judge=judge,
            generator=judge,
            seed=SEED,
            snapshots=lambda: sorted(work.ledger.snapshots),
        )
        rubric = self.like.rubric
        name = default_name(rubric.task, rubric.aspect.name, self.name)
        return work.store.save(name, trained.rubric, trained.provenance, work.effort())


def wanted_baselines(
    versions: Sequence[Version], choices: Mapping[str, Choice], given: Mapping[str, Any]
) -> list[Wanted]:
    """Return the baselines asked for, once for each aspect and scale that the versions judge.

    Raises:
        SettingsError: if demonstrations are needed and no labelled texts are named.
        DataError: if there are none with a score for the aspect.
    """
    found: list[Wanted] = []
    known: set[str] = set()
    for version in versions:
        rubric = version.rubric
        key = f"{rubric.task} {rubric.aspect} {rubric.scale}"
        if key in known:
            continue
        known.add(key)
        for name in dict.fromkeys(given["baselines"]):
            shown = _shown(version, given) if name == "few_shot" else ()
            found.append(Wanted(name, version, choices[version.ref], shown))
    return found


def _shown(version: Version, given: Mapping[str, Any]) -> tuple[Example, ...]:
    """Return the labelled texts that few_shot shows."""
    if not given["labelled"]:
        raise SettingsError(
            "The baseline few_shot shows labelled texts, and none are named;",
            "give some that are not evaluated, such as those learned from: --labelled PATH.",
        )
    aspect = version.rubric.aspect.name
    rows = read(given["labelled"], parse_mapping(given["mapping"]) if given["mapping"] else NATIVE)
    usable = labelled((row for row in rows if isinstance(row, Example)), aspect)
    inside = [example for example in usable if version.rubric.scale.contains(example.scores[aspect])]
    if not inside:
        raise DataError(f"{given['labelled']}: no usable row has a score for {aspect!r} on the rubric's scale.")
    chosen = {each.example for each in demonstrations(inside, aspect, FewShotSettings().k, SEED)}
    return tuple(example for example in inside if example.id in chosen)
