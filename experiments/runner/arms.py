"""An arm on the texts of a case: it learns and scores, and its calls are counted.

All replies count, also those that were cached or that another arm asked for: the counts are those of the arm alone,
whether or not the study was interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import BaseModel

from experiments.runner.cases import Material
from experiments.runner.results import Spent
from experiments.runner.study import Arm
from rubriclab import (
    Assignment,
    Example,
    Judge,
    JudgeError,
    JudgeOptions,
    Method,
    Prompt,
    Reply,
    Score,
    SettingsError,
    TrainingInput,
    Usage,
)
from rubriclab.errors import ChecklistError
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Ledger
from rubriclab.learning.candidates import Plan
from rubriclab.learning.evaluation import Evaluator
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.scoring import score_stream
from rubriclab.learning.train import Trained, train_joint, train_method
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.sources import find_checklist, load_findings, shipped_checklists
from rubriclab.ops.learn import resolve_settings


@dataclass(frozen=True)
class Course:
    """The plans of an arm's methods; `joint` are the settings of a joint training."""

    plans: tuple[Plan, ...]
    joint: JointSettings | None = None


@dataclass(frozen=True, eq=False)
class Learned:
    """A rubric and what it took."""

    trained: Trained
    spent: Spent


@dataclass(frozen=True, eq=False)
class Trial:
    """An arm's scores of the texts tested, and what learning and scoring took."""

    evaluator: Evaluator
    learning: Spent
    scoring: Spent


class Tally:
    """A judge that counts every reply it gives, cached or not."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self.identity: Mapping[str, Any] = judge.identity
        self._judge = judge
        self._began = time.monotonic()
        self._calls = 0
        self._usage = Usage()

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


def uncached_judge(name: str) -> Judge:
    """Return a judge without cache and budget, as the offline judge and recordings need none."""
    return connect(name, options=JudgeOptions(), ledger=Ledger())


def course(arm: Arm, learned_from: Sequence[Example], assignment: Assignment, tested: Collection[str] = ()) -> Course:
    """Return what an arm learns from; findings about the raters of the sets that are `tested` are left out.

    A joint training leaves out the methods that have no questions for the aspect.
    """
    training_input = TrainingInput(
        tuple(learned_from) if arm.labels else (),
        assignment,
        load_findings(assignment.words.task, assignment.aspect.name, excluded=tested) if arm.literature else (),
    )
    methods = [METHODS[name] for name in arm.parts]
    is_joint = arm.method == "joint"
    try:
        settings = resolve_settings(methods, joint=is_joint, options=arm.settings)
    except SettingsError as error:
        raise SettingsError(f"Arm {arm.name}: {error}") from None
    plans = []
    for method in methods:
        own = settings.methods[method.name]
        if not is_joint or _has_questions(method, assignment, own):
            plans.append(Plan(method, _with_questions(training_input, method, own), own))
    if not plans:
        raise ChecklistError(f"No questions for {assignment.aspect.name} ship for {', '.join(arm.methods)}.")
    return Course(tuple(plans), settings.joint)


async def learn(given: Course, judge: Judge, *, seed: int) -> Learned:
    """Return the rubric that an arm learns."""
    tally = Tally(judge)
    if given.joint is not None:
        return Learned(
            await train_joint(given.plans, given.joint, judge=tally, generator=tally, seed=seed), tally.spent
        )
    (plan,) = given.plans
    found = await train_method(plan.method, plan.training_input, plan.settings, judge=tally, generator=tally, seed=seed)
    return Learned(found, tally.spent)


def evaluator_of(name: str, scores: Sequence[Score]) -> Evaluator:
    """Return scores of texts, NaN if there is none, with the number of missing answers about criteria."""
    values = np.array([np.nan if each.score is None else each.score for each in scores], dtype=float)
    return Evaluator(name, values, sum(each.answers_missing for each in scores), sum(each.answers for each in scores))


async def test(arm: Arm, learned: Learned, texts: Material, judge: Judge, under_way: int) -> Trial:
    """Return the scores of the texts tested."""
    tally, rubric = Tally(judge), learned.trained.rubric
    async with aclosing(score_stream(rubric, texts.test, tally, rubric.aspect.name, under_way)) as found:
        evaluator = evaluator_of(arm.name, [each async for each in found])
    if np.isnan(evaluator.scores).all():
        raise JudgeError(f"None of the {len(texts.test)} texts could be scored.")
    return Trial(evaluator, learned.spent, tally.spent)


def _with_questions(training_input: TrainingInput, method: Method, settings: BaseModel) -> TrainingInput:
    task, aspect = training_input.assignment.words.task, training_input.assignment.aspect.name
    needed = method.needs_checklist(settings)
    return replace(training_input, checklist=find_checklist(method.checklists, task, aspect, is_required=needed))


def _has_questions(method: Method, assignment: Assignment, settings: BaseModel) -> bool:
    if not (method.checklists and method.needs_checklist(settings)):
        return True
    return (assignment.words.task, assignment.aspect.name) in shipped_checklists(method.checklists)
