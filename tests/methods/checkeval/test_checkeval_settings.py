"""Settings: the paper's defaults, bounds, and the published way by name."""

from typing import Any

import pytest
from pydantic import ValidationError

from rubriclab.methods.checkeval.settings import PRESETS, CheckEvalScoringSettings, CheckEvalSettings
from rubriclab.methods.method import chosen_settings

PAPER = {
    "elaborated_fewest": 3,
    "elaborated_most": 10,
    "most_questions": 35,
    "ask": "by sub-dimension",
    "weights": "equal",
    "part_words": 0,
}


@pytest.mark.parametrize(("name", "value"), PAPER.items())
def test_the_default_is_the_paper_s(name: str, value: Any):
    assert getattr(CheckEvalSettings(), name) == value


def test_the_paper_s_preset_filters_by_the_model_alone_and_keeps_no_question_about_a_fault():
    settings = chosen_settings(CheckEvalSettings, PRESETS, {"preset": "paper"})
    assert settings == CheckEvalSettings(**PRESETS["paper"])
    assert (settings.filter, settings.polarity) == ("model", "yes")
    assert (settings.ends, settings.most_questions) == (0, 35)


def test_a_setting_given_beside_the_preset_wins():
    settings = chosen_settings(CheckEvalSettings, PRESETS, {"preset": "paper", "most_questions": "20"})
    assert (settings.most_questions, settings.filter) == (20, "model")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("diversified", -1),
        ("elaborated_fewest", 0),
        ("elaborated_most", 31),
        ("filter", "nobody"),
        ("polarity", "no"),
        ("most_questions", 0),
        ("fewest_answers", 2),
        ("against", 0.6),
        ("repeated", 0),
        ("selected", -1),
        ("weights", "learned"),
        ("penalty", 0),
        ("ask", "separately"),
        ("part_words", -1),
        ("part_words", 1),
        ("part_words", 49),
        ("diversified", True),
        ("combine", "most"),
        ("temperature", 1),
    ],
)
def test_what_is_out_of_bounds_or_unknown_is_refused(name: str, value: Any):
    with pytest.raises(ValidationError, match=name):
        chosen_settings(CheckEvalSettings, PRESETS, {name: value})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"elaborated_fewest": 6, "elaborated_most": 5}, "elaborated_fewest is 6, above elaborated_most, 5"),
    ],
)
def test_bounds_in_the_wrong_order_are_refused(given: dict[str, Any], told: str):
    with pytest.raises(ValidationError, match=told):
        CheckEvalSettings(**given)


@pytest.mark.parametrize("words", [0, 50, 400])
def test_parts_are_worth_a_call_or_none_are_made(words: int):
    assert CheckEvalSettings(part_words=words).part_words == words


def test_no_finer_questions_at_all_may_be_asked_for():
    assert CheckEvalSettings(elaborated_most=0).elaborated_most == 0


@pytest.mark.parametrize(
    ("chosen", "model", "labels"),
    [("model and labels", True, True), ("model", True, False), ("labels", False, True), ("off", False, False)],
)
def test_the_filter_says_who_takes_questions_out(chosen: Any, model: bool, labels: bool):
    settings = CheckEvalSettings(filter=chosen)
    assert (settings.asks_model, settings.asks_labels) == (model, labels)


def test_only_what_makes_no_sense_without_labels_needs_them():
    assert CheckEvalSettings().needs_labels is None
    assert chosen_settings(CheckEvalSettings, PRESETS, {"preset": "paper"}).needs_labels is None  # type: ignore[attr-defined]
    assert CheckEvalSettings(filter="labels").needs_labels == "filter = 'labels'"
    assert CheckEvalSettings(weights="regression").needs_labels == "weights = 'regression'"
    assert CheckEvalSettings(selected=5).needs_labels == "selected = 5"


def test_settings_cannot_change_after_they_were_hashed():
    with pytest.raises(ValidationError, match="frozen"):
        CheckEvalSettings().diversified = 4  # type: ignore[misc]


def test_scoring_reads_its_settings_from_those_of_any_version():
    stored = {**CheckEvalSettings(ask="together", combine="any").model_dump(mode="json"), "since_removed": 1}
    assert CheckEvalScoringSettings.model_validate(stored) == CheckEvalScoringSettings(ask="together", combine="any")
