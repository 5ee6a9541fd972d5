"""Baselines with the aspect's definition as their only criterion.

`direct` gives a score with a reason: HypoEval's baseline (section 3) without evaluation steps (appendix B.2), which
`geval` adds. `analyze_rate` writes an analysis before the score: Chiang and Lee (2023, Findings of EMNLP), "A Closer
Look into Using Large Language Models for Automatic Evaluation".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from rubriclab.data.aspect import Assignment
from rubriclab.judges.judge import Judge
from rubriclab.methods.holistic import (
    HolisticSettings,
    ScoreFormat,
    learn_single,
    reasoned_once,
    scorer,
)
from rubriclab.methods.method import Learned, LearningCalls, Method, Progress, TrainingInput
from rubriclab.methods.replies import OnScale
from rubriclab.rubric import Criterion, Demonstration, Evidence


class BaselineSettings(HolisticSettings):
    """Hyperparameters of a baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def by_definition(
    name: str, form: ScoreFormat, shares_call: Callable[[Mapping[str, Any]], bool] = lambda _: False
) -> Method:
    """Return the baseline that scores by the aspect's definition."""

    async def learn(
        training_input: TrainingInput,
        settings: BaselineSettings,
        *,
        judge: Judge,
        on_progress: Progress,
        **_unused: Any,
    ) -> Learned:
        """Return the part with the definition as its criterion, evaluated on the labelled texts."""
        criterion = whole_aspect(training_input.assignment, training_input.assignment.aspect.definition)
        return await learn_single(
            name, training_input, criterion, judge, form=form, settings=settings, on_progress=on_progress
        )

    return Method(
        name=name,
        settings=BaselineSettings,
        presets={},
        prompts=(form.template,),
        learn=learn,
        score=scorer(form),
        learning_calls=lambda training_input, settings: LearningCalls(len(training_input.examples) * settings.calls),
        single_criterion=True,
        shares_call=shares_call,
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


class Analysis(BaseModel):
    """An analysis, and the score that follows from it."""

    analysis: str
    score: OnScale

    @property
    def reasoning(self) -> str:
        """The analysis."""
        return self.analysis


# The score depends on the analysis before it, so a weighted score is the mean over several analyses.
FORM = ScoreFormat("analyze_rate/rate", lambda _: {}, reasoned=Analysis, alone=Analysis, max_tokens=1024)

ANALYZE_RATE = by_definition("analyze_rate", FORM)


DIRECT = by_definition("direct", ScoreFormat("direct/rate", lambda _: {}), shares_call=reasoned_once)
