"""Settings: the paper's defaults, bounds, and the published code's behaviour by name."""

from typing import Any

import pytest
from pydantic import ValidationError

from rubriclab.methods.hypoeval.settings import PRESETS, HypoEvalSettings
from rubriclab.methods.method import chosen_settings

PAPER = {
    "initial_examples": 5,
    "initial_hypotheses": 5,
    "k": 10,
    "alpha": 0.5,
    "theta": 0.5,
    "wrong_bank": 10,
    "refine_rounds": 6,
    "bank_size": 20,
    "selected": 5,
}


@pytest.mark.parametrize(("name", "value"), PAPER.items())
def test_the_default_is_the_paper_s(name: str, value: float):
    assert getattr(HypoEvalSettings(), name) == value


def test_nothing_given_means_the_defaults():
    assert chosen_settings(HypoEvalSettings, PRESETS, {}) == HypoEvalSettings()


def test_the_published_preset_sets_what_the_published_code_does():
    settings = chosen_settings(HypoEvalSettings, PRESETS, {"preset": "published"})
    assert settings == HypoEvalSettings(**PRESETS["published"])
    assert (settings.bonus, settings.redundancy, settings.union) == ("when_visited", "every_pair", "accuracy")
    assert (settings.wrong_bank, settings.drop_hopeless, settings.positive_only) == (5, False, False)
    assert settings.refine_first == "literature"


def test_a_setting_given_beside_the_preset_wins():
    settings = chosen_settings(HypoEvalSettings, PRESETS, {"preset": "published", "wrong_bank": 7, "k": 3})
    assert (settings.wrong_bank, settings.k, settings.bonus) == (7, 3, "when_visited")  # type: ignore[attr-defined]


def test_an_unknown_preset_is_named():
    with pytest.raises(ValueError, match="unknown preset 'code'; expected 'paper' or 'published'"):
        chosen_settings(HypoEvalSettings, PRESETS, {"preset": "code"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("alpha", -0.1),
        ("theta", 0),
        ("wrong_share", 1.1),
        ("wrong_bank", 1),
        ("initial_examples", 1),
        ("selected", 0),
        ("bank_size", 0),
        ("sources", "the web"),
        ("ask", "twice"),
        ("temperature", 1),
    ],
)
def test_what_is_out_of_bounds_or_unknown_is_refused(name: str, value: Any):
    with pytest.raises(ValidationError, match=name):
        chosen_settings(HypoEvalSettings, PRESETS, {name: value})


def test_numbers_written_as_text_are_read():
    settings = chosen_settings(HypoEvalSettings, PRESETS, {"k": "7", "drop_hopeless": "false", "theta": "0.75"})
    assert (settings.k, settings.drop_hopeless, settings.theta) == (7, False, 0.75)  # type: ignore[attr-defined]


def test_settings_cannot_change_after_they_were_hashed():
    with pytest.raises(ValidationError, match="frozen"):
        HypoEvalSettings().k = 3  # type: ignore[misc]
