"""Draws the ratings of the demonstration from SummEval's annotations: `python make_ratings.py FILE`.

FILE holds SummEval's rows in rubriclab's native form, as `python -m experiments data summeval` writes them, packed with
gzip. Articles and systems are drawn with a fixed seed and without a look at the ratings; each article has four
summaries, and every system occurs equally often.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ASPECT = "coherence"
ARTICLES, LABELLED_ARTICLES, SUMMARIES = 27, 9, 4
# An expert lets a summary pass that has at least this rating; of three, two decide.
PASSES = 4


def draw(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the demonstration, without sources and references, article by article."""
    articles: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        if row["annotations"]:
            articles[row["group"]][row["system"]] = row
    random_draw = random.Random(0)
    names = sorted(articles)
    random_draw.shuffle(names)
    systems = sorted({system for each in articles.values() for system in each}, key=lambda name: int(name[1:]))
    order: list[str] = []
    while len(order) < ARTICLES * SUMMARIES:
        shuffled = list(systems)
        random_draw.shuffle(shuffled)
        order += shuffled
    return [
        drawn_row(f"a{number + 1:02}", articles[name][system])
        for number, name in enumerate(names[:ARTICLES])
        for system in order[SUMMARIES * number :][:SUMMARIES]
    ]


def drawn_row(group: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a summary with its experts' ratings of coherence."""
    ratings = [int(each) for each in row["annotations"][ASPECT]]
    return {
        "id": f"{group}-{row['system']}",
        "group": group,
        "system": row["system"],
        "output": row["output"],
        "scores": {ASPECT: round(sum(ratings) / len(ratings), 4)},
        "annotations": {ASPECT: ratings},
    }


def verdict(row: dict[str, Any]) -> str:
    """Return whether most experts let a summary pass."""
    ratings = row["annotations"][ASPECT]
    return "pass" if sum(each >= PASSES for each in ratings) > len(ratings) / 2 else "fail"


def main(file: Path) -> None:
    """Write the four files of the demonstration beside this script."""
    with gzip.open(file, "rt", encoding="utf-8") as text:
        rows = draw([json.loads(line) for line in text])
    labelled = LABELLED_ARTICLES * SUMMARIES
    for name, part in (("labelled", rows[:labelled]), ("heldout", rows[labelled:])):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        (HERE / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        with (HERE / f"verdicts-{name}.csv").open("w", encoding="utf-8", newline="") as table:
            writer = csv.writer(table)
            writer.writerow(["id", "group", "system", "output", ASPECT])
            writer.writerows([row[key] for key in ("id", "group", "system", "output")] + [verdict(row)] for row in part)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
