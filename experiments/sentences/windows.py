"""The drawing of the windows in which sentence ends were marked: prints them as JSON, without marks.

    python -m experiments.sentences.windows --data FOLDER

Half of the groups of each set (by a hash of their names) are test groups and the others were left for development. From
the test groups come random windows of every field, and windows around places of every hard kind.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

WHOLE_UP_TO = 450
WIDTH = 400
AROUND = 120
FIELDS = {
    "summeval": ("output", "source", "reference"),
    "newsroom": ("output", "source"),
    "qags_cnndm": ("output", "source"),
    "topical_chat": ("output", "source", "context"),
    "hanna": ("output",),
}
HARD = {
    "title": r"(?i)\b(mr|mrs|ms|dr|prof|sen|gov|st|jr|sr|lt|gen|capt|sgt|rev|inc|ltd|co|corp|vs|col)\s?\.",
    "initial": r"(?i)\b[a-z]\s?\.\s",
    "acronym": r"(?i)\b[a-z]\s?\.\s?[a-z]\s?\.",
    "number": r"(?i)\d\s?\.\s?\d|\bno\s?\. ?\d|\d\s?\.\s",
    "time": r"(?i)\b[ap]\s?\.?\s?m\b\s?\.",
    "quote": r"[.!?]\s?(''|\"|'|”|’)",
    "mark_inside": r"[!?]['\"”’]*\s+[a-z]",
    "ellipsis": r"\.\s?\.\s?\.|…",
    "url": r"(?i)\w\s?\.\s?(com|org|net|co\.uk)\b",
    "bracket": r"[.!?]\s?[)\]]",
    "newline": r"\n",
}


class Draw(NamedTuple):
    """How many windows are drawn: random ones of each field, and hard ones of each file and kind."""

    seed: int
    random: int
    hard: int


DRAWS = {"first": Draw(20261, 7, 3), "second": Draw(20262, 5, 2)}


class Field(NamedTuple):
    """One field of one text."""

    group: str
    id: str
    text: str


class Window(NamedTuple):
    """A stretch of a text; `drawn` is "random" or the hard kind that it was drawn for."""

    drawn: str
    file: str
    id: str
    field: str
    start: int
    end: int


def texts(folder: Path) -> dict[tuple[str, str], list[Field]]:
    """Return the different texts of each file and field."""
    found: dict[tuple[str, str], dict[str, Field]] = defaultdict(dict)
    for file, fields in FIELDS.items():
        with gzip.open(folder / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                for field in fields:
                    text = row[field]
                    if text and text.strip() != "_nofact" and len(text) >= 20:
                        found[file, field].setdefault(text, Field(row["group"], row["id"], text))
    # In the order of first appearance over all fields of a file, on which the seeded draws depend.
    return {key: list(by_text.values()) for key, by_text in found.items()}


def is_test(file: str, group: str) -> bool:
    """Return whether a group is drawn from here, and not left for development."""
    return int(hashlib.sha256(f"{file}/{group}".encode()).hexdigest(), 16) % 2 == 1


def by_group(fields: list[Field]) -> dict[str, list[Field]]:
    """Return the texts of each group."""
    groups: dict[str, list[Field]] = defaultdict(list)
    for field in fields:
        groups[field.group].append(field)
    return groups


def draw(plan: Draw, folder: Path, taken: list[Window]) -> list[Window]:
    """Return windows that share nothing with those taken, the random ones first."""
    rng = random.Random(plan.seed)
    tests = {
        (file, field): [text for text in found if is_test(file, text.group)]
        for (file, field), found in texts(folder).items()
    }
    windows: list[Window] = []
    for (file, field), found in tests.items():
        drawn = random_windows(rng, plan.random, file, field, found)
        windows += [window for window in drawn if not any(overlap(window, other) for other in taken)]
    for file, fields in FIELDS.items():
        for kind in HARD:
            places = {field: tests[file, field] for field in fields}
            for window in hard_windows(rng, plan.hard, file, kind, places):
                if not any(overlap(window, other) for other in (*taken, *windows)):
                    windows.append(window)
    return windows


def random_windows(rng: random.Random, number: int, file: str, field: str, found: list[Field]) -> Iterator[Window]:
    """Yield one window each from some groups."""
    groups = by_group(found)
    names = sorted(groups)
    rng.shuffle(names)
    for name in names[:number]:
        _, id_, text = rng.choice(groups[name])
        start, end = 0, len(text)
        if len(text) > WHOLE_UP_TO:
            start = rng.randrange(len(text) - WIDTH)
            start, end = between_words(text, start, start + WIDTH)
        yield Window("random", file, id_, field, start, end)


def hard_windows(rng: random.Random, number: int, file: str, kind: str, places: dict[str, list[Field]]) -> list[Window]:
    """Return windows around a few places of a hard kind, one a group at most."""
    hits = []
    for field, found in places.items():
        with_matches = [(text, matches) for text in found if (matches := list(re.finditer(HARD[kind], text.text)))]
        groups: dict[str, list[tuple[Field, list[re.Match[str]]]]] = defaultdict(list)
        for text, matches in with_matches:
            groups[text.group].append((text, matches))
        for name in sorted(groups):
            text, matches = rng.choice(groups[name])
            match = rng.choice(matches)
            start, end = between_words(text.text, match.start() - AROUND, match.end() + AROUND)
            hits.append(Window(kind, file, text.id, field, start, end))
    rng.shuffle(hits)
    return hits[:number]


def between_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the stretch, made longer to the nearest white space."""
    start, end = max(0, start), min(len(text), end)
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end - 1].isspace():
        end += 1
    return start, end


def overlap(one: Window, other: Window) -> bool:
    """Return whether two windows share a part of a text."""
    return one[1:4] == other[1:4] and one.start < other.end and other.start < one.end


def main() -> None:
    """Print the windows of both draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="folder with the sets")
    folder = parser.parse_args().data
    windows: list[Window] = []
    rows: list[dict[str, object]] = []
    for name, plan in DRAWS.items():
        drawn = draw(plan, folder, windows)
        windows += drawn
        rows += [{"draw": name, **window._asdict()} for window in drawn]
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
