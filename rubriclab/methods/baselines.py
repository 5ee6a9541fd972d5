"""Baselines, which learn nothing from labels, or only which texts to show as examples.

- `direct` gives a score by the aspect's definition, with a reason: HypoEval's baseline (section 3) without evaluation
  steps (appendix B.2).
- `analyze_rate` writes an analysis before the score: Chiang and Lee (2023, Findings of EMNLP), "A Closer Look into
  Using Large Language Models for Automatic Evaluation".
- `few_shot` shows a few labelled texts with their scores (HypoEval, section 3). HypoEval draws them at random (appendix
  B.2); here their scores are spread over the labels.
- `geval` goes by evaluation steps that the model writes once, and weights scores by their probabilities: Liu et al.
  (2023, EMNLP), "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment". There the steps are fixed in prompt
  files; here they are part of the version and can be reproduced.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubriclab.errors import DataError, JudgeError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.holistic import (
    HolisticSettings,
    ScoreFormat,
    learn_single,
    reasoned_once,
    scorer,
    with_answer_scale,
)
from rubriclab.methods.method import Learned, LearningCalls, Method, Presets, Progress, TrainingInput
from rubriclab.methods.replies import OnScale
from rubriclab.models.base import LONGEST_WORDING
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import Criterion, Demonstration, Evidence
from rubriclab.models.text import Assignment, Example
from rubriclab.option_names import option
from rubriclab.prompts import Prompt


class BaselineSettings(HolisticSettings):
    """Hyperparameters of a baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _calls(training_input: TrainingInput, settings: HolisticSettings) -> LearningCalls:
    unrated = int(bool(training_input.unrated))
    return LearningCalls(len(training_input.examples) * settings.calls, unrated=unrated)


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
        learning_calls=_calls,
        single_criterion=True,
        shares_call=shares_call,
        rated_later=lambda _settings: True,
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
ANALYSIS_FORM = ScoreFormat("analyze_rate/rate", lambda _: {}, reasoned=Analysis, alone=Analysis, max_tokens=1024)

ANALYZE_RATE = by_definition("analyze_rate", ANALYSIS_FORM)


DIRECT = by_definition("direct", ScoreFormat("direct/rate", lambda _: {}), shares_call=reasoned_once)


FEW_SHOT_FORM = ScoreFormat(
    "few_shot/rate",
    lambda criterion: {"demonstrations": [each.model_dump(exclude={"example"}) for each in criterion.demonstrations]},
)


class FewShotSettings(BaselineSettings):
    """Hyperparameters of few-shot scoring."""

    k: int = Field(default=3, ge=1, le=20)
    """Labelled texts in the prompt; 3 in HypoEval's baseline."""


async def _learn_few_shot(
    training_input: TrainingInput,
    settings: FewShotSettings,
    *,
    judge: Judge,
    seed: int,
    on_progress: Progress,
    **_unused: Any,
) -> Learned:
    """Return the part with `k` demonstrations, evaluated on the other labelled texts.

    Raises:
        DataError: if there are no labelled texts.
        JudgeError: if there are other labelled texts, and none of them could be scored.
    """
    if not training_input.examples:
        raise DataError("few_shot learns from labelled texts, and there are none.")
    criterion = _few_shot_criterion(training_input, settings, seed)
    shown = {each.example for each in criterion.demonstrations}
    others = replace(training_input, examples=tuple(each for each in training_input.examples if each.id not in shown))
    learned = await learn_single(
        "few_shot", others, criterion, judge, form=FEW_SHOT_FORM, settings=settings, on_progress=on_progress
    )
    if others.examples:
        return learned
    return replace(learned, notes=(f"all {len(shown)} labelled texts are shown, so that none is left to measure on",))


def demonstrations(examples: Sequence[Example], aspect: str, count: int, seed: int) -> tuple[Demonstration, ...]:
    """Return `count` labelled texts with scores at the quantiles of the labels, lowest first, of different groups.

    The seed decides between equally good texts. Groups repeat only if there are too few.
    """
    shuffled = sorted(examples, key=lambda example: example.id)
    random.Random(f"demonstrations {seed}").shuffle(shuffled)
    labels = [example.scores[aspect] for example in examples]
    chosen: list[Example] = []
    for place in range(min(count, len(shuffled))):
        wanted = float(np.quantile(labels, (place + 0.5) / count))
        remaining = [example for example in shuffled if example not in chosen]
        fresh = [example for example in remaining if example.group not in {each.group for each in chosen}]
        chosen.append(min(fresh or remaining, key=lambda example: abs(example.scores[aspect] - wanted)))
    return tuple(
        Demonstration(example=e.id, output=e.output, source=e.source, context=e.context, score=e.scores[aspect])
        for e in sorted(chosen, key=lambda example: example.scores[aspect])
    )


def _few_shot_criterion(training_input: TrainingInput, settings: FewShotSettings, seed: int) -> Criterion:
    aspect = training_input.assignment.aspect
    shown = demonstrations(training_input.examples, aspect.name, settings.k, seed)
    evidence = Evidence(origin="labels", examples=tuple(each.example for each in shown))
    return whole_aspect(training_input.assignment, aspect.definition, evidence, shown)


def _few_shot_calls(training_input: TrainingInput, settings: FewShotSettings) -> LearningCalls:
    """Return one score of each text that is not shown."""
    return LearningCalls(max(0, len(training_input.examples) - settings.k) * settings.calls)


FEW_SHOT = Method(
    name="few_shot",
    settings=FewShotSettings,
    presets={},
    prompts=("few_shot/rate",),
    learn=_learn_few_shot,
    score=scorer(FEW_SHOT_FORM),
    learning_calls=_few_shot_calls,
    single_criterion=True,
)


GEVAL_FORM = ScoreFormat("geval/rate", lambda criterion: {"steps": criterion.statement})
LONGEST_STEPS = 1024


class GEvalSettings(BaselineSettings):
    """Hyperparameters of G-Eval; the published values are the defaults."""

    scoring: Literal["once", "weighted", "sampled"] = "weighted"
    """As for other methods, but weighted by default."""


# Sections 2 and 4.1 of the paper: scores only; 20 samples at temperature 1 for models without log-probabilities.
GEVAL_PRESETS: Presets = {"paper": {"form": "score only"}}


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


async def _learn_geval(
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
        "geval", training_input, criterion, judge, form=GEVAL_FORM, settings=settings, on_progress=on_progress
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
    return Prompt("geval/steps", with_answer_scale(assignment, settings).fields(), Steps, max_tokens=LONGEST_STEPS)


GEVAL = Method(
    name="geval",
    settings=GEvalSettings,
    presets=GEVAL_PRESETS,
    prompts=("geval/steps", "geval/rate"),
    learn=_learn_geval,
    score=scorer(GEVAL_FORM),
    learning_calls=lambda training_input, settings: replace(_calls(training_input, settings), generator=1),
    rated_later=lambda _settings: True,
    single_criterion=True,
    states="steps",
    shares_call=reasoned_once,
    needs_labels=False,
)
