"""DCR's learning: the checks of a checklist become the criterion, which is evaluated on labelled texts, if any.

As in the paper, nothing is learned from labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rubriclab.errors import ChecklistError, DataError
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.score import comparison_of, make_criterion, rate, reference_field
from rubriclab.methods.dcr.settings import DCRSettings
from rubriclab.methods.holistic import learned_single, require_scores
from rubriclab.methods.method import Learned, LearningCalls, Progress, TrainingInput, silent
from rubriclab.methods.prompting import for_each
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Example, Material, Units, split_sentences
from rubriclab.option_names import option


async def learn(
    training_input: TrainingInput,
    settings: DCRSettings,
    *,
    judge: Judge,
    on_progress: Progress = silent,
    **_unused: Any,
) -> Learned:
    """Return the part with the checklist's checks as its criterion, evaluated on the labelled texts.

    Raises:
        ChecklistError: if there is no checklist, or one that is not suitable for DCR.
        DataError: if there are labelled texts, and none can be compared with a reference; no calls are made then.
        JudgeError: if none of them could be scored.
    """
    criterion, material = learning_criterion(training_input, settings)
    examples = training_input.examples
    ratings = await for_each(
        examples,
        lambda example: rate(example, criterion, material, training_input.assignment, judge, settings=settings),
        lambda done: on_progress(f"{done} of {len(examples)} texts scored", done / len(examples)),
    )
    by_id = dict(zip((example.id for example in examples), ratings, strict=True))
    require_scores([by_id[example.id] for example in _comparable(training_input, material, settings)])
    units = Units(kind="sentence", beside=(material,))
    return learned_single("dcr", training_input, criterion, by_id, settings=settings, units=units)


def learning_criterion(training_input: TrainingInput, settings: DCRSettings) -> tuple[Criterion, Material]:
    """Return the criterion, and the field of the text to compare with.

    Raises:
        ChecklistError, DataError: as `learn` does.
    """
    checklist = training_input.checklist
    if checklist is None:
        raise ChecklistError(
            "DCR goes by the checks of a checklist, and there is none.", f"Give one: {option('checklist', 'FILE')}."
        )
    material = reference_field(checklist.units)
    if training_input.examples and not _comparable(training_input, material, settings):
        label, first = training_input.assignment.words.called(material), training_input.examples[0]
        reason = f"{first.id}: {comparison_of(first, material, training_input.assignment, settings)}"
        raise DataError(
            f"None of the {len(training_input.examples)} labelled texts can be held against its {label}; of {reason}.",
            f"Give rows with the field {material!r} ({option('mapping')} names another), or a checklist beside "
            "something else.",
        )
    return make_criterion(checklist, material, training_input.assignment), material


def _comparable(training_input: TrainingInput, material: Material, settings: DCRSettings) -> Sequence[Example]:
    assignment = training_input.assignment
    return [
        text
        for text in training_input.examples
        if not isinstance(comparison_of(text, material, assignment, settings), str)
    ]


def learning_calls(training_input: TrainingInput, settings: DCRSettings) -> LearningCalls:
    """Return the calls that compare each text with its reference, and those that convert the reasons."""
    sentences = [len(split_sentences(example.output)) for example in training_input.examples]
    by_rule = settings.sentences == "rules"
    portions = sum(math.ceil(number / settings.most_per_call) if by_rule else 1 for number in sentences)
    return LearningCalls(portions * (1 + (settings.verdict == "converted")))
