"""Time and memory of one command on n labelled texts with the offline judge, for growing n.

    python -m experiments.benchmarks.many_labels learn --sizes 500 1000 2000 5000 10000
    python -m experiments.benchmarks.many_labels learn --sizes 10000 --shape own
    python -m experiments.benchmarks.many_labels evaluate --sizes 2000 10000 -- --baseline direct

What follows `--` is passed on to the command. `learn` learns from n texts; every other command gets a rubric learned
from the shipped sample (or, for `gate`, `show` and `report`, one learned from the n texts). Each command is a process
of its own, so that its peak memory is that of the command alone. Processor time is split: `judge` is what is spent
inside the offline judge and in computing text features, `rest` everything else, imports included.

The texts are recombined from the shipped sample: sources of two articles, outputs damaged in ways that lower the label.
Their groups have 4 to 16 rivals, or by `--shape`:

- `one`: all texts are one group;
- `own`: every text is a group of its own;
- `raters`: named raters' scores beside the labels;
- `compared`: half of the texts have no score, but preferences and rankings within their group.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.benchmarks.machine import this_machine

SAMPLE = Path(__file__).parents[1] / "sample"
SHAPES = ("rivals", "one", "own", "raters", "compared")
COMMANDS = ("learn", "evaluate", "plan", "transfer", "gate", "show", "report")
ASPECT = ["--task", "summarization", "--aspect", "coherence", "--scale", "1:5"]
# An inner process runs the command and writes its figures here.
FIGURES = "MANY_LABELS_FIGURES"


def rows(n: int, shape: str = "rivals", seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield n texts and, for `compared`, rows of comparisons; equal arguments give equal rows."""
    rng = random.Random(seed)
    number = group = 0
    while number < n:
        size = min(n - number, {"one": n, "own": 1}.get(shape, rng.randint(4, 16)))
        texts = [text for _, text in zip(range(size), _rivals(rng, f"g{group}", shape), strict=False)]
        yield from (_compared(texts, rng) if shape == "compared" else texts)
        number, group = number + size, group + 1


def _rivals(rng: random.Random, group: str, shape: str) -> Iterator[dict[str, Any]]:
    articles = _articles()
    first, second = rng.sample(articles, 2)
    source = f"{first['source']} {second['source']}"
    best = [f"{sentence}." for each in (first, second) for sentence in each["output"].rstrip(".").split(". ")]
    stray = [f"{sentence}." for each in articles for sentence in each["output"].rstrip(".").split(". ")]
    place = 0
    while True:
        sentences, lost = _damaged(best, stray, rng)
        label = min(max(5 - lost + rng.gauss(0, 0.6), 1), 5)
        row = {
            "id": f"{group}-{place}",
            "group": group,
            "source": source,
            "system": f"s{place % 16}",
            "output": f"{' '.join(sentences)} ({group}, {place})",
            "scores": {"coherence": round(label, 2)},
        }
        if shape == "raters":
            raters = rng.sample(["anna", "ben", "chen", "dora", "emil"], 3)
            row["annotations"] = {
                "coherence": {name: round(min(max(label + rng.gauss(0, 0.7), 1), 5)) for name in raters}
            }
        yield row
        place += 1


def _damaged(best: list[str], stray: list[str], rng: random.Random) -> tuple[list[str], float]:
    """Return sentences with what their damage takes from the label."""
    sentences, lost = rng.sample(best, rng.randint(3, len(best))), 1.0
    if rng.random() < 0.5:
        sentences, lost = sorted(sentences, key=best.index), 0.0
    if rng.random() < 0.3:
        sentences, lost = [*sentences, sentences[0]], lost + 1
    if rng.random() < 0.3:
        sentences.insert(rng.randrange(len(sentences)), rng.choice(stray))
        lost += 1.5
    if rng.random() < 0.2:
        words = sentences[0].split()
        sentences[0], lost = " ".join(rng.sample(words, len(words))), lost + 0.5
    return sentences, lost


def _articles() -> list[dict[str, Any]]:
    found = {}
    for name in ("labelled.jsonl", "heldout.jsonl"):
        for line in (SAMPLE / name).open():
            row = json.loads(line)
            if row["system"] == "none":
                found[row["group"]] = row
    return list(found.values())


def _compared(texts: list[dict[str, Any]], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the texts, every other one without its score, and what people said of them beside each other."""
    worth = {text["id"]: text["scores"]["coherence"] + rng.gauss(0, 0.5) for text in texts}
    for place, text in enumerate(texts):
        yield text if place % 2 else {name: value for name, value in text.items() if name != "scores"}
    ids = list(worth)
    if len(ids) > 2:
        yield {"ranking": sorted(ids[:4], key=lambda name: -worth[name])}
    for first, second in itertools.pairwise(ids):
        better, worse = sorted((first, second), key=lambda name: -worth[name])
        yield {"preferred": better, "over": worse}


def main() -> None:
    """Measure the command at each size, print a line each, and write them all where `--output` says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000, 5000, 10000])
    parser.add_argument("--shape", choices=SHAPES, default="rivals")
    parser.add_argument("--output", type=Path, help="where the figures go, as JSON")
    own, passed_on = sys.argv[1:], []
    if "--" in own:
        own, passed_on = own[: own.index("--")], own[own.index("--") + 1 :]
    given = parser.parse_args(own)
    found = []
    for n in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            figures = {"n": n, **measured(given.command, n, given.shape, passed_on, Path(folder))}
        found.append(figures)
        print(json.dumps(figures), flush=True)
    if given.output:
        result = {"command": given.command, "shape": given.shape, "passed_on": passed_on, "machine": this_machine()}
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps({**result, "figures": found}, indent=1) + "\n")


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = json.loads((Path(__file__).parent / "results" / "many_labels.json").read_text())
    machine = found["machine"]
    lines = [
        f"`{found['command']}`, Python {machine['python']}, {machine['processors']} cores shared with other work; "
        "processor seconds in the judge and outside of it:\n",
        "| texts | judge, s | rest, s | wall clock, s | peak MB |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['n']:,} | {row['judge']:.0f} | {row['rest']:.0f} | {row['wall']:.0f} | {row['mb']:,} |"
        for row in found["figures"]
    ]
    return {"labels": "\n".join(lines)}


def measured(command: str, n: int, shape: str, passed_on: list[str], folder: Path) -> dict[str, Any]:
    """Return wall-clock and processor seconds and the peak resident memory in MB of one command."""
    data, store = folder / "rows.jsonl", ["--store", str(folder / "store.db")]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows(n, shape)))
    learn = ["learn", *ASPECT, "--name", "many", "--judge", "embedded", *store]
    arguments = {
        "learn": [*learn, str(data)],
        "evaluate": ["evaluate", str(data), "--rubric", "many", *store],
        "plan": ["plan", str(data), "--rubric", "many", "--count", "20", *store, "-o", str(folder / "plan.jsonl")],
        "transfer": ["transfer", "many", "--to", str(data), "--labels", str(n // 2), "--no-relearn", *store],
        "gate": ["gate", "many", *store],
        "show": ["show", "many", "--evidence", *store],
        "report": ["report", "many", *store, "-o", str(folder / "report.html")],
    }[command]
    if command != "learn":
        run([*learn, str(data if command in ("gate", "show", "report") else SAMPLE / "labelled.jsonl")], folder)
    return run([*arguments, *passed_on], folder)


def run(arguments: list[str], folder: Path) -> dict[str, Any]:
    """Run a command in a process of its own and return its figures."""
    figures, started = folder / "figures.json", time.monotonic()
    process = subprocess.run(
        [sys.executable, __file__, *arguments],
        check=False,
        env={**os.environ, FIGURES: str(figures)},
        capture_output=True,
        text=True,
    )
    if process.returncode not in (0, 1, 3):
        sys.exit(f"{arguments[0]} failed: {process.stderr[-2000:]}")
    return {"wall": round(time.monotonic() - started, 1), **json.loads(figures.read_text())}


def command_line() -> None:
    """Run the command line in this process, timing what is spent in the judge, and write the figures at its end."""
    from rubriclab import text_features
    from rubriclab.judges.embedded import judge, wording
    from rubriclab.learning import baselines

    spent, depth = 0.0, 0

    def timed(function: Any) -> Any:
        def inner(*given: Any, **named: Any) -> Any:
            nonlocal spent, depth
            started, depth = time.process_time(), depth + 1
            try:
                return function(*given, **named)
            finally:
                depth -= 1
                spent += time.process_time() - started if depth == 0 else 0.0

        return inner

    judge.ANSWERS = {name: timed(answer) for name, answer in judge.ANSWERS.items()}
    for module in (baselines, wording):
        vars(module)["extract_features"] = timed(text_features.extract_features)
    from rubriclab.cli.main import main as run_command

    try:
        run_command()
    finally:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        total = usage.ru_utime + usage.ru_stime
        figures = {"judge": round(spent, 1), "rest": round(total - spent, 1), "mb": math.ceil(usage.ru_maxrss / 1024)}
        Path(os.environ[FIGURES]).write_text(json.dumps(figures))


if __name__ == "__main__":
    if FIGURES in os.environ:
        command_line()
    else:
        main()
