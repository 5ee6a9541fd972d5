"""Figures of scores: errors as a share of the labels' variance, beside correlations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rubriclab.transfer.results import agreement_metrics

RNG = np.random.default_rng(0)
LABELS = RNG.uniform(1, 5, 80)
GROUPS = [f"g{n % 20}" for n in range(80)]
SCORES = LABELS + RNG.normal(0, 0.6, 80)


def test_saying_the_mean_of_every_text_has_the_error_one_and_perfection_none() -> None:
    level = agreement_metrics(np.full(80, LABELS.mean()), SCORES, LABELS, GROUPS, level="dataset")
    perfect = agreement_metrics(LABELS, LABELS, LABELS, GROUPS, level="dataset")
    assert level.error.value == pytest.approx(1, abs=1e-6)
    assert (perfect.error.value, perfect.rmse) == (0, 0)


def test_it_is_one_less_r_squared_of_a_fitted_line() -> None:
    line = stats.linregress(SCORES, LABELS)
    found = agreement_metrics(line.intercept + line.slope * SCORES, SCORES, LABELS, GROUPS, level="dataset")
    assert found.error.value == pytest.approx(1 - line.rvalue**2, abs=1e-6)
    assert found.pearson.value == pytest.approx(line.rvalue, abs=1e-6)
    assert found.spearman.value == pytest.approx(stats.spearmanr(SCORES, LABELS).statistic, abs=1e-6)
    assert found.error.low < found.error.value < found.error.high


def test_points_are_in_the_users_scale() -> None:
    found = agreement_metrics(SCORES, SCORES, LABELS, GROUPS, level="dataset", point=0.25)
    assert found.rmse == pytest.approx(0.25 * np.sqrt(np.square(SCORES - LABELS).mean()), abs=1e-6)


def test_missing_scores_are_counted_and_left_out() -> None:
    some = SCORES.copy()
    some[:8] = np.nan
    found = agreement_metrics(some, some, LABELS, GROUPS, level="dataset")
    rest = agreement_metrics(SCORES[8:], SCORES[8:], LABELS[8:], GROUPS[8:], level="dataset")
    assert (found.n, found.unscored) == (72, 8)
    assert found.error.value == rest.error.value


def test_what_is_on_no_scale_of_the_labels_has_no_error() -> None:
    found = agreement_metrics(None, SCORES, LABELS, GROUPS, level="dataset")
    assert (found.error.value, found.rmse) == (None, None)
    assert found.spearman.value is not None


def test_labels_that_do_not_vary_have_no_share() -> None:
    assert agreement_metrics(SCORES, SCORES, np.full(80, 3.0), GROUPS, level="dataset").error.value is None
