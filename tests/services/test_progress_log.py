"""Progress in the log, by a clock that the test moves."""

from __future__ import annotations

import logging

import pytest

from rubriclab.judges.stack import Ledger
from rubriclab.ops.workspace import INTERVAL, logged, no_progress


def test_a_phase_is_logged_when_it_begins_and_then_every_ten_seconds_with_the_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now, ledger = [0.0], Ledger()
    with (
        caplog.at_level(logging.INFO, "rubriclab"),
        logged(no_progress, clock=lambda: now[0])(ledger) as on_progress,
    ):
        for number in range(4):
            on_progress(f"{number} texts", 0.1)
            ledger.calls += 7
            now[0] += INTERVAL / 2
    assert [record.getMessage() for record in caplog.records] == [
        "0 texts; 0 s, 0 calls, 0 cached, 0 failed",
        "2 texts; 10 s, 14 calls, 0 cached, 0 failed",
        "done; 20 s, 28 calls, 0 cached, 0 failed",
    ]
