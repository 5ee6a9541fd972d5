"""SEEval: the judge explains the task once for an aspect, and scores texts with its explanation in the prompt."""

from rubriclab.methods.holistic import reasoned_once, scorer
from rubriclab.methods.method import Method
from rubriclab.methods.seeval.explain import FORM
from rubriclab.methods.seeval.learn import learn, learning_calls
from rubriclab.methods.seeval.settings import PRESETS, SEEvalSettings

SEEVAL = Method(
    name="seeval",
    settings=SEEvalSettings,
    presets=PRESETS,
    prompts=("seeval/explain", "seeval/refine", "seeval/rate", "geval/steps"),
    learn=learn,
    score=scorer(FORM),
    learning_calls=learning_calls,
    single_criterion=True,
    states="explanation",
    shares_call=lambda settings: reasoned_once(settings) and settings.get("elicitation") != "open",
    shows_reasons=lambda settings: settings.refine,
    # A rewritten explanation has seen the errors on all labels, so no label is left to evaluate it. Explanations of one
    # model give similar scores; selection by labels would be optimistic.
    joint_settings={"refine": False, "explanations": 1},
    rated_later=lambda settings: not settings.refine and settings.explanations == 1,
    needs_labels=False,
)

__all__ = ["SEEVAL", "SEEvalSettings"]
