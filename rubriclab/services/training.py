"""A training as it is about to run: methods with their settings, and what they learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rubriclab.estimate import CallEstimate, estimate_learning
from rubriclab.judges.judge import Judge
from rubriclab.learning import Trained, joint, train
from rubriclab.learning.candidates import EarlierRubric, Plan
from rubriclab.learning.settings import JointSettings
from rubriclab.methods.method import Progress, silent


@dataclass(frozen=True)
class TrainingRun:
    """The plans of a joint training with its settings; one plan without them for a method alone."""

    plans: tuple[Plan, ...]
    joint: JointSettings | None = None

    def estimate(self) -> tuple[CallEstimate, CallEstimate]:
        """Return an estimate of what it asks of the judge, and of the generator."""
        training_input = self.plans[0].training_input
        if self.joint:
            calls = joint.learning_calls(self.plans, self.joint)
        else:
            (plan,) = self.plans
            calls = plan.method.learning_calls(training_input, plan.settings)
        return estimate_learning(calls, training_input.assignment, training_input.examples)

    async def run(
        self,
        judge: Judge,
        generator: Judge,
        *,
        seed: int,
        earlier: EarlierRubric | None = None,
        model_versions: Callable[[], Sequence[str]] = tuple,
        on_progress: Progress = silent,
    ) -> Trained:
        """Return what it learns.

        Args:
            earlier: a rubric whose criteria are candidates too, in a joint training.

        Raises:
            JudgeError: if nothing could be learned.
        """
        if self.joint:
            return await joint.train(
                self.plans,
                self.joint,
                judge=judge,
                generator=generator,
                seed=seed,
                earlier=earlier,
                model_versions=model_versions,
                on_progress=on_progress,
            )
        (plan,) = self.plans
        return await train(
            plan.method,
            plan.training_input,
            plan.settings,
            judge=judge,
            generator=generator,
            seed=seed,
            model_versions=model_versions,
            on_progress=on_progress,
        )
