"""What baselines have in common: one criterion that is the whole aspect, and nothing to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from rubriclab.data.assignment import Assignment
from rubriclab.judges.judge import Judge
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.holistic import (
    OverallSettings,
    ScoreFormat,
    learn_single,
    part_at_most,
    reasoned_once,
    scorer,
    texts_at_most,
)
from rubriclab.methods.method import Learned, Method, Progress, TrainingInput
from rubriclab.methods.replies import OnScale
from rubriclab.rubric import Criterion, Demonstration, Evidence


class BaselineSettings(OverallSettings):
    """Settings of a baseline without any of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def by_definition(
    name: str, form: ScoreFormat, shares_call: Callable[[Mapping[str, Any]], bool] = lambda _: False
) -> Method:
    """Return the baseline that goes by the aspect's definition alone."""

    async def learn(
        training_input: TrainingInput,
        settings: BaselineSettings,
        *,
        judge: Judge,
        on_progress: Progress,
        **_unused: Any,
    ) -> Learned:
        """Return the part with the definition as its criterion, measured on the labelled texts."""
        criterion = whole_aspect(training_input.assignment, training_input.assignment.aspect.definition)
        return await learn_single(
            name, training_input, criterion, judge, form=form, settings=settings, on_progress=on_progress
        )

    def learning_at_most(
        training_input: TrainingInput, settings: BaselineSettings
    ) -> tuple[CallEstimate, CallEstimate]:
        criterion = whole_aspect(training_input.assignment, training_input.assignment.aspect.definition)
        return texts_at_most(training_input, criterion, form, settings), CallEstimate()

    return Method(
        name=name,
        settings=BaselineSettings,
        presets={},
        prompts=(form.template,),
        learn=learn,
        score=scorer(form),
        learning_at_most=learning_at_most,
        scoring_at_most=part_at_most(form),
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
        """The analysis, as what other methods call their reasoning."""
        return self.analysis


# The score hangs on the analysis before it, so a weighted one is the mean over several analyses.
FORM = ScoreFormat("analyze_rate/rate", lambda _: {}, reasoned=Analysis, alone=Analysis, max_tokens=1024)

ANALYZE_RATE = by_definition("analyze_rate", FORM)


DIRECT = by_definition("direct", ScoreFormat("direct/rate", lambda _: {}), shares_call=reasoned_once)
