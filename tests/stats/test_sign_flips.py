"""The permutation test of paired differences against all sign flips, counted one by one."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_1samp

from rubriclab.stats.agreement import difference
from rubriclab.stats.intervals import sign_flip_p

RNG = np.random.default_rng(6)


def all_flips(values: np.ndarray) -> float:
    """Return the share of all flips whose mean is as far from 0."""
    means = [abs(np.mean(values * signs)) for signs in product([-1, 1], repeat=len(values))]
    return float(np.mean([mean >= abs(values.mean()) - 1e-12 for mean in means]))


@pytest.mark.parametrize("values", [RNG.normal(0.5, 1, size=9), np.array([1.0, 0, 0, 1, -1, 1, 1]), np.ones(6)])
def test_the_p_value_of_few_groups_counts_all_flips(values):
    assert sign_flip_p(values) == pytest.approx(all_flips(values))


def test_the_p_value_of_many_groups_is_close_to_that_of_the_t_test():
    values = RNG.normal(0.2, 1, size=80)
    assert sign_flip_p(values) == pytest.approx(ttest_1samp(values, 0).pvalue, abs=0.02)


def test_the_p_value_of_a_difference_flips_the_differences_of_groups():
    groups = [f"g{number}" for number in range(8) for _ in range(5)]
    human = RNG.normal(size=40)
    first, second = human + RNG.normal(size=40), human + 2 * RNG.normal(size=40)
    rows = np.arange(40).reshape(8, 5)
    each = [spearmanr(first[row], human[row]).statistic - spearmanr(second[row], human[row]).statistic for row in rows]
    assert difference(first, second, human, groups, level="group").p == pytest.approx(all_flips(np.array(each)))
    assert difference(first, second, human, groups, level="dataset").p is None
    assert difference(first[:20], second[:20], human[:20], groups[:20], level="group").p is None
