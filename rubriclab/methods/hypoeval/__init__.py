"""HypoEval: hypotheses about what raters reward, learned from a few labels and literature; each rates a text."""

from rubriclab.methods.hypoeval.learn import extend, learn, learning_calls
from rubriclab.methods.hypoeval.score import PRESETS, HypoEvalSettings, score
from rubriclab.methods.method import Method

HYPOEVAL = Method(
    name="hypoeval",
    note="criteria with a description of every score, from labels and findings",
    settings=HypoEvalSettings,
    presets=PRESETS,
    prompts=("hypoeval/propose", "hypoeval/refine", "deduplication/group", "hypoeval/rate", "hypoeval/rate_together"),
    learn=learn,
    score=score,
    learning_calls=learning_calls,
    criterion_kind="hypothesis",
    shares_call=lambda settings: HypoEvalSettings.model_validate(settings).ask != "concatenated",
    shows_reasons=lambda settings: "labels" in settings.sources,
    # The published procedures are rounds of ratings and proposals.
    rated_later=lambda settings: settings.procedure == "improved",
    extend=extend,
    # In the recorded judgments of a strong model, one call about all hypotheses agreed with people as well as one call
    # about each, at a fraction of the price. No hypothesis is dropped before all texts are rated, since a candidate
    # needs all its ratings.
    joint_settings={
        "ask": "together",
        "drop_hopeless": False,
        "bank_size": 10,
        "new_hypotheses": 4,
        "refine_rounds": 2,
    },
)

__all__ = ["HYPOEVAL", "HypoEvalSettings"]
