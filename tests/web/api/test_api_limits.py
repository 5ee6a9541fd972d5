"""Limits of a service."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rubriclab.web.api.scoring import RateLimit, Slots


@dataclass
class Clock:
    """Tells the time that it was given."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("rate", [1, 3, 7, 600])
def test_as_many_requests_as_the_rate_pass_at_once_and_then_one_in_each_interval(rate: int) -> None:
    clock = Clock()
    limit = RateLimit(rate, clock)
    assert [limit.wait("anna") for _ in range(rate)] == [0.0] * rate
    assert limit.wait("anna") == pytest.approx(60 / rate)
    assert limit.wait("ben") == 0.0
    clock.now += 60 / rate
    assert limit.wait("anna") == 0.0
    assert limit.wait("anna") == pytest.approx(60 / rate)
    clock.now += 10_000
    assert [limit.wait("anna") for _ in range(rate)] == [0.0] * rate
    assert limit.wait("anna") > 0


def test_a_refused_request_does_not_count() -> None:
    clock = Clock()
    limit = RateLimit(2, clock)
    waits = [limit.wait("anna") for _ in range(50)]
    assert (waits[:2], set(waits[2:])) == ([0.0, 0.0], {30.0})


def test_a_rate_below_one_in_a_minute_lets_single_requests_pass() -> None:
    clock = Clock()
    limit = RateLimit(0.5, clock)
    assert (limit.wait("anna"), limit.wait("anna")) == (0.0, 120.0)
    clock.now += 120
    assert limit.wait("anna") == 0.0


def test_slots_are_taken_until_none_is_free() -> None:
    slots = Slots(2)
    assert [slots.take() for _ in range(3)] == [True, True, False]
    slots.free()
    assert slots.take()
