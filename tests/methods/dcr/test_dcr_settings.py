"""DCR's settings: the paper's values, and their bounds."""

import pytest
from pydantic import ValidationError

from rubriclab.methods.dcr import DCR, DCRSettings
from rubriclab.methods.method import chosen_settings


def test_the_published_settings_are_the_paper_s_and_the_defaults_differ_in_the_second_call_alone():
    published = chosen_settings(DCR.settings, DCR.presets, {"preset": "paper"})
    assert (published.level, published.verdict, published.direction) == ("sentence", "converted", "candidate")  # type: ignore[attr-defined]
    assert (published.alpha, published.beta, published.ask) == (0, 0, "together")  # type: ignore[attr-defined]
    assert published == DCRSettings(verdict="converted", most_per_call=200)


@pytest.mark.parametrize(("ask", "portion"), [("together", 7), ("one by one", 1)])
def test_a_portion_is_one_sentence_where_each_is_asked_about_by_itself(ask, portion):
    assert DCRSettings(ask=ask, most_per_call=7).portion == portion


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": "word"},
        {"verdict": "guessed"},
        {"alpha": 101},
        {"alpha": True},
        {"beta": float("nan")},
        {"beta": -101},
        {"ask": "twice"},
        {"most_per_call": 0},
        {"most_per_call": 201},
        {"direction": "reference"},
        {"rounds": 3},
    ],
    ids=str,
)
def test_a_value_out_of_bounds_is_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        DCRSettings(**wrong)
