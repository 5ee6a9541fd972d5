"""Single raters beside the others."""

import numpy as np
import pytest

from rubriclab.stats.raters import rater_statistics


def test_severity_noise_and_agreement_by_hand():
    table = np.array([[1.0, 2, 3, np.nan], [3, 3, 5, 4], [2, 4, 5, np.nan]])
    first, second, _ = rater_statistics(table)
    below = np.array([2.5 - 1, 3.5 - 2, 5 - 3])
    assert (first.n, second.n) == (3, 3)
    assert first.severity.value == pytest.approx(below.mean())
    assert first.noise == pytest.approx(below.std(ddof=1))
    assert first.agreement == pytest.approx(np.corrcoef([1, 2, 3], [2.5, 3.5, 5])[0, 1])
    assert first.severity.low <= first.severity.value <= first.severity.high


def test_the_interval_of_severity_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(200):
        table = rng.normal(size=40) + rng.normal(size=(3, 40)) - np.array([[0.5], [0], [0]])
        found = rater_statistics(table, resamples=300, confidence=0.9, seed=seed)[0].severity
        held += found.low <= 0.5 <= found.high
    assert 0.83 <= held / 200 <= 0.96


def test_what_is_not_there_is_none():
    alone, other, constant = rater_statistics([[1.0, np.nan, np.nan], [np.nan, 2, np.nan], [np.nan, 2, np.nan]])
    assert (alone.n, alone.severity.value, alone.noise, alone.agreement) == (0, None, None, None)
    assert (other.n, other.severity.value, other.noise) == (1, 0.0, None)
    assert constant.agreement is None


def test_infinity_is_refused():
    with pytest.raises(ValueError, match="finite"):
        rater_statistics([[1.0, np.inf]])
