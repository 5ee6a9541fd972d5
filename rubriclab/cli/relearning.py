"""Learning from scratch as a version was learned: its methods with their settings, from other texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from rubriclab.checklist import Checklist, seed_questions
from rubriclab.cli.session import note
from rubriclab.data import Assignment, Example, task_words
from rubriclab.errors import ChecklistError
from rubriclab.learning import Trained, joint
from rubriclab.learning.candidates import JOINT_SETTINGS, Plan
from rubriclab.learning.settings import JointSettings
from rubriclab.literature import load_findings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import Method, TrainingInput

if TYPE_CHECKING:
    from rubriclab.judges.judge import Judge
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.store import Version
    from rubriclab.transfer.run import RelearnFunction, TargetTexts


@dataclass(frozen=True)
class Relearning:
    """A training from scratch as the version was trained: the methods with their settings, and what they start from."""

    plans: Callable[[Sequence[Example]], list[Plan]]
    settings: JointSettings
    seed: int

    def at_most(self, texts: Sequence[Example]) -> CallEstimate:
        """Return the most that it asks."""
        judge, generator = joint.at_most(self.plans(texts), self.settings)
        return judge + generator

    def by(self, judge: Judge, generator: Judge, model_versions: Callable[[], Sequence[str]]) -> RelearnFunction:
        """Return the training by a judge, with criteria that the generator proposes."""

        async def train(texts: Sequence[Example]) -> Trained:
            return await joint.train(
                self.plans(texts),
                self.settings,
                judge=judge,
                generator=generator,
                seed=self.seed,
                model_versions=model_versions,
            )

        return train


def relearning_of(version: Version, target: TargetTexts, seed: int) -> Relearning | None:
    """Return the training from scratch, by the methods and settings that the version was learned with.

    It starts from the questions and findings that ship. `None`, which is said, where none of the methods has questions
    for the aspect.
    """
    made, task, aspect = version.provenance.settings, version.rubric.task, target.aspect.name
    started = [
        found for name, values in made.items() if name != "joint" and (found := _started(name, values, task, aspect))
    ]
    if not started:
        note(f"{version.ref} cannot be relearned: no questions ship for {aspect}, and its methods start from some")
        return None
    assignment, findings = Assignment(task_words(task), target.aspect, target.scale), load_findings(task, aspect)

    def plans(texts: Sequence[Example]) -> list[Plan]:
        return [
            Plan(method, TrainingInput(tuple(texts), assignment, findings, questions), settings)
            for method, settings, questions in started
        ]

    return Relearning(plans, JointSettings.model_validate(dict(made.get("joint", {}))), seed)


def _started(
    name: str, values: Mapping[str, Any], task: str, aspect: str
) -> tuple[Method, BaseModel, Checklist | None] | None:
    """Return a method with its settings and the questions that it starts from; `None` where it lacks them."""
    method = METHODS[name]  # type: ignore[index]
    settings = method.settings.model_validate({**values, **JOINT_SETTINGS.get(method.name, {})})
    try:
        questions = seed_questions(method.checklists, task, aspect, needed=method.needs_checklist(settings))
    except ChecklistError:
        return None
    return method, settings, questions
