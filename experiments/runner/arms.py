"""An arm on the texts of a case: it learns, scores the texts tested, and what that took is counted.

What is counted are all replies that an arm rests on, also those that were kept earlier or that another arm asked for
too: what it would take by itself, the same whether the study was interrupted or not.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from experiments.runner.cases import Material
from experiments.runner.results import Spent
from experiments.runner.study import Arm
from rubriclab import (
    METHODS,
    Assignment,
    CallEstimate,
    ChecklistError,
    Example,
    Judge,
    JudgeError,
    Method,
    Prompt,
    Reply,
    Rubric,
    SettingsError,
    TrainingInput,
    Usage,
    load_findings,
)
from rubriclab.research import (
    JointSettings,
    Plan,
    Progress,
    Trained,
    chosen_settings,
    first_fault,
    joint,
    score_stream,
    seed_questions,
    shipped_checklists,
    silent,
    train,
)
from rubriclab.stats import FloatArray

# With these settings, learning asks the judge what scoring would ask of the same texts, and hardly anything else. It is
# what can be told of scoring before there is a rubric; for other methods learning as it is asks as much.
AS_SCORING: Mapping[str, Mapping[str, Any]] = {
    "hypoeval": {"sources": "prior knowledge", "redundancy": "off"},
    "seeval": {"explanations": 1, "refine": False},
}


@dataclass(frozen=True)
class Course:
    """An arm with all that it learns from: one plan, or those of a joint training."""

    arm: Arm
    plans: tuple[Plan, ...]
    joint: JointSettings | None = None


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of texts, NaN where there is none, and how many of the answers to single criteria are missing."""

    values: FloatArray
    answers: int
    answers_missing: int
    spent: Spent


@dataclass(frozen=True, eq=False)
class Trial:
    """What an arm came to on a case."""

    trained: Trained
    learning: Spent
    scored: Scored


class Tally:
    """A judge that counts every reply it gives, kept earlier or not."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._began = time.monotonic()
        self._calls = 0
        self._usage = Usage()

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, counted."""
        reply = await self._judge.reply(prompt)
        self._calls += 1
        self._usage += reply.usage
        return reply

    @property
    def spent(self) -> Spent:
        """What was asked so far."""
        return Spent(
            calls=self._calls,
            prompt_tokens=self._usage.prompt_tokens,
            completion_tokens=self._usage.completion_tokens,
            cost_usd=self._usage.cost_usd,
            seconds=round(time.monotonic() - self._began, 3),
        )


def course(arm: Arm, learned_from: Sequence[Example], assignment: Assignment, tested: Collection[str] = ()) -> Course:
    """Return an arm with what it learns from; findings about the raters of the sets that are `tested` are left out.

    A joint training goes without the methods that have no questions for the aspect.

    Raises:
        ChecklistError: if the arm's method starts from questions, and none ship for this aspect.
        SettingsError: for a setting that is unknown or out of bounds.
    """
    training_input = TrainingInput(
        tuple(learned_from) if arm.labels else (),
        assignment,
        load_findings(assignment.words.task, assignment.aspect.name, without=tested) if arm.literature else (),
    )
    if arm.method != "joint":
        method = METHODS[arm.method]
        settings = settings_of(arm, arm.method)
        return Course(arm, (Plan(method, _with_questions(training_input, method, settings), settings),))
    methods = [METHODS[name] for name in arm.methods]
    chosen = [(method, settings_of(arm, method.name)) for method in methods]
    plans = [
        Plan(method, _with_questions(training_input, method, settings), settings)
        for method, settings in chosen
        if _has_questions(method, assignment, settings)
    ]
    if not plans:
        raise ChecklistError(
            f"No questions ship for {assignment.aspect.name} that {', '.join(arm.methods)} start from."
        )
    return Course(arm, tuple(plans), joint_settings(arm))


def settings_of(arm: Arm, name: str) -> BaseModel:
    """Return the settings of one of the arm's methods.

    Raises:
        SettingsError: for a setting that is unknown or out of bounds.
    """
    method = METHODS[name]
    own = {**(METHODS[name].joint_settings if arm.method == "joint" else {}), **arm.settings.get(name, {})}
    try:
        return chosen_settings(method.settings, method.presets, own)
    except ValueError as error:
        raise _refused(arm, name, error) from None


def joint_settings(arm: Arm) -> JointSettings:
    """Return the settings of a joint training.

    Raises:
        SettingsError: for a setting that is unknown or out of bounds.
    """
    try:
        return JointSettings(**arm.settings.get("joint", {}))
    except ValidationError as error:
        raise _refused(arm, "joint", error) from None


async def learn(
    given: Course, judge: Judge, *, seed: int, generator: Judge | None = None, on_progress: Progress = silent
) -> Trained:
    """Return the rubric that an arm learns.

    Raises:
        DataError: if it needs labels and has none.
        JudgeError: if nothing could be learned.
    """
    generator = generator or judge
    if given.joint is not None:
        return await joint.train(
            given.plans, given.joint, judge=judge, generator=generator, seed=seed, on_progress=on_progress
        )
    (plan,) = given.plans
    return await train(
        plan.method,
        plan.training_input,
        plan.settings,
        judge=judge,
        generator=generator,
        seed=seed,
        on_progress=on_progress,
    )


async def score(
    rubric: Rubric, texts: Sequence[Example], judge: Judge, *, under_way: int, on_progress: Progress = silent
) -> Scored:
    """Return the rubric's scores of the texts, in order."""
    tally, scores = Tally(judge), []
    async with aclosing(score_stream(rubric, texts, tally, rubric.aspect.name, under_way)) as found:
        async for each in found:
            scores.append(each)
            on_progress(f"{len(scores)} of {len(texts)} texts", len(scores) / len(texts))
    return Scored(
        np.array([np.nan if each.score is None else each.score for each in scores], dtype=float),
        sum(each.answers for each in scores),
        sum(each.answers_missing for each in scores),
        tally.spent,
    )


async def trial(
    arm: Arm, texts: Material, judge: Judge, *, seed: int, under_way: int, on_progress: Progress = silent
) -> Trial:
    """Return what an arm comes to on a case: learned from its labelled texts, and its test scored.

    Raises:
        ChecklistError: if no questions ship that the arm's method needs.
        JudgeError: if nothing could be learned, or no text scored.
    """
    tally = Tally(judge)
    given = course(arm, texts.learned_from, texts.home, texts.benchmarks)
    trained = await learn(given, tally, seed=seed, on_progress=lambda doing, share: on_progress(doing, share / 2))
    spent = tally.spent
    scored = await score(
        trained.rubric,
        texts.test,
        judge,
        under_way=under_way,
        on_progress=lambda doing, share: on_progress(doing, (1 + share) / 2),
    )
    if np.isnan(scored.values).all():
        raise JudgeError(f"None of the {len(texts.test)} texts could be scored.")
    return Trial(trained, spent, scored)


def learning_at_most(given: Course) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that learning asks of the judge, and of the generator."""
    if given.joint is not None:
        return joint.at_most(given.plans, given.joint)
    (plan,) = given.plans
    return plan.method.learning_at_most(plan.training_input, plan.settings)


def scoring_at_most(given: Course, texts: Sequence[Example]) -> CallEstimate:
    """Return the most that scoring the texts asks, before it is known what will be learned."""
    total = CallEstimate()
    for plan in given.plans:
        settings = plan.settings.model_copy(update=AS_SCORING.get(plan.method.name, {}))
        # Texts that are shown to the judge beside the one to score are among those learned from.
        shown = plan.training_input.examples if plan.method.name == "few_shot" else ()
        total += plan.method.learning_at_most(replace(plan.training_input, examples=(*texts, *shown)), settings)[0]
    return total


def _with_questions(training_input: TrainingInput, method: Method, settings: BaseModel) -> TrainingInput:
    task, aspect = training_input.assignment.words.task, training_input.assignment.aspect.name
    needed = method.needs_checklist(settings)
    return replace(training_input, checklist=seed_questions(method.checklists, task, aspect, needed=needed))


def _has_questions(method: Method, assignment: Assignment, settings: BaseModel) -> bool:
    if not (method.checklists and method.needs_checklist(settings)):
        return True
    return (assignment.words.task, assignment.aspect.name) in shipped_checklists(method.checklists)


def _refused(arm: Arm, owner: str, error: ValueError) -> SettingsError:
    if isinstance(error, ValidationError):
        return SettingsError(f"Arm {arm.name}: {first_fault(error, owner)}.")
    return SettingsError(f"Arm {arm.name}: {owner}: {error}.")
