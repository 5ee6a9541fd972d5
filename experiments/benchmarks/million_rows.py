"""Rate, memory and file sizes of `rubriclab score` on many rows, and how soon a killed run goes on.

    python -m experiments.benchmarks.million_rows --rows 1000000 --folder /var/tmp \
        --output experiments/benchmarks/results/million_rows.json

Learns a rubric of the method `direct` on the shipped sample, generates rows of 60 words with sources of 30, eight rows
a source, as JSON Lines and as Parquet, and scores both with the offline judge, at the same time. The run on JSON Lines
is killed at `--kill-at` of the rows and run again with `--resume`: how long until the first new row is written? Its
output must then equal that of the run on Parquet, which may be of the first `--parquet-rows` only. Needs 4 kB of disk
space a row.
"""

from __future__ import annotations

import argparse
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

import pyarrow as pa
from pyarrow import parquet

from experiments.benchmarks.machine import described, this_machine

SAMPLE = Path(__file__).parents[1] / "sample"
COMMAND = [str(Path(sys.executable).parent / "rubriclab")]
RESULT = Path(__file__).parent / "results" / "million_rows.json"
FEWER = RESULT.with_name("fewer_rows.json")
OUTPUT_WORDS, SOURCE_WORDS, RIVALS = 60, 30, 8
# Rows of a Parquet row group, and seconds between two looks at a process.
GROUP = 50_000
PAUSE = 0.05


def main() -> None:
    """Generate, score, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parquet-rows", type=int, help="default: as many")
    parser.add_argument("--kill-at", type=float, default=0.9)
    parser.add_argument("--folder", help="where the temporary files are made")
    parser.add_argument("--output", type=Path, help="where the figures go, as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        figures = measured(Path(folder), given.rows, given.parquet_rows or given.rows, given.kill_at)
    print(json.dumps(figures, indent=1))
    if given.output:
        result = {"rows": given.rows, "kill_at": given.kill_at, "machine": this_machine(), **figures}
        given.output.write_text(json.dumps(result, indent=1) + "\n")


def rows(count: int, seed: int = 0) -> Iterator[dict[str, str]]:
    """Yield rows whose words come from the shipped sample; equal arguments give equal rows."""
    rng = random.Random(seed)
    sample = [json.loads(line) for line in (SAMPLE / "heldout.jsonl").open()]
    words = [word for row in sample for word in f"{row['source']} {row['output']}".split()]
    source = ""
    for number in range(count):
        if number % RIVALS == 0:
            source = " ".join(rng.choices(words, k=SOURCE_WORDS))
        yield {"id": f"t{number}", "source": source, "output": " ".join(rng.choices(words, k=OUTPUT_WORDS))}


def measured(folder: Path, count: int, in_table: int, kill_at: float) -> dict[str, Any]:
    """Return the figures of both runs."""
    texts, table = folder / "texts.jsonl", folder / "texts.parquet"
    write(texts, table, count, in_table)
    options = ["--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "many"]
    learn = ["learn", str(SAMPLE / "labelled.jsonl"), *options, "--method", "direct", "--judge", "embedded"]
    store = ["--store", str(folder / "store.db")]
    subprocess.run([*COMMAND, *learn, *store], check=True, capture_output=True)
    score = ["score", "--rubric", "many", *store]
    scores, others = folder / "scores.jsonl", folder / "others.jsonl"
    with ThreadPoolExecutor() as both:
        other = both.submit(watched, [*score, str(table), "-o", str(others)], others, in_table)
        killed, resumed = killed_and_resumed([*score, str(texts), "-o", str(scores)], scores, count, kill_at)
        whole = other.result()
    check(scores, others, count, in_table)
    sizes = {file.name: file.stat().st_size for file in (texts, table, scores)}
    return {"parquet": whole, "killed": killed, "resumed": resumed, "bytes": sizes}


def killed_and_resumed(
    score: list[str], scores: Path, count: int, kill_at: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of a run that is killed, and of the run that continues it."""
    killed = watched(score, scores, count, kill_at=round(kill_at * count))
    return killed, watched([*score, "--resume"], scores, count)


def write(texts: Path, table: Path, count: int, in_table: int) -> None:
    """Write the rows as JSON Lines, and the first of them as Parquet."""
    schema = pa.schema([(name, pa.string()) for name in ("id", "source", "output")])
    with texts.open("w") as lines, parquet.ParquetWriter(table, schema) as writer:
        generated = rows(count)
        while group := list(itertools.islice(generated, GROUP)):
            lines.writelines(f"{json.dumps(row)}\n" for row in group)
            if in_table > 0:
                writer.write_table(pa.Table.from_pylist(group[:in_table], schema))
            in_table -= len(group)


def watched(arguments: list[str], output: Path, count: int, kill_at: int | None = None) -> dict[str, Any]:
    """Run a command, and return its seconds, the seconds to its first row, its rate, and its memory at each tenth.

    Memory is in MB, of the whole process; tenths are those of the rows that this run writes.
    """
    before = lines_of(output)
    begun, first, memory, seen = time.monotonic(), None, list[float](), before
    size = start = output.stat().st_size if before else 0
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
    seconds = time.monotonic() - begun
    if process.returncode != (0 if kill_at is None else -signal.SIGKILL):
        sys.exit(f"{arguments[0]} ended with {process.returncode}")
    written = lines_of(output) - before
    return {
        "rows": written,
        "seconds": round(seconds, 1),
        "first row after, s": round(first or seconds, 1),
        "rows a second": round(written / (seconds - (first or 0.0))),
        "mb": memory,
    }


def newlines(path: Path, start: int, end: int) -> int:
    """Return the number of rows that end between two places of a file."""
    if end <= start:
        return 0
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start).count(b"\n")


def lines_of(path: Path) -> int:
    """Return the number of complete rows in a file; 0 if there is none."""
    return newlines(path, 0, path.stat().st_size) if path.exists() else 0


def resident(pid: int) -> float | None:
    """Return the resident memory of a process in MB; `None` if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return round(int(found[0]) / 1024, 1) if found else None


def check(scores: Path, others: Path, count: int, in_table: int) -> None:
    """Check that two files hold the same rows, as many as there are texts."""
    number = 0
    with scores.open("rb") as one, others.open("rb") as other:
        for number, (first, second) in enumerate(zip(one, other, strict=count == in_table), start=1):
            if first != second:
                sys.exit(f"row {number} differs: {first[:200]!r}, {second[:200]!r}")
    if number != in_table or lines_of(scores) != count:
        sys.exit(f"expected {in_table} and {count} rows, got {number} and {lines_of(scores)}")


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block; none before the first measurement."""
    results = {"million rows": RESULT, "fewer rows": FEWER}
    return {name: table(json.loads(path.read_text())) for name, path in results.items() if path.exists()}


def table(found: dict[str, Any]) -> str:
    """Return the figures of one measurement as a sentence and a table."""
    megabytes = {name: size / 1e6 for name, size in found["bytes"].items()}
    sizes = ", ".join(f"{name} {size:,.0f} MB" for name, size in megabytes.items())
    names = {"parquet": "Parquet", "killed": "JSON Lines, killed", "resumed": "JSON Lines, resumed"}
    lines = [
        f"{found['rows']:,} rows, killed at {found['kill_at']:.0%}; {described(found['machine'])}. Files: {sizes}.\n",
        "| run | rows | s | first row after, s | rows a second | MB at each tenth |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for key, name in names.items():
        run = found[key]
        memory = ", ".join(f"{resident:.0f}" for resident in run["mb"])
        figures = (f"{run['rows']:,}", run["seconds"], run["first row after, s"], f"{run['rows a second']:,}", memory)
        lines.append(f"| {name} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
