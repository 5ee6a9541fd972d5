"""Rate, memory and file sizes of `rubriclab score` on many rows, and how soon a killed run goes on.

    python -m experiments.benchmarks.million_rows --rows 1000000 --folder /var/tmp \
        --output experiments/benchmarks/results/million_rows.json

Learns a rubric of the method `direct` on the shipped sample, generates rows of 60 words with sources of 30, eight rows
a source, as JSON Lines and as Parquet, and scores both with the offline judge, at the same time. The run on JSON Lines
is killed at `--kill-at` of the rows and run again with `--resume`; its output must then equal that of the run on
Parquet. Needs 4 kB of disk space a row.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from experiments.benchmarks.common import (
    COMMAND,
    SAMPLE,
    command,
    described,
    parser_of,
    rows_of,
    store,
    stored,
    this_machine,
)

OUTPUT_WORDS, SOURCE_WORDS, RIVALS = 60, 30, 8
# Rows of a Parquet row group, and seconds between two looks at a process.
GROUP = 50_000
PAUSE = 0.05


def main() -> None:
    """Generate, score, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kill-at", type=float, default=0.9)
    parser.add_argument("--folder", help="where the temporary files are made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        figures = measured(Path(folder), given.rows, given.kill_at)
    print(json.dumps(figures, indent=1))
    store({"rows": given.rows, "kill_at": given.kill_at, "machine": this_machine(), **figures}, given.output)


def rows(count: int, seed: int = 0) -> Iterator[dict[str, str]]:
    """Yield rows whose words come from the shipped sample; equal arguments give equal rows."""
    rng = random.Random(seed)
    words = [word for row in rows_of("heldout") for word in f"{row['source']} {row['output']}".split()]
    source = ""
    for number in range(count):
        if number % RIVALS == 0:
            source = " ".join(rng.choices(words, k=SOURCE_WORDS))
        yield {"id": f"t{number}", "source": source, "output": " ".join(rng.choices(words, k=OUTPUT_WORDS))}


def measured(folder: Path, count: int, kill_at: float) -> dict[str, Any]:
    """Return the figures of all runs."""
    texts, table = folder / "texts.jsonl", folder / "texts.parquet"
    write(texts, table, count)
    options = ["--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "many"]
    place = ["--store", str(folder / "store.db")]
    learn = ["learn", str(SAMPLE / "labelled.jsonl"), *options, "--method", "direct", "--judge", "embedded"]
    command([*learn, *place])
    score = ["score", "--rubric", "many", *place]
    scores, others = folder / "scores.jsonl", folder / "others.jsonl"
    with ThreadPoolExecutor() as both:
        other = both.submit(watched, [*score, str(table), "-o", str(others)], others, count)
        from_lines = [*score, str(texts), "-o", str(scores)]
        killed = watched(from_lines, scores, count, kill_at=round(kill_at * count))
        resumed = watched([*from_lines, "--resume"], scores, count)
        whole = other.result()
    if scores.read_bytes() != others.read_bytes() or newlines(scores) != count:
        sys.exit("the rows of the resumed run are not those of the undisturbed one")
    sizes = {file.name: file.stat().st_size for file in (texts, table, scores)}
    return {"parquet": whole, "killed": killed, "resumed": resumed, "bytes": sizes}


def write(texts: Path, table: Path, count: int) -> None:
    """Write the rows as JSON Lines and as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema({name: pa.string() for name in ("id", "source", "output")})
    with texts.open("w") as lines, parquet.ParquetWriter(table, schema) as writer:
        every = rows(count)
        while chunk := list(itertools.islice(every, GROUP)):
            lines.writelines(f"{json.dumps(row)}\n" for row in chunk)
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))


def watched(arguments: list[str], output: Path, count: int, kill_at: int | None = None) -> dict[str, Any]:
    """Run a command, and return its seconds, the seconds to its first row, its rate, and its memory at each tenth.

    Memory is in MB, of the whole process; tenths are those of the rows that this run writes.
    """
    begun, first, memory = time.monotonic(), None, list[float]()
    start = output.stat().st_size if output.exists() else 0
    before = seen = newlines(output)
    size = start
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(PAUSE)
            now = output.stat().st_size if output.exists() else 0
            if now > start and first is None:
                first = time.monotonic() - begun
            seen += newlines(output, size, now)
            size = max(size, now)
            if seen - before >= len(memory) * (count - before) / 10 and seen > before:
                memory.append(resident(process.pid) or (memory[-1] if memory else 0.0))
            if kill_at is not None and seen >= kill_at:
                process.send_signal(signal.SIGKILL)
                process.wait()
    spent = time.monotonic() - begun
    if process.returncode != (0 if kill_at is None else -signal.SIGKILL):
        sys.exit(f"{arguments[0]} ended with {process.returncode}")
    written = newlines(output) - before
    return {
        "rows": written,
        "seconds": round(spent, 1),
        "first row after, s": round(first or spent, 1),
        "rows a second": round(written / (spent - (first or 0.0))),
        "mb": memory,
    }


def newlines(path: Path, start: int = 0, end: int | None = None) -> int:
    """Return the number of rows that end between two places of a file; 0 if there is none."""
    if not path.exists() or (end is not None and end <= start):
        return 0
    with path.open("rb") as file:
        file.seek(start)
        return file.read(-1 if end is None else end - start).count(b"\n")


def resident(pid: int) -> float | None:
    """Return the resident memory of a process in MB; `None` if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return round(int(found[0]) / 1024, 1) if found else None


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = stored("million_rows")
    sizes = ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in found["bytes"].items())
    names = {"parquet": "Parquet", "killed": "JSON Lines, killed", "resumed": "JSON Lines, resumed"}
    lines = [
        f"{found['rows']:,} rows, killed at {found['kill_at']:.0%}; {described(found['machine'])}. Files: {sizes}.\n",
        "| run | rows | s | first row after, s | rows a second | MB at each tenth |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for key, name in names.items():
        run = found[key]
        memory = ", ".join(f"{each:.0f}" for each in run["mb"])
        figures = (f"{run['rows']:,}", run["seconds"], run["first row after, s"], f"{run['rows a second']:,}", memory)
        lines.append(f"| {name} | {' | '.join(map(str, figures))} |")
    return {"million rows": "\n".join(lines)}


if __name__ == "__main__":
    main()
