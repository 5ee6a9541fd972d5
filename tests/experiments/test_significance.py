"""Wilcoxon's two tests and Benjamini and Hochberg's correction, against published examples and their own properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from experiments.runner.significance import wilcoxon_paired, wilcoxon_ranksum
from rubriclab.stats import adjust_p_values

figures = st.lists(st.integers(-5, 5), min_size=1, max_size=7)


def by_flipping(differences: list[float]) -> float:
    """Return the exact two-sided p-value: how many of all ways to sign the ranks lie as far out."""
    ranks = stats.rankdata(np.abs(differences))
    found = abs((np.sign(differences) * ranks).sum())
    sums = [abs(np.dot(signs, ranks)) for signs in itertools.product((-1, 1), repeat=len(ranks))]
    return float(np.mean(np.array(sums) >= found - 1e-9))


def test_darwins_maize_comes_out() -> None:
    # Fisher 1935, "The design of experiments", chapter 3: crossed against selfed plants, in eighths of an inch.
    crossed_minus_selfed = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert wilcoxon_paired(crossed_minus_selfed, [0] * 15) == pytest.approx(0.04125976, abs=1e-8)


def test_the_signed_rank_example_of_hollander_and_wolfe_comes_out() -> None:
    first_visit = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    second_visit = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    assert wilcoxon_paired(first_visit, second_visit) == pytest.approx(2 * 0.01953125, abs=1e-12)


def test_the_rank_sum_example_of_hollander_and_wolfe_comes_out() -> None:
    at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    earlier = [1.15, 0.88, 0.90, 0.74, 1.21]
    assert wilcoxon_ranksum(at_term, earlier) == pytest.approx(2 * 0.12720613, abs=1e-6)


def test_the_example_of_benjamini_and_hochberg_rejects_the_four_smallest() -> None:
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528]
    adjusted = adjust_p_values([*p_values, 0.7590, 1.0])
    assert [p <= 0.05 for p in adjusted if p is not None] == [True] * 4 + [False] * 11
    assert adjusted[:4] == pytest.approx((0.0015, 0.003, 0.0095, 0.035625))


def test_tied_differences_get_an_exact_p_value_in_small_samples() -> None:
    differences = [1.0, 1.0, 2.0, -1.0, 3.0, 3.0, 2.0]
    assert wilcoxon_paired(differences, np.zeros(7)) == pytest.approx(by_flipping(differences))


def test_differences_that_are_equal_but_for_rounding_share_a_rank() -> None:
    tenths = [0.46, 0.55, 0.30, 0.72, 0.11, 0.21], [0.40, 0.49, 0.36, 0.62, 0.02, 0.01]
    whole = [46, 55, 30, 72, 11, 21], [40, 49, 36, 62, 2, 1]
    assert wilcoxon_paired(*tenths) == wilcoxon_paired(*whole)


def test_many_tied_differences_get_the_normal_approximation() -> None:
    differences = np.tile([1.0, 2.0, -1.0, 3.0], 10)
    expected = stats.wilcoxon(differences, method="asymptotic").pvalue  # type: ignore[call-overload]
    assert wilcoxon_paired(differences, np.zeros(40)) == pytest.approx(float(expected))


def test_pairs_without_a_difference_change_nothing() -> None:
    differences = [3.0, -1.0, 4.0, 5.0, 2.0, 6.0]
    assert wilcoxon_paired([*differences, 0, 0], np.zeros(8)) == wilcoxon_paired(differences, np.zeros(6))


@pytest.mark.parametrize("same", [[], [0.5], [0.1, 0.2, 0.3]])
def test_where_no_pair_differs_there_is_nothing_to_test(same: list[float]) -> None:
    assert wilcoxon_paired(same, same) is None


def test_an_empty_sample_has_no_rank_sum() -> None:
    assert wilcoxon_ranksum([], [1.0]) is None
    assert wilcoxon_ranksum([1.0], []) is None


@settings(max_examples=20)
@given(figures)
def test_the_order_of_the_evaluators_does_not_matter(first: list[int]) -> None:
    second = list(reversed(first))
    assert wilcoxon_paired(first, second) == wilcoxon_paired(second, first)
    other = [value + 1 for value in first]
    assert wilcoxon_ranksum(first, other) == pytest.approx(wilcoxon_ranksum(other, first))


@settings(max_examples=20)
@given(figures, st.integers(-3, 3))
def test_p_values_are_probabilities_and_do_not_see_a_shift_of_both(first: list[int], shift: int) -> None:
    second = [value * value for value in first]
    moved = [value + shift for value in first], [value + shift for value in second]
    for test in (wilcoxon_paired, wilcoxon_ranksum):
        p = test(first, second)
        assert p is None or 0 <= p <= 1
        assert p == test(*moved)


@given(st.lists(st.none() | st.floats(0, 1), max_size=12), st.randoms(use_true_random=False))
def test_correction_never_lowers_a_p_value_keeps_their_order_and_leaves_gaps_alone(p_values, shuffler) -> None:
    adjusted = adjust_p_values(p_values)
    assert [p is None for p in adjusted] == [p is None for p in p_values]
    pairs = sorted((before, after) for before, after in zip(p_values, adjusted, strict=True) if before is not None)
    assert all(before <= after + 1e-12 <= 1 + 1e-9 for before, after in pairs)
    assert [after for _, after in pairs] == sorted(after for _, after in pairs)
    order = list(range(len(p_values)))
    shuffler.shuffle(order)
    assert adjust_p_values([p_values[i] for i in order]) == [adjusted[i] for i in order]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_correction_is_what_the_definition_says(p_values: list[float]) -> None:
    m = len(p_values)
    expected = [
        min(1.0, *(q * m / sum(other <= q for other in p_values) for q in p_values if q >= p)) for p in p_values
    ]
    assert adjust_p_values(p_values) == pytest.approx(expected, abs=1e-12)


def test_a_single_test_needs_no_correction() -> None:
    assert adjust_p_values([None, 0.03]) == [None, 0.03]


@pytest.mark.parametrize("wrong", [[0.1, 1.5], [-0.1], [float("nan")]])
def test_what_is_no_probability_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust_p_values(wrong)


@pytest.mark.parametrize("test", [wilcoxon_paired, wilcoxon_ranksum])
def test_missing_values_are_refused(test) -> None:
    with pytest.raises(ValueError, match="finite"):
        test([1.0, float("nan")], [1.0, 2.0])


def test_pairs_of_different_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3"):
        wilcoxon_paired([1.0, 2.0], [1.0, 2.0, 3.0])
