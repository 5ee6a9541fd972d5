"""The area under the ROC curve, against areas counted pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from experiments.runner.roc import auroc


def counted(scores: list[float], positive: list[bool]) -> float:
    """Return the share of pairs of a positive and a negative text in which the positive one scores higher."""
    above = [
        float(a > b) + float(a == b) / 2
        for a, is_a in zip(scores, positive, strict=True)
        for b, is_b in zip(scores, positive, strict=True)
        if is_a and not is_b
    ]
    return sum(above) / len(above)


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    """Positive 0.9 and 0.4, negative 0.4 and 0.1: 0.9 > 0.4, 0.9 > 0.1, 0.4 = 0.4, 0.4 > 0.1; (3 + 1/2) / 4 = 0.875."""
    assert auroc([0.9, 0.4, 0.4, 0.1], [True, True, False, False], resamples=0).value == 0.875


def test_two_values_give_the_mean_of_both_rates() -> None:
    """3 of 4 positive pairs pass and 1 of 2 negative ones is stopped: (3/4 + 1/2) / 2 = 0.625."""
    scores, positive = [1, 1, 1, 0, 1, 0], [True, True, True, True, False, False]
    assert auroc(scores, positive, resamples=0).value == pytest.approx(0.625)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=20))
def test_it_is_what_counting_gives(pairs: list[tuple[int, bool]]) -> None:
    scores, positive = [float(score) for score, _ in pairs], [kind for _, kind in pairs]
    found = auroc(scores, positive, resamples=0).value
    if len(set(positive)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(counted(scores, positive))


def test_texts_without_a_score_are_left_out() -> None:
    assert auroc([0.9, np.nan, 0.1], [True, False, False], resamples=0).value == 1.0


def test_the_interval_holds_the_value_and_is_the_same_again() -> None:
    draw = np.random.default_rng(1)
    positive = draw.random(80) < 0.5
    scores = positive + draw.normal(0, 1, 80)
    found = auroc(scores, positive, resamples=100)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert auroc(scores, positive, resamples=100) == found


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 2 truth values"):
        auroc([1.0, 0.0], [True])
