"""How well sentence splitters find the sentence ends that a person marked.

    python -m experiments.sentences.compare --data FOLDER --output experiments/sentences/results/compared.json

The texts are read from the folder; `marks.json` holds offsets only. Splitters that are not installed are named and
left out. Prints the tables, and writes every figure as JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments.sentences.splitters import Splitter, installed

HERE = Path(__file__).parent
LETTER_OR_DIGIT = re.compile(r"[^\W_]")
CLOSING = re.compile(r"(?:[\"'”’)\]}`*_\s]|-rrb-)+$")
RESAMPLES = 2000
SEED = 42


@dataclass(frozen=True)
class Window:
    """A marked stretch of a text. An end at either edge of the stretch, or at the text's end, is not counted."""

    draw: str
    drawn: str
    file: str
    id: str
    field: str
    start: int
    end: int
    ends: tuple[int, ...]
    text: str

    def inside(self, ends: Iterable[int]) -> set[int]:
        """Return the ends that count."""
        return {end for end in ends if self.start < end < self.end}

    def letters_before(self, end: int) -> int:
        """Return how many letters and digits of the stretch lie before an end."""
        return len(LETTER_OR_DIGIT.findall(self.text, self.start, end))


@dataclass(frozen=True)
class Counts:
    """What one splitter did with one window."""

    window: Window
    hits: int
    found: int
    wanted: int
    near_hits: int
    near_found: int
    near_wanted: int
    right: int
    sentences: int
    hits_by_kind: dict[str, tuple[int, int]]


def main() -> None:
    """Run every splitter over every window and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="folder with the sets, gzipped JSON Lines")
    parser.add_argument("--marks", type=Path, default=HERE / "marks.json")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    windows = load(given.data, given.marks)
    found, absent = installed()
    print(f"not installed: {', '.join(absent) or 'none'}\n")
    figures = {name: figures_of(splitter, windows) for name, splitter in found.items()}
    print(table(figures))
    if given.output:
        given.output.parent.mkdir(exist_ok=True)
        given.output.write_text(json.dumps({"absent": absent, "splitters": figures}, indent=1) + "\n")


def load(data: Path, marks: Path) -> list[Window]:
    """Return the marked windows with their texts. Raises ValueError if a text of the marks is not in the folder."""
    rows = json.loads(marks.read_text("utf-8"))
    texts: dict[tuple[str, str], dict[str, Any]] = {}
    for file in {row["file"] for row in rows}:
        with gzip.open(data / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts.update({(file, text["id"]): text for text in map(json.loads, lines)})
    missing = [row["id"] for row in rows if (row["file"], row["id"]) not in texts]
    if missing:
        raise ValueError(
            f"the folder lacks {len(missing)} of the marked texts, {missing[0]} first; is it the same data?"
        )
    return [
        Window(**row | {"ends": tuple(row["ends"])}, text=texts[row["file"], row["id"]][row["field"]]) for row in rows
    ]


def figures_of(splitter: Splitter, windows: list[Window]) -> dict[str, Any]:
    """Return the speed and, over all windows and parts of them, the accuracy of a splitter."""
    texts = list(dict.fromkeys(window.text for window in windows))
    began = time.process_time()
    ends = {text: sentence_ends(text, splitter) for text in texts}
    speed = sum(len(text.encode()) for text in texts) / 1e6 / (time.process_time() - began)
    counts = [count(window, ends[window.text]) for window in windows]
    return {
        "megabytes_per_second": round(speed, 2),
        "recall_by_kind": recall_by_kind(counts),
        **{name: accuracy(part) for name, part in parts_of(counts).items()},
    }


def parts_of(counts: list[Counts]) -> dict[str, list[Counts]]:
    """Return the counts of all windows, of each draw, of each way of drawing and of each set."""
    parts: dict[str, list[Counts]] = {"all": counts}
    namings: list[Callable[[Window], str]] = [
        lambda window: f"{window.draw} draw",
        lambda window: "drawn at random" if window.drawn == "random" else "drawn as hard",
        lambda window: window.file,
    ]
    for name_of in namings:
        for one in counts:
            parts.setdefault(name_of(one.window), []).append(one)
    return parts


def sentence_ends(text: str, splitter: Splitter) -> list[int]:
    """Return the ends of a splitter's sentences; a piece without letter or digit is none, whoever splits it off."""
    return [end for start, end in pairwise([0, *splitter(text)]) if LETTER_OR_DIGIT.search(text, start, end)]


def count(window: Window, ends: list[int]) -> Counts:
    """Compare the ends of a text with the marks inside the window."""
    found, wanted = window.inside(ends), window.inside(window.ends)
    edge = window.letters_before(window.end)
    near = [{at for end in some if 0 < (at := window.letters_before(end)) < edge} for some in (found, wanted)]
    right, sentences = sentences_right(window, ends)
    kinds = [(kind_of(window.text, end), end in found) for end in wanted]
    return Counts(
        window,
        len(found & wanted),
        len(found),
        len(wanted),
        len(near[0] & near[1]),
        len(near[0]),
        len(near[1]),
        right,
        sentences,
        {kind: (sum(hit for k, hit in kinds if k == kind), sum(k == kind for k, _ in kinds)) for kind, _ in kinds},
    )


def sentences_right(window: Window, ends: list[int]) -> tuple[int, int]:
    """Return how many of the sentences whose two ends are marked were found whole, and how many there are."""
    marked = [*([0] if window.start == 0 else []), *window.ends]
    found = {0, *ends}
    right = [{one, other} <= found and not any(one < end < other for end in ends) for one, other in pairwise(marked)]
    return sum(right), len(right)


def kind_of(text: str, end: int) -> str:
    """Return how a sentence end shows."""
    if end < len(text) and not text[end].isspace():
        return "no space after it"
    if CLOSING.sub("", text[max(0, end - 12) : end])[-1:] in (".", "!", "?", "…"):
        return "mark"
    return "line break without a mark" if text[end:].lstrip(" \t").startswith("\n") else "neither mark nor line break"


def recall_by_kind(counts: list[Counts]) -> dict[str, list[int]]:
    """Return how many ends of each kind were found, of how many."""
    kinds = sorted({kind for c in counts for kind in c.hits_by_kind})
    return {kind: [sum(c.hits_by_kind.get(kind, (0, 0))[i] for c in counts) for i in (0, 1)] for kind in kinds}


def accuracy(counts: list[Counts]) -> dict[str, Any]:
    """Return the measures with 95 % intervals, bootstrapped over windows."""
    sums = np.array(
        [[c.hits, c.found, c.wanted, c.near_hits, c.near_found, c.near_wanted, c.right, c.sentences] for c in counts]
    )
    drawn = np.random.default_rng(SEED).integers(len(sums), size=(RESAMPLES, len(sums)))
    resampled = measures(sums[drawn].sum(axis=1))
    return {"ends": int(sums[:, 2].sum()), "sentences": int(sums[:, 7].sum())} | {
        name: [round(float(x), 3) for x in (value, *np.quantile(resampled[name], (0.025, 0.975)))]
        for name, value in measures(sums.sum(axis=0)).items()
    }


def measures(sums: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the measures of sums of counts, along the last axis."""
    hits, found, wanted, near_hits, near_found, near_wanted, right, sentences = np.moveaxis(sums, -1, 0)
    return {
        "precision": hits / np.maximum(found, 1),
        "recall": hits / np.maximum(wanted, 1),
        "f1": 2 * hits / np.maximum(found + wanted, 1),
        "f1_but_for_quotation_marks": 2 * near_hits / np.maximum(near_found + near_wanted, 1),
        "sentences_right": right / np.maximum(sentences, 1),
    }


def table(figures: dict[str, dict[str, Any]]) -> str:
    """Return the figures as Markdown tables, the one of all windows first."""
    return "\n\n".join(tables(figures).values())


def tables(figures: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the tables by name: of all windows, of parts of them, and of kinds of ends."""
    names = ("precision", "recall", "f1", "f1_but_for_quotation_marks", "sentences_right")
    heads = [*(name.replace("_", " ") for name in names), "MB/s"]
    rows = [
        [splitter, *(cell(found["all"][name]) for name in names), str(found["megabytes_per_second"])]
        for splitter, found in figures.items()
    ]
    first = next(iter(figures.values()))
    kinds = [
        [kind, *("{} of {}".format(*found["recall_by_kind"][kind]) for found in figures.values())]
        for kind in first["recall_by_kind"]
    ]
    return {
        "all": markdown(["splitter", *heads], rows),
        "f1": by_part(figures, "f1"),
        "sentences right": by_part(figures, "sentences_right"),
        "kinds": markdown(["ends found, by kind", *figures], kinds),
    }


def by_part(figures: dict[str, dict[str, Any]], measure: str) -> str:
    """Return one measure of each splitter over parts of the windows, for Markdown."""
    first = next(iter(figures.values()))
    parts = [name for name, part in first.items() if isinstance(part, dict) and "f1" in part]
    rows = [
        [part, str(first[part]["ends"]), str(first[part]["sentences"])]
        + [cell(found[part][measure]) for found in figures.values()]
        for part in parts
    ]
    return markdown([f"{measure.replace('_', ' ')} on", "ends", "sentences", *figures], rows)


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table for Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    figures = json.loads((HERE / "results" / "compared.json").read_text())["splitters"]
    counted = next(iter(figures.values()))
    rows = []
    for draw in ("first", "second"):
        own = [mark for mark in json.loads((HERE / "marks.json").read_text("utf-8")) if mark["draw"] == draw]
        part = counted[f"{draw} draw"]
        numbers = (len(own), sum(len(mark["ends"]) for mark in own), part["ends"], part["sentences"])
        rows.append([draw, *map(str, numbers)])
    heads = ["draw", "stretches", "ends marked", "ends that count", "sentences with both ends marked"]
    return {"marks": markdown(heads, rows), **tables(figures)}


def cell(value: list[float]) -> str:
    """Return a figure with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*value)


if __name__ == "__main__":
    main()
