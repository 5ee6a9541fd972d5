"""The seed questions of CheckEval: those of a checklist, or seeds that the generator writes.

CheckEval's authors write sub-dimensions and seeds by hand (section 3.1). In HypoEval's comparison the model writes the
whole checklist from prior knowledge (HypoEval, section 3).
"""

from __future__ import annotations

from itertools import count

from rubriclab.checklist import Checklist, SeedQuestion, SubDimension
from rubriclab.data.aspect import Assignment
from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.replies import WrittenSeeds
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.method import TrainingInput
from rubriclab.option_names import option
from rubriclab.prompts import Prompt

# Sub-dimensions requested, as many as in the paper's checklists, and questions in each.
FEWEST, MOST = 3, 5
QUESTIONS_EACH = 2

# In tokens.
LONGEST = 1500


async def starting_checklist(training_input: TrainingInput, settings: CheckEvalSettings, generator: Judge) -> Checklist:
    """Return the sub-dimensions and seed questions to start from.

    Raises:
        ChecklistError: if they come from a checklist, and there is none.
        JudgeError: if the generator wrote no usable ones.
    """
    if settings.seeds == "checklist":
        return _shortened(training_input, settings)
    answer = await ask(generator, seeds_prompt(training_input.assignment))
    if answer.value is None:
        raise JudgeError(f"No seed questions could be written: {answer.missing}", f"Try another {option('generator')}.")
    return _as_checklist(answer.value, training_input.assignment)


def seeds_prompt(assignment: Assignment) -> Prompt[WrittenSeeds]:
    """Return the prompt for sub-dimensions and seed questions from the aspect's definition alone."""
    fields = {**assignment.fields(), "fewest": FEWEST, "most": MOST, "each": QUESTIONS_EACH}
    return Prompt("checkeval/seeds", fields, WrittenSeeds, max_tokens=LONGEST)


def planned_size(training_input: TrainingInput, settings: CheckEvalSettings) -> tuple[int, int]:
    """Return the number of sub-dimensions and of seed questions; as many as requested if the generator writes them.

    Raises:
        ChecklistError: if the questions come from a checklist, and there is none.
    """
    if settings.seeds == "prior knowledge":
        return MOST, MOST * QUESTIONS_EACH
    subs = _shortened(training_input, settings).sub_dimensions
    return len(subs), sum(len(sub.questions) for sub in subs)


def _shortened(training_input: TrainingInput, settings: CheckEvalSettings) -> Checklist:
    """Return the checklist with at most as many seeds of each sub-dimension as the settings allow."""
    if training_input.checklist is None:
        raise ChecklistError("CheckEval starts from seed questions, and there are none.")
    most = settings.seeds_per_sub_dimension
    if not most:
        return training_input.checklist
    subs = tuple(
        sub.model_copy(update={"questions": _first(sub.questions, most, settings)})
        for sub in training_input.checklist.sub_dimensions
    )
    return training_input.checklist.model_copy(update={"sub_dimensions": subs})


def _first(seeds: tuple[SeedQuestion, ...], most: int, settings: CheckEvalSettings) -> tuple[SeedQuestion, ...]:
    # Sorting is stable, so both kinds keep the checklist's order.
    ordered = sorted(seeds, key=lambda seed: settings.polarity == "yes" and seed.better == "no")
    kept = ordered[:most]
    return tuple(seed for seed in seeds if seed in kept)


def _as_checklist(written: WrittenSeeds, assignment: Assignment) -> Checklist:
    numbers = count(1)
    subs = tuple(
        SubDimension(
            name=sub.name,
            definition=sub.definition,
            questions=tuple(SeedQuestion(id=f"s{next(numbers):02d}", text=text) for text in sub.questions),
        )
        for sub in written.sub_dimensions
    )
    aspect = assignment.aspect
    return Checklist(
        format="rubriclab-checklist/1",
        task=assignment.words.task,
        aspect=aspect.name,
        definition=aspect.definition,
        sub_dimensions=subs,
    )
