"""Seconds until `import rubriclab` and the help of a command are done, in fresh processes.

    python -m experiments.benchmarks.start_up --rounds 20 --output experiments/benchmarks/results/start_up.json
    python -m experiments.benchmarks.start_up --rounds 20 --compare experiments/benchmarks/results/start_up.json

Each round starts every case once, in turn, so that other work on the machine disturbs all alike. `--compare` exits
with 1 if a case takes more than `--at-most` times its share of the stored results; a share is the processor time
relative to Python's own start, so that results of another machine serve.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).parent / "rubriclab")
RESULTS = Path(__file__).parent / "results" / "start_up.json"
PYTHON = "python -c pass"
CASES = {
    PYTHON: (sys.executable, "-c", "pass"),
    "import rubriclab": (sys.executable, "-c", "import rubriclab"),
    "import rubriclab; rubriclab.Lab": (sys.executable, "-c", "import rubriclab; rubriclab.Lab"),
    "rubriclab --version": (COMMAND, "--version"),
    "rubriclab --help": (COMMAND, "--help"),
    "rubriclab learn --help": (COMMAND, "learn", "--help"),
}


def main() -> int:
    """Run the benchmark, print its figures, and write or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--output", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--compare", type=Path, metavar="RESULTS", help="stored figures to compare with")
    parser.add_argument("--at-most", type=float, default=1.5, metavar="FACTOR", help="default: 1.5")
    given = parser.parse_args()
    found = measure(given.rounds)
    print(table(found))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n")
    slower = slower_than(found, json.loads(given.compare.read_text()), given.at_most) if given.compare else []
    for line in slower:
        print(line)
    return 1 if slower else 0


def measure(rounds: int) -> dict[str, Any]:
    """Return the median seconds of each case, by the wall clock and of processor time."""
    for case in CASES.values():
        _seconds(case)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for _ in range(rounds):
        for name, case in CASES.items():
            taken[name].append(_seconds(case))
    medians = {
        name: {
            "wall": round(statistics.median(wall for wall, _ in each), 4),
            "processor": round(statistics.median(processor for _, processor in each), 4),
        }
        for name, each in taken.items()
    }
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "rounds": rounds} | {
        "seconds": medians
    }


def slower_than(found: dict[str, Any], stored: dict[str, Any], factor: float) -> list[str]:
    """Return a line for each case whose share of processor time is more than `factor` times the stored one."""
    now, before = shares(found), shares(stored)
    return [
        f"{name}: {now[name]:.1f} times Python's own start, {before[name]:.1f} in the stored results"
        for name in before
        if now[name] > factor * before[name]
    ]


def shares(found: dict[str, Any]) -> dict[str, float]:
    """Return the processor time of each case relative to that of Python's own start."""
    seconds = found["seconds"]
    return {name: each["processor"] / seconds[PYTHON]["processor"] for name, each in seconds.items()}


def table(found: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    rows = [
        f"| `{name}` | {each['wall'] * 1000:.0f} ms | {each['processor'] * 1000:.0f} ms |"
        for name, each in found["seconds"].items()
    ]
    about = (
        f"Medians of {found['rounds']} rounds; Python {found['python']}, {found['cores']} cores, load {found['load']}."
    )
    return "\n".join([about, "", "| process | wall clock | processor time |", "|---|---|---|", *rows])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"start-up": table(json.loads(RESULTS.read_text()))}


def _seconds(command: tuple[str, ...]) -> tuple[float, float]:
    """Return the wall-clock and processor seconds of a process."""
    # As at any but the first start, its modules are compiled.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
