"""Stopping and going on: caps, kills with requests in flight, and several processes on one store."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing, suppress

import pytest
from commands import Commands
from flow_server import Run, learning, some_texts, texts
from server import RunningServer
from waiting import until


def test_a_call_cap_stops_cleanly_and_a_higher_one_goes_on(provider: RunningServer, asking: Commands, run: Run) -> None:
    command = learning(asking, run.method)
    stopped = asking(*command, "--max-calls", 5)
    assert (stopped.code, stopped.out, stopped.err.count("\n")) == (2, "", 2)
    assert stopped.error == (
        "The cap of 5 calls is reached. Run it again with a higher cap: "
        "answers so far are cached and not requested again."
    )
    assert provider.answered.total() == 5
    done = asking(*command, "--max-calls", 50)
    assert done.json["calls"]["made"] == run.learning - 5
    assert done.json["digest"] == run.digest
    assert (provider.requests.total(), provider.repeated) == (run.learning, 0)


def test_a_cap_on_money_stops_cleanly_before_it_is_passed(provider: RunningServer, asking: Commands, run: Run) -> None:
    command = (*learning(asking, run.method), "--price", "1:1")
    stopped = asking(*command, "--max-cost", 0.01)
    assert (stopped.code, stopped.out) == (2, "")
    assert "The next call might exceed the cap of 0.01 US dollars; 0.0" in stopped.error
    assert "Run it again with a higher cap" in stopped.error
    done = asking(*command, "--max-cost", 5)
    assert done.json["digest"] == run.digest
    assert provider.repeated == 0
    spent = done.json["tokens"]["prompt"] + done.json["tokens"]["completion"]
    assert done.json["cost_usd"] == pytest.approx(spent / 1e6)


def test_a_signal_waits_for_replies_in_flight_and_says_what_was_written(
    provider: RunningServer, learned: Commands
) -> None:
    scoring = ("score", heldout(learned), "--rubric", "news", "-o", "scores.jsonl", "--concurrency", 4)
    provider.latency = 0.3
    started = learned.start(*scoring)
    scores = learned.folder / "scores.jsonl"
    until(lambda: scores.exists() and scores.stat().st_size > 0)
    arrived = wait_for_requests(provider, 5)
    os.kill(started.pid, signal.SIGINT)
    done = started.wait()
    assert done.code == 128 + signal.SIGINT
    assert "rows written; add --resume to keep them" in done.err
    assert "interrupted; answers so far are cached. To resume: rubriclab score heldout.jsonl --rubric" in done.err
    assert provider.requests.total() == arrived
    provider.latency = 0.0
    assert learned(*scoring).code == 0
    assert provider.requests.total() == 8


def test_a_table_has_its_name_only_when_it_is_complete(provider: RunningServer, learned: Commands) -> None:
    scoring = ("score", heldout(learned), "--rubric", "news", "-o", "scores.csv", "--concurrency", 1)
    stopped = learned(*scoring, "--max-calls", 3)
    assert stopped.code == 2
    assert "rows written, to scores.partial.csv; run the same command again for all" in stopped.err
    assert [path.name for path in learned.folder.glob("scores*")] == ["scores.partial.csv"]
    assert learned(*scoring).code == 0
    assert [path.name for path in learned.folder.glob("scores*")] == ["scores.csv"]
    assert provider.repeated == 0


@pytest.mark.parametrize(("number", "again"), [(signal.SIGINT, 3), (signal.SIGTERM, 0)])
def test_a_signal_does_not_wait_long_for_a_slow_provider_and_a_further_one_changes_no_exit_code(
    provider: RunningServer, learned: Commands, number: signal.Signals, again: int
) -> None:
    provider.held = True
    started = learned.start("score", heldout(learned), "--rubric", "news")
    wait_for_requests(provider, 1)
    begun = time.monotonic()
    for _ in range(again + 1):
        with suppress(ProcessLookupError):
            os.kill(started.pid, number)
        time.sleep(0.1)
    done = started.wait()
    provider.held = False
    assert done.code == 128 + number
    assert time.monotonic() - begun < 10


def heldout(commands: Commands) -> str:
    """Write eight texts that were never scored, and return the file's name."""
    (commands.folder / "heldout.jsonl").write_bytes(some_texts(8))
    return "heldout.jsonl"


def wait_for_requests(provider: RunningServer, count: int) -> int:
    """Return the number of requests that have arrived, once there are at least `count` and no more follow at once."""
    until(lambda: provider.requests.total() >= count)
    time.sleep(0.1)
    return provider.requests.total()


def test_damaged_answers_are_asked_again_named_once_and_reported(provider: RunningServer, learned: Commands) -> None:
    command = ("score", texts(learned.folder, 4), "--rubric", "news", "--concurrency", 1)
    before = learned(*command)
    assert before.code == 0, before.err
    provider.reset()
    with closing(sqlite3.connect(learned.folder / "store.db")) as database:
        database.execute("UPDATE answers SET reply = 'x' || reply")
        database.commit()
    after = learned(*command)
    asked = provider.requests.total()
    assert (after.code, asked > 0) == (0, True), after.err
    assert after.err.count(f"{asked} cached answers are damaged and asked for again; see: `rubriclab verify`") == 1
    assert [row["score"] for row in after.rows] == [row["score"] for row in before.rows]
    assert learned(*command).rows == after.rows
    assert provider.requests.total() == asked
    assert learned("verify").code == 1
