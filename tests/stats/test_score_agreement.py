"""Agreement at each level against scipy, intervals against computations written out in full."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from rubriclab.stats import agreement
from rubriclab.stats.correlation import pearson_rows, spearman_rows
from rubriclab.stats.intervals import Interval, jackknife_interval
from rubriclab.stats.score_agreement import difference

LEVELS = ["group", "dataset", "system"]
SCIPYS = {"spearman": spearmanr, "pearson": pearsonr, "kendall": kendalltau}
NOTHING = Interval(None)


def simulated(groups=12, systems=7, seed=0, missing=0.1):
    """Scores with ties, group effects and unequal group sizes."""
    rng = np.random.default_rng(seed)
    cells = [(g, s) for g in range(groups) for s in range(systems) if rng.random() > missing]
    group, system = np.array(cells).T
    human = np.clip(np.round(rng.normal(3 + 0.1 * system, 1) + rng.normal(size=groups)[group] / 2), 1, 5)
    predicted = np.round(human + rng.normal(size=len(cells)), 1)
    return predicted, human, [f"g{g:02}" for g in group], [f"s{s}" for s in system]


def estimates(result):
    return {name: getattr(result, name) for name in SCIPYS}


def scipys(correlate, x, y):
    return correlate(x, y).statistic if len(set(x)) > 1 and len(set(y)) > 1 else np.nan


def within_groups(correlate, predicted, human, groups):
    """Each group's correlation by the rule ``skip``, with the group's name."""
    values = {}
    for name in sorted(set(groups)):
        rows = np.array(groups) == name
        if len(set(human[rows])) > 1:
            values[name] = np.nan_to_num(scipys(correlate, predicted[rows], human[rows]))
    return values


def written_out(level, correlate, texts, draws):
    """The statistic of each list of group names in `draws` (a name may repeat), computed the long way."""
    if level == "group":
        values = within_groups(correlate, *texts[:3])
        return [np.mean([values[name] for name in drawn]) for drawn in draws]
    return [pooled(level, correlate, texts, drawn) for drawn in draws]


def pooled(level, correlate, texts, drawn):
    predicted, human, groups, systems = map(np.array, texts)
    rows = np.concatenate([np.flatnonzero(groups == name) for name in drawn])
    if level == "dataset":
        return scipys(correlate, predicted[rows], human[rows])
    means = [
        [scores[rows][systems[rows] == name].mean() for name in sorted(set(systems[rows]))]
        for scores in (predicted, human)
    ]
    return scipys(correlate, *np.round(means, 10))


def used_names(level, texts):
    names = sorted(within_groups(spearmanr, *texts[:3])) if level == "group" else sorted(set(texts[2]))
    return names, [[name for name in names if name != left_out] for left_out in names]


def samara_randles(tau, texts):
    """The interval in Hollander & Wolfe, "Nonparametric Statistical Methods", section 8.3, for the systems' means."""
    names, of = sorted(set(texts[3])), np.array(texts[3])
    points = [[scores[of == name].mean() for scores in texts[:2]] for name in names]
    pairs = [sum(np.sign(x - a) * np.sign(y - b) for a, b in points) for x, y in points]
    n, spread = len(names), np.square(np.array(pairs) - np.mean(pairs)).sum()
    variance = 2 / (n * (n - 1)) * (2 * (n - 2) / (n * (n - 1) ** 2) * spread + 1 - tau**2)
    return max(tau - norm.ppf(0.975) * variance**0.5, -1), min(tau + norm.ppf(0.975) * variance**0.5, 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_values_and_intervals_equal_those_written_out_in_full(level, seed):
    texts = simulated(seed=seed)
    result = agreement(*texts, level=level)
    names, draws = used_names(level, texts)
    for name, correlate in SCIPYS.items():
        value, *without = written_out(level, correlate, texts, [names, *draws])
        expected = dataclasses.astuple(jackknife_interval(value, np.array(without), is_correlation=True))
        if level == "system":
            lost, numerator = {"spearman": (3, 1 + value**2 / 2), "pearson": (3, 1), "kendall": (4, 0.437)}[name]
            reach = norm.ppf(0.975) * np.sqrt(numerator / (7 - lost))
            low, high = np.tanh([np.arctanh(value) - reach, np.arctanh(value) + reach])
            wider = {"spearman": (low, high), "pearson": expected[1:], "kendall": samara_randles(value, texts)}[name]
            expected = (value, min(low, wider[0]), max(high, wider[1]))
        np.testing.assert_allclose(dataclasses.astuple(getattr(result, name)), expected, atol=1e-9)
    assert result.unit == "groups"
    assert result.groups == len(names)


def systems_of(rng, systems, inputs=20, alike=0.9, noise=1.0):
    """Return scores of systems whose qualities by judge and people are so much `alike`, with noise in every text."""
    quality = rng.multivariate_normal([0, 0], [[1, alike], [alike, 1]], size=systems)
    scores = quality + rng.normal(scale=0.5, size=(inputs, 1, 1)) + noise * rng.normal(size=(inputs, systems, 2))
    predicted, human = scores.reshape(-1, 2).T
    names = [(f"g{place:02}", f"s{number:03}") for place in range(inputs) for number in range(systems)]
    groups, of = zip(*names, strict=True)
    return predicted, human, groups, of


@pytest.mark.parametrize(("systems", "near_1"), [(5, False), (16, False), (7, True), (16, True)])
def test_intervals_between_few_systems_hold_the_correlation_of_all_systems_like_them(systems, near_1):
    """Near 1, those of Kendall's correlation are not absurdly wide."""
    rng, runs, missed, widths, without = np.random.default_rng(systems), 60, Counter(), [], 0
    kind, names = ((10, 0.98, 0.3), ["kendall"]) if near_1 else ((), list(SCIPYS))
    means = np.array(systems_of(rng, 1500, *kind)[:2]).reshape(2, -1, 1500).mean(axis=1)
    true = {name: scipys(SCIPYS[name], *means) for name in names}
    for _ in range(runs):
        found = estimates(agreement(*systems_of(rng, systems, *kind), level="system"))
        for name in names:
            if found[name].low is None:
                without += abs(found[name].value) < 1 - 1e-9
                continue
            missed[name] += not found[name].low <= true[name] <= found[name].high
            widths.append(found[name].high - found[name].low)
    assert without == 0
    # Of 60 draws at 95 %, more than 7 miss in about one of a hundred.
    assert all(number <= 7 for number in missed.values())
    # By the jackknife over inputs 1.1 and 0.4.
    assert not near_1 or (true["kendall"] > 0.8 and np.mean(widths) < {7: 0.7, 16: 0.35}[systems])


def test_worked_example():
    human = [1, 2, 3, 1, 2, 3, 4, 4, 4, 2, 5]
    predicted = [1, 2, 3, 3, 2, 1, 1, 2, 3, 7, 7]
    groups = ["up"] * 3 + ["down"] * 3 + ["flat"] * 3 + ["mute"] * 2
    skip = agreement(predicted, human, groups, level="group")
    assert (skip.n, skip.groups, skip.constant_groups, skip.constant) == (8, 3, 1, "skip")
    assert skip.spearman.value == pytest.approx((1 - 1 + 0) / 3)
    papers = agreement(predicted, human, groups, level="group", constant="papers")
    assert (papers.n, papers.groups, papers.constant_groups, papers.constant) == (11, 4, 1, "papers")
    for estimate in estimates(papers).values():
        assert estimate.value == pytest.approx((1 - 1 + 1 + 0) / 4)


def test_systems_with_equal_means_are_tied_in_whatever_order_their_scores_are_summed():
    numbers, places = zip(*[(number, place) for number in range(8) for place in range(5)], strict=True)
    human = np.array([n // 2 + [0.1, 0.2, 0.3, 0.6, 0.8][(n + p) % 5] for n, p in zip(numbers, places, strict=True)])
    small, large = (agreement(numbers, human * scale, places, numbers, level="system") for scale in (1, 1e6 / 3))
    assert large.kendall == small.kendall
    assert large.spearman.value == pytest.approx(spearmanr(range(8), [0, 0, 1, 1, 2, 2, 3, 3]).statistic)


def test_constant_evaluator_gets_nothing_for_it_unless_the_humans_agree_on_all():
    predicted, human, groups, systems = simulated()
    flat = np.full(len(human), 3.0)
    rare = 1 - 0.05 ** (1 / 12)  # the share of other groups that twelve equal groups miss in 5 % of draws
    assert agreement(flat, human, groups, level="group").spearman == Interval(0, -rare, rare)
    assert agreement(flat, human, groups, level="dataset").spearman == NOTHING
    assert agreement(flat, human, groups, systems, level="system").spearman == NOTHING
    assert agreement(predicted, flat, groups, level="group").spearman == NOTHING
    found = agreement(predicted, flat, groups, level="group", constant="papers").spearman
    assert dataclasses.astuple(found) == pytest.approx((1, 1 - 2 * rare, 1))


@pytest.mark.parametrize("constant", ["skip", "papers"])
def test_groups_of_one_text_are_left_out_at_group_level_and_counted(constant):
    predicted, human, groups, systems = simulated()
    more = (np.append(predicted, [1, 9]), np.append(human, [5, 1]), [*groups, "alone", "solo"], [*systems, "s0", "s1"])
    with_singles = agreement(*more, level="group", constant=constant)
    without = agreement(predicted, human, groups, systems, level="group", constant=constant)
    assert with_singles == dataclasses.replace(without, single_groups=2)


@pytest.mark.parametrize("level", LEVELS)
def test_unscored_texts_are_as_if_absent(level):
    predicted, human, groups, systems = simulated()
    predicted[::5] = np.nan
    kept = np.flatnonzero(~np.isnan(predicted))
    result = agreement(predicted, human, groups, systems, level=level)
    names = [[ids[row] for row in kept] for ids in (groups, systems)]
    assert result == agreement(predicted[kept], human[kept], *names, level=level)
    assert result.n <= len(kept)


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(40)))
def test_order_of_the_texts_changes_no_digit(level, order):
    predicted, human, groups, systems = (column[:40] for column in simulated())
    shuffled = [predicted[order], human[order], [groups[i] for i in order], [systems[i] for i in order]]
    assert agreement(*shuffled, level=level) == agreement(predicted, human, groups, systems, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_a_single_group_leaves_its_texts_out(level):
    predicted, human, _, systems = simulated(missing=0)
    result = agreement(predicted, human, ["one"] * len(human), systems, level=level)
    assert (result.unit, result.groups) == ("texts", 1)
    for estimate in estimates(result).values():
        assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize("level", LEVELS)
def test_fewer_than_five_groups_have_no_interval(level):
    for groups, has_interval in ((2, False), (4, False), (5, True)):
        texts = simulated(groups=groups, missing=0.0)
        result = agreement(*texts, level=level)
        other = difference(texts[0], -texts[0], *texts[1:], level=level)
        for statistic in (result.spearman, result.pearson, result.kendall, other.interval):
            assert statistic.value is not None
            assert (statistic.low is not None, statistic.high is not None) == (has_interval, has_interval)
        assert result.too_few_groups == other.too_few_groups == (not has_interval)


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_scored_gives_nothing_and_no_error(level):
    empty = agreement([], [], [], [], level=level)
    unscored = agreement([np.nan] * 3, [1, 2, 3], ["a"] * 3, ["s"] * 3, level=level)
    for result in (empty, unscored):
        assert (result.n, result.groups, result.constant_groups) == (0, 0, 0)
        assert estimates(result) == dict.fromkeys(SCIPYS, NOTHING)


@pytest.mark.parametrize("level", ["group", "dataset"])
@pytest.mark.parametrize("seed", [0, 1])
def test_difference_equals_the_paired_jackknife_written_out_in_full(level, seed):
    first, *rest = simulated(seed=seed)
    second = np.random.default_rng(9).permutation(first)
    result = difference(first, second, *rest, level=level)
    names, draws = used_names(level, (first, *rest))
    ours, theirs = (written_out(level, pearsonr, (scores, *rest), [names, *draws]) for scores in (first, second))
    value, *gains = np.subtract(ours, theirs)
    expected = dataclasses.astuple(jackknife_interval(value, np.array(gains)))
    np.testing.assert_allclose(dataclasses.astuple(result.interval), expected, atol=1e-9)


@pytest.mark.parametrize(("coefficient", "systems"), [(pearson_rows, 5), (spearman_rows, 16)])
def test_intervals_of_differences_between_systems_allow_for_other_systems(coefficient, systems):
    rng, true, held, runs = np.random.default_rng(systems), np.array([0.8, 0.5]), 0, 80
    if coefficient is spearman_rows:
        true = 6 / np.pi * np.arcsin(true / 2)
    names = [str(number) for number in range(systems)]
    for _ in range(runs):
        draws = rng.multivariate_normal(np.zeros(3), [[1, 0.8, 0.5], [0.8, 1, 0.6], [0.5, 0.6, 1]], size=systems)
        human, one, other = draws.T
        found = difference(one, other, human, names, names, level="system", coefficient=coefficient).interval
        held += found.low is None or found.low <= true[0] - true[1] <= found.high
    # Of 80 draws at 95 %, fewer than 71 come in one of a hundred.
    assert held >= 71


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"predicted": [1, 2]}, "predicted: expected 3 values"),
        ({"predicted": [1, 2, np.inf]}, "predicted: .* infinity"),
        ({"human": [1, 2]}, "human: expected 3 values"),
        ({"human": [1, 2, np.nan]}, "human: .* nan"),
        ({"systems": None}, "systems: .* got None"),
        ({"systems": ["s"]}, "systems: expected 3 values"),
        ({"level": "text"}, "level: expected one of group, dataset, system, got 'text'"),
        ({"constant": "one"}, "constant: expected one of skip, papers, got 'one'"),
    ],
)
def test_bad_input_is_refused_with_what_came_and_what_was_expected(change, said):
    good = {"predicted": [1, 2, 3], "human": [1, 2, 3], "groups": ["a"] * 3, "systems": ["s", "t", "u"]}
    with pytest.raises(ValueError, match=said):
        agreement(**good | {"level": "system"} | change)
