"""HypoEval: hypotheses about what raters reward, learned from a few labels and literature, rated one by one."""

from rubriclab.methods.hypoeval.estimate import learning_at_most, scoring_at_most
from rubriclab.methods.hypoeval.learn import learn
from rubriclab.methods.hypoeval.score import score
from rubriclab.methods.hypoeval.settings import PRESETS, HypoEvalSettings
from rubriclab.methods.method import Method

HYPOEVAL = Method(
    name="hypoeval",
    settings=HypoEvalSettings,
    presets=PRESETS,
    prompts=(
        "hypoeval/propose",
        "hypoeval/refine",
        "deduplication/group",
        "hypoeval/rate",
        "hypoeval/rate_together",
    ),
    learn=learn,
    score=score,
    learning_at_most=learning_at_most,
    scoring_at_most=scoring_at_most,
)

__all__ = ["HYPOEVAL", "HypoEvalSettings"]
