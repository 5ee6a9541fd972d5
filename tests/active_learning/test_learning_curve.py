"""The learning curve: a law that is found again, the same whatever the order, and honest where nothing is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.active_learning.learning_curve import MAX_LABELS, STEP, LearningCurve, learning_curve
from rubriclab.data import Scale
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.settings import JointSettings

SETTINGS = JointSettings(calibration="linear")


def table(seed: int, *, noise: float = 1.0, texts: int = 30, groups: int = 10) -> RatingMatrix:
    rng = np.random.default_rng(seed)
    labels = rng.normal(3, 1, texts).round(2)
    values = labels[:, np.newaxis] + noise * rng.normal(0, 1, (texts, 6))
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=tuple(f"g{number % groups}" for number in range(texts)),
        methods=("hypoeval",) * 6,
        signed=np.zeros(6, dtype=bool),
        unit=np.zeros(6, dtype=bool),
        holistic=np.zeros(6, dtype=bool),
        prior_direction=np.ones(6),
        seen=np.zeros((texts, 6), dtype=bool),
        scale=Scale(low=-2, high=8, whole=False),
        places=tuple(range(6)),
    )


def curve(ceiling: float, half: float, labels: int = 30) -> LearningCurve:
    resampled = np.array([[ceiling, half]] * 20)
    return LearningCurve(labels, np.zeros(3), np.zeros(3), ceiling, half, resampled)


def test_worth_is_where_ten_more_labels_add_less_than_the_threshold() -> None:
    found = curve(0.6, 20)
    more = round(found.worthwhile(0.01).value or 0)
    agreement = [found.at(30 + number).value or 0 for number in (more - 1, more - 1 + STEP, more, more + STEP)]
    assert agreement[1] - agreement[0] >= 0.01 > agreement[3] - agreement[2]
    assert found.at(30).value == pytest.approx(0.6 * np.sqrt(0.6))
    assert found.gain(20).value == pytest.approx(0.6 * (np.sqrt(50 / 70) - np.sqrt(0.6)))


def test_a_flat_curve_makes_no_label_worth_it_and_a_steep_one_is_bounded() -> None:
    assert curve(0.6, 0).worthwhile(0.001).value == 0
    assert curve(0.9, 200).worthwhile(1e-6).value == MAX_LABELS


def test_agreement_is_found_again_and_rises_with_the_labels() -> None:
    found = learning_curve(table(1), SETTINGS)
    assert found is not None
    assert found.measured[-1] > 0.7
    assert found.labels == 30
    assert list(found.sizes) == sorted(found.sizes)
    now, then = found.at(30), found.at(60)
    assert 0.7 < (now.value or 0) < (then.value or 0) <= 1
    assert (now.low or 0) < (now.value or 0) < (now.high or 0)
    gain = found.gain(30)
    assert gain.value == pytest.approx((then.value or 0) - (now.value or 0))
    assert 0 <= (gain.low or 0) <= (gain.high or 0)


def test_the_order_of_the_texts_changes_nothing() -> None:
    given = table(2, noise=2)
    order = np.random.default_rng(0).permutation(30)
    one, other = learning_curve(given, SETTINGS), learning_curve(given.rows(order), SETTINGS)
    assert one is not None
    assert other is not None
    assert (one.ceiling, one.half) == (other.ceiling, other.half)
    assert np.array_equal(one.resampled, other.resampled)


@pytest.mark.parametrize(
    "given",
    [
        table(3, groups=4),
        replace(table(3), labels=np.full(30, 2.0)),
        replace(table(3), seen=np.ones((30, 6), dtype=bool)),
        replace(table(3), values=np.full((30, 6), np.nan)),
    ],
    ids=["few groups", "constant labels", "criteria made from all labels", "no scores"],
)
def test_where_the_labels_cannot_tell_there_is_no_curve(given: RatingMatrix) -> None:
    assert learning_curve(given, SETTINGS) is None
