"""CheckEval: an aspect as a checklist of yes/no questions; a text's score is the share of good answers."""

from rubriclab.methods.checkeval.learn import learn, learning_calls
from rubriclab.methods.checkeval.score import PRESETS, CheckEvalSettings, score
from rubriclab.methods.method import Method

CHECKEVAL = Method(
    name="checkeval",
    note="a checklist of yes/no questions",
    settings=CheckEvalSettings,
    presets=PRESETS,
    prompts=(
        "checkeval/seeds",
        "checkeval/diversify",
        "checkeval/diversify_dimension",
        "checkeval/elaborate",
        "checkeval/filter",
        "checkeval/filter_dimension",
        "deduplication/group",
        "checkeval/answer",
    ),
    learn=learn,
    score=score,
    learning_calls=learning_calls,
    criterion_kind="question",
    # Each entry of a shared call has a reason.
    shares_call=lambda settings: CheckEvalSettings.model_validate(settings).answers == "with reasons",
    shows_reasons=lambda settings: settings.diversified > 0 and settings.procedure == "improved",
    # The paper finds no noticeable difference between asking questions in groups and one by one. Beside the hypotheses
    # there is room for fewer questions.
    joint_settings={"ask": "together", "most": 14},
    rated_later=lambda _settings: True,
    needs_labels=False,
    checklists="checklists",
    needs_checklist=lambda settings: settings.seeds == "checklist",
)

__all__ = ["CHECKEVAL", "CheckEvalSettings"]
