"""Pairwise accuracy counted pair by pair; both accuracies against the program of their authors and against scipy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import permutation_test

from rubriclab.stats.pairs import pairwise_accuracy, soft_pairwise_accuracy

RNG = np.random.default_rng(5)
GROUPS = [f"g{number}" for number in range(8) for _ in range(5)]
HUMAN = RNG.integers(1, 5, size=len(GROUPS)).astype(float)
PREDICTED = np.round(HUMAN + RNG.normal(scale=0.8, size=len(GROUPS)), 2)


def accuracy(group: str, threshold: float) -> float:
    """Return the share of a group's pairs with the human order, ties by the threshold."""
    members = [place for place, name in enumerate(GROUPS) if name == group]

    def order(scores, first, second, tie):
        difference = round(float(scores[first] - scores[second]), 9)
        return 0 if abs(difference) <= tie else np.sign(difference)

    pairs = list(combinations(members, 2))
    right = [order(PREDICTED, *pair, threshold) == order(HUMAN, *pair, 0) for pair in pairs]
    return sum(right) / len(pairs)


NAMES = sorted(set(GROUPS))
THRESHOLDS = sorted(
    {0.0}
    | {
        round(abs(float(PREDICTED[a] - PREDICTED[b])), 9)
        for a, b in combinations(range(len(GROUPS)), 2)
        if GROUPS[a] == GROUPS[b]
    }
)


def best(names) -> float:
    return max(THRESHOLDS, key=lambda tie: (round(sum(accuracy(name, tie) for name in names), 9), -tie))


def test_the_optimistic_accuracy_has_the_threshold_that_maximises_it():
    found = pairwise_accuracy(PREDICTED, HUMAN, GROUPS)
    assert found.threshold == pytest.approx(best(NAMES))
    assert found.optimistic == pytest.approx(np.mean([accuracy(name, best(NAMES)) for name in NAMES]))
    assert (found.pairs, found.groups) == (80, 8)


def test_the_held_out_accuracy_has_the_threshold_of_the_other_groups():
    found = pairwise_accuracy(PREDICTED, HUMAN, GROUPS)
    expected = [accuracy(name, best([other for other in NAMES if other != name])) for name in NAMES]
    assert found.held_out.value == pytest.approx(np.mean(expected))
    assert found.held_out.value <= found.optimistic
    assert found.held_out.low < found.held_out.value < found.held_out.high


# The tests of `tau_optimization` in mt-metrics-eval (commit 0b82d96 of google-research/mt-metrics-eval), the program of
# Deutsch, Foster & Freitag 2023: scores, human scores, best threshold and accuracy.
NONE = np.nan
PUBLISHED = [
    ([[0, 2, 6, 8]], [[1, 2, 3, 4]], 0, 1),
    ([[0, 2, 6, 8]], [[1, 1, 1, 4]], 4, 4 / 6),
    (
        [[0, 5, 2, 3, 2], [NONE, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1]],
        [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NONE, 3, 2]],
        1,
        0.4916666666666668,
    ),
]


@pytest.mark.parametrize(("predicted", "human", "threshold", "accuracy"), PUBLISHED)
def test_threshold_and_accuracy_are_those_of_the_authors_program(predicted, human, threshold, accuracy):
    scores, labels = np.array(predicted, dtype=float).ravel(), np.array(human, dtype=float).ravel()
    there = ~np.isnan(scores + labels)
    groups = np.repeat([f"row {row}" for row in range(len(human))], len(human[0]))[there]
    found = pairwise_accuracy(scores[there], labels[there], groups.tolist())
    assert found.threshold == threshold
    assert found.optimistic == pytest.approx(accuracy)


def test_there_is_no_accuracy_without_pairs():
    found = pairwise_accuracy([1, 2], [1, 2], ["a", "b"])
    assert (found.held_out.value, found.optimistic, found.threshold, found.pairs) == (None, None, None, 0)


def test_ties_of_people_are_right_where_scores_are_tied_too():
    found = pairwise_accuracy([1.0, 1.1, 3.0], [2, 2, 5], ["g"] * 3)
    assert found.optimistic == 1.0
    assert found.threshold == pytest.approx(0.1)
    assert found.held_out.value is None


def test_soft_pairwise_accuracy_compares_scipy_s_permutation_p_values():
    names = ["a", "b", "c", "d", "e"]
    systems = names * 8

    def p(scores, pair):
        first, second = (scores.reshape(8, 5)[:, names.index(name)] for name in pair)
        return permutation_test(
            (first, second), lambda x, y: np.mean(x - y), permutation_type="samples", alternative="greater"
        ).pvalue

    apart = [abs(p(PREDICTED, pair) - p(HUMAN, pair)) for pair in combinations(names, 2)]
    found = soft_pairwise_accuracy(PREDICTED, HUMAN, GROUPS, systems)
    assert found == pytest.approx(1 - np.mean(apart), abs=0.02)


def test_soft_pairwise_accuracy_is_that_of_the_authors_program():
    """With 100,000 permutations, `pce.py` of mt-metrics-eval (commit 1b47eab, Thompson et al. 2024) gives 0.7794."""
    rng, shape = np.random.default_rng(11), (4, 40)
    human = np.round(3 + np.array([[0], [0.2], [0.3], [0.6]]) + rng.normal(size=shape)).clip(1, 5)
    predicted = np.round(human + rng.normal(0, 1.2, shape) + np.array([[0.3], [0], [0], [-0.2]]), 1)
    systems, groups = ([str(number) for number in places.ravel()] for places in np.indices(shape))
    assert soft_pairwise_accuracy(predicted.ravel(), human.ravel(), groups, systems) == pytest.approx(0.7794, abs=0.01)


def test_soft_pairwise_accuracy_is_1_for_the_human_scores_and_undefined_without_shared_groups():
    assert soft_pairwise_accuracy(HUMAN, HUMAN, GROUPS, ["a", "b", "c", "d", "e"] * 8) == 1
    assert soft_pairwise_accuracy([1, 2], [1, 2], ["a", "b"], ["x", "y"]) is None
