"""Settings: the paper's way by name, and bounds."""

from rubriclab.methods.checkeval.score import PRESETS, CheckEvalScoringSettings, CheckEvalSettings
from rubriclab.methods.method import chosen_settings


def test_the_paper_s_preset_filters_by_the_model_alone_and_a_setting_given_beside_it_wins():
    settings = chosen_settings(CheckEvalSettings, PRESETS, {"preset": "paper", "diversified": "4"})
    assert settings == CheckEvalSettings(
        seeds_per_sub_dimension=1,
        diversified=4,
        filter="model",
        procedure="paper",
        most=100,
        answers="yes or no",
    )


def test_scoring_reads_its_settings_from_those_of_any_version():
    stored = {**CheckEvalSettings(ask="together").model_dump(mode="json"), "since_removed": 1}
    assert CheckEvalScoringSettings.model_validate(stored) == CheckEvalScoringSettings(ask="together")
