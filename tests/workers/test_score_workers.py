"""Texts scored by several processes, with the offline judge and with one that asks the local server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import HELDOUT, LABELLED, PATIENCE, Commands
from server import RunningServer, fill_schema

from rubriclab import BudgetReached, Lab, ProviderDown, SettingsError, WorkerLost
from rubriclab.judges.plug_ins import judge_points
from rubriclab.judges.recording import read_recording
from rubriclab.services import score_workers
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.score import ScoreOptions, prepare_scoring
from rubriclab.services.workspace import Workspace

ASPECT: dict[str, Any] = {"task": "summarization", "aspect": "coherence"}
TEXTS = 24
# Time differs, and the sum of costs in its last digit.
UNLIKE = {"seconds", "cost_usd"}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package that offers `wire_judge`."""
    folder = tmp_path_factory.mktemp("packages")
    metadata = folder / "wire-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wire\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[rubriclab.judges]\nwire = wire_judge:make_judge\n")
    return folder


@pytest.fixture
def wire(_running_server: RunningServer, package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """The server that `wire:MODEL` asks."""
    _running_server.reset()
    monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("WIRE_PORT", str(_running_server.port))
    judge_points.cache_clear()
    yield _running_server
    judge_points.cache_clear()


def texts(count: int = TEXTS) -> list[dict[str, str]]:
    return [{"id": f"t{n}", "output": f"Text {n} says that it rained.", "source": f"Rain {n}."} for n in range(count)]


def lab(folder: Path, **options: Any) -> Lab:
    return Lab(folder / "store.db", judge="wire:a", progress=None, **options)


def test_three_processes_write_the_same_bytes_as_one(rubriclab: Commands) -> None:
    rows = HELDOUT.read_bytes().splitlines(keepends=True)[:40]
    rows[5], rows[20], rows[39] = b"no JSON\n", b'{"id": "empty"}\n', b"[]\n"
    (rubriclab.folder / "texts.jsonl").write_bytes(b"".join(rows))
    command = ("score", "texts.jsonl", "--task", "summarization", "--aspect", "coherence")
    one, three = (rubriclab(*command, "--workers", number) for number in (1, 3))
    assert (three.code, three.err) == (one.code, one.err) == (0, one.err)
    assert three.out == one.out
    assert [row["score"] is None for row in three.rows].count(True) == 3


def test_scores_calls_and_limits_over_http_are_those_of_one_process(wire: RunningServer, tmp_path: Path) -> None:
    asked: list[float] = []

    def brain(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        asked.append(time.monotonic())
        return fill_schema(messages, body)

    def scored(workers: int) -> Any:
        folder = tmp_path / str(workers)
        folder.mkdir()
        with lab(folder, concurrency=3, record=folder / "run.jsonl") as own:
            return own.score(texts(), **ASPECT, workers=workers)

    one = scored(1)
    wire.reset()
    wire.brain, wire.latency, wire.retry_after = brain, 0.2, "1"
    wire.script.extend(["rate_limit"])
    begun = time.monotonic()
    two = scored(2)
    assert two.to_rows() == one.to_rows()
    assert two.effort.cost_usd == pytest.approx(one.effort.cost_usd)
    assert two.effort.model_dump(exclude=UNLIKE) == one.effort.model_dump(exclude=UNLIKE)
    assert wire.most_at_once == 3
    assert wire.requests.total() == TEXTS + 1
    # The first request was refused for a second: of the other two in flight no more were sent meanwhile.
    first = min(asked) - begun
    assert sum(moment - begun < first + 0.9 for moment in asked) <= 2
    recordings = [read_recording(tmp_path / str(workers) / "run.jsonl") for workers in (1, 2)]
    assert recordings[0].replies == recordings[1].replies
    assert len(recordings[1].replies) == TEXTS


def test_a_cap_is_exact_and_a_repeated_call_asks_for_the_rest(wire: RunningServer, tmp_path: Path) -> None:
    wire.latency = 0.01
    with pytest.raises(BudgetReached, match="cap of 7 calls"):
        lab(tmp_path, max_calls=7).score(texts(), **ASPECT, workers=2)
    assert wire.answered.total() == wire.requests.total() == 7
    assert lab(tmp_path).score(texts(), **ASPECT).unscored == ()
    assert wire.requests.total() == wire.answered.total() == TEXTS


def test_metrics_count_the_requests_of_all_processes(wire: RunningServer, tmp_path: Path) -> None:
    notes: list[str] = []
    wire.script.extend(["rate_limit"])
    with lab(tmp_path, metrics=0, notify=notes.append) as own:
        own.score(texts(), **ASPECT, workers=2)
        found = httpx.get(notes[0].removeprefix("metrics: "), trust_env=False).text
    for line in (
        f'requests_total{{outcome="answered"}} {TEXTS}.0',
        'requests_total{outcome="judge_unavailable"} 1.0',
        f"request_seconds_count {TEXTS + 1}.0",
        "retries_total 1.0",
        "requests_in_flight 0.0",
        "requests_waiting 0.0",
        f"replies_total {TEXTS}.0",
        f"texts_scored_total {TEXTS}.0",
    ):
        assert f"rubriclab_{line}\n" in found


def test_prompts_that_fail_in_a_row_end_the_run_after_as_many_as_in_one_process(
    wire: RunningServer, tmp_path: Path
) -> None:
    wire.script.extend(["server_error"] * 2 * TEXTS)
    with pytest.raises(ProviderDown, match="20 prompts in a row got no reply from wire:a"):
        lab(tmp_path, attempts=1, concurrency=2).score(texts(), **ASPECT, workers=2)
    assert 20 <= wire.requests.total() <= TEXTS


def test_a_killed_worker_ends_the_run_once_what_is_in_flight_is_answered_and_the_next_run_continues(
    wire: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.latency = 0.02
    killed: list[float] = []
    lost = threading.Event()

    def brain(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if len(wire.bodies) >= TEXTS // 2 and not killed:
            killed.append(time.monotonic())
            os.kill(children()[0], signal.SIGKILL)
        if killed:
            assert lost.wait(PATIENCE)
        return fill_schema(messages, body)

    def worker_lost(*arguments: str) -> WorkerLost:
        lost.set()
        return WorkerLost(*arguments)

    monkeypatch.setattr(score_workers, "WorkerLost", worker_lost)
    wire.brain = brain
    with pytest.raises(WorkerLost, match=r"killed by SIGKILL\. Make the same call again: answers so far are cached"):
        lab(tmp_path, concurrency=4).score(texts(), **ASPECT, workers=2)
    assert children() == []
    assert TEXTS // 2 <= wire.requests.total() <= TEXTS // 2 + 4
    assert lab(tmp_path).score(texts(), **ASPECT).unscored == ()
    assert [answered for answered in wire.repeats if answered < killed[0] - 0.5] == []


def test_workers_end_with_their_parent_and_nothing_that_was_answered_is_asked_again(
    wire: RunningServer, package: Path, tmp_path: Path
) -> None:
    wire.latency = 0.02
    half = threading.Event()

    def brain(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if len(wire.bodies) >= TEXTS // 2:
            half.set()
        return fill_schema(messages, body)

    wire.brain = brain
    # No `if __name__ == "__main__"`: workers import nothing of the program.
    (tmp_path / "program.py").write_text(f"""
import sys
sys.path[:0] = {[str(package), str(Path(__file__).parent)]!r}
from rubriclab import Lab
lab = Lab("store.db", judge="wire:a", progress=None)
scores = lab.score({texts()!r}, task="summarization", aspect="coherence", workers=int(sys.argv[1]))
print(len(scores), len(scores.unscored))
""")
    with program(tmp_path, 2) as running:
        assert half.wait(PATIENCE)
        workers = children(running.pid)
        assert len(workers) == 2
        running.kill()
        killed = time.monotonic()
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < killed + PATIENCE
        time.sleep(0.02)
    with program(tmp_path, 1) as again:
        assert again.communicate(timeout=PATIENCE)[0] == b"24 0\n"
    assert [answered for answered in wire.repeats if answered < killed - 0.5] == []


def program(folder: Path, workers: int) -> subprocess.Popen[bytes]:
    """Return the program of a folder under way."""
    return subprocess.Popen([sys.executable, "program.py", str(workers)], cwd=folder, stdout=subprocess.PIPE)


def test_a_judge_that_cannot_be_sent_to_a_process_is_refused(tmp_path: Path) -> None:
    class Own(str):
        """A name whose class other processes cannot find."""

    options = ScoreOptions(**ASPECT, judge="wire:a", workers=2)
    with Workspace(tmp_path / "store.db") as workspace:
        scoring = prepare_scoring(workspace, texts(), None, options)
        scoring.choice = JudgeChoice(Own("embedded"))
        with pytest.raises(SettingsError, match="workers: the rubric or its judge cannot be sent to another process"):
            run(scoring)


def test_a_judge_that_is_connected_already_is_refused(tmp_path: Path) -> None:
    with Workspace(tmp_path / "store.db") as workspace:
        scoring = prepare_scoring(workspace, texts(), None, ScoreOptions(**ASPECT, judge="embedded", workers=2))
        with pytest.raises(SettingsError, match="workers: embedded is connected in this process"):
            replace(scoring, judge=workspace.judge(scoring.choice))


def test_a_store_in_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="workers=2: the store is in memory"):
        Lab("sqlite://", judge="embedded", progress=None).score(texts(), **ASPECT, workers=2)


@pytest.mark.parametrize("number", [0, 257])
def test_the_number_of_workers_has_bounds(tmp_path: Path, number: int) -> None:
    with pytest.raises(SettingsError, match="workers: "):
        Lab(tmp_path / "store.db", progress=None).score(texts(), **ASPECT, workers=number)


def run(scoring: Any) -> None:
    from rubriclab.services.running import finish

    async def every() -> list[Any]:
        return [row async for row in scoring.stream()]

    finish(every)


def children(pid: int | None = None) -> list[int]:
    """Return the worker processes of a process, by default of this one."""
    pid = pid or os.getpid()
    found = [each for file in Path(f"/proc/{pid}/task").glob("*/children") for each in file.read_text().split()]
    return [int(each) for each in found if b"score_job" in Path(f"/proc/{each}/cmdline").read_bytes()]


@pytest.mark.parametrize("module", ["pickle", "struct", "_compat_pickle"])
def test_a_worker_runs_no_module_of_the_working_folder(rubriclab: Commands, module: str) -> None:
    learn = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--method", "direct")
    assert rubriclab(*learn, "--name", "news", "--judge", "embedded").code == 0
    ran = rubriclab.folder / "ran"
    (rubriclab.folder / f"{module}.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    done = rubriclab.script("score", HELDOUT, "--rubric", "news", "--judge", "embedded", "--workers", 2)
    assert (done.code, len(done.rows)) == (0, len(HELDOUT.read_text("utf-8").splitlines())), done.err
    assert not ran.exists()
