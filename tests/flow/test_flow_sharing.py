"""Two processes that ask the same questions at once on one store pay for each of them once."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import hypoeval_brain
import pytest
from commands import HELDOUT, Commands
from server import RunningServer

SCORE = ("score", "some.jsonl", "--rubric", "news")


@pytest.fixture
def scoring(learned: Commands) -> Commands:
    """The command line with a learned rubric, and texts that nothing was asked about."""
    (learned.folder / "some.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:6]))
    return learned


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_two_processes_at_once_ask_each_question_once(
    provider: RunningServer, scoring: Commands, database: str, request: pytest.FixtureRequest
) -> None:
    if database == "postgresql":
        pack = scoring("export", "news").out.encode()
        scoring.environment["RUBRICLAB_STORE"] = request.getfixturevalue("schema")
        assert scoring("import", "-", stdin=pack).code == 0
    provider.latency = 0.3
    first, second = [each.wait() for each in [scoring.start(*SCORE, "--judge", "openai/fake") for _ in range(2)]]
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.rows == second.rows
    assert len(first.rows) == 6
    assert provider.requests.total() == len(provider.answered)
    assert provider.repeated == 0


def test_a_process_takes_over_the_questions_of_one_that_is_killed(provider: RunningServer, scoring: Commands) -> None:
    killing = threading.Event()

    def hold(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if not killing.is_set():
            killing.set()
            os.kill(first.pid, signal.SIGKILL)
        return hypoeval_brain.reply(messages, body)

    provider.brain = hold
    provider.latency = 0.5
    first = scoring.start(*SCORE)
    while not provider.bodies:
        time.sleep(0.01)
    second = scoring.start(*SCORE)
    assert first.wait().code == -signal.SIGKILL
    done = second.wait()
    assert (done.code, len(done.rows)) == (0, 6)


def test_a_question_that_one_process_got_no_answer_to_is_asked_by_the_other(
    provider: RunningServer, scoring: Commands
) -> None:
    provider.latency = 0.3
    provider.script.extend(["bad_request"] * 1)
    both = [scoring.start(*SCORE, "--concurrency", 1) for _ in range(2)]
    codes = sorted(each.wait().code for each in both)
    assert codes == [0, 4]
    assert provider.repeated == 0


def test_a_read_only_store_answers_what_it_holds_and_asks_nothing_new(
    provider: RunningServer, scoring: Commands
) -> None:
    assert scoring(*SCORE).code == 0
    asked = provider.requests.total()
    (scoring.folder / "more.jsonl").write_bytes(HELDOUT.read_bytes())
    (scoring.folder / "store.db").chmod(0o400)
    from privileges import give_up

    reader = Commands(scoring.folder, before=give_up, **scoring.environment)
    assert reader(*SCORE).rows == scoring(*SCORE).rows
    done = reader("score", "more.jsonl", "--rubric", "news")
    assert done.code == 2
    assert "The store store.db is read-only and lacks an answer that is needed" in done.error
    assert provider.requests.total() == asked
