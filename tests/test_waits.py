"""A long wait is told of once for each reason, on standard error and in the log file."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from rubriclab.cli.logs import log_to_file, start_logging, stop_logging
from rubriclab.judges import stack as limits
from rubriclab.judges.stack import LocalLimits
from rubriclab.models import waits
from rubriclab.models.waits import AGAIN, LONG, log_wait

LOG = logging.getLogger("rubriclab.test")


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_told", {})


def test_long_wait_is_on_standard_error_and_in_the_log_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start_logging(0)
    log_to_file(tmp_path / "log", "score")
    try:
        log_wait(LOG, LONG, "the rate limit")
        log_wait(LOG, LONG, "the rate limit")
        log_wait(LOG, LONG - 1, "the next attempt")
        log_wait(LOG, LONG + 1, "the next attempt", " after attempt 2 failed: status 503")
    finally:
        stop_logging()
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "warning: waiting 5.0 s for the rate limit",
        "warning: waiting 6.0 s for the next attempt after attempt 2 failed: status 503",
    ]
    assert len(re.findall("waiting", (tmp_path / "log").read_text())) == 4


def test_wait_is_told_of_again_after_a_while(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = 1000.0
    monkeypatch.setattr(waits.time, "monotonic", lambda: now)
    log_wait(LOG, LONG, "the rate limit")
    now += AGAIN
    log_wait(LOG, LONG, "the rate limit")
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


async def test_requests_that_wait_for_the_rate_limit_say_so_once(caplog: pytest.LogCaptureFixture) -> None:
    async def sleep(_seconds: float) -> None:
        pass

    own = LocalLimits(concurrency=9, requests_per_minute=1, clock=lambda: 0.0, sleep=sleep)
    for _ in range(5):
        await own.acquire(0)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.name for record in caplog.records][:1] == [limits.__name__]
    assert told == ["waiting 60.0 s for the rate limit"]
