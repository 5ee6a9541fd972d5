"""Limits of a service."""

from __future__ import annotations

from rubriclab.web.api.scoring import Slots


def test_slots_are_taken_until_none_is_free() -> None:
    slots = Slots(2)
    assert [slots.take() for _ in range(3)] == [True, True, False]
    slots.free()
    assert slots.take()
