"""Texts per second of `score` with several worker processes, offline and against a server that takes 300 ms a reply.

    python -m experiments.benchmarks.workers --texts 6000 --rounds 5 --workers 1 2 4 6 --output results/workers.json

Each run is a fresh process with a fresh store. Offline, texts of 60 words are scored by a rubric of one method, learned
on the shipped sample. Online, each text takes one call through litellm; the server is a process of its own. The numbers
of workers take turns, so that a noisy machine disturbs all alike. A run's rate is that of the texts after the first
fifth, without the start; the time until the first score is reported beside it.
"""

from __future__ import annotations

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

from experiments.benchmarks.common import SAMPLE, described, parser_of, rows_of, server, store, stored, this_machine
from rubriclab import Lab

WORDS = 60
LATENCY = 0.3
CONCURRENCY = 256
SIDES = ("offline", "online")
# Share of the texts before the rate is measured.
START = 0.2
ASPECT = {"task": "summarization", "aspect": "coherence"}


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield texts of the sample, cut or repeated to 60 words, each different by its number."""
    for number, row in enumerate(itertools.islice(itertools.cycle(rows_of("heldout")), count)):
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


def measure(texts: int, rounds: int, workers: list[int], folder: Path) -> dict[str, Any]:
    """Return the runs by side and number of workers, round by round."""
    found: dict[str, Any] = {side: {str(number): [] for number in workers} for side in SIDES}
    for side, turn in itertools.product(SIDES, range(rounds)):
        for number in workers[:: 1 if turn % 2 else -1]:
            place = folder / f"{side}-{turn}-{number}.db"
            shutil.copy(folder / "learned.db", place)
            own = ["--run", side, str(place), "--workers", str(number), "--texts", str(texts)]
            run = [sys.executable, "-m", "experiments.benchmarks.workers", *own]
            done = subprocess.run(run, check=True, stdout=subprocess.PIPE)
            found[side][str(number)].append(json.loads(done.stdout))
            print(side, number, found[side][str(number)][-1], flush=True)
            place.unlink()
    return found


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = stored("workers")
    lines = [
        f"Medians of {found['rounds']} rounds of {found['texts']:,} texts; {described(found['machine'])} "
        "before the first.",
        "",
        "| | workers | texts/s | of one worker's rate | seconds to the first score |",
        "|---|---:|---:|---:|---:|",
    ]
    for side, by_workers in found["sides"].items():
        medians = {
            workers: [statistics.median(run[name] for run in runs) for name in ("per_second", "first_score_seconds")]
            for workers, runs in by_workers.items()
        }
        one = next(iter(medians.values()))[0]
        for workers, (rate, first) in medians.items():
            lines.append(f"| {side} | {workers} | {rate:,.0f} | {rate / one:.2f} | {first:.1f} |")
    return {"workers": "\n".join(lines)}


def main() -> None:
    """Measure, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--texts", type=int, default=6000, help="of each run; many times the requests in flight")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--run", nargs=2, metavar=("SIDE", "STORE"), help="be one run")
    given = parser.parse_args()
    if given.run:
        side, place = given.run
        score(place, side, given.texts, given.workers[0])
        return
    machine = this_machine()
    with tempfile.TemporaryDirectory() as folder, server(LATENCY) as address:
        os.environ |= {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"}
        with Lab(Path(folder) / "learned.db", judge="embedded", progress=None) as lab:
            lab.learn(SAMPLE / "labelled.jsonl", **ASPECT, scale=(1, 5), methods=["hypoeval"], name="one")
        sides = measure(given.texts, given.rounds, given.workers, Path(folder))
    store({"texts": given.texts, "rounds": given.rounds, "machine": machine, "sides": sides}, given.output)


if __name__ == "__main__":
    main()
