"""Scoring on a local Ray cluster of two workers: the same bytes as one process, also when a worker is killed.

They take a minute and need Ray, which `make test` does not install: `make test-integrations` runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT, HELDOUT, Commands, Done
from documentation import example_files
from parity_table import same_scores
from server import RunningServer

if find_spec("ray") is None:
    pytest.skip("Ray is not installed; make test-integrations installs it", allow_module_level=True)

ASPECT = ("--task", "summarization", "--aspect", "coherence")
RAY = ("--workers", 2)
# The server is not asked whether it heeds schemas, so that a test counts its own requests only.
JUDGE_AT: dict[str, Any] = {"OPENAI_API_KEY": "none", "RUBRICLAB_STRUCTURED": "text"}
# Seconds before a kill from which on an answer has to be kept.
GRACE = 1.0
LONGEST = 400


def run(commands: Commands, *arguments: object) -> Done:
    """Return how a command ended, started as a user does."""
    return finish(start(commands, *arguments))


def start(commands: Commands, *arguments: object) -> subprocess.Popen[str]:
    script = Path(sys.executable).parent / "rubriclab"
    return subprocess.Popen(
        [str(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=commands.folder,
        env=commands.environment,
    )


def finish(process: subprocess.Popen[str]) -> Done:
    out, err = process.communicate(timeout=LONGEST)
    return Done(process.returncode, out, err)


def run_code(commands: Commands, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return how Python code ended, in the folder of commands and with its store."""
    store = {"RAY_USAGE_STATS_ENABLED": "0", "RUBRICLAB_STORE": str(commands.folder / "store.db")}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=commands.folder,
        env={**commands.environment, **store, **environment},
        timeout=LONGEST,
        check=False,
    )


def workers_of(folder: Path) -> Iterator[int]:
    """Yield the processes of Ray that score for a command run in `folder`, by its home folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            scores = b"RayWorker" in (process / "cmdline").read_bytes()
            if scores and f"HOME={folder}\0".encode() in (process / "environ").read_bytes():
                yield int(process.name)


@pytest.fixture
def asking(server: RunningServer, schema: str, tmp_path: Path) -> Commands:
    """The command line with the local server as its judge and a store on a PostgreSQL server."""
    return Commands(
        tmp_path,
        RUBRICLAB_STORE=schema,
        RUBRICLAB_JUDGE="openai/fake",
        OPENAI_API_BASE=server.url,
        **JUDGE_AT,
    )


def write_texts(file: Path, count: int) -> None:
    rows = [{"id": f"t{n}", "output": f"Text {n} says that it rained.", "source": f"Rain {n}."} for n in range(count)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def write_parquet(file: Path, count: int, row_group: int) -> None:
    code = (
        "import pyarrow as pa; from pyarrow import parquet; n = range({count}); parquet.write_table(pa.table("
        "{{'id': [f't{{i}}' for i in n], 'output': [f'Text {{i}} says that it rained.' for i in n], 'source': "
        "[f'Rain {{i}}.' for i in n]}}), {file!r}, row_group_size={row_group})"
    )
    subprocess.run([sys.executable, "-c", code.format(count=count, file=str(file), row_group=row_group)], check=True)


def test_a_cluster_writes_the_same_bytes_as_one_process_faulty_rows_included(rubriclab: Commands) -> None:
    rows = HELDOUT.read_bytes().splitlines(keepends=True) * 3
    rows[5], rows[20], rows[150] = b"no JSON\n", b'{"id": "empty"}\n', b"\n"
    (rubriclab.folder / "texts.jsonl").write_bytes(b"".join(rows))
    one = run(rubriclab, "score", "texts.jsonl", *ASPECT, "-o", "one.jsonl")
    cluster = run(rubriclab, "score", "texts.jsonl", *ASPECT, "-o", "cluster.jsonl", *RAY)
    assert (one.code, cluster.code) == (0, 0), cluster.err
    written = (rubriclab.folder / "cluster.jsonl").read_bytes()
    assert written == (rubriclab.folder / "one.jsonl").read_bytes()
    assert written.count(b"\n") == len(rows) - 1
    files = [rubriclab.folder / name for name in ("cluster.jsonl", "one.jsonl")]
    lines = [list(map(json.loads, file.read_bytes().splitlines())) for file in files]
    found, expected = (
        {str(place): row["score"] for place, row in enumerate(rows) if row["score"] is not None} for rows in lines
    )
    same_scores("Ray", "ray", found, expected)


def test_a_worker_runs_no_module_of_the_working_folder_and_finds_a_recording_in_it(
    rubriclab: Commands, server: RunningServer
) -> None:
    score = ("score", HELDOUT, *ASPECT)
    rubriclab.environment |= JUDGE_AT | {"OPENAI_API_BASE": server.url}
    assert run(rubriclab, *score, "-o", "asked.jsonl", "--judge", "openai/fake", "--record", "recorded.jsonl").code == 0
    for module in ("rubriclab", "litellm", "struct", "sqlalchemy"):
        (rubriclab.folder / f"{module}.py").write_text("open(__file__ + '.ran', 'w').close()\n")
    replay = ("--judge", "recorded:recorded.jsonl")
    assert run(rubriclab, *score, "-o", "one.jsonl", *replay).code == 0
    replayed = run(rubriclab, *score, "-o", "cluster.jsonl", *replay, *RAY)
    assert replayed.code == 0, replayed.err
    assert list(rubriclab.folder.glob("*.ran")) == []
    assert (rubriclab.folder / "cluster.jsonl").read_bytes() == (rubriclab.folder / "one.jsonl").read_bytes()


def test_a_killed_worker_loses_no_answer_and_repeats_none_that_was_kept(
    asking: Commands, server: RunningServer
) -> None:
    write_parquet(asking.folder / "texts.parquet", 240, row_group=100)
    server.latency = 0.2
    running = start(asking, "score", "texts.parquet", *ASPECT, "-o", "cluster.jsonl", *RAY, "--json")
    while server.answered.total() < 60 and running.poll() is None:
        time.sleep(0.05)
    killed, *others = workers_of(asking.folder)
    os.kill(killed, signal.SIGKILL)
    at = time.monotonic()
    done = finish(running)
    assert done.code == 0, done.err
    assert others, "both workers scored"
    assert [late for late in (at - answered for answered in server.repeats) if late > GRACE] == []
    assert server.requests.total() - server.repeated == 240
    server.reset()
    one = run(asking, "score", "texts.parquet", *ASPECT, "-o", "one.jsonl", "--json")
    assert one.code == 0
    assert server.requests.total() == 0, "every answer was kept"
    assert (asking.folder / "cluster.jsonl").read_bytes() == (asking.folder / "one.jsonl").read_bytes()


@pytest.mark.parametrize("killed", [False, True])
def test_the_caps_hold_for_all_workers_together_and_the_run_goes_on_after_them(
    asking: Commands, server: RunningServer, killed: bool
) -> None:
    write_texts(asking.folder / "texts.jsonl", 100)
    command = ("score", "texts.jsonl", *ASPECT, "-o", "scores.jsonl", *RAY, "--requests-per-minute", 6000)
    server.latency = 0.3 if killed else 0.0
    running = start(asking, *command, "--max-calls", 60)
    if killed:
        while server.answered.total() < 15 and running.poll() is None:
            time.sleep(0.02)
        os.kill(next(workers_of(asking.folder)), signal.SIGKILL)
    stopped = finish(running)
    assert stopped.code == 2
    assert "The cap of 60 calls is reached." in stopped.err
    assert server.requests.total() == 60 if not killed else 40 <= server.requests.total() <= 60
    server.latency = 0.0
    done = run(asking, *command)
    assert done.code == 0, done.err
    assert server.answered.total() - server.repeated == 100
    assert killed or server.repeated == 0


def test_an_interrupted_run_keeps_the_replies_under_way(asking: Commands, server: RunningServer) -> None:
    write_texts(asking.folder / "texts.jsonl", 200)
    server.latency = 1.5
    command = ("score", "texts.jsonl", *ASPECT, "-o", "scores.jsonl", *RAY)
    running = start(asking, *command)
    while server.answered.total() < 20 and running.poll() is None:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGINT)
    stopped = finish(running)
    assert stopped.code == 130, stopped.err
    assert server.requests.total() < 200
    server.latency = 0.0
    assert run(asking, *command).code == 0
    assert (server.requests.total(), server.repeated) == (200, 0)


def test_a_run_resumes_with_workers(rubriclab: Commands, planted: Commands) -> None:
    write_texts(planted.folder / "texts.jsonl", 100)
    command = ("score", "texts.jsonl", "--rubric", "planted", "--judge", "embedded", "-o", "scores.jsonl", "--resume")
    assert run(planted, *command).code == 0
    scores = planted.folder / "scores.jsonl"
    complete = scores.read_bytes()
    scores.write_bytes(complete[: len(complete) // 3])
    resumed = run(planted, *command, *RAY)
    assert resumed.code == 0, resumed.err
    assert " rows of scores.jsonl are kept" in resumed.err
    assert scores.read_bytes() == complete


@pytest.mark.parametrize("resumed", [False, True])
def test_a_cluster_corrects_the_mean_by_labels_in_the_file_as_one_process(planted: Commands, resumed: bool) -> None:
    rows = [
        {"id": f"t{n}", "output": f"Text {n} rained. " * (n % 4 + 1), "source": f"Rain {n}.", "part": f"p{n % 2}"}
        | ({"human": n % 5 + 1} if n % 3 == 0 else {})
        for n in range(90)
    ]
    (planted.folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    judge = ("--rubric", "planted", "--judge", "embedded", "--resume", "--json")
    command = ("score", "texts.jsonl", *judge, "--labels-in", "human", "--by", "part", "--fail-under", 2)
    one = run(planted, *command, "-o", "one.jsonl")
    if resumed:
        part = (planted.folder / "one.jsonl").read_bytes()
        (planted.folder / "cluster.jsonl").write_bytes(part[: len(part) // 3])
        shutil.copy(planted.folder / "one.jsonl.resume.json", planted.folder / "cluster.jsonl.resume.json")
    cluster = run(planted, *command, "-o", "cluster.jsonl", *RAY)
    assert cluster.code == one.code, cluster.err
    assert (planted.folder / "cluster.jsonl").read_bytes() == (planted.folder / "one.jsonl").read_bytes()
    other = {"output", "calls", "calls_by_stage", "tokens_by_stage", "seconds"}
    summaries = [{name: each for name, each in done.json.items() if name not in other} for done in (one, cluster)]
    assert summaries[0] == summaries[1]
    assert len(one.json["slices"]) == 2
    assert (one.json["labels"], one.json["labels_of"]) == (30, "texts")


def test_an_error_ends_the_run_and_loses_no_reply_under_way(asking: Commands, server: RunningServer) -> None:
    write_texts(asking.folder / "texts.jsonl", 1000)
    server.latency = 0.4
    server.script = deque(["unauthorized"])
    command = ("score", "texts.jsonl", *ASPECT, "-o", "scores.jsonl", *RAY, "--concurrency", 64)
    refused = run(asking, *command)
    assert refused.code == 4, refused.err
    assert "Incorrect API key provided." in refused.err
    assert 0 < server.answered.total() < 1000
    done = run(asking, *command)
    assert done.code == 0, done.err
    assert (server.answered.total(), server.repeated) == (1000, 0)


def test_a_scorer_adds_the_columns_of_scores_in_ray_data(planted: Commands) -> None:
    code = """
import os, ray, rubriclab as rl
from rubriclab.integrations.ray import Scorer
texts = [{"id": f"t{n}", "output": f"Text {n} says that it rained. So they stayed in.", "source": f"Rain {n}.",
          "score": n} for n in range(30)]
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
ray.data.DataContext.get_current().execution_options.preserve_order = True
scored = ray.data.from_items(texts, override_num_blocks=5).map_batches(
    Scorer, fn_constructor_kwargs={"rubric": "planted", "store": os.environ["RUBRICLAB_STORE"], "judge": "embedded"},
    batch_size=7, compute=ray.data.ActorPoolStrategy(size=2))
scored.write_parquet("scores")
rows = ray.data.read_parquet("scores").sort("input.score").take_all()
own = rl.Lab(os.environ["RUBRICLAB_STORE"], judge="embedded", progress=None).score(texts, "planted")
assert [row["id"] for row in rows] == [text["id"] for text in texts]
assert [row["score"] for row in rows] == list(own.values), (rows[0], own.values[0])
assert [row["input.score"] for row in rows] == list(range(30))
for criterion in own[0].criteria:
    assert rows[0][f"{criterion.id}.reason"] == criterion.reason
print("the same")
"""
    done = run_code(planted, code)
    assert done.stdout.endswith("the same\n"), done.stderr[-3000:]


def test_a_named_run_keeps_what_it_has_spent_and_takes_the_cap_that_was_given_last(
    planted: Commands, server: RunningServer
) -> None:
    code = """
import os, ray
from rubriclab.integrations.ray import Scorer
texts = [{"id": f"t{n}", "output": f"Text {n} says that it rained.", "source": f"Rain {n}."} for n in range(40)]
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
def score(cap):
    settings = {"rubric": "planted", "store": os.environ["RUBRICLAB_STORE"], "judge": "openai/fake", "run": "named",
                "max_calls": cap, "concurrency": 4}
    scored = ray.data.from_items(texts, override_num_blocks=5).map_batches(
        Scorer, fn_constructor_kwargs=settings, batch_size=7, compute=ray.data.ActorPoolStrategy(size=2))
    try:
        scored.materialize()
    except Exception as error:
        assert f"The cap of {cap} calls is reached" in str(error), error
        print("reached", flush=True)
score(10)
score(25)
"""
    done = run_code(planted, code, **JUDGE_AT, OPENAI_API_BASE=server.url)
    assert done.stdout == "reached\n" * 2, done.stderr[-3000:]
    assert 10 < server.requests.total() <= 25


def test_the_example_of_the_documentation_works(planted: Commands, schema: str, server: RunningServer) -> None:
    imported = planted("export", "planted", "-o", "pack.json"), planted("import", "pack.json", "--store", schema)
    tagged = planted("tag", "planted@1", "production", "--force", "--store", schema)
    assert [done.code for done in (*imported, tagged)] == [0, 0, 0], tagged.err
    (planted.folder / "texts").mkdir()
    write_parquet(planted.folder / "texts" / "texts.parquet", 4, row_group=2)
    example = example_files(CHECKOUT / "docs" / "cluster.md")["score.py"]
    own = example.replace("s3://bucket/", f"{planted.folder}/").replace("postgresql://user@host/rubrics", schema)
    own = own.replace("news-coherence@production", "planted@production").replace("size=4", "size=1")
    done = run_code(planted, own)
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((planted.folder / "scores").glob("*.parquet"))
