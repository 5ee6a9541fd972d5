"""DCR as its paper has it, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from rubriclab.methods.dcr import DCR
from rubriclab.methods.dcr.score import consistency
from rubriclab.methods.method import chosen_settings


def test_the_example_of_appendix_e_4_comes_out():
    """Marks -1, +1, -1 with alpha = 1 and beta = -1: Z = (-1 + 1) / (3 - 1) = 0, so the score is (0 + 1) / 2 = 0.5."""
    assert consistency([-1, 1, -1], alpha=1, beta=-1) == 0.5


def test_with_both_at_zero_the_score_is_the_share_of_consistent_sentences():
    """Two of three are consistent: Z = (1 + 1 - 1) / 3 = 1/3, so the score is (1/3 + 1) / 2 = 2/3."""
    assert consistency([1, 1, -1]) == pytest.approx(2 / 3)


def test_the_preset_is_the_paper_s():
    paper = chosen_settings(DCR.settings, DCR.presets, {"preset": "paper"}).model_dump()
    assert paper == {
        "level": "sentence",
        "verdict": "converted",
        "alpha": 0,
        "beta": 0,
        "ask": "together",
        "most_per_call": 200,
        "direction": "candidate",
    }
