"""Settings: the paper's way by name, and bounds."""

from typing import Any

import pytest

from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seal.score import (
    PRESETS,
    SealScoringSettings,
    SealSettings,
    judge_weighs,
)
from rubriclab.models.text import Units


def test_the_paper_s_preset_proposes_nothing_and_leaves_the_labels_alone():
    settings = chosen_settings(SealSettings, PRESETS, {"preset": "paper"})
    assert settings == SealSettings(
        proposed=0, filter="off", most_per_call=200, sentences="judge", facts="one call", answers="bare"
    )
    assert (SealSettings().whole_below_sentences, SealSettings().whole_below_facts) == (3, 6)


@pytest.mark.parametrize(
    ("weights", "packed", "judge"),
    [
        ("as packed", "judge", True),
        ("as packed", "equal", False),
        ("judge", "equal", True),
        ("equal", "judge", False),
    ],
)
def test_the_judge_weighs_where_the_setting_says_so_or_else_the_pack(weights: Any, packed: Any, judge: bool):
    assert judge_weighs(Units(kind="response", weights=packed), SealSettings(weights=weights)) is judge


def test_scoring_reads_its_settings_from_those_of_any_version():
    stored = {**SealSettings(verify=False).model_dump(mode="json"), "since_removed": 1}
    assert SealScoringSettings.model_validate(stored) == SealScoringSettings(verify=False)
