"""How many answers a second a store keeps and finds, one commit each.

Run it as `python experiments/benchmarks/answer_table.py [ADDRESS]`; without an address, on an SQLite file in a
temporary folder. Measured on 2 busy cores: 5,600 kept and 8,000 to 12,000 found a second.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

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


def main(where: str) -> None:
    """Print the three rates."""
    kept = [digest([where, time.time(), number]) for number in range(ANSWERS)]
    unknown = [digest(["unknown", number]) for number in range(ANSWERS)]
    with open_store(where) as store:
        answers = store.answers
        print(f"kept      {rate(lambda key: answers.put(key, REPLY), kept):8,.0f} / s")
        print(f"found     {rate(answers.get, kept):8,.0f} / s")
        print(f"not found {rate(answers.get, unknown):8,.0f} / s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "store.db"))
