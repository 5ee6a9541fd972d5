"""What baselines have in common: one criterion that is the whole aspect, and nothing to choose."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from rubriclab.data.assignment import Assignment
from rubriclab.judges.judge import Judge
from rubriclab.methods.estimate import Estimate
from rubriclab.methods.method import Learned, Lesson, Method, Progress
from rubriclab.methods.names import BaselineName
from rubriclab.methods.overall import Form, OverallSettings, learn_single, part_at_most, scorer, texts_at_most
from rubriclab.rubric import Criterion, Demonstration, Evidence


class BaselineSettings(OverallSettings):
    """Settings of a baseline without any of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def by_definition(name: BaselineName, form: Form) -> Method:
    """Return the baseline that goes by the aspect's definition alone."""

    async def learn(
        lesson: Lesson, settings: BaselineSettings, *, judge: Judge, say: Progress, **_unused: Any
    ) -> Learned:
        """Return the part with the definition as its criterion, measured on the labelled texts."""
        criterion = whole_aspect(lesson.assignment, lesson.assignment.aspect.definition)
        return await learn_single(name, lesson, criterion, judge, form=form, settings=settings, say=say)

    def learning_at_most(lesson: Lesson, settings: BaselineSettings) -> tuple[Estimate, Estimate]:
        criterion = whole_aspect(lesson.assignment, lesson.assignment.aspect.definition)
        return texts_at_most(lesson, criterion, form, settings), Estimate()

    return Method(
        name=name,
        settings=BaselineSettings,
        presets={},
        prompts=(form.template,),
        learn=learn,
        score=scorer(form),
        learning_at_most=learning_at_most,
        scoring_at_most=part_at_most(form),
        needs_labels=False,
    )


def whole_aspect(
    assignment: Assignment,
    statement: str,
    evidence: Evidence | None = None,
    demonstrations: tuple[Demonstration, ...] = (),
) -> Criterion:
    """Return the one criterion of a baseline."""
    return Criterion(
        id="score",
        kind="score",
        trait=assignment.aspect.name,
        statement=statement,
        evidence=evidence or Evidence(origin="definition"),
        demonstrations=demonstrations,
    )
