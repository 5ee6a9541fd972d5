"""SEEval's settings: the paper's values, their bounds, and what scoring needs of them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rubriclab.methods.holistic import HolisticSettings
from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seeval import SEEVAL, SEEvalSettings


def test_scores_are_given_once_by_default_as_the_paper_finds_enough():
    assert SEEvalSettings().scoring == "once"


def test_weighted_scores_are_of_20_samples_at_temperature_1_as_in_the_paper():
    settings = SEEvalSettings(scoring="weighted")
    assert (settings.samples, settings.temperature) == (20, 1)


def test_the_published_behaviour_is_one_explanation_that_is_not_rewritten():
    published = chosen_settings(SEEVAL.settings, SEEVAL.presets, {"preset": "paper"})
    assert isinstance(published, SEEvalSettings)
    assert (published.explanations, published.refine, published.scoring) == (1, False, "once")
    more = chosen_settings(SEEVAL.settings, SEEVAL.presets, {"preset": "paper", "scoring": "weighted"})
    assert more.model_dump() == {**published.model_dump(), "scoring": "weighted"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"explanations": 0},
        {"explanations": 21},
        {"elicit_temperature": 0},
        {"shown": 1},
        {"samples": 0},
        {"temperature": 0},
        {"temperature": 2.1},
        {"scoring": "twice"},
        {"refine": "perhaps"},
        {"rounds": 3},
    ],
    ids=str,
)
def test_a_value_out_of_bounds_is_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SEEvalSettings(**wrong)


def test_scoring_reads_its_settings_among_those_of_learning():
    settings = SEEvalSettings(scoring="weighted", samples=5, shown=9)
    assert HolisticSettings.model_validate(settings.model_dump(mode="json")) == HolisticSettings(
        scoring="weighted", samples=5
    )
