"""Single raters beside the others."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from rubriclab.stats.raters import alternative_annotator, rater_statistics


def test_severity_noise_and_agreement_by_hand():
    table = np.array([[1.0, 2, 3, np.nan], [3, 3, 5, 4], [2, 4, 5, np.nan]])
    first, second, _ = rater_statistics(table)
    below = np.array([2.5 - 1, 3.5 - 2, 5 - 3])
    assert (first.n, second.n) == (3, 3)
    assert first.severity.value == pytest.approx(below.mean())
    assert first.noise == pytest.approx(below.std(ddof=1))
    assert first.agreement == pytest.approx(np.corrcoef([1, 2, 3], [2.5, 3.5, 5])[0, 1])
    assert first.severity.low <= first.severity.value <= first.severity.high


def test_the_interval_of_severity_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(200):
        table = rng.normal(size=40) + rng.normal(size=(3, 40)) - np.array([[0.5], [0], [0]])
        found = rater_statistics(table, resamples=300, confidence=0.9, seed=seed)[0].severity
        held += found.low <= 0.5 <= found.high
    assert 0.83 <= held / 200 <= 0.96


def test_what_is_not_there_is_none():
    alone, other, constant = rater_statistics([[1.0, np.nan, np.nan], [np.nan, 2, np.nan], [np.nan, 2, np.nan]])
    assert (alone.n, alone.severity.value, alone.noise, alone.agreement) == (0, None, None, None)
    assert (other.n, other.severity.value, other.noise) == (1, 0.0, None)
    assert constant.agreement is None


def test_infinity_is_refused():
    with pytest.raises(ValueError, match="finite"):
        rater_statistics([[1.0, np.inf]])


def rated(noise, judge_noise, texts=60, raters=4, seed=0):
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=texts)
    return worth + noise * rng.normal(size=(raters, texts)), worth + judge_noise * rng.normal(size=texts)


def written_out(table, judge, epsilon):
    """Return the average advantage probability and the winning rate, by loops."""
    advantages, chances = [], []
    for row, own in enumerate(table):
        closer = []
        for text in range(len(judge)):
            others = [table[k][text] for k in range(len(table)) if k != row and not math.isnan(table[k][text])]
            if not others or math.isnan(own[text]) or math.isnan(judge[text]):
                continue
            far = [math.sqrt(sum((x - other) ** 2 for other in others) / len(others)) for x in (judge[text], own[text])]
            closer.append((far[0] <= far[1], far[1] <= far[0]))
        advantages.append(np.mean([judge_wins for judge_wins, _ in closer]))
        lead = [int(rater_wins) - int(judge_wins) for judge_wins, rater_wins in closer]
        chances.append(ttest_1samp(lead, epsilon, alternative="less").pvalue)
    m = len(chances)
    bound = 0.05 / (m * sum(1 / i for i in range(1, m + 1)))
    passing = [rank for rank, chance in enumerate(sorted(chances), start=1) if chance <= rank * bound]
    return np.mean(advantages), max(passing, default=0) / m


@pytest.mark.parametrize("judge_noise", [0.2, 0.7, 1.0, 2.0])
def test_figures_are_those_of_the_definition(judge_noise):
    table, judge = rated(1.0, judge_noise)
    table[np.random.default_rng(5).random(table.shape) < 0.1] = np.nan
    judge[3] = np.nan
    found = alternative_annotator(table, judge, epsilon=0.15)
    advantage, winning = written_out(table, judge, 0.15)
    assert found.advantage == pytest.approx(advantage)
    assert found.winning == pytest.approx(winning)


def test_a_judge_that_knows_the_worth_replaces_raters_and_one_that_guesses_does_not():
    good, bad = (alternative_annotator(*rated(1.0, noise)) for noise in (0.0, 3.0))
    assert good.passed
    assert good.winning >= 0.75
    assert good.advantage > 0.6
    assert not bad.passed
    assert bad.winning == 0.0


def test_a_larger_epsilon_passes_no_fewer():
    table, judge = rated(1.0, 0.9)
    rates = [alternative_annotator(table, judge, epsilon=epsilon).winning for epsilon in (0.1, 0.15, 0.2)]
    assert rates == sorted(rates)


def test_a_judge_no_better_than_the_raters_wins_by_chance_alone():
    won = [alternative_annotator(*rated(1.0, 1.0, seed=seed), epsilon=1e-9).winning for seed in range(60)]
    assert np.mean([each > 0 for each in won]) <= 0.1


def test_equal_closeness_counts_for_both():
    table = np.tile([1.0, 2, 3, 4] * 10, (3, 1))
    found = alternative_annotator(table, table[0])
    assert found.advantages == (1.0, 1.0, 1.0)
    assert found.passed


def test_few_texts_are_tested_by_ranks():
    found = alternative_annotator(*rated(1.0, 0.0, texts=20))
    assert len(found.raters) == 4
    assert found.passed


def test_too_few_raters_or_texts_say_nothing():
    table, judge = rated(1.0, 0.0)
    assert alternative_annotator(table[:2], judge) is None
    assert alternative_annotator(table[:, :9], judge[:9]) is None
    assert alternative_annotator(table, np.full(60, np.nan)) is None


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="shapes"):
        alternative_annotator(np.ones((3, 5)), np.ones(4))
