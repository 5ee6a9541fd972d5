"""CheckEval: an aspect taken apart into yes/no questions; a text's score is the share of answers that speak for it."""

from rubriclab.methods.checkeval.estimate import learning_at_most, scoring_at_most
from rubriclab.methods.checkeval.learn import learn
from rubriclab.methods.checkeval.score import score
from rubriclab.methods.checkeval.settings import PRESETS, CheckEvalSettings
from rubriclab.methods.method import Method

CHECKEVAL = Method(
    name="checkeval",
    settings=CheckEvalSettings,
    presets=PRESETS,
    prompts=(
        "checkeval/seeds",
        "checkeval/diversify",
        "checkeval/elaborate",
        "checkeval/filter",
        "deduplication/group",
        "checkeval/answer",
    ),
    learn=learn,
    score=score,
    learning_at_most=learning_at_most,
    scoring_at_most=scoring_at_most,
    needs_labels=False,
    checklists="checklists",
    needs_checklist=lambda settings: settings.seeds == "checklist",
)

__all__ = ["CHECKEVAL", "CheckEvalSettings"]
