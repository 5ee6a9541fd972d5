"""Seconds until `import rubriclab` and the help of a command are done, in fresh processes.

    python -m experiments.benchmarks.start_up --rounds 20 --output experiments/benchmarks/results/start_up.json
    python -m experiments.benchmarks.start_up --rounds 20 --compare start_up

Each round starts every case once, in turn, so that other work on the machine disturbs all alike. `--compare` exits
with 1 if a case takes more than `--at-most` times its share of the stored results; a share is the processor time
relative to Python's own start, so that results of another machine can be compared.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

from experiments.benchmarks.common import COMMAND, described, parser_of, store, stored, this_machine

PYTHON = "python -c pass"
CASES = {
    PYTHON: [sys.executable, "-c", "pass"],
    "import rubriclab": [sys.executable, "-c", "import rubriclab"],
    "import rubriclab; rubriclab.Lab": [sys.executable, "-c", "import rubriclab; rubriclab.Lab"],
    "rubriclab --version": [*COMMAND, "--version"],
    "rubriclab --help": [*COMMAND, "--help"],
    "rubriclab learn --help": [*COMMAND, "learn", "--help"],
}


def main() -> int:
    """Run the benchmark, print its figures, and store or compare them; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--compare", metavar="RESULTS", help="the name of stored results to compare with")
    parser.add_argument("--at-most", type=float, default=1.5, metavar="FACTOR", help="default: 1.5")
    given = parser.parse_args()
    found = measure(given.rounds)
    print(table(found))
    store(found, given.output)
    slower = slower_than(found, stored(given.compare), given.at_most) if given.compare else []
    for line in slower:
        print(line)
    return 1 if slower else 0


def measure(rounds: int) -> dict[str, Any]:
    """Return the median seconds of each case, by the wall clock and of processor time; a first round warms up."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for _ in range(rounds + 1):
        for name, case in CASES.items():
            taken[name].append(_seconds(case))
    medians = {
        name: {
            "wall": round(statistics.median(wall for wall, _ in each[1:]), 4),
            "processor": round(statistics.median(processor for _, processor in each[1:]), 4),
        }
        for name, each in taken.items()
    }
    return {"machine": this_machine(), "rounds": rounds, "seconds": medians}


def slower_than(found: dict[str, Any], before: dict[str, Any], factor: float) -> list[str]:
    """Return a line for each case whose share of processor time is more than `factor` times the stored one."""
    now, then = shares(found), shares(before)
    return [
        f"{name}: {now[name]:.1f} times Python's own start, {then[name]:.1f} in the stored results"
        for name in then
        if now[name] > factor * then[name]
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
    about = f"Medians of {found['rounds']} rounds; {described(found['machine'])}."
    return "\n".join([about, "", "| process | wall clock | processor time |", "|---|---|---|", *rows])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"start-up": table(stored("start_up"))}


def _seconds(command: list[str]) -> tuple[float, float]:
    """Return the wall-clock and processor seconds of a process."""
    # As at any but the first start, its modules are compiled.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
