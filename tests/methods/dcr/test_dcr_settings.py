"""DCR's settings: the paper's values, and their bounds."""

import pytest
from pydantic import ValidationError

from rubriclab.methods.dcr import DCR, DCRSettings
from rubriclab.methods.method import chosen_settings


def test_the_paper_s_preset_has_a_second_call_that_converts_all_reasons_at_once():
    paper = chosen_settings(DCR.settings, DCR.presets, {"preset": "paper"})
    assert paper == DCRSettings(level="sentence", verdict="converted", most_per_call=200)


@pytest.mark.parametrize(
    "wrong",
    [{"level": "word"}, {"verdict": "guessed"}, {"most_per_call": 0}, {"most_per_call": True}, {"rounds": 3}],
    ids=str,
)
def test_a_value_out_of_bounds_is_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        DCRSettings(**wrong)
