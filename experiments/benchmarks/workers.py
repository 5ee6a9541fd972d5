"""Texts per second of `score` with several worker processes, offline and against a server that takes 300 ms a reply.

    python -m experiments.benchmarks.workers --texts 6000 --rounds 5 --workers 1 2 4 6 --output results/workers.json

Each run is a fresh process with a fresh store. Offline, texts of 60 words are scored by a rubric of one method, learned
on the shipped sample. Online, each text takes one call through litellm; the server is a process of its own. The numbers
of workers take turns, so that a noisy machine disturbs all alike. A run's rate leaves out the start: it is that of the
texts after the first fifth. The time until the first score is reported beside it. More workers than processors are
measured only if asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rubriclab import Lab

SAMPLE = Path(__file__).parents[1] / "sample"
WORDS = 60
LATENCY = 0.3
CONCURRENCY = 256
# Share of the texts before the rate is taken.
START = 0.2
ASPECT = {"task": "summarization", "aspect": "coherence"}
ANSWER = json.dumps({"reasoning": "It keeps to one subject, but two sentences could change places.", "score": 4})
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "fake-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730},
}


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield texts of the sample, cut or repeated to 60 words, each different by its number."""
    held_out = [json.loads(line) for line in (SAMPLE / "heldout.jsonl").open()]
    for number, row in enumerate(itertools.islice(itertools.cycle(held_out), count)):
        words = itertools.islice(itertools.cycle(row["output"].split()), WORDS - 1)
        yield {"id": f"t{number}", "source": row["source"], "output": f"{' '.join(words)} ({number})."}


def score(place: str, side: str, texts: int, workers: int) -> None:
    """Score in this process and print the seconds to the first score and the rate after the first fifth."""
    judge = "embedded" if side == "offline" else "openai/fake"
    scored_by: dict[str, Any] = {"rubric": "one"} if side == "offline" else ASPECT
    moments: list[float] = []
    begun = time.monotonic()
    with Lab(place, judge=judge, progress=None, concurrency=CONCURRENCY) as lab:
        for each in lab.score(rows(texts), stream=True, workers=workers, **scored_by):
            assert each.score is not None, each
            moments.append(time.monotonic())
    first = int(texts * START)
    rate = (texts - first) / (moments[-1] - moments[first - 1])
    print(json.dumps({"first_score_seconds": round(moments[0] - begun, 2), "per_second": round(rate, 1)}))


def measure(arguments: argparse.Namespace, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Return the runs by side and number of workers, round by round."""
    found: dict[str, Any] = {}
    for side in arguments.sides:
        found[side] = {str(workers): [] for workers in arguments.workers}
        for turn in range(arguments.rounds):
            for workers in arguments.workers[:: 1 if turn % 2 else -1]:
                store = folder / f"{side}-{turn}-{workers}.db"
                shutil.copy(folder / "learned.db", store)
                own = ["--run", side, "--store", str(store), "--workers", str(workers), "--texts", str(arguments.texts)]
                done = subprocess.run(
                    [sys.executable, "-m", "experiments.benchmarks.workers", *own],
                    check=True,
                    stdout=subprocess.PIPE,
                    env={**os.environ, **environment},
                )
                found[side][str(workers)].append(json.loads(done.stdout))
                store.unlink()
        for workers, runs in found[side].items():
            print(f"{side}, {workers} workers: {median(runs, 'per_second'):.0f} texts/s", flush=True)
    return found


def median(runs: list[dict[str, float]], name: str) -> float:
    """Return the median of a figure over rounds."""
    return statistics.median(run[name] for run in runs)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    file = Path(__file__).parent / "results" / "workers.json"
    if not file.exists():
        return {"workers": "Not measured yet."}
    found = json.loads(file.read_text())
    machine = found["machine"]
    lines = [
        f"Medians of {found['rounds']} rounds of {found['texts']:,} texts; Python {machine['python']}, "
        f"{machine['processors']} cores, load {machine['load']:.1f} before the first.",
        "",
        "| | workers | texts/s | of one worker's rate | seconds to the first score |",
        "|---|---:|---:|---:|---:|",
    ]
    for side, by_workers in found["sides"].items():
        one = median(next(iter(by_workers.values())), "per_second")
        for workers, runs in by_workers.items():
            rate, first = median(runs, "per_second"), median(runs, "first_score_seconds")
            lines.append(f"| {side} | {workers} | {rate:,.0f} | {rate / one:.2f} | {first:.1f} |")
    return {"workers": "\n".join(lines)}


@contextmanager
def server() -> Iterator[str]:
    """Run the server in a process of its own and yield its address."""
    command = [sys.executable, "-m", "experiments.benchmarks.workers", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.terminate()


async def serve() -> None:
    """Answer every request with the same completion, after 300 ms."""
    body = json.dumps(COMPLETION).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                header = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(header.split(b"content-length:")[1].split(b"\r\n")[0]))
                await asyncio.sleep(LATENCY)
                writer.write(head + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=CONCURRENCY)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=6000, help="of each run; many times the requests in flight")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sides", nargs="+", default=["offline", "online"], choices=["offline", "online"])
    parser.add_argument("--output", type=Path, help="where every round's figures go, as JSON")
    parser.add_argument("--serve", action="store_true", help="be the server")
    parser.add_argument("--run", choices=["offline", "online"], help="be one run")
    parser.add_argument("--store", help="the store of one run")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
        return
    if arguments.run:
        score(arguments.store, arguments.run, arguments.texts, arguments.workers[0])
        return
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory() as folder, server() as address:
        with Lab(Path(folder) / "learned.db", judge="embedded", progress=None) as lab:
            lab.learn(SAMPLE / "labelled.jsonl", **ASPECT, scale=(1, 5), methods=["hypoeval"], name="one")
        sides = measure(arguments, Path(folder), {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"})
    result = {"texts": arguments.texts, "rounds": arguments.rounds, "machine": machine, "sides": sides}
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
