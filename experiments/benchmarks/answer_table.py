"""How many answers a second a store keeps and finds, one commit each.

    python -m experiments.benchmarks.answer_table --output experiments/benchmarks/results/answer_table.json

On an SQLite file in a temporary folder, or the store at `--store ADDRESS`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from experiments.benchmarks.machine import this_machine
from rubriclab.digest import digest
from rubriclab.store import open_store

ANSWERS = 10_000
REPLY = {"text": "The sentences follow from each other. " * 20, "model": "m", "usage": {"prompt_tokens": 900}}


def rate(work: Callable[[str], object], keys: list[str]) -> float:
    """Return how many keys a second `work` is done with."""
    start = time.perf_counter()
    for key in keys:
        work(key)
    return len(keys) / (time.perf_counter() - start)


def measure(where: str) -> dict[str, int]:
    """Return the three rates, in answers a second."""
    kept = [digest([where, time.time(), number]) for number in range(ANSWERS)]
    unknown = [digest(["unknown", number]) for number in range(ANSWERS)]
    with open_store(where) as store:
        answers = store.answers
        return {
            "kept": round(rate(lambda key: answers.put(key, REPLY), kept)),
            "found": round(rate(answers.get, kept)),
            "not found": round(rate(answers.get, unknown)),
        }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="address of a store to measure")
    parser.add_argument("--output", type=Path, help="where the rates go, as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rates = measure(given.store or str(Path(folder) / "store.db"))
    print(json.dumps(rates))
    if given.output:
        given.output.write_text(
            json.dumps({"answers": ANSWERS, "machine": this_machine(), "rates": rates}, indent=1) + "\n"
        )


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = json.loads((Path(__file__).parent / "results" / "answer_table.json").read_text())
    told = ", ".join(f"{number:,} {name}" for name, number in found["rates"].items())
    return {"answer table": f"{found['answers']:,} answers, each a commit of its own; a second: {told}."}


if __name__ == "__main__":
    main()
