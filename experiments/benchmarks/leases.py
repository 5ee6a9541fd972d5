"""What leases on questions cost: texts scored per second with them and without them.

    python -m experiments.benchmarks.leases --questions 100 --rounds 20 --output results/leases.json

Both sides send the same kind of question through the whole stack (litellm, cache, SQLite store) to a local server that
answers at once, in turns that change who goes first. With a provider's latency the share is smaller.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from experiments.benchmarks.completion_server import ANSWER, server
from experiments.benchmarks.engine_overhead import MODEL, OPTIONS, prompts
from experiments.benchmarks.machine import described, this_machine
from rubriclab.judges import JudgeOptions, Ledger, ask, close_connections, connect
from rubriclab.store import Store, open_store

SIDES = ("without leases", "with leases")
CONCURRENCY = 8


class WithoutLeases:
    """A store's answers, where whoever asks gets the claim at once."""

    def __init__(self, store: Store) -> None:
        self._answers = store.answers

    remote = False

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return what was kept."""
        return self._answers.get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Keep the answer."""
        return self._answers.put(digest, answer)

    def claim(self, _digest: str) -> bool:
        """Take no lease."""
        return True

    def release(self, _digest: str) -> None:
        """Do nothing."""


async def score(store: Store, side: str, numbers: Iterator[int], questions: int) -> tuple[float, float]:
    """Return wall-clock and processor seconds of as many questions, no two alike."""
    answers = store.answers if side == "with leases" else WithoutLeases(store)
    options = JudgeOptions(concurrency=CONCURRENCY, **OPTIONS)
    judge = connect(MODEL, options=options, ledger=Ledger(), answers=answers)
    asked = prompts(numbers, questions)
    wall, processor = time.perf_counter(), time.process_time()
    replies = await asyncio.gather(*(ask(judge, prompt) for prompt in asked))
    seconds = time.perf_counter() - wall, time.process_time() - processor
    assert all(reply.value is not None for reply in replies), ANSWER
    return seconds


async def measure(questions: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return questions per second by side and clock, round by round; a first round warms up and is not counted."""
    numbers = count()
    rates: dict[str, dict[str, list[float]]] = {side: {"wall": [], "processor": []} for side in SIDES}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds + 1):
            for side in SIDES[:: 1 if turn % 2 else -1]:
                with open_store(Path(folder) / f"{side}.db") as store:
                    wall, processor = await score(store, side, numbers, questions)
                if turn:
                    rates[side]["wall"].append(questions / wall)
                    rates[side]["processor"].append(questions / processor)
    await close_connections()
    return rates


def costs(rates: dict[str, dict[str, list[float]]]) -> dict[str, float]:
    """Return by clock the median over rounds of the share of the rate that leases cost."""
    without, having = (rates[side] for side in SIDES)
    return {
        clock: 1 - statistics.median(b / a for a, b in zip(without[clock], having[clock], strict=True))
        for clock in without
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200, help="per round and side")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="where every round's figures go, as JSON")
    arguments = parser.parse_args()
    with server(latency=0) as address:
        os.environ |= {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"}
        rates = asyncio.run(measure(arguments.questions, arguments.rounds))
    cost = costs(rates)
    for side, clocks in rates.items():
        medians = ", ".join(f"{clock} {statistics.median(found):.1f}/s" for clock, found in clocks.items())
        print(f"{side}: {medians}")
    print(f"cost of leases: wall clock {cost['wall']:.1%}, processor time {cost['processor']:.1%}")
    if arguments.output:
        sizes = {"questions": arguments.questions, "rounds": arguments.rounds, "machine": this_machine()}
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps({**sizes, "cost": cost, "rates": rates}) + "\n")


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = json.loads((Path(__file__).parent / "results" / "leases.json").read_text())
    without, having = (statistics.median(found["rates"][side]["wall"]) for side in SIDES)
    cost = found["cost"]
    told = (
        f"Medians of {found['rounds']} rounds of {found['questions']} questions a side, {CONCURRENCY} in flight; "
        f"{described(found['machine'])}.\n"
        f"Without leases {without:.0f} questions a second, with them {having:.0f}. The median over rounds of the share "
        f"lost is\n{cost['wall']:.1%} by the wall clock and {cost['processor']:.1%} by processor time."
    )
    return {"leases": told}


if __name__ == "__main__":
    main()
