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
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.benchmarks.completion_server import server
from experiments.benchmarks.machine import described, this_machine
from rubriclab import Lab

SAMPLE = Path(__file__).parents[1] / "sample"
WORDS = 60
LATENCY = 0.3
CONCURRENCY = 256
# Share of the texts before the rate is taken.
START = 0.2
ASPECT = {"task": "summarization", "aspect": "coherence"}


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
    lines = [
        f"Medians of {found['rounds']} rounds of {found['texts']:,} texts; {described(found['machine'])} "
        "before the first.",
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


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=6000, help="of each run; many times the requests in flight")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sides", nargs="+", default=["offline", "online"], choices=["offline", "online"])
    parser.add_argument("--output", type=Path, help="where every round's figures go, as JSON")
    parser.add_argument("--run", choices=["offline", "online"], help="be one run")
    parser.add_argument("--store", help="the store of one run")
    arguments = parser.parse_args()
    if arguments.run:
        score(arguments.store, arguments.run, arguments.texts, arguments.workers[0])
        return
    measured_on = this_machine()
    with tempfile.TemporaryDirectory() as folder, server(LATENCY) as address:
        with Lab(Path(folder) / "learned.db", judge="embedded", progress=None) as lab:
            lab.learn(SAMPLE / "labelled.jsonl", **ASPECT, scale=(1, 5), methods=["hypoeval"], name="one")
        sides = measure(arguments, Path(folder), {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"})
    result = {"texts": arguments.texts, "rounds": arguments.rounds, "machine": measured_on, "sides": sides}
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
