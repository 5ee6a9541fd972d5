"""Progress in the log while nothing happens, by a clock that the test moves."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager

import pytest

from rubriclab.judges import Ledger
from rubriclab.methods.method import Progress
from rubriclab.services.progress_log import LONGEST_SILENCE, logged
from rubriclab.services.workspace import no_progress

PATIENCE = 60.0


class Minutes:
    """A clock, and a wait that ends when the clock has been moved far enough."""

    def __init__(self) -> None:
        self.now = 0.0
        self._changed = threading.Condition()
        self._waits = 0
        self._until = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, over: threading.Event, seconds: float) -> bool:
        with self._changed:
            until = self._until = self.now + seconds
            self._waits += 1
            self._changed.notify_all()
            while not over.is_set() and self.now < until:
                self._changed.wait(0.02)
        return over.is_set()

    def pass_(self, seconds: float) -> None:
        """Move the clock while the log waits, and return when it waits again, if its wait is over."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._waits > 0, PATIENCE)
            before, self.now = self._waits, self.now + seconds
            self._changed.notify_all()
            assert self.now < self._until or self._changed.wait_for(lambda: self._waits > before, PATIENCE)


def shown(clock: Minutes, ledger: Ledger) -> AbstractContextManager[Progress]:
    return logged(no_progress, clock=clock, wait=clock.wait)(ledger)


def test_a_phase_in_which_nothing_is_reported_has_a_line_a_minute_with_the_present_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, ledger = Minutes(), Ledger()
    with caplog.at_level(logging.INFO, "rubriclab"), shown(clock, ledger) as on_progress:
        on_progress("30 texts to rate", 0.1)
        for _ in range(2):
            ledger.calls += 7
            clock.pass_(LONGEST_SILENCE)
    assert [record.getMessage() for record in caplog.records] == [
        "30 texts to rate; 0 s, 0 calls, 0 cached, 0 failed",
        "30 texts to rate; 60 s, 7 calls, 0 cached, 0 failed",
        "30 texts to rate; 120 s, 14 calls, 0 cached, 0 failed",
        "done; 120 s, 14 calls, 0 cached, 0 failed",
    ]


def test_a_phase_that_reports_by_itself_has_no_further_lines(caplog: pytest.LogCaptureFixture) -> None:
    clock, ledger = Minutes(), Ledger()
    with caplog.at_level(logging.INFO, "rubriclab"), shown(clock, ledger) as on_progress:
        for number in range(4):
            on_progress(f"{number} texts", 0.1)
            clock.pass_(LONGEST_SILENCE / 2)
    lines = [record.getMessage().split(";")[0] for record in caplog.records]
    assert lines == ["0 texts", "1 texts", "2 texts", "3 texts", "done"]


def test_without_a_log_no_thread_waits(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", started.append)
    with caplog.at_level(logging.WARNING, "rubriclab"), shown(Minutes(), Ledger()):
        assert started == []
