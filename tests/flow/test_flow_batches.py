"""Scoring by batches with the command line: killed, stopped, cancelled, and priced."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchServer
from commands import HELDOUT, Commands, Done

from rubriclab.judges import batch as batched

N = 10
SCORE = ("score", "texts.jsonl", "--task", "summarization", "--aspect", "coherence", "--judge", "openai/fake")
BATCH = ("--batch",)
# Seconds between two checks of a batch, and without a new prompt before it is sent.
PAUSE, QUIET = 0.05, 0.1


def check_often() -> None:
    """Let little time pass between two checks of a batch."""
    batched.FIRST_PAUSE, batched.QUIET_SECONDS = PAUSE, QUIET


@pytest.fixture
def scoring(batch_server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The command line with texts to score, and the server as its judge."""
    monkeypatch.setattr(batched, "FIRST_PAUSE", PAUSE)
    monkeypatch.setattr(batched, "QUIET_SECONDS", QUIET)
    lines = HELDOUT.read_bytes().splitlines(keepends=True)[:N]
    (tmp_path / "texts.jsonl").write_bytes(b"".join(lines))
    environment: dict[str, Any] = {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": batch_server.url}
    return Commands(tmp_path, RUBRICLAB_STORE="store.db", **environment)


def killed_at(scoring: Commands, server: BatchServer, step: str, with_signal: int) -> Done:
    """Return how scoring ended that got a signal when the server had done a step, before its response."""
    pids: list[int] = []

    def kill(name: str) -> None:
        if name == step and pids:
            os.kill(pids.pop(), with_signal)

    server.on_step = kill
    started = Commands(scoring.folder, before=check_often, **scoring.environment).start(*SCORE, *BATCH)
    pids.append(started.pid)
    done = started.wait()
    server.on_step = lambda _name: None
    return done


def test_a_run_killed_as_it_uploads_creates_or_collects_a_batch_continues_it_and_scores_as_single_calls_do(
    scoring: Commands, batch_server: BatchServer
) -> None:
    for step in ("upload", "create", "content"):
        assert killed_at(scoring, batch_server, step, signal.SIGKILL).code == -signal.SIGKILL
    done = scoring(*SCORE, *BATCH)
    assert done.code == 0, done.err
    assert len(batch_server.batches) == 1
    assert list(batch_server.processed.values()) == [1] * N
    assert scoring(*SCORE, "--store", "single.db").out == done.out
    assert scoring("batches").out == "No batch is under way.\n"


def test_ctrl_c_says_how_to_go_on_and_how_to_cancel(scoring: Commands, batch_server: BatchServer) -> None:
    batch_server.checks = 1000
    done = killed_at(scoring, batch_server, "status", signal.SIGINT)
    assert done.code == 130
    assert (
        "run the same command again to collect the answers, or cancel: `rubriclab batches --cancel batch_0`" in done.err
    )
    (row,) = scoring("batches", "--json").json["batches"]
    assert (row["batch"], row["requests"], row["cancelled"]) == ("batch_0", N, False)
    cancelled = scoring("batches", "--cancel", "batch_0")
    assert cancelled.out.startswith(
        "Batch batch_0 is cancelled. For its answers so far, run the command again that sent it"
    )
    assert batch_server.batches["batch_0"]["status"] == "cancelled"
    wrong = scoring("batches", "--cancel", "batch_7")
    assert (wrong.code, wrong.error) == (2, "--cancel: no batch 'batch_7' is under way. Under way: batch_0.")


def test_a_dry_run_shows_the_price_of_batches(scoring: Commands) -> None:
    usual, batch = (
        scoring(*SCORE, "--dry-run", "--json", "--price", "10:20", *more).json["estimate"]["judge"]["cost_usd"]
        for more in ((), BATCH)
    )
    assert batch == pytest.approx(usual / 2)
    said = scoring(*SCORE, "--dry-run", "--price", "10:20", *BATCH).out
    assert "For openai/fake half of the usual price is assumed." in said
    listed = scoring(*SCORE[:-1], "gpt-4o-mini", "--dry-run", *BATCH).out
    assert "Costs are those of batches" in listed
    assert "assumed" not in listed
