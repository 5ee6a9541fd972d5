"""Verdicts of two levels: threshold, agreement against scikit-learn, and calibrated probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

from rubriclab.errors import SettingsError
from rubriclab.learning.calibration import fit_logistic
from rubriclab.learning.fitting import JointSettings, RecallGoal
from rubriclab.learning.pass_fail import (
    choose_threshold,
    confusion_matrix,
    decision_agreement,
    decisions_at,
    held_out_thresholds,
    rater_decision_agreement,
    two_level_statistic,
)
from rubriclab.models.text import Scale
from rubriclab.stats.intervals import Interval

NAMES = ("fail", "pass")


def drawn(n: int, seed: int = 0, slope: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Return raw values and labels of 0 and 1 whose log odds follow them."""
    draw = np.random.default_rng(seed)
    raw = draw.normal(size=n)
    return raw, (draw.random(n) < 1 / (1 + np.exp(-slope * raw - 0.5))).astype(float)


def test_figures_are_those_of_scikit_learn():
    scores, labels = drawn(80)
    scores = 1 / (1 + np.exp(-scores.round(1)))
    found = (scores >= 0.4).astype(float)
    agreement = decision_agreement("joint", scores, found, labels, [f"g{n % 16}" for n in range(80)])
    assert agreement.cells == tuple(metrics.confusion_matrix(labels, found).ravel().tolist())
    for level in (0, 1):
        recall, precision = (
            score(labels, found, pos_label=level) for score in (metrics.recall_score, metrics.precision_score)
        )
        assert agreement.recalls[level].value == pytest.approx(recall, abs=1e-6)
        assert agreement.precisions[level].value == pytest.approx(precision, abs=1e-6)
    assert agreement.balanced_accuracy.value == pytest.approx(metrics.balanced_accuracy_score(labels, found), abs=1e-6)
    assert agreement.kappa.value == pytest.approx(metrics.cohen_kappa_score(labels, found), abs=1e-6)
    assert agreement.auroc.value == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-6)
    assert agreement.brier.value == pytest.approx(metrics.brier_score_loss(labels, scores), abs=1e-6)
    assert sum(each.n for each in agreement.reliability) == 80
    for interval in (*agreement.recalls, agreement.kappa, agreement.auroc, agreement.brier):
        assert -1 <= interval.low <= interval.value <= interval.high <= 1


def test_intervals_of_few_texts_end_at_the_least_and_the_greatest_value_of_their_statistic():
    labels, groups = np.array([0.0, 1.0] * 6), [str(n) for n in range(12)]
    scores = np.where(labels == 1, 0.9, 0.1)
    scores[0] = 0.95
    good, bad = (decision_agreement("joint", each, each.round(), labels, groups) for each in (scores, 1 - scores))
    assert (good.balanced_accuracy.high, good.auroc.high, good.kappa.high, good.brier.low) == (1, 1, 1, 0)
    assert (bad.balanced_accuracy.low, bad.auroc.low, bad.kappa.low) == (0, 0, -1)
    assert two_level_statistic("AUROC", [1 - scores, scores], labels, groups).low == -1
    assert two_level_statistic("AUROC", [scores, 1 - scores], labels, groups).high == 1


def test_recall_intervals_are_wilsons_of_texts_without_groups_and_of_groups_where_all_agree():
    labels = np.array([1.0] * 10 + [0.0] * 10)
    scores = np.array([0.9] * 9 + [0.1] * 11)
    agreement = decision_agreement("joint", scores, (scores >= 0.5).astype(float), labels, [str(n) for n in range(20)])
    assert (agreement.recalls[1].low, agreement.recalls[1].high) == pytest.approx((0.5958, 0.9821), abs=1e-3)
    labels = np.array([1.0, 0.0] * 12)
    agreement = decision_agreement("joint", labels * 0.8, labels, labels, [f"g{n // 4}" for n in range(24)])
    assert agreement.recalls[1].value == 1
    assert agreement.recalls[1].low == pytest.approx(0.61, abs=0.01)
    opposite = decision_agreement("joint", 1 - labels, 1 - labels, labels, [f"g{n // 4}" for n in range(24)])
    assert (opposite.recalls[1].value, opposite.recalls[1].low) == (0, 0)
    assert opposite.recalls[1].high == pytest.approx(1 - agreement.recalls[1].low)


def test_agreement_without_a_fault_on_few_texts_is_not_certain_nor_are_equal_scores_and_decisions():
    labels, groups = np.array([0.0] * 2 + [1.0] * 8), [str(n) for n in range(10)]
    found = decision_agreement("joint", labels, labels, labels, groups)
    for interval in (found.auroc, found.kappa, found.balanced_accuracy):
        assert (interval.value, interval.low) == (1, None)
    other = labels * 0.5 + 0.2
    assert two_level_statistic("AUROC", [labels, other], labels, groups).low is None
    assert two_level_statistic("AUROC", [other, other], labels, groups) == Interval(0.0)
    assert two_level_statistic("balanced accuracy", [labels, labels], labels, groups) == Interval(0.0)
    brier, unseen = two_level_statistic("Brier score", [other, other], labels, groups), 1 - 0.05 ** (1 / 10)
    assert (brier.low, brier.high) == pytest.approx((-unseen, unseen), abs=1e-6)  # by the rule of three, as a mean


def test_missing_scores_and_tied_raters_are_left_out():
    scores = np.array([0.9, np.nan, 0.2, 0.8])
    labels = np.array([1.0, 1.0, 0.0, 0.5])
    verdicts = np.array([1.0, np.nan, 0.0, 1.0])
    agreement = decision_agreement("joint", scores, verdicts, labels, list("abcd"))
    assert agreement.cells == (1, 0, 0, 1)
    assert choose_threshold(scores, labels) == choose_threshold(scores[[0, 2]], labels[[0, 2]])


def test_the_threshold_has_the_best_balanced_accuracy_and_separable_scores_are_separated():
    scores, labels = np.array([0.05, 0.1, 0.15, 0.3, 0.4]), np.array([0, 0, 0, 1, 1.0])
    assert choose_threshold(scores, labels) == pytest.approx(0.225)


@given(st.integers(0, 2**31), st.sampled_from([0.5, 0.8, 0.95, 1.0]), st.sampled_from([0, 1]))
def test_a_preferred_recall_is_kept_on_the_labels_at_hand(seed, least, level):
    raw, labels = drawn(40, seed)
    if np.ptp(labels) == 0:
        return
    scores = 1 / (1 + np.exp(-raw))
    found = (scores >= choose_threshold(scores, labels, RecallGoal(level, least))).astype(float)
    assert metrics.recall_score(labels, found, pos_label=level, zero_division=0) >= least - 1e-9


def test_a_recall_of_an_unknown_level_is_refused():
    assert JointSettings(prefer_recall_of="fail=0.95").recall_goal(NAMES) == RecallGoal(0, 0.95)
    assert JointSettings().recall_goal(NAMES) is None
    with pytest.raises(SettingsError, match="no level 'bad'"):
        JointSettings(prefer_recall_of="bad=0.95").recall_goal(NAMES)


def test_verdicts_are_by_thresholds_of_the_other_folds():
    scores = np.array([0.1, 0.2, 0.8, 0.9, 0.45, 0.55])
    labels, fold = np.array([0, 0, 1, 1, 1, 0.0]), np.array([0, 0, 0, 0, 1, 1])
    assert decisions_at(scores, held_out_thresholds(scores, labels, fold, None, None))[4:].tolist() == [0.0, 1.0]


def test_raters_are_compared_with_the_majority_of_the_others():
    agreement = rater_decision_agreement([(1, 1, 1), (0, 0, 1), (0, 0, 0)], ["a", "b", "c"])
    # The two who said 0 of the second text face a tie; the one who said 1 faces two who said 0.
    assert agreement.cells == (3, 1, 0, 3)


def test_many_labels_give_the_logistic_regression():
    raw, labels = drawn(50_000)
    regression = LogisticRegression(C=1e6).fit(raw[:, None], labels)
    found = fit_logistic(raw, labels)
    assert found.y[0] == pytest.approx(regression.intercept_[0], abs=5e-3)
    assert found.y[1] - found.y[0] == pytest.approx(regression.coef_[0, 0], abs=5e-3)


def test_separable_labels_give_probabilities_within_0_and_1_and_labels_against_the_raw_values_give_one():
    raw = np.linspace(-1, 1, 20)
    probabilities = fit_logistic(raw, (raw > 0).astype(float)).apply(raw)
    assert 0 < probabilities.min() < 0.3
    assert 0.7 < probabilities.max() < 1
    assert (np.diff(probabilities) > 0).all()
    probabilities = fit_logistic(raw, (raw < 0).astype(float)).apply(raw)
    assert np.ptp(probabilities) < 1e-9
    assert probabilities[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("statistic", "reference"),
    [
        ("balanced accuracy", metrics.balanced_accuracy_score),
        ("AUROC", metrics.roc_auc_score),
        ("Brier score", metrics.brier_score_loss),
    ],
)
def test_paired_differences_are_those_of_scikit_learn(statistic, reference):
    raw, labels = drawn(60)
    first, second = (1 / (1 + np.exp(-values)) for values in (raw, np.random.default_rng(5).normal(size=60)))
    if statistic == "balanced accuracy":
        first, second = ((values > 0.5).astype(float) for values in (first, second))
    found = two_level_statistic(statistic, [first, second], labels, [f"g{n % 12}" for n in range(60)])
    assert found.value == pytest.approx(reference(labels, first) - reference(labels, second), abs=1e-6)
    assert found.low < found.value < found.high


def test_calibration_bins_are_those_of_scikit_learn():
    raw, labels = drawn(50)
    scores = 1 / (1 + np.exp(-raw))
    shares, means = calibration_curve(labels, scores, n_bins=5, strategy="quantile")
    bins = decision_agreement("joint", scores, scores.round(), labels, [str(n) for n in range(50)]).reliability
    assert [each.share.value for each in bins] == pytest.approx(shares.tolist(), abs=1e-4)
    assert [each.score for each in bins] == pytest.approx(means.tolist(), abs=1e-4)
    tied, labels = np.tile([0.3, 0.7], 25), np.repeat([1.0, 0.0], [20, 30])  # texts with equal scores keep their order
    bins = decision_agreement("joint", tied, tied.round(), labels, [str(n) for n in range(50)]).reliability
    assert [each.share.value for each in bins] == [1, 0, 0.5, 0.5, 0]


def test_weighted_kappa_of_few_levels_is_that_of_scikit_learn():
    draw = np.random.default_rng(1)
    labels = draw.integers(1, 6, 60).astype(float)
    scores = np.clip(labels + draw.normal(size=60), 1, 5)
    found = confusion_matrix(scores, labels, [f"g{n % 12}" for n in range(60)], Scale(low=1, high=5, whole=True))
    judged = np.floor(scores + 0.5)
    assert found.kappa.value == pytest.approx(metrics.cohen_kappa_score(labels, judged, weights="quadratic"), abs=1e-6)
    assert found.cells == tuple(map(tuple, metrics.confusion_matrix(labels, judged).tolist()))
    assert found.kappa.low < found.kappa.value < found.kappa.high


@pytest.mark.parametrize(("high", "known"), [(2, False), (3, True), (7, True), (8, False), (4.5, False)])
def test_only_3_to_7_whole_levels_have_a_table(high, known):
    scale = Scale(low=1, high=high, whole=high != 4.5)
    assert (confusion_matrix(np.ones(3), np.ones(3), list("abc"), scale) is not None) == known
