"""Strengths from comparisons, against published figures, and what scores and comparisons say together."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from rubriclab.stats.paired_comparison import Comparisons, bradley_terry, joint_scores

# Wins of the row over the column, American League 1987, home and away together (Agresti 2002, "Categorical Data
# Analysis", table 10.10), and the strengths beside Baltimore's that Turner & Firth 2012 report for these data.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]
)
STRENGTHS = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)


def compared(*triples):
    better, worse, ties = zip(*triples, strict=True)
    return Comparisons(np.array(better), np.array(worse), np.array(ties, dtype=bool))


def won(*pairs):
    return compared(*((better, worse, False) for better, worse in pairs))


def season():
    return won(*((row, column) for row in range(7) for column in range(7) for _ in range(WINS[row, column])))


def test_strengths_are_those_published_for_a_baseball_season():
    found = bradley_terry(season(), 7, spread=1e4)
    np.testing.assert_allclose(found - found[-1], STRENGTHS, atol=5e-5)


def test_a_tie_counts_as_half_a_win_for_each():
    tied = compared((0, 1, True), (0, 1, True), (1, 2, False))
    twice = won((0, 1), (1, 0), (1, 2))
    np.testing.assert_allclose(bradley_terry(tied, 3, spread=2), bradley_terry(twice, 3, spread=2), atol=1e-7)


def test_a_text_that_never_lost_stays_finite_and_first():
    found = bradley_terry(won((0, 1), (0, 2), (1, 2)), 4, spread=1)
    assert found[0] > found[1] > found[2]
    assert found[3] == 0.0
    assert np.abs(found).max() < 2
    assert abs(found.sum()) < 1e-6


def test_strengths_are_where_the_posterior_is_highest():
    pairs = compared((0, 1, False), (2, 0, False), (3, 1, True), (1, 2, False), (0, 3, False))

    def loss(strengths):
        apart = strengths[pairs.better] - strengths[pairs.worse]
        missed = np.logaddexp(0, -apart) + np.where(pairs.ties, apart / 2, 0)
        return missed.sum() + 0.5 * np.square(strengths / 1.5).sum()

    found = minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(bradley_terry(pairs, 4, spread=1.5), found, atol=1e-5)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
@settings(max_examples=40)
def test_turning_every_comparison_around_turns_the_strengths(some):
    pairs = [each for each in some if each[0] != each[1]] or [(0, 1, False)]
    there = bradley_terry(compared(*pairs), 6, spread=1)
    back = bradley_terry(compared(*((worse, better, tie) for better, worse, tie in pairs)), 6, spread=1)
    np.testing.assert_allclose(there, -back, atol=1e-6)


def test_no_spread_is_refused():
    with pytest.raises(ValueError, match="spread"):
        bradley_terry(won((0, 1)), 2, spread=0)


def simulated(rng, reliability, groups=15, rivals=6, comparisons=300):
    n = groups * rivals
    group = np.repeat(np.arange(groups), rivals)
    worth = rng.normal(size=n) * np.sqrt(reliability)
    scores = worth + rng.normal(size=n) * np.sqrt(1 - reliability)
    first = rng.integers(n, size=comparisons)
    second = group[first] * rivals + (first + rng.integers(1, rivals, size=comparisons)) % rivals
    ahead = worth[first] - worth[second] + np.sqrt(2 * (1 - reliability)) * rng.normal(size=comparisons)
    pairs = Comparisons(
        np.where(ahead > 0, first, second), np.where(ahead > 0, second, first), np.zeros(comparisons, dtype=bool)
    )
    return group, worth, scores, pairs


def test_texts_without_a_score_are_placed_by_their_comparisons():
    rng = np.random.default_rng(0)
    placed, guessed, reliabilities = [], [], []
    for _ in range(10):
        group, worth, scores, pairs = simulated(rng, 0.6)
        known = rng.random(len(worth)) < 0.5
        found = joint_scores(np.where(known, 3 + scores, np.nan), group, pairs, center=3, spread=1)
        new = ~known & np.isfinite(found.values)
        placed.append(np.corrcoef(found.values[new], worth[new])[0, 1])
        sums, counts = (np.bincount(group, known * each, 15) for each in (scores, np.ones(len(scores))))
        guessed.append(np.corrcoef((sums / np.maximum(counts, 1))[group[new]], worth[new])[0, 1])
        reliabilities.append(found.reliability)
        assert abs(found.values[new].mean() - 3) < 0.5
    assert np.mean(placed) > 0.65
    assert np.mean(placed) > np.mean(guessed) + 0.2
    assert 0.4 < np.mean(reliabilities) < 0.8


def test_reliable_raters_are_told_from_noisy_ones():
    rng = np.random.default_rng(1)
    found = []
    for reliability in (0.2, 0.9):
        group, _, scores, pairs = simulated(rng, reliability)
        found.append(joint_scores(scores, group, pairs, center=0, spread=1).reliability)
    assert found[0] < 0.5 < found[1]


def test_a_group_without_scores_lies_around_the_center_and_others_are_not_touched_by_it():
    scores = np.array([2.5, np.nan, np.nan, np.nan])
    found = joint_scores(scores, [0, 0, 1, 1], won((0, 1), (2, 3)), center=3, spread=1).values
    assert found[1] < found[0] < 3
    assert found[2] + found[3] == pytest.approx(6, abs=1e-6)
    assert found[2] > found[3]


def test_texts_that_nobody_compared_have_no_worth():
    found = joint_scores([np.nan, np.nan, 2.0], [0, 0, 0], won((0, 1)), center=0, spread=1).values
    assert np.isnan(found[2])


def test_comparisons_between_groups_are_refused():
    with pytest.raises(ValueError, match="one group"):
        joint_scores([1, 2], [0, 1], won((0, 1)), center=0, spread=1)
