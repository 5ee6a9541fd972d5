"""DCR's settings: the paper's values, and their bounds."""

from rubriclab.methods.dcr import DCR, DCRSettings
from rubriclab.methods.method import chosen_settings


def test_the_paper_s_preset_has_a_second_call_that_converts_all_reasons_at_once():
    paper = chosen_settings(DCR.settings, DCR.presets, {"preset": "paper"})
    assert paper == DCRSettings(level="sentence", sentences="judge", verdict="converted", most_per_call=200)
