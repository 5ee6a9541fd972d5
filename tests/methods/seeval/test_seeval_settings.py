"""SEEval's settings: the paper's values, their bounds, and what scoring needs of them."""

from __future__ import annotations

from rubriclab.methods.holistic import HolisticSettings
from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seeval import SEEVAL, SEEvalSettings


def test_the_paper_s_preset_is_one_explanation_that_is_not_rewritten_and_one_bare_score():
    paper = chosen_settings(SEEVAL.settings, SEEVAL.presets, {"preset": "paper"})
    assert paper == SEEvalSettings(
        explanations=1, elicitation="open", refine=False, scoring="once", form="score only", samples=20
    )


def test_scoring_reads_its_settings_among_those_of_learning():
    settings = SEEvalSettings(scoring="weighted", samples=5)
    assert HolisticSettings.model_validate(settings.model_dump(mode="json")) == HolisticSettings(
        scoring="weighted", samples=5
    )
