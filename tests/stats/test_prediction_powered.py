"""The mean human score of many texts from few labels."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.stats.prediction_powered import LabelledScores, corrected_mean, labels_for_margin, unlike


def sample(seed: int, groups: int, size: int, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores that are too high, and groups whose texts are alike."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(groups), size)
    quality = rng.normal(3, 0.6, groups * size)
    labels = quality + rng.normal(0, 0.3, groups)[unit] + rng.normal(0, noise, len(unit))
    return labels, quality + 0.4, unit


def test_estimate_and_interval_are_those_of_ppi_python_for_many_texts_without_groups() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(3, 1, 200)
    labels = 0.3 + 0.6 * scores + rng.normal(0, 0.5, 200)
    texts = rng.normal(3.4, 1, 200_000)
    labelled = LabelledScores(labels, scores, np.arange(200))
    found = corrected_mean(float(texts.mean()), len(texts), len(texts), labelled)
    assert labelled.factor == pytest.approx(0.6263195, abs=1e-6)
    # By ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3 with this factor as `lam`.
    assert found.value == pytest.approx(2.3339275, abs=1e-6)
    # Its quantiles are normal, and these are Student's.
    assert found.low == pytest.approx(2.2671139, abs=1e-3)
    assert found.high == pytest.approx(2.4007411, abs=1e-3)


def test_intervals_hold_the_mean_label_of_the_texts_in_about_95_percent() -> None:
    held = []
    for seed in range(1000):
        labels, scores, unit = sample(seed, 20, 4)
        chosen = unit < 8
        labelled = LabelledScores(labels[chosen], scores[chosen], unit[chosen])
        found = corrected_mean(float(scores[~chosen].mean()), int((~chosen).sum()), 12, labelled)
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= labels[~chosen].mean() <= found.high)
    assert 0.93 <= np.mean(held) <= 0.975


def test_scores_without_information_leave_the_mean_of_the_labels() -> None:
    labels, scores, unit = sample(1, 10, 3)
    labelled = LabelledScores(labels, np.full_like(scores, 2.0), unit)
    assert labelled.factor == 0
    assert corrected_mean(4.9, 100, 100, labelled).value == pytest.approx(labels.mean())


def test_labels_of_four_groups_give_no_estimate() -> None:
    labels, scores, unit = sample(1, 4, 5)
    assert corrected_mean(3.0, 100, 20, LabelledScores(labels, scores, unit)).value is None


def test_half_the_margin_needs_four_times_the_labels() -> None:
    labelled = LabelledScores(*sample(1, 10, 3))
    assert labels_for_margin(labelled, 0.1) == pytest.approx(4 * labels_for_margin(labelled, 0.2), abs=4)


def test_scores_that_are_shifted_are_unlike_and_others_are_not() -> None:
    labelled = LabelledScores(*sample(1, 10, 3))
    like = sample(2, 50, 3)[1]
    assert not unlike(like, 50, labelled)
    assert unlike(like + 1.5, 50, labelled)
