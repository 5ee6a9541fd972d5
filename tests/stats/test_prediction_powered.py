"""The mean human score of many texts from few labels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rubriclab.stats.intervals import Interval
from rubriclab.stats.prediction_powered import (
    LabelledScores,
    ScoredSet,
    corrected_mean,
    difference_by_other_labels,
    difference_by_own_labels,
    distributions_differ,
    mean_by_own_labels,
)


def sample(seed: int, groups: int, size: int, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores that are too high, and groups whose texts are alike."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(groups), size)
    quality = rng.normal(3, 0.6, groups * size)
    labels = quality + rng.normal(0, 0.3, groups)[unit] + rng.normal(0, noise, len(unit))
    return labels, quality + 0.4, unit


def of_unknown_systems(labels: np.ndarray, scores: np.ndarray, unit: np.ndarray) -> LabelledScores:
    return LabelledScores(labels, scores, unit, np.arange(len(labels)))


def test_estimate_and_interval_are_those_of_ppi_python_for_many_texts_without_groups() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(3, 1, 200)
    labels = 0.3 + 0.6 * scores + rng.normal(0, 0.5, 200)
    texts = rng.normal(3.4, 1, 200_000)
    labelled = LabelledScores(labels, scores, np.arange(200), np.arange(200))
    found = corrected_mean(float(texts.mean()), len(texts), len(texts), labelled)
    assert labelled.factor == pytest.approx(0.6263195, abs=1e-6)
    # By ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3 with this factor as `lam`.
    assert found.value == pytest.approx(2.3339275, abs=1e-6)
    # Its quantiles are normal, and these are Student's.
    assert found.low == pytest.approx(2.2671139, abs=1e-3)
    assert found.high == pytest.approx(2.4007411, abs=1e-3)


def test_intervals_hold_the_mean_label_of_the_texts_in_about_95_percent() -> None:
    held = []
    for seed in range(1000):
        labels, scores, unit = sample(seed, 20, 4)
        chosen = unit < 8
        labelled = of_unknown_systems(labels[chosen], scores[chosen], unit[chosen])
        found = corrected_mean(float(scores[~chosen].mean()), int((~chosen).sum()), 12, labelled)
        held.append(found.low <= labels[~chosen].mean() <= found.high)
    assert 0.93 <= np.mean(held) <= 0.975


def test_scores_without_information_leave_the_mean_of_the_labels_and_four_groups_give_no_estimate() -> None:
    labels, scores, unit = sample(1, 10, 3)
    labelled = of_unknown_systems(labels, np.full_like(scores, 2.0), unit)
    assert labelled.factor == 0
    assert corrected_mean(4.9, 100, 100, labelled).value == pytest.approx(labels.mean())
    labels, scores, unit = sample(1, 4, 5)
    assert corrected_mean(3.0, 100, 20, of_unknown_systems(labels, scores, unit)).value is None


def test_scores_that_are_shifted_are_unlike_and_others_are_not() -> None:
    labelled = of_unknown_systems(*sample(1, 10, 3))
    like = sample(2, 50, 3)[1]
    assert not distributions_differ(like, 50, labelled)
    assert distributions_differ(like + 1.5, 50, labelled)


def test_difference_and_interval_of_independent_sets_are_those_of_ppi_python() -> None:
    rng = np.random.default_rng(11)
    sets = []
    for shift, units in ((0.0, np.arange(300)), (-0.3, 300 + np.arange(300))):
        quality = rng.normal(3 + shift, 1, 300)
        labels = np.where(np.arange(300) < 100, quality + rng.normal(0, 0.5, 300), np.nan)
        sets.append(ScoredSet(quality + rng.normal(0, 0.5, 300), labels, units, np.full(300, 1 / 300)))
    found = difference_by_own_labels(*sets)
    # By ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3 for each set, the margins added in quadrature. Its
    # scores are of the unlabelled texts only, so that its `lam` is two thirds of the factor.
    assert found.value == pytest.approx(-0.4345333, abs=1e-6)
    # Its quantiles are normal and its variances have n, and these are Student's over 100 groups with labels.
    margin = 0.2409403 * stats.t.ppf(0.975, 98) / stats.norm.ppf(0.975) * math.sqrt(100 / 99)
    assert found.low == pytest.approx(-0.4345333 - margin, abs=1e-4)


def test_mean_by_own_labels_is_that_of_ppi_python_for_many_texts_without_groups() -> None:
    rng = np.random.default_rng(5)
    scores = np.concatenate([rng.normal(3, 1, 200), rng.normal(3, 1, 200_000)])
    labels = np.where(np.arange(len(scores)) < 200, 0.3 + 0.6 * scores + rng.normal(0, 0.5, len(scores)), np.nan)
    unit = np.arange(len(scores))
    found = mean_by_own_labels(ScoredSet(scores, labels, unit, np.ones(len(unit))), np.zeros_like(unit))
    # By ppi_mean_ci of ppi-python 0.2.3 with the labels, their scores, the other scores and the factor 0.678249.
    assert found.value == pytest.approx(2.1321143, abs=1e-3)
    assert found.low == pytest.approx(2.0631868, abs=2e-3)


@pytest.mark.parametrize("strata", [1, 3])
def test_intervals_by_own_labels_hold_the_mean_label_in_about_95_percent(strata: int) -> None:
    """Strata have errors of their own, and are labelled in unequal shares if there are several."""
    held_shares = []
    for seed in range(800):
        labels, scores, unit = sample(seed, 60, 3)
        stratum = unit % strata
        rng = np.random.default_rng(seed)
        shares = np.array([0.3, 0.45, 0.6]) if strata > 1 else np.array([0.2])
        chosen = np.concatenate(
            [rng.permutation(np.unique(unit[stratum == s]))[: round(60 / strata * shares[s])] for s in range(strata)]
        )
        given = np.where(np.isin(unit, chosen), labels + 0.3 * stratum, np.nan)
        found = mean_by_own_labels(ScoredSet(scores, given, unit, np.ones(len(unit))), stratum)
        held_shares.append(found.low <= (labels + 0.3 * stratum).mean() <= found.high)
    assert 0.93 <= np.mean(held_shares) <= 0.98


def test_the_mean_of_texts_that_all_have_labels_is_known_also_in_one_group() -> None:
    labels, zeros = np.array([1.0, 2.0, 4.0]), np.zeros(3, dtype=int)
    found = mean_by_own_labels(ScoredSet(labels[::-1], labels, zeros, np.full(3, 1 / 3)), zeros)
    assert (found.value, found.low, found.high) == pytest.approx((7 / 3, 7 / 3, 7 / 3))


def two_systems(seed: int, labelled: int, groups: int = 24) -> tuple[ScoredSet, ScoredSet, float]:
    """Return two sets of one text a group whose judge favours one of them, and the true difference of the labels."""
    rng = np.random.default_rng(seed)
    of_group = rng.normal(0, 0.5, groups)
    sets = []
    for level in (3.0, 3.2):
        quality = level + of_group + rng.normal(0, 0.6, groups)
        scores = quality + rng.normal(0, 0.4) + rng.normal(0, 0.3, groups)
        labels = np.where(np.arange(groups) < labelled, quality, np.nan)
        sets.append(ScoredSet(scores, labels, np.arange(groups), np.full(groups, 1 / groups)))
    return sets[0], sets[1], 0.2


def held(interval: Interval, true: float) -> bool:
    return interval.low <= true <= interval.high


def test_labels_of_both_sets_correct_a_judge_that_favours_one() -> None:
    shares = []
    for seed in range(600):
        before, after, true = two_systems(seed, labelled=12)
        shares.append(held(difference_by_own_labels(before, after), true))
    assert 0.93 <= np.mean(shares) <= 0.98


@pytest.mark.parametrize("systems", [2, 10])
def test_other_labels_allow_for_a_judge_that_favours_one_set(systems: int) -> None:
    """Of labels of two systems, 87 % would hold if all texts counted as of unknown origin."""
    shares = []
    for seed in range(600):
        rng = np.random.default_rng(seed + 5000)
        system, unit = np.arange(40) % systems, np.arange(40) // 2
        quality = rng.normal(3, 0.7, 40)
        scores = quality + rng.normal(0, 0.4, systems)[system] + rng.normal(0, 0.3, 40)
        before, after, true = two_systems(seed, labelled=0)
        labelled = ScoredSet(scores, quality, unit, np.full(40, 1 / 40), system).labelled
        shares.append(held(difference_by_other_labels(before, after, labelled), true))
    assert 0.92 <= np.mean(shares) <= 0.985


def test_equal_texts_have_no_difference_and_an_equal_fall_of_few_labels_is_not_certain() -> None:
    before, labelled = two_systems(1, labelled=6)[0], of_unknown_systems(*sample(1, 10, 3))
    fall = difference_by_own_labels(before, replace(before, labels=before.labels - 1), width=4)
    assert fall.high == pytest.approx(-1 + 5 * (1 - 0.05 ** (1 / 6)))  # by the rule of three
    assert difference_by_other_labels(before, before, labelled, changed_share=0.0).value == 0


def test_equal_labels_of_some_texts_give_no_interval_and_in_one_slice_one_as_wide_as_the_others_suggest() -> None:
    labels, scores, unit = sample(1, 60, 1)
    stratum = np.arange(60) % 2
    given = np.where(np.arange(60) < 30, labels, np.nan)
    equal = np.where(stratum == 0, np.where(np.isnan(given), np.nan, 1.0), given)
    texts = ScoredSet(scores, given, unit, np.ones(60))
    alike = mean_by_own_labels(replace(texts, labels=np.where(np.isnan(given), np.nan, 1.0)), np.zeros(60, dtype=int))
    assert alike.value is not None
    assert alike.low is None
    found, usual = (mean_by_own_labels(replace(texts, labels=each), stratum) for each in (equal, given))
    assert 0.5 * (usual.high - usual.low) < found.high - found.low


def test_a_set_with_equal_labels_does_not_make_a_difference_certain() -> None:
    """Few labels of a set that nearly always passes are often all equal."""
    found, true = [], 0.7 - 0.95
    for seed in range(600):
        rng = np.random.default_rng(seed)
        sets = []
        for share in (0.95, 0.7):
            labels = (rng.random(40) < share).astype(float)
            scores = np.clip(0.6 * labels + rng.normal(0.2, 0.2, 40), 0, 1)
            given = np.where(np.arange(40) < 8, labels, np.nan)
            sets.append(ScoredSet(scores, given, np.arange(40), np.full(40, 1 / 40)))
        found.append(difference_by_own_labels(*sets))
    known = [each for each in found if each.low is not None]
    assert 0.9 <= len(known) / len(found) < 1
    assert np.mean([held(each, true) for each in known]) >= 0.93
