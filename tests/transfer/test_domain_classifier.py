"""The area under the ROC curve of a classifier of two samples."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from rubriclab.transfer.domain_classifier import domain_auc
from rubriclab.transfer.sample import MAX_TEXTS, Sample


def sample(values: np.ndarray, groups: int, prefix: str) -> Sample:
    return Sample(values, tuple(f"{prefix}{place % groups}" for place in range(len(values))))


def noise(rng: np.random.Generator, texts: int, columns: int = 6, *, up: float = 0.0) -> np.ndarray:
    return rng.normal(size=(texts, columns)) + up


def test_distant_samples_are_perfectly_distinguished() -> None:
    rng = np.random.default_rng(0)
    auc = domain_auc(sample(noise(rng, 30), 10, "a"), sample(noise(rng, 60, up=8.0), 20, "b"))
    assert (auc.value, auc.low, auc.high) == (1.0, 1.0, 1.0)


def test_draws_of_one_distribution_are_distinguished_by_chance() -> None:
    rng = np.random.default_rng(1)
    auc = [domain_auc(sample(noise(rng, 30), 10, "a"), sample(noise(rng, 60), 20, "b"), seed) for seed in range(6)]
    assert 0.42 < np.mean([each.value for each in auc]) < 0.58
    assert all(each.low <= each.value <= each.high and each.low < 0.6 for each in auc)


def test_features_of_groups_do_not_distinguish_samples() -> None:
    rng = np.random.default_rng(2)
    centers = noise(rng, 24, 40) * 5
    source, target = (
        Sample(np.repeat(own, 6, axis=0) + noise(rng, 72, 40) / 10, tuple(f"{name}{k // 6}" for k in range(72)))
        for name, own in (("a", centers[:12]), ("b", centers[12:]))
    )
    assert domain_auc(source, target).low < 0.6


def test_a_group_in_both_samples_is_never_in_two_folds() -> None:
    rng = np.random.default_rng(3)
    centers = np.repeat(noise(rng, 15, 20) * 5, 4, axis=0)
    groups = tuple(f"g{place // 4}" for place in range(60))
    source, target = (Sample(centers + noise(rng, 60, 20) / 10, groups) for _ in range(2))
    assert 0.3 < domain_auc(source, target).value < 0.7


def test_missing_values_count_as_average() -> None:
    rng = np.random.default_rng(4)
    n_source, n_target = noise(rng, 30), noise(rng, 30, up=8.0)
    n_source[::3, :3], n_target[1::3, 2:] = np.nan, np.nan
    assert domain_auc(sample(n_source, 10, "a"), sample(n_target, 10, "b")).value > 0.95


def test_undefined_for_a_single_text_or_without_columns() -> None:
    rng = np.random.default_rng(5)
    many, one = sample(noise(rng, 9), 9, "a"), sample(noise(rng, 1), 1, "b")
    assert domain_auc(one, many).value is None
    assert domain_auc(many, one).value is None
    empty = Sample(np.empty((9, 0)), many.groups)
    assert domain_auc(empty, empty).value is None


def test_texts_of_a_single_group_are_their_own_units() -> None:
    rng = np.random.default_rng(6)
    auc = domain_auc(sample(noise(rng, 12), 1, "a"), sample(noise(rng, 30, up=8.0), 10, "b"))
    assert auc.value == 1.0


def test_large_samples_are_represented_by_a_draw() -> None:
    rng = np.random.default_rng(7)
    many = noise(rng, 3 * MAX_TEXTS, 2, up=1.0)
    auc = domain_auc(sample(noise(rng, 40, 2), 40, "a"), sample(many, len(many), "b"))
    assert 0.7 < auc.value < 1.0


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.integers(1, 4), st.integers(1, 4))
def test_the_interval_is_within_0_and_1(
    seed: int, n_source: int, n_target: int, source_groups: int, target_groups: int
) -> None:
    rng = np.random.default_rng(seed)
    auc = domain_auc(
        sample(noise(rng, n_source, 2), source_groups, "g"), sample(noise(rng, n_target, 2), target_groups, "g")
    )
    assert auc.value is None or 0.0 <= auc.value <= 1.0
    assert auc.low is None or auc.high is None or 0.0 <= auc.low <= auc.high <= 1.0
