"""What is kept of what the methods found, and how it is weighed: agreement on other groups of texts.

    python -m experiments.agreement.matrices --data FOLDER --splits 3 --output CACHE_FOLDER
    python -m experiments.weighing.weighing --matrices CACHE_FOLDER
    python -m experiments.weighing.weighing --matrices ANOTHER_CACHE_FOLDER --shots 100
    python -m experiments.weighing.weighing --judgments JUDGMENTS_FOLDER --data FOLDER
    python -m experiments.weighing.weighing --live LEARNED_FOLDER
    python -m experiments.weighing.weighing --matrices CACHE_FOLDER --constants

The first run keeps every rating; the second learns rubrics of them and writes their figures into results/compared.json,
beside those of the recipes that were used before. `--live` does so for the packs and matrices that a live language
model's answers came to, cross-validated by group, as there are no other texts. `--constants` prints the agreement of
one rubric with other constants of the model instead.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.data import Scale
from rubriclab.learning import weighting
from rubriclab.learning.fitting import CandidatePool, fit
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.selection_path import ONE_CALL, climb, rungs
from rubriclab.learning.settings import JointSettings
from rubriclab.stats import agreement

HERE = Path(__file__).parent
STORED = HERE / "results" / "compared.json"
SETTINGS = JointSettings(calibration="linear", repeats=1)
# Of the aspects that judgments are recorded for.
SCALES = {"summeval": (1, 5), "hanna": (1, 5), "topical_chat": (1, 3)}
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
    parser.add_argument("--judgments", type=Path, help="folder with a language model's recorded judgments")
    parser.add_argument("--data", type=Path, help="folder with the sets that they are about")
    parser.add_argument("--live", type=Path, help="folder with NAME.matrix.csv.gz and NAME.pack.json.gz")
    parser.add_argument("--shots", type=int, default=30, help="what the matrices were made with")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    paths = sorted(given.matrices.glob("*.npz")) if given.matrices else []
    if given.constants:
        constants(paths)
        return
    rows = {(row["case"], row["shots"]): row for row in json.loads(STORED.read_text())}
    with ProcessPoolExecutor(given.processes) as pool:
        for name, found in pool.map(learned, paths):
            if (name, given.shots) in rows:
                rows[name, given.shots] |= found
    for name, held in recorded(given.judgments, given.data) if given.judgments else ():
        rows[name, 30] |= compared(held)
    for name, found in cross_validated(given.live) if given.live else ():
        rows[name, 30] |= found
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows.values()) + "\n]\n")


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"compared": table(json.loads(STORED.read_text()))}


def learned(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the figures of one matrix."""
    return path.stem, compared(dict(np.load(path)))


def compared(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of the rubric that is made of one matrix."""
    own = both_ways(held)
    found = climb(own, SETTINGS)
    twice = np.hstack([held["test"], held["test"]])
    raw = found.fit.raw(twice)
    everything = fit(own, SETTINGS, CandidatePool(tuple(range(len(held["kinds"]))))).raw(twice)
    step = found.steps[found.kept]
    figures = {"after_calls": step.calls, "after_criteria": len(found.fit.columns), "rubric": step.rung.name}
    direct = np.flatnonzero(held["methods"] == "direct")[0]
    figures["direct"] = round(agreed(held["test"][:, direct], held), 4)
    figures["everything"] = round(agreed(everything, held), 4)
    return {"after": round(agreed(raw, held), 4), **figures}


def recorded(judgments: Path, data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the matrix of each set that a language model's judgments are recorded for."""
    for path in sorted(judgments.glob("*.json.gz")):
        kept = json.loads(gzip.decompress(path.read_bytes()))
        lines = gzip.decompress((data / f"{kept['data']}.jsonl.gz").read_bytes()).splitlines()
        rows = {row["id"]: row for row in map(json.loads, lines)}
        hypotheses, questions = (len(kept["criteria"][kind]) for kind in ("hypotheses", "questions"))
        methods = np.array(["hypoeval"] * hypotheses + ["checkeval"] * questions + ["seeval", "direct"])
        labels = {name: row["scores"][kept["aspect"]] for name, row in rows.items() if kept["aspect"] in row["scores"]}
        held: dict[str, Any] = {
            "methods": methods,
            "kinds": np.array(["hypothesis"] * hypotheses + ["question"] * questions + ["score"] * 2),
            "bundles": methods,
            "seen": np.zeros((len(kept["train"]), len(methods)), dtype=bool),
            "scale": np.array(SCALES[kept["data"]], dtype=float),
        }
        for part in ("train", "test"):
            held[part] = np.array([_cells(kept["answers"][name]) for name in kept[part]], dtype=float)
            held[f"{part}_labels"] = np.array([labels[name] for name in kept[part]], dtype=float)
            held[f"{part}_groups"] = np.array([rows[name]["group"] for name in kept[part]])
        yield f"{path.name.partition('.')[0]} {kept['aspect']}", held


def _cells(answers: Mapping[str, Any]) -> list[float | None]:
    """Return a text's ratings, column by column."""
    single = [answers["explained"]["score"], answers["direct"]["score"]]
    return [*answers["hypotheses"].values(), *answers["checklist"].values(), *single]


def cross_validated(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the figures of each live matrix: correlations of held-out scores with the labels."""
    for path in sorted(folder.glob("*.matrix.csv.gz")):
        held = live(path)
        own = both_ways(held)
        found = climb(own, SETTINGS)
        direct = held["train"][:, np.flatnonzero(held["methods"] == "direct")[0]]
        step = found.steps[found.kept]
        yield (
            f"{path.name.partition('.')[0]} live",
            {
                "after": _r(found.held_out.raw, own.labels),
                "after_calls": step.calls,
                "after_criteria": len(found.fit.columns),
                "rubric": step.rung.name,
                "direct": _r(direct, own.labels),
            },
        )


def _r(scores: np.ndarray, labels: np.ndarray) -> float:
    return round(float(np.corrcoef(np.nan_to_num(scores), labels)[0, 1]), 4)


def live(path: Path) -> dict[str, Any]:
    """Return a matrix as `experiments/agreement/matrices.py` keeps them, without texts to test on."""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    texts, criteria = (list(dict.fromkeys(row[name] for row in rows)) for name in ("text", "criterion"))
    about = {row["criterion"]: row for row in rows}
    of = {row["text"]: row for row in rows}
    values = np.full((len(texts), len(criteria)), np.nan)
    for row in rows:
        if row["score"]:
            values[texts.index(row["text"]), criteria.index(row["criterion"])] = float(row["score"])
    groups = np.array([of[text]["group"] for text in texts])
    pack = path.with_name(path.name.replace(".matrix.csv", ".pack.json"))
    rubric = json.loads(gzip.decompress(pack.read_bytes()))["rubric"]
    made_from = {
        each["id"]: [of[text]["group"] for text in each["evidence"]["examples"] if text in of]
        for part in rubric["parts"]
        for each in (*part["criteria"], *(dropped["criterion"] for dropped in part["dropped"]))
    }
    methods = np.array([about[name]["method"] for name in criteria])
    return {
        "train": values,
        "train_labels": np.array([float(of[text]["label"]) for text in texts]),
        "train_groups": groups,
        "methods": methods,
        "kinds": np.array([about[name]["kind"] for name in criteria]),
        "bundles": methods,
        "seen": np.array([np.isin(groups, made_from.get(name, [])) for name in criteria]).T,
        "scale": np.array([rubric["scale"]["low"], rubric["scale"]["high"]]),
    }


def constants(paths: Sequence[Path]) -> None:
    """Print the mean agreement of one call about six criteria and the whole, by each constant's values."""
    every = [dict(np.load(path)) for path in paths]
    for name, values in TRIED.items():
        usual = getattr(weighting, name)
        for value in values:
            setattr(weighting, name, value)
            print(f"{name} {value:g}: {np.mean([one_call(held) for held in every]):.4f}", flush=True)
        setattr(weighting, name, usual)


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


def both_ways(held: Mapping[str, Any]) -> RatingMatrix:
    """Return the ratings as asked by method and, taken to be the same, in one call."""
    kinds = held["kinds"]
    own = RatingMatrix(
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


LOOKED_AT = ("_random_0", "_random_1", "_random_2")


def _kind(row: Mapping[str, Any]) -> str:
    """Return which of the table's rows a learning set belongs to."""
    name = row["case"]
    if " " in name:
        return "three live sets, held out (Pearson)" if name.endswith(" live") else "three recorded sets"
    aspects = "Topical-Chat" if name.startswith("topical") else "14 aspects"
    if row["shots"] != 30:
        return f"{aspects}, up to {row['shots']} labels"
    return f"{aspects}, {'draws looked at' if name.endswith(LOOKED_AT) else 'other draws'}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return means before and after with the paired differences, for Markdown."""
    lines = [
        "| learning sets | n | before | calls | criteria | now | calls | criteria | all criteria, weighed as now"
        " | direct | now less before | now less direct |"
    ]
    lines.append("|---" * 12 + "|")
    names = (
        "before",
        "before_calls",
        "before_criteria",
        "after",
        "after_calls",
        "after_criteria",
        "everything",
        "direct",
    )
    for title in dict.fromkeys(map(_kind, rows)):
        own = [row for row in rows if _kind(row) == title]
        means = [np.mean([row.get(name, np.nan) for row in own]) for name in names]
        shown = [_shown(name, mean) for name, mean in zip(names, means, strict=True)]
        lines.append(f"| {title} | {len(own)} | {' | '.join([*shown, _gain(own, 'before'), _gain(own, 'direct')])} |")
    return "\n".join(lines)


def _shown(name: str, mean: float) -> str:
    if np.isnan(mean):
        return ""
    return f"{mean:.1f}" if name.endswith(("calls", "criteria")) else f"{mean:.3f}"


def _gain(rows: Sequence[Mapping[str, Any]], than: str) -> str:
    """Return the mean paired difference with its standard error over aspects, or sets, in words."""
    aspects: dict[str, list[float]] = {}
    for row in rows:
        aspects.setdefault(row["case"].partition("_random")[0].partition("_official")[0], []).append(
            row["after"] - row[than]
        )
    own = np.array([np.mean(values) for values in aspects.values()])
    return f"{own.mean():+.3f} ± {own.std(ddof=1) / np.sqrt(len(own)):.3f}"


if __name__ == "__main__":
    main()
