"""Strengths from comparisons against the model as it is written."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from rubriclab.stats.pairs import PREFERENCE_SLOPE, Comparisons, joint_scores


def compared(*triples):
    better, worse, ties = zip(*triples, strict=True)
    return Comparisons(np.array(better), np.array(worse), np.array(ties, dtype=bool))


def won(*pairs):
    return compared(*((better, worse, False) for better, worse in pairs))


def surprise(worth, scores, pairs, reliability):
    """The negative log posterior as the model is written: latent scores, scores and preferences with their noise."""
    noise = 1 - reliability
    apart = PREFERENCE_SLOPE / np.sqrt(noise) * (worth[pairs.better] - worth[pairs.worse])
    preferred = -np.logaddexp(0, -apart)
    halves = (preferred - np.logaddexp(0, apart)) / 2
    scored = np.isfinite(scores)
    return (
        -np.where(pairs.ties, halves, preferred).sum()
        + np.square(worth).sum() / reliability / 2
        + np.square(scores - worth)[scored].sum() / noise / 2
    )


@pytest.mark.parametrize("scores", [(np.nan, np.nan, np.nan, np.nan), (0.5, np.nan, -1.0, 1.2)])
def test_latent_scores_are_where_the_posterior_is_highest(scores):
    scores = np.array(scores)
    pairs = compared((0, 1, False), (2, 0, False), (3, 1, True), (1, 2, False), (0, 3, False))
    found = joint_scores(scores, np.zeros(4), pairs, center=0, spread=1)
    best = minimize(surprise, np.zeros(4), (scores, pairs, found.reliability), tol=1e-12).x
    unit = 1 if np.isfinite(scores).any() else 1 / np.sqrt(found.reliability)
    np.testing.assert_allclose(found.values, unit * best, atol=1e-5)


def test_a_text_that_never_lost_stays_finite_and_first():
    found = joint_scores(np.full(3, np.nan), np.zeros(3), won((0, 1), (0, 2), (1, 2)), center=3, spread=1).values
    assert found[0] > found[1] > found[2]
    assert np.abs(found - 3).max() < 2


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


def test_a_group_without_scores_lies_around_the_center_and_others_are_not_touched_by_it():
    scores = np.array([2.5, np.nan, np.nan, np.nan])
    found = joint_scores(scores, [0, 0, 1, 1], won((0, 1), (2, 3)), center=3, spread=1).values
    assert found[1] < found[0] < 3
    assert found[2] + found[3] == pytest.approx(6, abs=1e-6)
    assert found[2] > found[3]
