"""Upper bounds on SEEval's calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rubriclab.methods.baselines.geval import LONGEST as LONGEST_STEPS, steps_prompt
from rubriclab.methods.estimate import TOKEN, CallEstimate, estimate_prompt, longest
from rubriclab.methods.holistic import estimate_texts
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.reasons import most_reason_tokens
from rubriclab.methods.seeval.explain import FORM, LONGEST, LONGEST_REFINED, Mistake, explain_prompt, refine_prompt
from rubriclab.methods.seeval.settings import SEEvalSettings
from rubriclab.rubric import Criterion, Evidence


def learning_at_most(training_input: TrainingInput, settings: SEEvalSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return upper bounds for the judge and the generator."""
    elicited = settings.explanations if training_input.examples else 1
    steps = TOKEN * LONGEST_STEPS if settings.elicitation == "open" else ""
    generator = estimate_prompt(steps_prompt(training_input.assignment, settings)) if steps else CallEstimate()
    judge = estimate_prompt(explain_prompt(0, training_input.assignment, settings, steps)) * elicited
    judge += estimate_texts(training_input, _explanation(LONGEST, steps), FORM, settings)
    tried = min(settings.tried, len(training_input.examples)) or len(training_input.examples)
    longer = replace(training_input, examples=longest(training_input.examples, _most_tried(training_input, tried)))
    judge += estimate_texts(longer, _explanation(LONGEST, steps), FORM, settings) * (elicited - 1)
    if not (settings.refine and training_input.examples):
        return judge, generator
    # Each half is scored by the rewriting from the other half, and all texts by the last rewriting.
    judge += estimate_texts(training_input, _explanation(LONGEST_REFINED, steps), FORM, settings) * 2
    return judge, generator + _rewriting(training_input, settings) * 3


def _most_tried(training_input: TrainingInput, tried: int) -> int:
    """Return the largest number of texts in a trial, which has whole groups."""
    sizes = Counter(example.group for example in training_input.examples)
    return min(len(training_input.examples), tried - 1 + max(sizes.values(), default=1))


def _explanation(tokens: int, steps: str) -> Criterion:
    """Return an explanation of the largest length."""
    evidence = Evidence(origin="prior knowledge")
    return Criterion(id="e", kind="score", trait="t", statement=TOKEN * tokens, evidence=evidence, steps=steps)


def _rewriting(training_input: TrainingInput, settings: SEEvalSettings) -> CallEstimate:
    """Return an upper bound for one rewriting."""
    mistakes = [Mistake(example, 1.0, 1.0) for example in longest(training_input.examples, settings.shown)]
    prompt = estimate_prompt(refine_prompt(TOKEN * LONGEST, mistakes, training_input.assignment))
    # The texts with the longest reasons may be others than the longest texts.
    reasons = most_reason_tokens(training_input.examples, training_input.assignment.aspect.name)
    return replace(prompt, prompt_tokens=prompt.prompt_tokens + settings.shown * reasons)
