"""`few_shot`: a few labelled texts are shown with their scores before the one to score (HypoEval, section 3).

There they are drawn at random (appendix B.2); here they are spread over the labels.
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
from rubriclab.methods.estimate import CallEstimate, longest
from rubriclab.methods.holistic import ScoreFormat, learn_single, part_at_most, scorer, texts_at_most
from rubriclab.methods.method import Learned, Method, Progress, TrainingInput
from rubriclab.rubric import Criterion, Demonstration, Evidence

FORM = ScoreFormat(
    "few_shot/rate",
    lambda criterion: {"demonstrations": [each.model_dump(exclude={"example"}) for each in criterion.demonstrations]},
)


class FewShotSettings(BaselineSettings):
    """Everything tunable in few-shot scoring."""

    k: int = Field(3, ge=1, le=20)
    """Labelled texts shown; HypoEval's baseline shows 3."""


async def learn(
    training_input: TrainingInput,
    settings: FewShotSettings,
    *,
    judge: Judge,
    seed: int,
    on_progress: Progress,
    **_unused: Any,
) -> Learned:
    """Return the part with `k` demonstrations, measured on the labelled texts that are not among them.

    Raises:
        DataError: if there are no labelled texts to show.
        JudgeError: if there are others, and none of them could be scored.
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
    """Return `count` labelled texts whose scores are spread over those given, lowest first, of different groups.

    Which of several equally fitting texts is taken hangs on the seed. Groups repeat only where there are too few.
    """
    drawn = sorted(examples, key=lambda example: example.id)
    random.Random(f"demonstrations {seed}").shuffle(drawn)
    labels = [example.scores[aspect] for example in examples]
    chosen: list[Example] = []
    for place in range(min(count, len(drawn))):
        wanted = float(np.quantile(labels, (place + 0.5) / count))
        left = [example for example in drawn if example not in chosen]
        fresh = [example for example in left if example.group not in {each.group for each in chosen}]
        chosen.append(min(fresh or left, key=lambda example: abs(example.scores[aspect] - wanted)))
    return tuple(
        Demonstration(example=e.id, output=e.output, source=e.source, context=e.context, score=e.scores[aspect])
        for e in sorted(chosen, key=lambda example: example.scores[aspect])
    )


def learning_at_most(training_input: TrainingInput, settings: FewShotSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that learning asks of the judge, and of the generator."""
    largest = _criterion(replace(training_input, examples=longest(training_input.examples, settings.k)), settings, 0)
    return texts_at_most(training_input, largest, FORM, settings), CallEstimate()


def _criterion(training_input: TrainingInput, settings: FewShotSettings, seed: int) -> Criterion:
    aspect = training_input.assignment.aspect
    shown = demonstrations(training_input.examples, aspect.name, settings.k, seed)
    evidence = Evidence(origin="labels", examples=tuple(each.example for each in shown))
    return whole_aspect(training_input.assignment, aspect.definition, evidence, shown)


FEW_SHOT = Method(
    name="few_shot",
    settings=FewShotSettings,
    presets={},
    prompts=("few_shot/rate",),
    learn=learn,
    score=scorer(FORM),
    learning_at_most=learning_at_most,
    scoring_at_most=part_at_most(FORM),
    single_criterion=True,
)
