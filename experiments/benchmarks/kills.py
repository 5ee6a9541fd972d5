"""Whether kills at random moments lose, change or repeat anything.

    python -m experiments.benchmarks.kills --kills 200 --output experiments/benchmarks/results/kills.json

Commands are in turn killed (SIGKILL) at a moment drawn evenly from the time that they take, and run again. They ask the
tests' server, which answers after 20 ms. Afterwards the outcome has to be that of a run that nothing disturbed, no
question may have been asked again that was answered more than a second before the kill, and every digest in the store
has to be right. Exit code 1 if anything is not so.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from experiments.benchmarks.common import TESTS, parser_of, store, stored, this_machine

# Trials for each kill that has to hit a running command.
MOST_TRIALS = 5


def measure(kills: int, seed: int) -> list[Any]:
    """Return the trials, until `kills` of them have hit a running command."""
    sys.path[:0] = [str(TESTS), str(TESTS / "flow")]
    from flow_server import commands_at, learn_little, some_texts, texts
    from killing import OPERATIONS, kill_once, undisturbed
    from server import RunningServer

    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, RunningServer() as server:
        there = Path(folder)
        start = there / "start"
        start.mkdir()
        # What the commands start from: a learned rubric, its pack and texts.
        commands = commands_at(server, start)
        assert learn_little(commands).code == 0
        (start / "pack.json").write_text(commands("export", "news@1").out, "utf-8")
        (start / "heldout.jsonl").write_bytes(some_texts(16))
        with closing(sqlite3.connect(start / "store.db")) as database, database:
            # Learning is to pay for its answers again.
            database.execute("DELETE FROM answers")
        texts(start, 12)
        # Twice, since the first command of each kind also pays for what its process loads.
        for round_ in ("warm", "expected"):
            expected = [undisturbed(server, each, start, there / f"{round_}-{each.name}") for each in OPERATIONS]
        trials: list[Any] = []
        # A command that ended before its kill does not count; as its time varies with the machine's load, some do.
        for number, each in enumerate(islice(cycle(expected), MOST_TRIALS * kills)):
            trials.append(kill_once(server, each, there / str(number), draw))
            hits = sum(trial.in_time for trial in trials)
            last = trials[-1]
            print(hits, last.operation, f"{last.moment:.2f} s", *last.faults, flush=True)
            if hits == kills:
                break
        return trials


def summary(found: list[Any]) -> dict[str, Any]:
    """Return the figures, by operation."""
    by_operation: dict[str, Counter[str]] = {}
    for killed in found:
        counts = by_operation.setdefault(killed.operation, Counter())
        counts.update(trials=1, kills=int(killed.in_time), repeated=killed.repeated, faulty=int(bool(killed.faults)))
    return {name: dict(counts) for name, counts in by_operation.items()}


def main() -> None:
    """Kill, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = measure(given.kills, given.seed)
    table = summary(found)
    print(json.dumps(table, indent=1))
    store({"kills": given.kills, "seed": given.seed, "machine": this_machine(), "operations": table}, given.output)
    sys.exit(any(trial.faults for trial in found) or sum(trial.in_time for trial in found) < given.kills)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = stored("kills")["operations"]
    heads = ("trials", "kills", "repeated", "faulty")
    lines = ["| command | runs | of these killed in time | questions asked again | faulty outcomes |", "|---" * 5 + "|"]
    lines += [f"| {name} | {' | '.join(str(own[head]) for head in heads)} |" for name, own in found.items()]
    sums = " | ".join(str(sum(own[head] for own in found.values())) for head in heads)
    return {"kills": "\n".join([*lines, f"| all | {sums} |"])}


if __name__ == "__main__":
    main()
