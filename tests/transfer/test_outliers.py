"""Outliers among other texts."""

from __future__ import annotations

import numpy as np

from rubriclab.transfer.outliers import EXPECTED_SHARE, FEWEST_GROUPS, find_outliers
from rubriclab.transfer.sample import Sample


def sample(values: np.ndarray, prefix: str = "g") -> Sample:
    return Sample(values, tuple(f"{prefix}{place}" for place in range(len(values))))


def ids(count: int) -> list[str]:
    return [f"t{place}" for place in range(count)]


def test_distant_texts_are_outliers_in_their_order() -> None:
    rng = np.random.default_rng(0)
    source, near = rng.normal(size=(30, 4)), np.zeros((3, 4))
    target = sample(np.concatenate([near + 9, near, near - 9]), "t")
    outliers = find_outliers(sample(source), target, ids(9))
    assert outliers.ids == ("t0", "t1", "t2", "t6", "t7", "t8")
    assert outliers.share.value == round(6 / 9, 6)
    assert outliers.share.low < outliers.share.value < outliers.share.high


def test_texts_like_those_of_the_source_are_rarely_outliers() -> None:
    shares = []
    for seed in range(30):
        drawn = np.random.default_rng(seed).normal(size=(130, 10))
        shares.append(find_outliers(sample(drawn[:30]), sample(drawn[30:], "t"), ids(100)).share.value)
    assert 0.03 < np.mean(shares) <= EXPECTED_SHARE + 0.02


def test_similar_texts_within_source_groups_do_not_make_others_outliers() -> None:
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(20, 5))
    source = Sample(
        np.repeat(centers[:10], 5, axis=0) + rng.normal(size=(50, 5)) / 100, tuple(f"g{k // 5}" for k in range(50))
    )
    assert find_outliers(source, sample(centers[10:], "t"), ids(10)).share.value < 0.5


def test_a_column_that_is_constant_on_the_source_can_show_outliers() -> None:
    rng = np.random.default_rng(2)
    source = np.column_stack([np.ones(30), rng.normal(size=30)])
    target = np.column_stack([np.repeat([1.0, 9.0], [15, 15]), rng.normal(size=30) / 2])
    outliers = find_outliers(sample(source), sample(target, "t"), ids(30))
    assert set(ids(30)[15:]) <= set(outliers.ids)


def test_missing_values_count_as_the_source_mean() -> None:
    rng = np.random.default_rng(3)
    outliers = find_outliers(sample(rng.normal(size=(30, 3))), sample(np.full((4, 3), np.nan), "t"), ids(4))
    assert outliers.ids == ()


def test_undefined_with_few_groups_or_without_columns() -> None:
    rng = np.random.default_rng(4)
    few = Sample(rng.normal(size=(20, 3)), tuple(f"g{k % (FEWEST_GROUPS - 1)}" for k in range(20)))
    assert find_outliers(few, sample(rng.normal(size=(5, 3)), "t"), ids(5)) is None
    assert find_outliers(sample(np.empty((20, 0))), sample(np.empty((5, 0)), "t"), ids(5)) is None
