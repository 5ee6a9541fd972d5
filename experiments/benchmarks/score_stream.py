"""Texts per second and memory of `rubriclab score` reading a long stream with the offline judge.

    python -m experiments.benchmarks.score_stream --texts 10000 --output results/score_stream.json

Learns on the shipped sample into a temporary store, pipes the held-out texts over and over (each made different by its
number) into `rubriclab score -`, and prints the resident memory of that process at each tenth of the way. Flat memory
means that nothing is kept of texts that have been scored.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "sample"
COMMAND = [str(Path(sys.executable).parent / "rubriclab")]


def main() -> None:
    """Run the benchmark, print its figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--output", type=Path, help="where the figures go, as JSON")
    given = parser.parse_args()
    texts = given.texts
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store.db")
        _learn(store)
        started = time.monotonic()
        memory = _score(store, texts)
        seconds = time.monotonic() - started
    found = {"texts": texts, "seconds": round(seconds, 1), "per_second": round(texts / seconds), "mb": memory}
    print(json.dumps(found))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n")


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = json.loads((Path(__file__).parent / "results" / "score_stream.json").read_text())
    memory = ", ".join(f"{resident:.0f}" for resident in found["mb"])
    told = f"{found['texts']:,} texts, {found['per_second']} a second. Resident memory at each tenth: {memory} MB."
    return {"stream": told}


def _learn(store: str) -> None:
    options = ["--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "stream"]
    learn = [*COMMAND, "learn", str(SAMPLE / "labelled.jsonl"), *options, "--judge", "embedded", "--store", store]
    subprocess.run(learn, check=True, capture_output=True)


def _score(store: str, texts: int) -> list[float]:
    """Score `texts` rows and return the resident memory in MB at each tenth."""
    score = [*COMMAND, "score", "-", "--rubric", "stream", "--store", store, "-o", "/dev/null"]
    memory: list[float] = []
    with subprocess.Popen(score, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin
        for number, row in enumerate(itertools.islice(_rows(), texts), start=1):
            process.stdin.write(row)
            if number % (texts // 10) == 0:
                memory.append(_resident(process.pid))
        process.stdin.close()
        if process.wait():
            sys.exit("scoring failed")
    return memory


def _rows() -> Iterator[bytes]:
    held_out = [json.loads(line) for line in (SAMPLE / "heldout.jsonl").open()]
    for number, row in enumerate(itertools.cycle(held_out)):
        yield (
            json.dumps({**row, "id": f"{row['id']}-{number}", "output": f"{row['output']} ({number})"}).encode() + b"\n"
        )


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(kilobytes) / 1024, 1)


if __name__ == "__main__":
    main()
