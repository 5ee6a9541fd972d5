"""A mean that is looked at again and again."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest

from rubriclab.stats.intervals import Interval, confidence_sequence

LOOKS, GROUPS, RATE = 100, 10, 0.05


def alarm(errors: np.ndarray) -> int | None:
    """Return the look at which the means of groups, shape (looks, groups), are found to have changed."""
    before = np.cumsum(errors, axis=0)[:-1] / np.arange(1, len(errors))[:, np.newaxis]
    changes = list(errors[1:] - before)
    if not found(changes):
        return None
    # Ends never widen, so that the look can be searched for.
    return bisect_left(range(1, len(changes) + 1), True, key=lambda look: found(changes[:look])) + 1


def found(changes: list[np.ndarray]) -> bool:
    interval = confidence_sequence(changes, error_rate=RATE, tightest=10 * GROUPS)
    assert interval.low is not None
    assert interval.high is not None
    return interval.low > 0 or interval.high < 0


def noise(kind: str, rng: np.random.Generator) -> np.ndarray:
    of_text = rng.normal(0, 1, GROUPS)
    if kind == "rare":
        return np.asarray(of_text + (rng.random((LOOKS, GROUPS)) < 0.05) * rng.choice([-1, 1], (LOOKS, GROUPS)))
    scores = of_text + rng.normal(0, 0.4, (LOOKS, GROUPS))
    return np.asarray(np.round(scores) if kind == "whole numbers" else scores)


@pytest.mark.parametrize("kind", ["normal", "whole numbers", "rare"])
def test_a_hundred_looks_raise_a_false_alarm_in_at_most_5_percent(kind: str) -> None:
    rng = np.random.default_rng(1)
    alarms = [alarm(noise(kind, rng)) is not None for _ in range(400)]
    assert np.mean(alarms) <= RATE


def test_intervals_of_each_look_alone_would_raise_false_alarms_in_most_runs() -> None:
    """Shows that the simulation can fail."""
    rng = np.random.default_rng(1)
    alarms = []
    for _ in range(100):
        changes = np.diff(noise("normal", rng), axis=0)
        looks = (np.abs(changes.mean(axis=1)) > 2.26 * changes.std(axis=1, ddof=1) / np.sqrt(GROUPS)).any()
        alarms.append(bool(looks))
    assert np.mean(alarms) > 0.9


def test_a_lasting_change_is_found_within_some_looks_and_stays_found() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        errors = noise("normal", rng)
        errors[20:] += 0.5
        look = alarm(errors)
        assert look is not None
        assert 20 <= look <= 35


def test_the_interval_is_that_of_the_asymptotic_confidence_sequence_for_many_observations() -> None:
    """By the formula of Theorem 2.2 at its tightest, which is 3.03 standard errors at a rate of 5 %."""
    observations = np.tile([-1.0, 1.0], 50_000)
    interval = confidence_sequence([observations], error_rate=0.05, tightest=100_000)
    assert interval.value == pytest.approx(0)
    assert interval.high == pytest.approx(3.03 / np.sqrt(100_000), rel=2e-3)


def test_equal_observations_leave_a_point() -> None:
    assert confidence_sequence([np.zeros(10)], error_rate=0.05, tightest=100) == Interval(0.0, 0.0, 0.0)
