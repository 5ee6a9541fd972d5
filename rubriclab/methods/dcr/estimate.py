"""The most that DCR would ask, told before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.dcr.checks import checks, compared
from rubriclab.methods.dcr.evaluate import comparisons, convert_prompt, evaluate_prompts
from rubriclab.methods.dcr.learn import planned
from rubriclab.methods.dcr.settings import DCRScoringSettings, DCRSettings
from rubriclab.methods.estimate import CallEstimate, estimate_prompt
from rubriclab.methods.method import TrainingInput
from rubriclab.prompts import Prompt
from rubriclab.rubric import Part
from rubriclab.segmentation import Material

# As much as a token says, by the estimate from characters: erring upwards.
_TOKEN = "word "


def learning_at_most(training_input: TrainingInput, settings: DCRSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that learning asks of the judge, and of the generator: nothing.

    Raises:
        ChecklistError, DataError: as learning does.
    """
    criterion, material = planned(training_input, settings)
    total, shown = CallEstimate(), checks(criterion)
    for example in training_input.examples:
        total += _at_most(example, shown, material, training_input.assignment, settings)
    return total, CallEstimate()


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return the most that scoring one text asks of the judge."""
    settings = DCRScoringSettings.model_validate(part.settings)
    return _at_most(example, checks(part.criteria[0]), compared(part.units), assignment, settings)


def _at_most(
    example: Example, shown: Sequence[str], material: Material, assignment: Assignment, settings: DCRScoringSettings
) -> CallEstimate:
    given, total = comparisons(example, material, assignment, settings), CallEstimate()
    for comparison in () if isinstance(given, str) else given:
        for prompt in evaluate_prompts(comparison, shown, assignment, settings):
            total += estimate_prompt(prompt)
            total += CallEstimate() if prompt.fields["verdict"] else _conversion(prompt)
    return total


def _conversion(prompt: Prompt[Any]) -> CallEstimate:
    """Return the call that reads the reasons given to `prompt`, if they are as long as these may be."""
    numbers = [sentence["id"] for sentence in prompt.fields["sentences"]]
    longest = _TOKEN * (prompt.max_tokens // len(numbers) + 1)
    return estimate_prompt(convert_prompt(dict.fromkeys(numbers, longest)))
