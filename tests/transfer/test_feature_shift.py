"""The shift of single columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.aggregation import Term
from rubriclab.transfer.feature_shift import feature_shifts, shifts_from_terms
from rubriclab.transfer.sample import Sample


def sample(values: np.ndarray, groups: int | None = None) -> Sample:
    return Sample(values, tuple(f"g{place % (groups or len(values))}" for place in range(len(values))))


def test_a_shift_is_in_source_standard_deviations() -> None:
    source, target = np.array([[1.0], [3.0], [1.0], [3.0]]), np.array([[5.0], [6.0], [np.nan]])
    (shift,) = feature_shifts(["words"], sample(source), sample(target))
    assert (shift.name, shift.source_mean, shift.target_mean, shift.texts) == ("words", 2.0, 5.5, 2)
    assert (shift.standardized_shift, shift.ks_distance, shift.out_of_range) == (3.5, 1.0, 1.0)


def test_a_column_that_is_constant_on_the_source_has_a_distance_only() -> None:
    (shift,) = feature_shifts(["words"], sample(np.ones((6, 1))), sample(np.arange(6.0).reshape(-1, 1)))
    assert shift.standardized_shift is None
    assert shift.ks_distance == pytest.approx(4 / 6, abs=1e-6)


def test_the_largest_shift_comes_first_and_only_true_shifts_are_significant() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(30, 40)), rng.normal(size=(90, 40))
    target[:, 7] += 3
    shift = feature_shifts([f"m{place}" for place in range(40)], sample(source), sample(target))
    assert shift[0].name == "m7"
    assert [each.name for each in shift if each.significant] == ["m7"]


def test_many_texts_of_few_groups_are_no_evidence_of_a_shift() -> None:
    wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        source, target = (rng.normal(size=(5, 8))[np.arange(200) % 5] + rng.normal(size=(200, 8)) / 5 for _ in range(2))
        names = [f"m{place}" for place in range(8)]
        wrong += any(each.significant for each in feature_shifts(names, sample(source, 5), sample(target, 5)))
    assert wrong <= 1


def test_other_group_sizes_are_no_shift() -> None:
    wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        source, target = sample(rng.normal(size=(30, 8))), sample(rng.normal(size=(480, 8)), 30)
        wrong += any(each.significant for each in feature_shifts([f"m{place}" for place in range(8)], source, target))
    assert wrong <= 1


def test_terms_replace_unknown_source_texts() -> None:
    terms = [
        Term(criterion=name, weight=0.5, center=3.0, spread=0.5, low=0.4, high=0.6, selected=1.0)
        for name in ("near", "far", "unscored", "absent")
    ]
    scores = {"near": np.array([3.1, 3.1]), "far": np.array([1.0, np.nan]), "unscored": np.array([np.nan, np.nan])}
    shift = shifts_from_terms(terms, scores)
    assert [(each.name, each.standardized_shift, each.texts, each.p_value) for each in shift] == [
        ("far", -4.0, 1, None),
        ("near", 0.2, 2, None),
    ]


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9))
def test_swapped_samples_have_the_same_distance_and_p_value(seed: int, ours: int, theirs: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = (sample(rng.integers(0, 4, (count, 2)).astype(float)) for count in (ours, theirs))
    there, back = (
        {each.name: each for each in feature_shifts(["a", "b"], *pair)} for pair in ((source, target), (target, source))
    )
    for name, shift in there.items():
        assert shift.ks_distance == pytest.approx(back[name].ks_distance)
        assert shift.p_value == pytest.approx(back[name].p_value)
