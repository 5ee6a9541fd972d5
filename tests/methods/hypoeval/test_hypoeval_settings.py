"""Settings: the paper's defaults, bounds, and the published code's behaviour by name."""

import pytest

from rubriclab.methods.hypoeval.score import PRESETS, HypoEvalSettings
from rubriclab.methods.method import chosen_settings


def test_the_numbers_are_the_paper_s_by_default_too():
    paper = chosen_settings(HypoEvalSettings, PRESETS, {"preset": "paper"}).model_dump()
    ours = HypoEvalSettings().model_dump()
    assert {name for name in ours if ours[name] != paper[name]} == {"procedure", "drop_hopeless"}


def test_a_setting_given_beside_the_preset_wins_also_as_text():
    settings = chosen_settings(HypoEvalSettings, PRESETS, {"preset": "published", "wrong_bank": "7", "k": 3})
    assert settings == HypoEvalSettings(**{**PRESETS["published"], "wrong_bank": 7, "k": 3})


def test_an_unknown_preset_is_named():
    with pytest.raises(ValueError, match="unknown preset 'code'; expected 'paper' or 'published'"):
        chosen_settings(HypoEvalSettings, PRESETS, {"preset": "code"})
