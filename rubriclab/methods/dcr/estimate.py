"""Upper bounds on DCR's calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.dcr.checks import listed_checks, reference_field
from rubriclab.methods.dcr.evaluate import comparisons, convert_prompt, evaluate_prompts
from rubriclab.methods.dcr.learn import learning_criterion
from rubriclab.methods.dcr.settings import DCRScoringSettings, DCRSettings
from rubriclab.methods.estimate import TOKEN, CallEstimate, estimate_prompt
from rubriclab.methods.method import TrainingInput
from rubriclab.prompts import Prompt
from rubriclab.rubric import Part
from rubriclab.segmentation import Material


def learning_at_most(training_input: TrainingInput, settings: DCRSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return upper bounds for the judge and for the generator, which has no calls.

    Raises:
        ChecklistError, DataError: as learning does.
    """
    criterion, material = learning_criterion(training_input, settings)
    total, shown = CallEstimate(), listed_checks(criterion)
    for example in training_input.examples:
        total += _at_most(example, shown, material, training_input.assignment, settings)
    return total, CallEstimate()


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return an upper bound for scoring one text."""
    settings = DCRScoringSettings.model_validate(part.settings)
    return _at_most(example, listed_checks(part.criteria[0]), reference_field(part.units), assignment, settings)


def _at_most(
    example: Example, shown: Sequence[str], material: Material, assignment: Assignment, settings: DCRScoringSettings
) -> CallEstimate:
    compared, total = comparisons(example, material, assignment, settings), CallEstimate()
    for comparison in () if isinstance(compared, str) else compared:
        for prompt in evaluate_prompts(comparison, shown, assignment, settings):
            total += estimate_prompt(prompt)
            total += CallEstimate() if prompt.fields["verdict"] else _conversion(prompt)
    return total


def _conversion(prompt: Prompt[Any]) -> CallEstimate:
    """Return an upper bound for converting the reasons in the reply to `prompt`."""
    numbers = [sentence["id"] for sentence in prompt.fields["sentences"]]
    longest = TOKEN * (prompt.max_tokens // len(numbers) + 1)
    return estimate_prompt(convert_prompt(dict.fromkeys(numbers, longest)))
