"""`few_shot`: a few labelled texts with their scores as examples in the prompt (HypoEval, section 3).

HypoEval draws them at random (appendix B.2); here their scores are spread over the labels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from rubriclab.data.example import Example
from rubriclab.errors import DataError
from rubriclab.judges.judge import Judge
from rubriclab.methods.baselines.definition import BaselineSettings, whole_aspect
from rubriclab.methods.holistic import ScoreFormat, learn_single, scorer
from rubriclab.methods.method import Learned, LearningCalls, Method, Progress, TrainingInput
from rubriclab.rubric import Criterion, Demonstration, Evidence

FORM = ScoreFormat(
    "few_shot/rate",
    lambda criterion: {"demonstrations": [each.model_dump(exclude={"example"}) for each in criterion.demonstrations]},
)


class FewShotSettings(BaselineSettings):
    """Hyperparameters of few-shot scoring."""

    k: int = Field(default=3, ge=1, le=20)
    """Labelled texts in the prompt; 3 in HypoEval's baseline."""


async def learn(
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
    criterion = _criterion(training_input, settings, seed)
    shown = {each.example for each in criterion.demonstrations}
    others = replace(training_input, examples=tuple(each for each in training_input.examples if each.id not in shown))
    learned = await learn_single(
        "few_shot", others, criterion, judge, form=FORM, settings=settings, on_progress=on_progress
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


def _criterion(training_input: TrainingInput, settings: FewShotSettings, seed: int) -> Criterion:
    aspect = training_input.assignment.aspect
    shown = demonstrations(training_input.examples, aspect.name, settings.k, seed)
    evidence = Evidence(origin="labels", examples=tuple(each.example for each in shown))
    return whole_aspect(training_input.assignment, aspect.definition, evidence, shown)


def learning_calls(training_input: TrainingInput, settings: FewShotSettings) -> LearningCalls:
    """Return one score of each text that is not shown."""
    return LearningCalls(max(0, len(training_input.examples) - settings.k) * settings.calls)


FEW_SHOT = Method(
    name="few_shot",
    settings=FewShotSettings,
    presets={},
    prompts=("few_shot/rate",),
    learn=learn,
    score=scorer(FORM),
    learning_calls=learning_calls,
    single_criterion=True,
)
