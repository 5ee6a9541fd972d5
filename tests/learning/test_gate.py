"""The gate on held-out labels, and the agreement of raters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rating_matrices import follow, measures, table
from scipy.stats import pearsonr

from rubriclab.learning.baselines import FEATURE_NAMES
from rubriclab.learning.gate import (
    calibrated_scores,
    doubt_about_labels,
    gate_level,
    gate_verdict,
    order_difference,
    rater_scores,
    summarize_raters,
    validate,
)
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.models.evaluation import MIN_EFFECT, Raters, Validation, difference_outcome
from rubriclab.models.text import Example, Scale, with_label
from rubriclab.report.render import macro
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import Interval, grouped_folds
from rubriclab.stats.rater_agreement import ceiling, krippendorff_alpha


def gate(found: RatingMatrix, held_out: FloatArray, features: FloatArray | None = None, **more: Any) -> Validation:
    n = len(held_out)
    return validate(
        found,
        measures(0, n) if features is None else features,
        held_out,
        more.pop("fitted", held_out),
        grouped_folds(found.groups, 10, 0),
        method_scores=more.pop("alone", {}),
        calls={"joint": 3.0} | more.pop("calls", {}),
        direct=more.pop("direct", found.values[:, 0]),
        **more,
    )


def test_a_rubric_that_knows_the_labels_is_better_than_everybody() -> None:
    judged = table(n=80)
    rng = np.random.default_rng(3)
    found = gate(judged, follow(rng, judged.labels, 0.95), alone={"hypoeval": judged.labels}, calls={"hypoeval": 2.0})
    assert found.outcome == "better"
    assert {verdict.against: verdict.outcome for verdict in found.verdicts[1:]} == {
        "direct": "better",
        "direct, calibrated": "better",
        "hypoeval": None,
    }
    assert all(verdict.more_labels is None for verdict in found.verdicts)
    assert (found.n, found.groups, found.folds) == (80, 40, 10)
    ranked = [each.pearson.value for each in found.evaluators[1:]]
    assert ranked == sorted(ranked, reverse=True)


def test_a_rubric_that_agrees_as_the_same_judge_asked_directly_passes_only_where_that_is_not_known() -> None:
    judged = table(n=80, quality=(0.9, 0.5))
    found = gate(judged, judged.values[:, 0])
    outcomes = (found.free_verdict.outcome, found.outcome, found.deciding_verdict.equal_in_order)
    assert (*outcomes, found.deciding_verdict.against) == ("better", "inconclusive", True, "direct")
    found = gate(judged, judged.values[:, 0], direct=None)
    assert (found.outcome, found.deciding_verdict) == ("better", found.free_verdict)
    assert {each.kind for each in found.evaluators} == {"rubric", "baseline"}


def test_a_constant_does_not_pass_though_its_error_is_below_that_of_the_plain_question() -> None:
    judged = table(n=80, quality=(0.6, 0.5))
    shifted = judged.values[:, 0] + 3
    found = gate(judged, np.full(80, 0.0), direct=shifted, predicted_labels=np.full(80, judged.labels.mean()))
    against = found.verdict_against("direct")
    assert against.error_outcome == "better"
    assert found.outcome == "worse"


def test_with_baselines_below_zero_the_constant_is_the_one_to_beat() -> None:
    judged = table(n=30)
    features = np.full_like(measures(0, 30), np.nan)
    features[:, 0] = -judged.labels * np.random.default_rng(0).uniform(0.2, 1, size=30)
    features[::2] *= 0
    own = judged.labels + np.linspace(0, 0.1, 30)
    found = gate(replace(judged, groups=tuple(map(str, range(30)))), own, features)
    baselines = {each.name: each.pearson.value for each in found.evaluators if each.kind == "baseline"}
    assert baselines["constant"] == 0
    best = max(baselines, key=lambda name: (baselines[name] or 0, name != "constant"))
    assert found.verdicts[0].against == best
    assert found.outcome == "better"


@pytest.mark.parametrize(("shares", "against"), [((0.0, 0.2), "constant"), ((0.6, 0.6), "word count")])
def test_of_the_best_baseline_and_the_constant_the_worse_verdict_counts(shares, against) -> None:
    """The rubric's scores have the noise of the word count, so a small gain over the word count is certain."""
    judged, noise = table(n=60), np.random.default_rng(3).normal(size=60)
    words, own = (share * judged.labels + (1 - share) * noise for share in shares)
    found = gate(judged, own, np.where(np.arange(len(FEATURE_NAMES)) == 0, words[:, np.newaxis], 0.0)).free_verdict
    assert (found.against, found.overall != "better") == (against, True)


def test_the_error_of_the_constant_decides_nothing() -> None:
    judged = table(8, n=30)
    free = gate(
        judged, np.linspace(0, 0.1, 30) - judged.labels, measures(8, 30), predicted_labels=judged.labels
    ).free_verdict
    assert (free.against, free.less_error, free.overall) == ("constant", None, "worse")


def test_texts_that_one_of_two_did_not_score_are_left_out_for_both() -> None:
    judged = table(n=30)
    own = judged.labels.copy()
    own[:10] = np.nan
    direct = judged.values.copy()
    direct[20:, 0] = np.nan
    found = gate(replace(judged, values=direct), own)
    expected = 1 - pearsonr(direct[10:20, 0], judged.labels[10:20])[0]
    assert found.verdicts[1].difference.value == pytest.approx(expected, abs=1e-6)
    assert (found.n, found.evaluators[0].n) == (20, 20)


@given(st.integers(0, 10**6))
@settings(max_examples=5)
def test_the_order_of_the_texts_changes_nothing(seed: int) -> None:
    judged = table(seed, n=24)
    own = follow(np.random.default_rng([seed, 2]), judged.labels, 0.5)
    features = measures(seed, 24)
    order = np.random.default_rng([seed, 3]).permutation(24)
    assert gate(judged.select_rows(order), own[order], features[order]) == gate(judged, own, features)


def test_texts_are_ranked_within_groups_if_enough_groups_have_three() -> None:
    rng = np.random.default_rng(0)
    labels = rng.normal(size=36)
    groups = [f"g{place // 3}" for place in range(36)]
    assert gate_level(labels, groups) == "group"
    assert gate_level(labels[:15], groups[:15]) == "group"
    for constant, level in ((18, "group"), (21, "dataset")):
        labels[:constant] = 1.0
        assert gate_level(labels, groups) == level
    assert gate_level(rng.normal(size=40), [f"g{place // 2}" for place in range(40)]) == "dataset"


def test_within_groups_the_mean_over_groups_counts() -> None:
    judged = table(n=48, rivals=4)
    own = follow(np.random.default_rng(1), judged.labels, 0.6)
    found = gate(judged, own)
    within = [pearsonr(own[k : k + 4], judged.labels[k : k + 4])[0] for k in range(0, 48, 4)]
    assert found.level == "group"
    assert found.evaluators[0].pearson.value == pytest.approx(np.mean(within), abs=1e-6)


@pytest.mark.parametrize("groups", [2, 4])
def test_with_few_groups_no_difference_can_be_told(groups: int) -> None:
    judged = table(n=40, rivals=40 // groups)
    found = gate(judged, judged.labels)
    for verdict in found.verdicts:
        assert (verdict.few_groups, verdict.more_labels) == (groups, None)
        assert verdict.difference.value > 0.1
        assert (verdict.difference.low, verdict.difference.high) == (None, None)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.01, 0.3, "better"),
        (0.0, 0.3, "inconclusive"),
        (-0.2, 0.05, "inconclusive"),
        (-0.2, 0.049, "not better"),
        (0.01, 0.04, "not better"),
        (-0.2, -0.01, "worse"),
        (None, None, "inconclusive"),
    ],
)
def test_an_outcome_is_read_off_the_interval(low: float | None, high: float | None, outcome: str) -> None:
    assert difference_outcome(Interval(None if low is None else 0.02, low, high), MIN_EFFECT, 12) == outcome


def test_few_groups_do_not_rule_out_a_gain_and_say_how_many_do() -> None:
    small = Interval(0.0, -0.02, 0.02)
    few, enough = (gate_verdict("direct", small, small, SCALE, n_labels=60, clusters=number) for number in (11, 12))
    assert (few.overall, few.few_groups) == ("inconclusive", 11)
    assert macro("more_labels", few) == "Label texts of at least 1 more group (sources)"
    assert (enough.overall, enough.few_groups) == ("not better", None)
    assert difference_outcome(Interval(0.02, 0.01, 0.04), MIN_EFFECT, 11) == "inconclusive"


@pytest.mark.parametrize(
    ("direct", "alpha", "doubt"),
    [
        ({"pearson": Interval(-0.3)}, 1.0, "the labels look reversed"),
        ({"pearson": Interval(-0.29)}, -0.29, None),
        ({"auroc": Interval(0.35)}, 1.0, "the labels look reversed"),
        ({"auroc": Interval(0.36)}, 1.0, None),
        ({"pearson": Interval(None)}, -0.3, "the raters contradict each other"),
        ({}, None, None),
    ],
)
def test_labels_are_doubted_from_a_correlation_or_an_alpha_of_minus_0_3_on(direct: Any, alpha: Any, doubt: Any) -> None:
    judged = table(n=20)
    found = gate(judged, judged.labels)
    evaluators = [each.model_copy(update=direct) if each.name == "direct" else each for each in found.evaluators]
    known = Raters(alpha=Interval(alpha), ceiling=None) if alpha else None
    doubted = doubt_about_labels(found.model_copy(update={"evaluators": evaluators, "raters": known}))
    assert (doubted and doubted[0]) == doubt


def test_texts_and_groups_of_ties_do_not_decide_and_further_labels_are_expected_to_have_as_many() -> None:
    judged, is_tie = table(n=80, quality=(0.5, 0.6)), np.arange(80) >= 40
    labels = np.where(is_tie, 0.5, judged.labels > np.median(judged.labels))
    with_ties = replace(judged, labels=labels, scale=Scale(low=0, high=1, whole=False, names=("bad", "good")))
    without_ties = with_ties.select_rows(~is_tie)
    gains = [order_difference(each.labels, each.values[:, 1], each, "dataset") for each in (with_ties, without_ties)]
    assert gains[0] == gains[1]
    assert gains[0][1] == 20
    more, fewer = (gate(each, each.values[:, 1]).verdicts[1].more_labels for each in (with_ties, without_ties))
    assert more.even == pytest.approx(2 * fewer.even, abs=10)


def test_errors_are_those_of_the_scores_on_the_scale_beside_direct_as_it_comes_and_calibrated() -> None:
    judged = table(n=60, quality=(0.9, 0.5))
    labels = judged.labels
    shifted = np.column_stack([judged.values[:, 0] + 2, judged.values[:, 1:]])
    judged, points = replace(judged, values=shifted), labels + np.tile([0.4, -0.2], 30)
    found = gate(judged, points, predicted_labels=points, direct=shifted[:, 0])
    errors = {each.name: each.errors for each in found.evaluators if each.errors}
    assert set(errors) == {"joint", "direct", "direct, calibrated", "constant"}
    fold = grouped_folds(judged.groups, 10, 0)
    means = np.array([labels[fold != own].mean() for own in fold])
    assert errors["constant"].absolute.value == pytest.approx(np.abs(means - labels).mean(), abs=1e-6)
    rubric, direct, calibrated = (errors[name] for name in ("joint", "direct", "direct, calibrated"))
    assert rubric.absolute.value == pytest.approx(0.3)
    assert rubric.bias == pytest.approx(0.1)
    assert (rubric.near, rubric.point) == (1.0, 2.0)
    assert direct.absolute.value == pytest.approx(np.abs(shifted[:, 0] - labels).mean(), abs=1e-6)
    assert direct.bias == pytest.approx((shifted[:, 0] - labels).mean(), abs=1e-6)
    assert abs(calibrated.bias) < 0.1
    assert calibrated.absolute.value < direct.absolute.value / 2
    # For new texts the map is that of a least-squares regression on all labels.
    slope, at_zero = np.polyfit(shifted[:, 0], labels, 1)
    assert found.direct_calibration.apply(np.array([0, 4.0])) == pytest.approx([at_zero, at_zero + 4 * slope], abs=1e-4)
    verdict = next(each for each in found.verdicts if each.against == "direct")
    assert verdict.less_error.value == pytest.approx(direct.absolute.value - rubric.absolute.value)
    assert verdict.less_error.low > 0
    assert verdict.error_outcome == "better"


@pytest.mark.parametrize(("spread", "outcome"), [(0.4, "not better"), (2, "inconclusive")])
def test_a_gain_in_error_below_five_percent_of_the_scale_does_not_matter(spread: float, outcome: str) -> None:
    judged = table(n=60)  # on a scale that is ten points wide
    direct = judged.labels + 3 + spread * np.repeat(np.tile([-1, 1], 15), 2)
    found = gate(judged, judged.labels, direct=direct, predicted_labels=judged.labels + 3).verdict_against("direct")
    assert (found.less_error.high < 0.5, found.error_outcome) == (outcome == "not better", outcome)


def test_the_plain_question_is_calibrated_without_the_labels_of_the_scored_fold() -> None:
    judged = table(n=40)
    fold = grouped_folds(judged.groups, 10, 0)
    changed = replace(judged, labels=np.where(fold == 0, -judged.labels, judged.labels))
    usual, other = (calibrated_scores(one, fold, one.values[:, 0]) for one in (judged, changed))
    assert np.array_equal(usual[fold == 0], other[fold == 0])
    assert not np.array_equal(usual[fold != 0], other[fold != 0])


SCALE = Scale(low=1, high=5, whole=True)


def examples(table, names=None):
    """Return the texts with the ratings in the columns of a table, three rivals a group."""
    found = []
    for number, column in enumerate(np.asarray(table, dtype=float).T):
        given = ~np.isnan(column)
        known = {"coherence": tuple(np.array(names)[given].tolist())} if names else {}
        annotations = {"coherence": tuple(column[given].tolist())}
        found.append(
            Example(f"t{number:02}", f"Text {number}.", f"g{number // 3}", annotations=annotations, raters=known)
        )
    return with_label(found, "coherence")


def rated(texts=45, raters=3, seed=0):
    rng = np.random.default_rng(seed)
    worth = rng.normal(3, 1, size=texts)
    return worth + rng.normal(size=(raters, texts)) * 0.5 - np.array([[0.6], [0], [0]])


def test_agreement_and_ceiling_are_of_named_raters():
    table = rated()
    table[1, ::4] = np.nan
    found = summarize_raters(examples(table, ["anna", "ben", "cem"]), "coherence", SCALE)
    groups = np.repeat(np.arange(15), 3)
    assert found.alpha == krippendorff_alpha(table, "interval", groups.astype(str).tolist()).rounded()
    assert found.ceiling == pytest.approx(ceiling(table, groups), abs=1e-5)


def test_the_order_of_unnamed_ratings_changes_nothing_nor_its_numbers_in_a_file_that_label_wrote():
    table = rated() + np.array([[0], [1], [2]])
    shuffled = np.random.default_rng(1).permuted(table, axis=0)
    found = summarize_raters(examples(table), "coherence", SCALE)
    for names in (None, ["anna", "earlier 1", "earlier 2"]):
        assert found == summarize_raters(examples(shuffled, names), "coherence", SCALE)
    assert found.ceiling < summarize_raters(examples(table, ["anna", "ben", "cem"]), "coherence", SCALE).ceiling


def test_scores_of_nobody_in_particular_are_left_out_where_others_are_named():
    named = examples([[1.0, 2], [2, 3]], ["anna", "ben"])
    unnamed = Example("x", "X", "g9", annotations={"coherence": (5.0, 5.0)})
    table, raters_known = rater_scores([*named, unnamed], "coherence")
    assert (raters_known, table.shape) == (True, (2, 3))
    assert np.isnan(table[:, 2]).all()


def test_fewer_than_two_raters_of_a_text_say_nothing():
    plain = [Example("a", "A", "g", scores={"coherence": 3})]
    one, apart = examples([[1.0, 2, 3]], ["anna"]), examples([[1, np.nan, 3], [np.nan, 2, np.nan]], ["anna", "ben"])
    assert [summarize_raters(each, "coherence", SCALE) for each in (plain, one, apart)] == [None] * 3
