"""`geval`: evaluation steps that the model writes once, stored in the rubric, and a probability-weighted score.

Liu et al. (2023, EMNLP), "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment". There the steps are fixed
in prompt files; here they are part of the version and can be reproduced.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from rubriclab.bounds import LONGEST_WORDING
from rubriclab.characters import is_blank
from rubriclab.data.aspect import Assignment
from rubriclab.errors import JudgeError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.baselines.definition import BaselineSettings, whole_aspect
from rubriclab.methods.holistic import (
    HolisticSettings,
    ScoreFormat,
    learn_single,
    reasoned_once,
    scorer,
    with_answer_scale,
)
from rubriclab.methods.method import Learned, LearningCalls, Method, Presets, Progress, TrainingInput
from rubriclab.option_names import option
from rubriclab.prompts import Prompt
from rubriclab.rubric import Evidence

FORM = ScoreFormat("geval/rate", lambda criterion: {"steps": criterion.statement})
LONGEST = 1024


class GEvalSettings(BaselineSettings):
    """Hyperparameters of G-Eval; the published values are the defaults."""

    scoring: Literal["once", "weighted", "sampled"] = "weighted"
    """As for other methods, but weighted by default."""


# Sections 2 and 4.1 of the paper: scores only; 20 samples at temperature 1 for models without log-probabilities.
PRESETS: Presets = {"paper": {"form": "score only"}}


class Steps(BaseModel):
    """The steps by which a rater gets to a score."""

    steps: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _worded(self) -> Self:
        if any(map(is_blank, self.steps)):
            raise ValueError("every step needs words")
        return self

    @model_validator(mode="after")
    def _storable(self) -> Self:
        if (length := len(self.numbered())) > LONGEST_WORDING:
            raise ValueError(f"at most {LONGEST_WORDING:,} characters were expected in all steps; got {length:,}")
        return self

    def numbered(self) -> str:
        """Return the steps as text, one numbered line each."""
        return "\n".join(f"{place}. {step.strip()}" for place, step in enumerate(self.steps, 1))


async def learn(
    training_input: TrainingInput,
    settings: GEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: Progress,
    **_unused: Any,
) -> Learned:
    """Return the part with the steps that `generator` writes, evaluated on the labelled texts.

    Raises:
        JudgeError: if no steps could be obtained, or no labelled text could be scored.
    """
    steps = await written_steps(training_input.assignment, settings, generator)
    criterion = whole_aspect(training_input.assignment, steps, Evidence(origin="prior knowledge"))
    return await learn_single(
        "geval", training_input, criterion, judge, form=FORM, settings=settings, on_progress=on_progress
    )


async def written_steps(assignment: Assignment, settings: HolisticSettings, generator: Judge) -> str:
    """Return the evaluation steps that `generator` writes, one numbered line each.

    Raises:
        JudgeError: if none could be obtained.
    """
    answer = await ask(generator, steps_prompt(assignment, settings))
    if answer.value is None:
        raise JudgeError(
            f"No evaluation steps could be obtained: {answer.missing}", f"Try another {option('generator')}."
        )
    return answer.value.numbered()


def steps_prompt(assignment: Assignment, settings: HolisticSettings) -> Prompt[Steps]:
    """Return the prompt for the evaluation steps, with the scale of single answers."""
    return Prompt("geval/steps", with_answer_scale(assignment, settings).fields(), Steps, max_tokens=LONGEST)


GEVAL = Method(
    name="geval",
    settings=GEvalSettings,
    presets=PRESETS,
    prompts=("geval/steps", "geval/rate"),
    learn=learn,
    score=scorer(FORM),
    learning_calls=lambda training_input, settings: LearningCalls(len(training_input.examples) * settings.calls, 1),
    single_criterion=True,
    states="steps",
    shares_call=reasoned_once,
    needs_labels=False,
)
