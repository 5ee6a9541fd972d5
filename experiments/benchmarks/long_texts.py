"""How much memory `rubriclab serve` and `rubriclab score` take for texts of 900 kB, and for small files of huge texts.

    python -m experiments.benchmarks.long_texts --texts 1024 --output experiments/benchmarks/results/long_texts.json

The texts are all different, once plain and once with an emoji each, which makes Python store four bytes per character.
A language model's server on this machine answers at once. The service is sent 64 requests at a time. The Parquet file
has 200 rows of a list with the same text of 8 MB and some hundred bytes. Exit code 1 if a process takes 1 GB or more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from pyarrow import parquet

from experiments.benchmarks.common import server, this_machine
from rubriclab import Lab

CHARACTERS = 900_000
AT_ONCE = 64
MOST_MB = 1000
KINDS = {"plain": "", "with an emoji": "😀"}


def text(number: int, end: str) -> str:
    """Return a text of `CHARACTERS` characters."""
    return (f"Text {number}. " + "The council closes the bridge. " * (CHARACTERS // 31))[: CHARACTERS - 1] + end


def learn(store: Path) -> None:
    """Store a rubric that is asked in one call per text."""
    rows = [{"output": f"Text {n}. " + "It rained. " * n, "scores": {"coherence": 1 + n % 5}} for n in range(30)]
    lab = Lab(store, progress=None, notify=lambda _text: None)
    lab.learn(rows, name="long", task="story", aspect="coherence", scale=(1, 5), judge="embedded", methods=["direct"])


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command that asks the model server whose address is in the environment."""
    judge = ("--judge", "openai/fake", "--price", "0.01:0.01", "--store", str(folder / "store.db"))
    command = [sys.executable, "-m", "rubriclab", *arguments, *judge]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder)


def peak_mb(process: subprocess.Popen[str]) -> int:
    """Return the peak memory of a process once it has ended."""
    return os.wait4(process.pid, 0)[2].ru_maxrss // 1024


async def send_all(address: str, number: int, end: str) -> dict[str, int]:
    """Send the texts to the service, and return the numbers of responses by status."""
    statuses, slots = Counter[str](), asyncio.Semaphore(AT_ONCE)

    async def send(client: httpx.AsyncClient, which: int) -> None:
        async with slots:
            response = await client.post(f"{address}/v1/score", json={"output": text(which, end)})
            statuses[str(response.status_code)] += 1

    async with httpx.AsyncClient(timeout=600, trust_env=False) as client:
        await asyncio.gather(*(send(client, which) for which in range(number)))
    return dict(statuses)


def serve(folder: Path, number: int, end: str) -> dict[str, Any]:
    """Return the peak memory of the service and what it answered."""
    process = started(folder, "serve", "long", "--port", "0", "--rate", "1000000")
    assert process.stderr is not None
    addresses = (re.search(r"is served at (\S+)/$", line.rstrip()) for line in process.stderr)
    address = next(filter(None, addresses))[1]
    statuses = asyncio.run(send_all(address, number, end))
    process.send_signal(signal.SIGTERM)
    return {"mb": peak_mb(process), "statuses": statuses}


def score(folder: Path, file: Path) -> dict[str, Any]:
    """Return the peak memory of a command that scores the rows of a file."""
    process = started(folder, "score", str(file), "--rubric", "long", "-o", str(folder / "scores.jsonl"))
    assert process.stderr is not None
    process.stderr.read()
    return {"mb": peak_mb(process)}


def write_texts(path: Path, number: int, end: str) -> Path:
    """Write the texts as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"output": text(which, end)}) + "\n" for which in range(number))
    return path


def write_small_parquet(path: Path) -> Path:
    """Write a file of some hundred bytes with 200 rows of a list of one text of 8 MB."""
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), pa.array(["x" * 8_000_000]))
    lists = pa.ListArray.from_arrays(pa.array(range(201), pa.int32()), shared)
    table = pa.table({"output": [f"Text {number}." for number in range(200)], "more": lists})
    parquet.write_table(table, path, compression="brotli")
    return path


def measure(number: int) -> dict[str, Any]:
    """Return the figures of all processes."""
    found = dict[str, Any]()
    with tempfile.TemporaryDirectory() as name, server(0.0) as address:
        folder = Path(name)
        os.environ |= {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"}
        learn(folder / "store.db")
        for kind, end in KINDS.items():
            found[f"serve, {kind}"] = serve(folder, number, end)
            # Other texts than those that the service has cached answers about.
            found[f"score, {kind}"] = score(folder, write_texts(folder / "texts.jsonl", number, f"!{end}"))
        found["score, small Parquet file"] = score(folder, write_small_parquet(folder / "small.parquet"))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=1024)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(arguments)
    found = measure(given.texts)
    print(json.dumps(found, indent=1))
    if given.output:
        result = {"machine": this_machine(), "texts": given.texts, "characters": CHARACTERS, "processes": found}
        given.output.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(each["mb"] >= MOST_MB for each in found.values()))


if __name__ == "__main__":
    main()
