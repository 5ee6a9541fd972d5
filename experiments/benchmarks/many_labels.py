"""Time and memory of one command on n labelled texts with the offline judge, for growing n.

    python -m experiments.benchmarks.many_labels learn --sizes 500 1000 2000 5000 10000
    python -m experiments.benchmarks.many_labels learn --sizes 10000 --shape own
    python -m experiments.benchmarks.many_labels evaluate --sizes 2000 10000

`learn` learns from n texts; other commands get a rubric learned
from the shipped sample. Each command is a process of its own, so that its peak memory is that of the command alone.

The texts are recombined from the shipped sample: sources of two articles, outputs damaged in ways that lower the label.
Their groups have 4 to 16 rivals; with `--shape one` all texts are one group, with `--shape own` each is a group.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.benchmarks.common import COMMAND, SAMPLE, command, parser_of, rows_of, store, stored, this_machine

SHAPES = ("rivals", "one", "own")
COMMANDS = ("learn", "evaluate", "score")
ASPECT = ["--task", "summarization", "--aspect", "coherence", "--scale", "1:5"]


def rows(n: int, shape: str = "rivals", seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield n texts; equal arguments give equal rows."""
    rng = random.Random(seed)
    number = group = 0
    while number < n:
        size = min(n - number, {"one": n, "own": 1}.get(shape, rng.randint(4, 16)))
        yield from islice(_rivals(rng, f"g{group}"), size)
        number, group = number + size, group + 1


def _rivals(rng: random.Random, group: str) -> Iterator[dict[str, Any]]:
    articles = [row for row in (*rows_of("labelled"), *rows_of("heldout")) if row["system"] == "none"]
    first, second = rng.sample(articles, 2)
    best = [f"{sentence}." for each in (first, second) for sentence in each["output"].rstrip(".").split(". ")]
    stray = [f"{sentence}." for each in articles for sentence in each["output"].rstrip(".").split(". ")]
    place = 0
    while True:
        sentences, lost = _damaged(best, stray, rng)
        yield {
            "id": f"{group}-{place}",
            "group": group,
            "source": f"{first['source']} {second['source']}",
            "system": f"s{place % 16}",
            "output": f"{' '.join(sentences)} ({group}, {place})",
            "scores": {"coherence": round(min(max(5 - lost + rng.gauss(0, 0.6), 1), 5), 2)},
        }
        place += 1


def _damaged(best: list[str], stray: list[str], rng: random.Random) -> tuple[list[str], float]:
    """Return sentences, and by how much their damage lowers the label."""
    sentences, lost = rng.sample(best, rng.randint(3, len(best))), 1.0
    if rng.random() < 0.5:
        sentences, lost = sorted(sentences, key=best.index), 0.0
    if rng.random() < 0.3:
        sentences, lost = [*sentences, sentences[0]], lost + 1
    if rng.random() < 0.3:
        sentences.insert(rng.randrange(len(sentences)), rng.choice(stray))
        lost += 1.5
    if rng.random() < 0.2:
        words = sentences[0].split()
        sentences[0], lost = " ".join(rng.sample(words, len(words))), lost + 0.5
    return sentences, lost


def measured(name: str, n: int, shape: str, folder: Path) -> dict[str, Any]:
    """Return the figures of one command."""
    data, place = folder / "rows.jsonl", ["--store", str(folder / "store.db")]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows(n, shape)))
    learn = ["learn", *ASPECT, "--name", "many", "--judge", "embedded", *place]
    arguments = {
        "learn": [*learn, str(data)],
        "evaluate": ["evaluate", str(data), "--rubric", "many", *place],
        "score": ["score", str(data), "--rubric", "many", *place, "-o", str(folder / "scores.jsonl")],
    }[name]
    if name != "learn":
        command([*learn, str(SAMPLE / "labelled.jsonl")])
    return spent(arguments)


def spent(arguments: list[str]) -> dict[str, Any]:
    """Run a command; return its wall-clock and processor seconds and its peak resident memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):
        sys.exit(f"{arguments[0]} ended with {process.returncode}")
    return {
        "wall": round(time.monotonic() - started, 1),
        "processor": round(usage.ru_utime + usage.ru_stime, 1),
        "mb": math.ceil(usage.ru_maxrss / 1024),
    }


def main() -> None:
    """Measure the command at each size, print and store the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000, 5000, 10000])
    parser.add_argument("--shape", choices=SHAPES, default="rivals")
    given = parser.parse_args()
    found = []
    for n in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            found.append({"n": n, **measured(given.command, n, given.shape, Path(folder))})
        print(json.dumps(found[-1]), flush=True)
    about = {"command": given.command, "shape": given.shape, "machine": this_machine()}
    store({**about, "figures": found}, given.output)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = stored("many_labels")
    machine = found["machine"]
    lines = [
        f"`{found['command']}`, Python {machine['python']}, {machine['processors']} cores shared with other work:\n",
        "| texts | processor, s | wall clock, s | peak MB |",
        "|---:|---:|---:|---:|",
        *(f"| {row['n']:,} | {row['processor']:.0f} | {row['wall']:.0f} | {row['mb']:,} |" for row in found["figures"]),
    ]
    return {"labels": "\n".join(lines)}


if __name__ == "__main__":
    main()
