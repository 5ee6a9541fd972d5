"""The most that SEEval would ask, told before anything is asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rubriclab.methods.baselines.geval import LONGEST as LONGEST_STEPS
from rubriclab.methods.baselines.geval import steps_prompt
from rubriclab.methods.estimate import Estimate, estimate_prompt, longest
from rubriclab.methods.method import Lesson
from rubriclab.methods.overall import texts_at_most
from rubriclab.methods.seeval.explain import LONGEST, LONGEST_REFINED, Mistake, explain_prompt, refine_prompt
from rubriclab.methods.seeval.score import FORM
from rubriclab.methods.seeval.settings import SEEvalSettings
from rubriclab.rubric import Criterion, Evidence

# As much as a token says, by the estimate from characters: erring upwards.
_TOKEN = "word "


def learning_at_most(lesson: Lesson, settings: SEEvalSettings) -> tuple[Estimate, Estimate]:
    """Return the most that learning asks of the judge, and of the generator."""
    elicited = settings.explanations if lesson.examples else 1
    steps = _TOKEN * LONGEST_STEPS if settings.elicitation == "open" else ""
    generator = estimate_prompt(steps_prompt(lesson.assignment, settings)) if steps else Estimate()
    judge = estimate_prompt(explain_prompt(0, lesson.assignment, settings, steps)) * elicited
    judge += texts_at_most(lesson, _explanation(LONGEST, steps), FORM, settings)
    tried = min(settings.tried, len(lesson.examples)) or len(lesson.examples)
    longer = replace(lesson, examples=longest(lesson.examples, _most_tried(lesson, tried)))
    judge += texts_at_most(longer, _explanation(LONGEST, steps), FORM, settings) * (elicited - 1)
    if not (settings.refine and lesson.examples):
        return judge, generator
    # Each half is scored by the rewriting that has not seen it, and all texts by the last one.
    judge += texts_at_most(lesson, _explanation(LONGEST_REFINED, steps), FORM, settings) * 2
    return judge, generator + _rewriting(lesson, settings) * 3


def _most_tried(lesson: Lesson, tried: int) -> int:
    """Return the most texts of a trial, which ends with a whole group."""
    sizes = Counter(example.group for example in lesson.examples)
    return min(len(lesson.examples), tried - 1 + max(sizes.values(), default=1))


def _explanation(tokens: int, steps: str) -> Criterion:
    """Return an explanation as long as it may be."""
    evidence = Evidence(origin="prior knowledge")
    return Criterion(id="e", kind="score", trait="t", statement=_TOKEN * tokens, evidence=evidence, steps=steps)


def _rewriting(lesson: Lesson, settings: SEEvalSettings) -> Estimate:
    """Return one rewriting that is shown the longest texts."""
    mistakes = [Mistake(example, 1.0, 1.0) for example in longest(lesson.examples, settings.shown)]
    return estimate_prompt(refine_prompt(_TOKEN * LONGEST, mistakes, lesson.assignment))
