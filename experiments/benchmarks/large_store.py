"""How a store with millions of cached answers opens, answers, is measured, pruned and vacuumed.

    python -m experiments.benchmarks.large_store --answers 10000000 --folder /var/tmp \
        --output experiments/benchmarks/results/large_store.json

Fills an SQLite store with generated answers, cached over the last hundred days, and takes the time of each operation:
those of a command as a process of its own, the others in this process. Needs 1 kB of disk space an answer.
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from experiments.benchmarks import common
from experiments.benchmarks.common import described, parser_of, seconds, stored, this_machine
from rubriclab.digest import canonical, digest
from rubriclab.store import open_store
from rubriclab.store.answers import answer_digest
from rubriclab.store.orm import stored_time

DAYS = 100
OPENINGS = 20
LOOK_UPS = 10_000
INSERT = "INSERT INTO answers (digest, reply, created, reply_digest, model) VALUES (?, ?, ?, ?, ?)"


def main() -> None:
    """Fill the store, measure, print and store the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--answers", type=int, default=10_000_000)
    parser.add_argument("--folder", help="where the temporary store is made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        store = Path(folder) / "store.db"
        fill(store, given.answers)
        figures = measured(store, given.answers)
    print(json.dumps(figures, indent=1))
    common.store({"answers": given.answers, "machine": this_machine(), **figures}, given.output)


def fill(store: Path, count: int) -> None:
    """Make a store with `count` answers."""
    open_store(store).close()
    with sqlite3.connect(store) as database:
        # Filling is not measured: one transaction, with the index in memory.
        for setting in ("synchronous = OFF", "journal_mode = OFF", "cache_size = -2000000"):
            database.execute(f"PRAGMA {setting}")
        database.executemany(INSERT, generated(count))
    database.close()


def generated(count: int) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield answers with replies of about 350 characters, the oldest first."""
    begun, step = datetime.now(UTC) - timedelta(days=DAYS), timedelta(days=DAYS) / count
    for number in range(count):
        key, model = digest(number), f"model-{number % 3}"
        usage = {"prompt_tokens": 900 + number % 100, "completion_tokens": 60, "cost_usd": 0.0002}
        text = f"The sentences follow from each other, and number {number} too. " * 3
        reply = canonical({"text": text, "model": model, "usage": usage, "truncated": False})
        yield key, reply, stored_time(begun + number * step), answer_digest(key, reply), model


def measured(store: Path, count: int) -> dict[str, Any]:
    """Return seconds, rates a second and bytes."""
    rng = random.Random(0)
    known = [digest(rng.randrange(count)) for _ in range(LOOK_UPS)]
    unknown = [digest(["unknown", number]) for number in range(LOOK_UPS)]
    figures: dict[str, Any] = {"bytes": store.stat().st_size}
    figures["open, s"] = statistics.median(seconds(lambda: open_store(store).close()) for _ in range(OPENINGS))
    figures["list command, s"] = seconds(lambda: command(store, "list"))
    figures["list command, empty store, s"] = seconds(lambda: command(store.with_name("empty.db"), "list"))
    with open_store(store) as opened:
        answers = opened.answers
        figures["found, a second"] = LOOK_UPS / seconds(lambda: [answers.get(key) for key in known])
        figures["not found, a second"] = LOOK_UPS / seconds(lambda: [answers.get(key) for key in unknown])
        reply = {"text": "new", "model": "m"}
        figures["kept, a second"] = LOOK_UPS / seconds(lambda: [answers.put(key, reply) for key in unknown])
    figures["store size, s"] = seconds(lambda: command(store, "store", "size"))
    figures["prune, dry run, s"] = seconds(lambda: command(store, "store", "prune", "--older-than", "90d", "--dry-run"))
    figures["prune a tenth, s"] = seconds(lambda: command(store, "store", "prune", "--older-than", "90d"))
    figures["prune four fifths, s"] = seconds(lambda: command(store, "store", "prune", "--older-than", "10d"))
    figures["vacuum, s"] = seconds(lambda: command(store, "store", "vacuum"))
    figures["bytes after vacuum"] = store.stat().st_size
    return {name: round(value, 4) for name, value in figures.items()}


def command(store: Path, *arguments: str) -> None:
    """Run a command on the store, made first if there is none."""
    open_store(store).close()
    common.command([*arguments, "--store", str(store)])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = stored("large_store")
    gigabytes = {name: found[name] / 1e9 for name in ("bytes", "bytes after vacuum")}
    rates = ", ".join(f"{found[f'{name}, a second']:,.0f} {name}" for name in ("found", "not found", "kept"))
    timed = [name.removesuffix(", s") for name in found if name.endswith(", s")]
    lines = [
        f"{found['answers']:,} answers, {gigabytes['bytes']:.1f} GB, {gigabytes['bytes after vacuum']:.1f} GB after "
        f"vacuum; {described(found['machine'])}. A second: {rates}.\n",
        "| operation | s |",
        "|---|---:|",
        *(f"| {name} | {found[f'{name}, s']:.3g} |" for name in timed),
    ]
    return {"large store": "\n".join(lines)}


if __name__ == "__main__":
    main()
