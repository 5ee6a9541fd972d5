"""What is kept of what the methods found, and how it is weighed: agreement on other groups of texts.

    python experiments/agreement/matrices.py --data FOLDER --splits 3 --output CACHE_FOLDER
    python experiments/weighing/weighing.py --matrices CACHE_FOLDER
    python experiments/weighing/weighing.py --matrices CACHE_FOLDER --constants

The first run keeps every rating; the second learns rubrics of them and writes their figures into results/compared.json,
beside those of the recipes that were used before, and into README.md. `--constants` prints the agreement of one rubric
with other constants of the model instead. Without --matrices README.md is written from the stored figures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.data import Scale
from rubriclab.learning import weighing
from rubriclab.learning.fitting import fit
from rubriclab.learning.ladder import ONE_CALL, climb, rungs
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import Table
from rubriclab.stats import agreement

HERE = Path(__file__).parent
STORED = HERE / "results" / "compared.json"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
SETTINGS = JointSettings(calibration="linear", repeats=1)
TRIED = {
    "NOISE": (0.6, 0.9, 1.3),
    "WEIGHT_VARIANCE": (0.1, 0.25, 0.5),
    "COMPOSITE_ERROR": (0.15, 0.3, 0.6),
    "PRIOR_SPREAD": (0.3, 0.5, 0.7),
}


def main() -> None:
    """Learn from every matrix and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=Path, help="folder that experiments/agreement/matrices.py has written")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    paths = sorted(given.matrices.glob("*.npz")) if given.matrices else []
    if given.constants:
        constants(paths)
        return
    rows = {row["case"]: row for row in json.loads(STORED.read_text())}
    with ProcessPoolExecutor(given.processes) as pool:
        for name, found in pool.map(learned, paths):
            if name in rows:
                rows[name] |= found
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows.values()) + "\n]\n")
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    readme.write_text(f"{before}{BEGIN}\n{table(list(rows.values()))}\n{END}{rest.partition(END)[2]}")


def learned(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the figures of the rubric that is made of one matrix."""
    held = dict(np.load(path))
    found = climb(both_ways(held), SETTINGS)
    raw = found.found.raw(np.hstack([held["test"], held["test"]]))
    step = found.steps[found.kept]
    figures = {"after_calls": step.calls, "after_criteria": len(found.found.columns), "rubric": step.rung.name}
    return path.stem, {"after": round(agreed(raw, held), 4), **figures}


def constants(paths: Sequence[Path]) -> None:
    """Print the mean agreement of one call about six criteria and the whole, by each constant's values."""
    every = [dict(np.load(path)) for path in paths]
    for name, values in TRIED.items():
        usual = getattr(weighing, name)
        for value in values:
            setattr(weighing, name, value)
            print(f"{name} {value:g}: {np.mean([one_call(held) for held in every]):.4f}", flush=True)
        setattr(weighing, name, usual)


def one_call(held: Mapping[str, Any]) -> float:
    """Return the agreement of the rubric that rates six criteria and then the whole in one call."""
    table = both_ways(held)
    rung = next(
        (each for each in rungs(table) if each.name == "one call: 6 criteria, then the whole"), rungs(table)[-1]
    )
    raw = fit(table, SETTINGS, rung.pool).raw(np.hstack([held["test"], held["test"]]))
    return agreed(raw, held)


def agreed(raw: np.ndarray, held: Mapping[str, Any]) -> float:
    """Return the mean Spearman correlation within groups."""
    filled = np.where(np.isnan(raw), np.nanmean(raw), raw)
    found = agreement(filled, held["test_labels"], held["test_groups"].tolist(), level="group", resamples=0)
    return found.spearman.value or 0.0


def both_ways(held: Mapping[str, Any]) -> Table:
    """Return the ratings as asked by method and, taken to be the same, in one call."""
    kinds = held["kinds"]
    own = Table(
        values=held["train"],
        labels=held["train_labels"],
        groups=tuple(held["train_groups"].tolist()),
        methods=tuple(held["methods"].tolist()),
        signed=kinds == "measure",
        unit=kinds == "question",
        whole=kinds == "score",
        usual=np.ones(len(kinds)),
        bundles=tuple(held["bundles"].tolist()),
        seen=held["seen"],
        scale=Scale(low=float(held["scale"][0]), high=float(held["scale"][1]), whole=False),
        places=tuple(range(len(kinds))),
    )
    return own.beside(replace(own, bundles=(ONE_CALL,) * len(kinds)))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return means before and after with the paired difference, for Markdown."""
    kinds = {
        "14 aspects, random draws, offline judge": lambda name: "random" in name and not name.startswith("topical"),
        "Topical-Chat, random draws, offline judge": lambda name: name.startswith("topical_chat_"),
        "three recorded sets of a language model": lambda name: " " in name,
    }
    lines = [
        "| learning sets | n | before: Spearman | calls | criteria | now: Spearman | calls | criteria | difference |"
    ]
    lines.append("|---" * 9 + "|")
    for title, belongs in kinds.items():
        own = [row for row in rows if belongs(row["case"])]
        if own:
            gain = np.array([row["after"] - row["before"] for row in own])
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            names = ("before", "before_calls", "before_criteria", "after", "after_calls", "after_criteria")
            means = [np.mean([row[name] for row in own]) for name in names]
            shown = [f"{mean:.3f}" if place % 3 == 0 else f"{mean:.1f}" for place, mean in enumerate(means)]
            lines.append(f"| {title} | {len(own)} | {' | '.join(shown)} | {gain.mean():+.3f} ± {error:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
