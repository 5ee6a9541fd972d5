"""Metrics scraped over HTTP, of a command under way and of a lab."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from batch_server import BatchServer
from commands import Commands
from prometheus_client.parser import text_string_to_metric_families
from server import RunningServer
from waiting import until

from rubriclab import Lab
from rubriclab.errors import SettingsError
from rubriclab.judges import Ledger, Usage
from rubriclab.metrics import Metrics

TASK: dict[str, Any] = {"task": "summarization", "aspect": "coherence"}
TEXTS = [{"id": f"t{number}", "output": f"Text number {number}."} for number in range(4)]


def scraped(url: str) -> dict[str, float]:
    """Return each sample by its name, with its labels in braces."""
    answer = httpx.get(url, trust_env=False)
    assert answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {
        sample.name.removeprefix("rubriclab_")
        + (f"{set(sample.labels.values())}" if sample.labels else ""): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_command_under_way_tells_what_is_in_flight_and_what_waits(rubriclab: Commands, server: RunningServer) -> None:
    server.held = True
    (rubriclab.folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TEXTS))
    command = ("score", "texts.jsonl", "--task", "summarization", "--aspect", "coherence", "--judge", "openai/fake")
    at: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": "none"}
    started = rubriclab.start(*command, "--metrics", 0, "--concurrency", 2, "-o", "scores.jsonl", **at)
    errors = Path(started._err)
    url = until(lambda: re.search(r"metrics: (http://127\.0\.0\.1:\d+/metrics)\n", errors.read_text()))[1]
    found = until(lambda: (now := scraped(url))["requests_in_flight"] == now["requests_waiting"] == 2 and now)
    assert found["texts_scored_total"] == 0
    server.held = False
    assert started.wait().code == 0
    with pytest.raises(httpx.ConnectError):
        scraped(url)


def test_requests_retries_tokens_texts_and_cache_hits_are_counted(server: RunningServer, tmp_path: Path) -> None:
    notes: list[str] = []
    faulty = {"id": "t9", "output": ""}
    with Lab(tmp_path / "store.db", "openai/fake", metrics=0, notify=notes.append, price="1:2") as lab:
        url = next(note for note in notes if note.startswith("metrics: ")).removeprefix("metrics: ")
        assert scraped(url)["texts_scored_total"] == 0
        server.script.extend(["rate_limit", None])
        lab.score([*TEXTS, faulty], **TASK)
        found = scraped(url)
        assert found["requests_total{'answered'}"] == 4
        assert found["requests_total{'judge_unavailable'}"] == 1
        assert found["request_seconds_count"] == 5
        assert found["retries_total"] == 1
        assert (found["requests_in_flight"], found["requests_waiting"]) == (0, 0)
        assert (found["texts_scored_total"], found["texts_unscored_total{'faulty_row'}"]) == (4, 1)
        assert found["tokens_total{'prompt'}"] > 0
        assert found["replies_total"] == 4
        lab.score(TEXTS, **TASK)
        assert scraped(url)["cache_hits_total"] == 4
        assert scraped(url)["texts_scored_total"] == 8
    with pytest.raises(httpx.ConnectError):
        scraped(url)


def test_a_ledger_is_counted_while_it_is_watched_and_kept_when_it_is_finished() -> None:
    with Metrics(0) as metrics:
        ledgers = [Ledger(calls=1, usage=Usage(10, 1, 0.5, 8, 0.25)), Ledger(calls=2, usage=Usage(10, 1, 0.5))]
        for ledger in ledgers:
            metrics.watch(ledger)
        ledgers[0].texts["ratings_missing"] += 3
        for _ in range(2):
            metrics.finish(ledgers[0])
        found = scraped(metrics.url)
    assert (found["replies_total"], found["tokens_total{'prompt'}"], found["cost_dollars_total"]) == (3, 20, 1.0)
    assert (found["cached_prompt_tokens_total"], found["saved_dollars"]) == (8, 0.25)
    assert found["texts_unscored_total{'ratings_missing'}"] == 3


def test_an_unknown_cost_is_absent_and_not_zero() -> None:
    with Metrics(0) as metrics:
        metrics.watch(Ledger(usage=Usage(10, 1, None)))
        assert "cost_dollars_total" not in scraped(metrics.url)


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"port {port} cannot be used: Address already in use") as caught:
            Metrics(port)
    assert "Give another port, or metrics=" in str(caught.value)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(SettingsError, match="expected a port from 0 to 65535"):
        Metrics(port)


def test_prompts_in_batches_are_counted_apart_from_calls(batch_server: BatchServer, tmp_path: Path) -> None:
    notes: list[str] = []
    batch_server.ends = ["expired"]
    texts = [{"id": f"t{number}", "output": f"Text number {number}."} for number in range(12)]
    asked: dict[str, Any] = {"batch": True, "batch_pause": 0.02}
    with Lab(tmp_path / "store.db", "openai/fake", metrics=0, notify=notes.append, **asked) as lab:
        lab.score(texts, **TASK)
        url = next(note for note in notes if note.startswith("metrics: ")).removeprefix("metrics: ")
        found = scraped(url)
    # Every second request was not processed, and the six that were left were too few for another batch.
    assert (found["batch_prompts_total{'answered'}"], found["batch_prompts_total{'judge_unavailable'}"]) == (6, 6)
    assert (found["requests_total{'answered'}"], found["request_seconds_count"]) == (6, 6)
    assert (found["batch_prompts_waiting"], found["requests_waiting"], found["texts_scored_total"]) == (0, 0, 12)


def test_metrics_of_workers_are_refused(tmp_path: Path) -> None:
    with (
        Lab(tmp_path / "store.db", "openai/fake", metrics=0) as lab,
        pytest.raises(SettingsError, match="workers=2: metrics works in one process only"),
    ):
        lab.score(TEXTS, **TASK, workers=2)
