"""Settings: the paper's defaults, bounds, and the published way by name."""

from typing import Any

import pytest
from pydantic import ValidationError

from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seal.settings import PRESETS, SealScoringSettings, SealSettings, judge_weighs, units_of
from rubriclab.segmentation import Units


def test_the_defaults_are_the_paper_s_where_it_has_any():
    settings = SealSettings()
    assert (settings.ask, settings.whole_below_sentences, settings.whole_below_facts) == ("together", 3, 6)
    assert (settings.decompose, settings.verify, settings.weights) == (True, True, "as packed")


def test_the_paper_s_preset_proposes_nothing_and_leaves_the_labels_alone():
    settings = chosen_settings(SealSettings, PRESETS, {"preset": "paper"})
    assert settings == SealSettings(proposed=0, filter="off", most_per_call=200, sentences="judge")
    assert settings.needs_labels is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ask", "separately"),
        ("most_per_call", 0),
        ("most_per_call", 201),
        ("whole_below_sentences", 1),
        ("whole_below_facts", 0),
        ("whole", "skipped"),
        ("decompose", "perhaps"),
        ("weights", "regression"),
        ("most_facts", 0),
        ("most_facts", True),
        ("units", "word"),
        ("proposed", -1),
        ("shown", 31),
        ("filter", "model"),
        ("tracking", 1.1),
        ("fewest_answers", 2),
        ("selected", -1),
        ("temperature", 1),
    ],
)
def test_what_is_out_of_bounds_or_unknown_is_refused(name: str, value: Any):
    with pytest.raises(ValidationError, match=name):
        chosen_settings(SealSettings, PRESETS, {name: value})


def test_only_what_makes_no_sense_without_labels_needs_them():
    assert SealSettings().needs_labels is None
    assert SealSettings(weights="labels").needs_labels == "weights = 'labels'"
    assert SealSettings(selected=2).needs_labels == "selected = 2"


@pytest.mark.parametrize(
    ("weights", "packed", "judge"),
    [
        ("as packed", "judge", True),
        ("as packed", "equal", False),
        ("judge", "equal", True),
        ("equal", "judge", False),
        ("labels", "judge", False),
    ],
)
def test_the_judge_weighs_where_the_setting_says_so_or_else_the_pack(weights: Any, packed: Any, judge: bool):
    assert judge_weighs(Units(kind="response", weights=packed), SealSettings(weights=weights)) is judge


def test_units_are_the_pack_s_unless_the_setting_names_others():
    packed = Units(kind="fact", beside=("source",), weights="judge")
    assert units_of(packed, "as packed") == packed
    assert units_of(packed, "sentence") == Units(kind="sentence", beside=("source",), weights="judge")
    assert units_of(None, "as packed") == Units(kind="response", beside=("source", "context"))
    assert units_of(None, "fact").beside == ("source", "context")


def test_scoring_reads_its_settings_from_those_of_any_version():
    stored = {**SealSettings(ask="one by one", verify=False).model_dump(mode="json"), "since_removed": 1}
    assert SealScoringSettings.model_validate(stored) == SealScoringSettings(ask="one by one", verify=False)
