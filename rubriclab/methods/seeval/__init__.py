"""SEEval: the judge explains the task to itself, once for an aspect, and scores with that explanation in mind."""

from rubriclab.methods.method import Method
from rubriclab.methods.seeval.estimate import learning_at_most
from rubriclab.methods.seeval.learn import learn
from rubriclab.methods.seeval.score import score, scoring_at_most
from rubriclab.methods.seeval.settings import PRESETS, SEEvalSettings

SEEVAL = Method(
    name="seeval",
    settings=SEEvalSettings,
    presets=PRESETS,
    prompts=("seeval/explain", "seeval/refine", "seeval/rate", "geval/steps"),
    learn=learn,
    score=score,
    learning_at_most=learning_at_most,
    scoring_at_most=scoring_at_most,
    needs_labels=False,
)

__all__ = ["SEEVAL", "SEEvalSettings"]
