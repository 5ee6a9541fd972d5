"""The same with the recorded judgments of a strong model: whether the gate lets through what deserves it.

    python -m experiments.gate.recorded --data FOLDER --judgments FOLDER --output experiments/gate/results/recorded.json

Learning sets of several sizes are drawn from the texts that the model has judged, some groups with all their texts, and
learned from with their labels as they are and dealt out anew. What the verdict ought to be is read off all other judged
texts: the rubric's correlation there less that of the floor that it was held against.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.gate.gate import GIVEN, asked, dealt, load
from rubriclab.data import parse_scale
from rubriclab.learning.baselines import SURFACE, held_out_baselines, measure_values
from rubriclab.learning.fitting import fit
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.stats import pearson
from rubriclab.stats.correlation import FloatArray

SETS = {"summeval": "1:5:any", "hanna": "1:5:any", "topical_chat": "1:3:any"}
SIZES = (30, 60, 90)
# Fewer texts than this say too little about who is really better.
REST = 30


def main() -> None:
    """Run every draw and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the sets")
    parser.add_argument("--judgments", required=True, help="folder with the recorded judgments of them")
    parser.add_argument("--draws", type=int, default=20, help="learning sets of each size")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    jobs = [(given.data, given.judgments, name, size, given.draws) for name in SETS for size in SIZES]
    with ProcessPoolExecutor(given.processes) as pool:
        rows = [row for found in pool.map(run, jobs) for row in found]
    if given.output:
        given.output.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print(table(rows))


def run(job: tuple[str, str, str, int, int]) -> list[dict[str, Any]]:
    """Return a row for each draw of one size, with the labels as they are and dealt."""
    data, judgments, name, size, draws = job
    judged, surface = matrix(data, judgments, name)
    rows = []
    for number in range(draws):
        rng = np.random.default_rng([size, number])
        chosen = drawn(judged, size, rng)
        own, rest = judged.rows(chosen), judged.rows(~chosen)
        if len(rest.labels) < REST:
            continue
        said = asked(own, surface[chosen], GIVEN, number)
        against = said.verdicts[0].against
        gain = pearson(fit(own, GIVEN).raw(rest.values), rest.labels) - floor(judged, surface, chosen, against)
        rows.append({"set": name, "size": size, "labels": "as they are", "gain": gain, **told(said)})
        null = asked(replace(own, labels=dealt(own, "among", rng)), surface[chosen], GIVEN, number)
        rows.append({"set": name, "size": size, "labels": "among", "gain": None, **told(null)})
    return rows


def told(said: Any) -> dict[str, Any]:
    """Return what the gate said."""
    first = said.verdicts[0]
    return {
        "n": said.n,
        "level": said.level,
        "outcome": said.outcome,
        "against": first.against,
        "difference": first.difference.model_dump(),
        "more_labels": first.more_labels,
        "verdicts": {verdict.against: verdict.outcome for verdict in said.verdicts[1:]},
    }


def floor(judged: RatingMatrix, surface: FloatArray, chosen: np.ndarray, name: str) -> float:
    """Return what a floor that was fitted to the texts chosen reaches on all others."""
    scores = held_out_baselines(surface, judged.labels, np.where(chosen, 1, 0))[name][~chosen]
    return pearson(scores, judged.labels[~chosen]) if np.ptp(scores) > 0 else 0.0


def drawn(judged: RatingMatrix, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a mask over the texts: whole groups in random order, until there are `size` of them."""
    chosen = np.zeros(len(judged.labels), dtype=bool)
    groups = np.array(judged.groups)
    for group in rng.permutation(sorted(set(judged.groups))):
        chosen[np.flatnonzero(groups == group)[: size - int(chosen.sum())]] = True
    return chosen


def matrix(data: str, judgments: str, name: str) -> tuple[RatingMatrix, FloatArray]:
    """Return all texts that the model has judged, and their surface measures."""
    with gzip.open(f"{judgments}/{name}.json.gz") as file:
        found = json.load(file)
    known = {each.id: each for each in load(f"{data}/{name}.jsonl.gz", found["aspect"])}
    texts = [known[key] for key in sorted((*found["train"], *found["test"]))]
    cells = [list(answers(found["answers"][each.id])) for each in texts]
    methods = [method for method, _ in cells[0]]
    values = np.array([[np.nan if value is None else value for _, value in row] for row in cells], dtype=float)
    judged = RatingMatrix(
        values=values,
        labels=np.array([each.scores[found["aspect"]] for each in texts]),
        groups=tuple(each.group for each in texts),
        methods=tuple(methods),
        signed=np.zeros(len(methods), dtype=bool),
        unit=np.array([method == "checkeval" for method in methods]),
        whole=np.array([method in ("seeval", "direct") for method in methods]),
        usual=np.ones(len(methods)),
        bundles=tuple(methods),
        seen=np.zeros(values.shape, dtype=bool),
        scale=parse_scale(SETS[name]),
        places=tuple(range(len(methods))),
    )
    return judged, measure_values(texts, SURFACE)


def answers(found: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Yield one text's scores, each with the method that it is from."""
    for method, asked_for, letter in (("hypoeval", "hypotheses", "h"), ("checkeval", "checklist", "q")):
        for number in range(1, 15):
            yield method, found[asked_for].get(f"{letter}{number}")
    yield "seeval", found["explained"]["score"]
    yield "direct", found["direct"]["score"]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the outcomes by set and size, for Markdown; right is what lies on the side that the other texts show."""
    lines = ["| set | labels | learning texts | runs | better | of these right | not better | inconclusive | gain |"]
    lines.append("|---" * 9 + "|")
    for key in dict.fromkeys((row["set"], row["labels"], row["size"]) for row in rows):
        own = [row for row in rows if (row["set"], row["labels"], row["size"]) == key]
        shares = {
            outcome: [row for row in own if row["outcome"] == outcome]
            for outcome in ("better", "not better", "inconclusive")
        }
        known = key[1] != "among"
        right = f"{sum(row['gain'] > 0 for row in shares['better'])}" if known else ""
        gain = f"{np.mean([row['gain'] for row in own]):.2f}" if known else ""
        counts = [str(len(found)) for found in shares.values()]
        lines.append(
            f"| {' | '.join(map(str, key))} | {len(own)} | {counts[0]} | {right} | {counts[1]} | {counts[2]} | {gain} |"
        )
    return "\n".join(lines)


def verdicts(rows: list[dict[str, Any]]) -> str:
    """Return in a sentence how many verdicts were right, and how many labels dealt out anew passed."""
    true = [row for row in rows if row["gain"] is not None]
    null = [row for row in rows if row["gain"] is None]
    better = [row for row in true if row["outcome"] == "better"]
    worse = [row for row in true if row["outcome"] == "not better"]
    return (
        f"{sum(row['gain'] > 0 for row in better)} of {len(better)} verdicts `better` and "
        f"{sum(row['gain'] <= 0 for row in worse)} of {len(worse)} verdicts `not better` are right; with labels dealt\n"
        f"out anew the gate said `better` in {sum(row['outcome'] == 'better' for row in null)} of {len(null)} runs."
    )


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = json.loads((Path(__file__).parent / "results" / "recorded.json").read_text())
    return {"recorded": f"{table(rows)}\n\n{verdicts(rows)}"}


if __name__ == "__main__":
    main()
