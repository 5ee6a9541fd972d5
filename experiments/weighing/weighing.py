"""One rubric from many criteria, on recorded judgments: how well it agrees, beside what it is made of, at what price.

    python experiments/weighing/weighing.py --judgments FOLDER --data FOLDER --output results/recorded.json

Choice, weights and calibration are learned on a recording's training texts alone; figures are of its test texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.combination import Ask
from rubriclab.data import Example, Scale, read
from rubriclab.learning.fitting import Fit, fit, held_out
from rubriclab.learning.frontier import frontier_fits
from rubriclab.learning.standardise import RECIPES
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import Table
from rubriclab.stats.bootstrap import Statistic, cluster_bootstrap, estimate
from rubriclab.stats.correlation import FloatArray, pearson, pearson_rows, spearman_rows
from rubriclab.stats.levels import Coefficient, Level, level_statistic, scored_texts, used_texts

SCALES = {"summeval": (1, 5), "hanna": (1, 5), "topical_chat": (1, 3)}
METHODS = ("hypoeval", "checkeval", "seeval", "direct")
ASKS: tuple[Ask, ...] = ("by method", "in one call")
TOP = 5
RESAMPLES = 2000
SEED = 0
FIGURES: dict[str, tuple[Coefficient, Level]] = {
    "spearman": (spearman_rows, "group"),
    "pearson": (pearson_rows, "group"),
    "pearson over all texts": (pearson_rows, "dataset"),
}


@dataclass(frozen=True, eq=False)
class Recorded:
    """A set's judgments: of the training texts as a table, of the test texts as values by the same columns."""

    name: str
    train: Table
    values: FloatArray
    labels: FloatArray
    groups: tuple[str, ...]


def main() -> None:
    """Print and write agreement, differences and the frontier of every recorded set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=Path, required=True, help="folder with recordings, NAME.json.gz")
    parser.add_argument("--data", type=Path, required=True, help="folder with the same sets' rows, NAME.jsonl.gz")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    sets = [recorded(path, given.data) for path in sorted(given.judgments.glob("*.json.gz"))]
    found = {one.name: about(one) for one in sets}
    means = mean_figures(sets)
    print(shown(found, means))
    if given.output:
        machine = {
            "seconds": round(time.monotonic() - began),
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        content = {"sets": found, "means": means, "machine": machine}
        given.output.write_text(json.dumps(content, indent=1) + "\n")


def recorded(path: Path, data: Path) -> Recorded:
    """Return one recording with the human scores that go with it."""
    held = json.loads(gzip.decompress(path.read_bytes()))
    name, aspect = held["data"], held["aspect"]
    rows = {row.id: row for row in read(str(data / f"{name}.jsonl.gz")) if isinstance(row, Example)}
    values = {part: np.array([cells(held["answers"][text]) for text in held[part]]) for part in ("train", "test")}
    labels = {part: np.array([rows[text].scores[aspect] for text in held[part]], dtype=float) for part in values}
    methods = methods_of(held["answers"][held["train"][0]])
    low, high = SCALES[name]
    table = Table(
        values=values["train"],
        labels=labels["train"],
        groups=tuple(rows[text].group for text in held["train"]),
        methods=methods,
        signed=np.zeros(len(methods), dtype=bool),
        unit=np.array([method == "checkeval" for method in methods]),
        bundles=methods,
        seen=np.zeros(values["train"].shape, dtype=bool),
        scale=Scale(low=low, high=high, whole=False),
    )
    groups = tuple(rows[text].group for text in held["test"])
    return Recorded(f"{name} {aspect}", table, values["test"], labels["test"], groups)


def cells(answer: Mapping[str, Any]) -> list[float]:
    """Return one text's answers by method, NaN where a question was not answered."""
    listed = [*answer["hypotheses"].values(), *answer["checklist"].values()]
    found = [*listed, answer["explained"]["score"], answer["direct"]["score"]]
    return [np.nan if value is None else float(value) for value in found]


def methods_of(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the method of each of `cells`."""
    return (*("hypoeval",) * len(answer["hypotheses"]), *("checkeval",) * len(answer["checklist"]), "seeval", "direct")


def evaluators(one: Recorded) -> dict[str, FloatArray]:
    """Return the test texts' scores by the joint rubric and by others, each learned on the training texts."""
    chosen = fit(one.train, JointSettings())
    scores = {"joint": chosen.scores(one.values, one.train.scale), "direct": column(one, "direct").mean(axis=1)}
    scores["hypoeval, top five"] = column(one, "hypoeval")[:, best(one, "hypoeval")].mean(axis=1)
    scores["hypoeval, all"] = column(one, "hypoeval").mean(axis=1)
    scores["checkeval"] = np.nanmean(column(one, "checkeval"), axis=1)
    scores["seeval"] = column(one, "seeval").mean(axis=1)
    for recipe in RECIPES:
        found = fit(one.train, JointSettings(recipe=recipe))
        scores[f"joint, {recipe}"] = found.scores(one.values, one.train.scale)
    every = fit(one.train, JointSettings(keep_uncertain=True))
    return {**scores, "joint, uncertain ones kept": every.scores(one.values, one.train.scale)}


def column(one: Recorded, method: str) -> FloatArray:
    """Return the test texts' values by the criteria of a method."""
    return one.values[:, [own == method for own in one.train.methods]]


def best(one: Recorded, method: str) -> list[int]:
    """Return the places, among a method's criteria, of those that correlate most with the training labels."""
    own = one.train.values[:, [name == method for name in one.train.methods]]
    r = np.nan_to_num([pearson(values, one.train.labels) for values in own.T], nan=-1)
    return [int(place) for place in np.argsort(-r, kind="stable")[:TOP]]


def figure(
    scores: FloatArray, other: FloatArray | None, one: Recorded, coefficient: Coefficient, level: Level
) -> Statistic:
    """Return agreement, less that of another evaluator, as a function of how often each group counts."""
    rows = [scores] if other is None else [scores, other]
    filled = [np.where(np.isnan(row), np.nanmean(row), row) for row in rows]
    texts = used_texts(scored_texts(filled, one.labels, one.groups, None), level, "skip")
    parts = [level_statistic(texts, place, coefficient, level, "skip") for place in range(len(rows))]
    return parts[0] if other is None else lambda counts: parts[0](counts) - parts[1](counts)


def clusters(one: Recorded, level: Level) -> int:
    """Return how many groups a resample draws."""
    return len(used_texts(scored_texts([one.labels], one.labels, one.groups, None), level, "skip").sizes)


def interval(statistic: Statistic, groups: int) -> list[float | None]:
    """Return a figure with the ends of its 90 % interval."""
    found = estimate(statistic, groups, resamples=RESAMPLES, confidence=0.9, seed=SEED, batch=200)
    return [None if value is None else round(value, 4) for value in (found.value, found.low, found.high)]


def about(one: Recorded) -> dict[str, Any]:
    """Return everything that is reported of one set."""
    scores = evaluators(one)
    found: dict[str, Any] = {
        "texts": len(one.labels),
        "groups": len(set(one.groups)),
        "agreement": {},
        "joint less": {},
    }
    for name, own in scores.items():
        found["agreement"][name] = {
            label: interval(figure(own, None, one, *how), clusters(one, how[1])) for label, how in FIGURES.items()
        }
    for name in list(scores)[1:]:
        found["joint less"][name] = {
            label: interval(figure(scores["joint"], scores[name], one, *how), clusters(one, how[1]))
            for label, how in FIGURES.items()
        }
    return {**found, "rubric": rubric(one), "frontier": {ask: prices(one, ask) for ask in ASKS}}


def rubric(one: Recorded) -> dict[str, Any]:
    """Return what the joint rubric is, with its held-out agreement on the training texts."""
    found = fit(one.train, JointSettings())
    left_out = held_out(one.train, JointSettings())
    by_method = {name: round(weight_of(found, one.train, name), 3) for name in METHODS}
    return {
        "recipe": found.recipe,
        "criteria": len(found.columns),
        "weight": by_method,
        "held-out pearson": round(
            pearson(np.nan_to_num(left_out.scores, nan=one.train.labels.mean()), one.train.labels), 4
        ),
    }


def weight_of(found: Fit, table: Table, method: str) -> float:
    """Return the share of the weight that a method's criteria have."""
    return float(
        sum(w for w, place in zip(found.weights, found.columns, strict=True) if table.methods[place] == method)
    )


def prices(one: Recorded, ask: Ask) -> list[dict[str, Any]]:
    """Return each size of rubric: its price, what cross-validation expects of it, and its agreement on the test."""
    together = ask == "in one call"
    table = replace(one.train, bundles=("all",) * len(one.train.methods)) if together else one.train
    points = []
    for point, found in frontier_fits(table, JointSettings(ask=ask)):
        scores = found.scores(one.values, table.scale)
        test = {
            label: interval(figure(scores, None, one, *how), clusters(one, how[1])) for label, how in FIGURES.items()
        }
        points.append({**point.model_dump(), "test": test})
    return points


def mean_figures(sets: Sequence[Recorded]) -> dict[str, Any]:
    """Return means over the sets, of agreement and of the joint rubric's lead; groups are drawn within each set."""
    scores = [evaluators(one) for one in sets]
    means: dict[str, Any] = {"agreement": {}, "joint less": {}}
    for name in scores[0]:
        for label, how in FIGURES.items():
            alone = [figure(own[name], None, one, *how) for own, one in zip(scores, sets, strict=True)]
            ahead = [figure(own["joint"], own[name], one, *how) for own, one in zip(scores, sets, strict=True)]
            groups = [clusters(one, how[1]) for one in sets]
            means["agreement"].setdefault(name, {})[label] = mean_interval(alone, groups)
            means["joint less"].setdefault(name, {})[label] = mean_interval(ahead, groups)
    return means


def mean_interval(statistics: Sequence[Statistic], groups: Sequence[int]) -> list[float]:
    """Return the mean of the sets' figures with the ends of its 90 % interval."""
    value = np.mean([statistic(np.ones((1, count)))[0] for statistic, count in zip(statistics, groups, strict=True)])
    drawn = [
        cluster_bootstrap(statistic, count, resamples=RESAMPLES, seed=SEED + place, batch=200)
        for place, (statistic, count) in enumerate(zip(statistics, groups, strict=True))
    ]
    low, high = np.quantile(np.mean(drawn, axis=0), [0.05, 0.95])
    return [round(float(number), 4) for number in (value, low, high)]


def shown(found: Mapping[str, Any], means: Mapping[str, Any]) -> str:
    """Return the figures as tables for Markdown."""
    lines = [
        f"| evaluator | {' | '.join(FIGURES)} | joint ahead by, spearman | joint ahead by, pearson |",
        "|---" * 6 + "|",
    ]
    for name, figures in means["agreement"].items():
        ahead = means["joint less"][name]
        cells = [f"{figures[label][0]:.3f}" for label in FIGURES]
        cells += ["" if name == "joint" else written(ahead[label]) for label in ("spearman", "pearson")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name, about_it in found.items():
        lines += [
            "",
            f"{name}: {about_it['rubric']}",
            "",
            "| ask | calls | criteria | parts | held out | test spearman | test pearson |",
        ]
        lines.append("|---" * 7 + "|")
        for ask, points in about_it["frontier"].items():
            lines += [f"| {ask} | {written_point(point)} |" for point in points]
    return "\n".join(lines)


def written(interval: Sequence[float]) -> str:
    """Return a figure with its interval."""
    return f"{interval[0]:+.3f} [{interval[1]:+.3f}, {interval[2]:+.3f}]"


def written_point(point: Mapping[str, Any]) -> str:
    """Return a point of the frontier as the cells of a line."""
    marks = " (smallest within one error)" if point["within"] else ""
    held = f"{point['pearson']:.2f} ± {point['error']:.2f}{marks}"
    test = point["test"]
    cells = [f"{point['calls']:g}", str(point["criteria"]), ", ".join(point["parts"]), held]
    return " | ".join([*cells, f"{test['spearman'][0]:.3f}", f"{test['pearson'][0]:.3f}"])


if __name__ == "__main__":
    main()
