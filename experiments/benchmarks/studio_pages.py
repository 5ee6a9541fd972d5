"""Time of the studio's pages with a store of 200 versions, one of them learned from 10,000 texts.

    python -m experiments.benchmarks.studio_pages --output experiments/benchmarks/results/studio_pages.json

A rubric is learned from the shipped sample with the offline judge and saved under other names and numbers; the texts of
the last version are repeated. `rubriclab studio` is a process of its own. `first` is the first request for a page,
`again` the median of the later ones, in seconds by the wall clock until the last byte; the browser's time is not in
it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from experiments.benchmarks import common
from experiments.benchmarks.common import SAMPLE, described, parser_of, stored, this_machine
from rubriclab import Lab
from rubriclab.store import Store

VERSIONS, TEXTS = 200, 10_000
# In the order of the requests. Beside each page what it is called.
PAGES = {
    "/": "list of rubrics",
    "/?search=news": "list, searched",
    "/large@1": "overview of the version with 10,000 texts",
    "/large@1/texts": "its texts by criteria",
    "/large@1/texts?sort=difference&order=descending": "texts, sorted",
    "/large@1/texts?search=council": "texts, searched",
    "/large@1/texts?column=label&low=4&page=9": "texts, filtered, page 9",
    "/news@100": "overview of another version",
    "/news@100/versions": "lineage of 100 versions",
    "/news@100/compare?with=news@50": "two versions side by side",
}
# Seconds between two first requests, as a reader takes them: meanwhile the texts are read.
READING = 3.0


def make_store(path: Path) -> None:
    """Write a store of `VERSIONS` versions; `large@1` has `TEXTS` labelled texts."""
    lab = Lab(path, progress=None)
    task: dict[str, Any] = {"task": "summarization", "aspect": "coherence", "scale": (1, 5)}
    first = lab.learn(SAMPLE / "labelled.jsonl", name="news", methods=["hypoeval", "direct"], **task)
    record = lab.training_record("news")
    texts = tuple(
        record.texts[place % len(record.texts)].model_copy(update={"id": f"t{place}", "group": f"g{place // 8}"})
        for place in range(TEXTS)
    )
    cells = tuple(record.cells[place % len(record.cells)] for place in range(TEXTS))
    with Store(path) as store:
        for number in range(2, VERSIONS):
            name = "news" if number <= VERSIONS // 2 else f"rubric-{number}"
            rubric = first.rubric.model_copy(update={"task": f"summarization {number}"})
            store.save(name, rubric, first.provenance, first.effort, training=record)
        large = record.model_copy(update={"texts": texts, "cells": cells})
        store.save("large", first.rubric, first.provenance, first.effort, training=large)


def times(store: Path, repeats: int) -> dict[str, dict[str, float]]:
    """Return the seconds of each page, from a server of its own."""
    command = [sys.executable, "-m", "rubriclab", "studio", "--no-browser", "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            with httpx.Client(base_url=server.stdout.readline().strip(), trust_env=False, timeout=60) as client:
                _wait(client)
                first = {}
                for page in PAGES:
                    first[page] = _seconds(client, page)
                    time.sleep(READING)
                again = {page: [_seconds(client, page) for _ in range(repeats)] for page in PAGES}
        finally:
            server.terminate()
    return {page: {"first": first[page], "again": statistics.median(again[page])} for page in PAGES}


def _wait(client: httpx.Client) -> None:
    while True:
        try:
            client.get("/static/studio.css")
            return
        except httpx.ConnectError:
            time.sleep(0.05)


def _seconds(client: httpx.Client, page: str) -> float:
    started = time.perf_counter()
    client.get(page).raise_for_status()
    return time.perf_counter() - started


def readme_figures() -> dict[str, str]:
    """Return the table of the README."""
    found = stored("studio_pages")
    rows = [
        f"| {PAGES[page]} | {1000 * each['first']:.0f} | {1000 * each['again']:.0f} |"
        for page, each in found["pages"].items()
    ]
    head = ["| page | first request, ms | later ones, ms |", "|---|---:|---:|"]
    about = f"{described(found['machine'])}."
    return {"studio": "\n".join([about, "", *head, *rows])}


def main() -> None:
    """Measure the pages, print the seconds, and write them to the output."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        make_store(store)
        measured_on = this_machine()
        pages = times(store, given.repeats)
    for page, each in pages.items():
        print(f"{each['first']:.3f} {each['again']:.3f} {page}")
    common.store({"machine": measured_on, "pages": pages}, given.output)


if __name__ == "__main__":
    main()
