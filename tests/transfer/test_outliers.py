"""Texts that lie outside of what other texts are like."""

from __future__ import annotations

import numpy as np

from rubriclab.transfer.outliers import FEWEST_GROUPS, USUALLY_OUTSIDE, outlying
from rubriclab.transfer.sample import Sample


def side(values: np.ndarray, prefix: str = "g") -> Sample:
    return Sample(values, tuple(f"{prefix}{place}" for place in range(len(values))))


def ids(count: int) -> list[str]:
    return [f"t{place}" for place in range(count)]


def test_far_texts_lie_outside_and_are_named_in_their_order() -> None:
    rng = np.random.default_rng(0)
    home, near = rng.normal(size=(30, 4)), np.zeros((3, 4))
    target = side(np.concatenate([near + 9, near, near - 9]), "t")
    found = outlying(side(home), target, ids(9))
    assert found.ids == ("t0", "t1", "t2", "t6", "t7", "t8")
    assert found.share.value == round(6 / 9, 6)
    assert found.share.low < found.share.value < found.share.high


def test_texts_like_those_at_home_rarely_lie_outside() -> None:
    shares = []
    for seed in range(30):
        drawn = np.random.default_rng(seed).normal(size=(130, 10))
        shares.append(outlying(side(drawn[:30]), side(drawn[30:], "t"), ids(100)).share.value)
    assert 0.03 < np.mean(shares) <= USUALLY_OUTSIDE + 0.02


def test_texts_of_one_home_group_do_not_make_others_look_far() -> None:
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(20, 5))
    home = Sample(
        np.repeat(centers[:10], 5, axis=0) + rng.normal(size=(50, 5)) / 100, tuple(f"g{k // 5}" for k in range(50))
    )
    assert outlying(home, side(centers[10:], "t"), ids(10)).share.value < 0.5


def test_a_column_that_is_constant_at_home_can_put_texts_outside() -> None:
    rng = np.random.default_rng(2)
    home = np.column_stack([np.ones(30), rng.normal(size=30)])
    target = np.column_stack([np.repeat([1.0, 9.0], [15, 15]), rng.normal(size=30) / 2])
    found = outlying(side(home), side(target, "t"), ids(30))
    assert set(ids(30)[15:]) <= set(found.ids)


def test_missing_values_count_as_the_home_mean() -> None:
    rng = np.random.default_rng(3)
    found = outlying(side(rng.normal(size=(30, 3))), side(np.full((4, 3), np.nan), "t"), ids(4))
    assert found.ids == ()


def test_nothing_is_said_from_few_groups_or_without_columns() -> None:
    rng = np.random.default_rng(4)
    few = Sample(rng.normal(size=(20, 3)), tuple(f"g{k % (FEWEST_GROUPS - 1)}" for k in range(20)))
    assert outlying(few, side(rng.normal(size=(5, 3)), "t"), ids(5)) is None
    assert outlying(side(np.empty((20, 0))), side(np.empty((5, 0)), "t"), ids(5)) is None
