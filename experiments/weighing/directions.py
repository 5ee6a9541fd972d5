"""Which way text features point, learned from public sets: agreement with people before any label is given.

    python -m experiments.weighing.directions --data FOLDER

Labels and measures are standardised and centred within groups; ridge regression over the aspects of all sets but one
gives each measure a weight, and texts of the set left out are scored with these, with the directions of the catalogue,
and with the mean of both. Writes the agreement of each aspect into results/directions.json, and the weights that all
sets give into rubriclab/text_features/directions.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rubriclab
from experiments.runner.training import SETS, LabelledAspect, labelled_aspects
from rubriclab.research import (
    FEATURE_NAMES,
    FURTHEST,
    centers_and_spreads,
    feature_values,
    prior_directions,
    standardised,
    usual_directions,
)
from rubriclab.stats import Level, agreement

HERE = Path(__file__).parent

STORED = HERE / "results" / "directions.json"
SHIPPED = Path(rubriclab.__file__).parent / "text_features" / "directions.json"
# Penalty of the ridge regression, in units of a measure's variance: 0.1, 0.3, 1 and 3 differ by 0.005 at most.
RIDGE = 0.3


@dataclass(frozen=True, eq=False)
class Aspect:
    """One aspect's texts: standardised measures, shape (texts, measures), labels and groups."""

    case: LabelledAspect
    z: np.ndarray
    labels: np.ndarray
    groups: np.ndarray


def main() -> None:
    """Write the agreement by each kind of direction, and the weights of all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the public sets")
    given = parser.parse_args()
    aspects = [aspect_of(case) for case in labelled_aspects(Path(given.data), SETS)]
    rows = [row_of(aspect, aspects) for aspect in aspects]
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    weights = {name: round(weight, 4) for name, weight in learned(aspects).items()}
    SHIPPED.write_text(json.dumps(weights, indent=1) + "\n")


def aspect_of(case: LabelledAspect) -> Aspect:
    """Return the texts that have a label for the aspect."""
    texts = case.examples
    values = feature_values(texts, FEATURE_NAMES)
    z = np.clip(standardised(values, *centers_and_spreads(values)), -FURTHEST, FURTHEST)
    labels = np.array([text.scores[case.aspect] for text in texts], dtype=float)
    return Aspect(case, z, (labels - labels.mean()) / labels.std(), np.array([text.group for text in texts]))


def row_of(aspect: Aspect, aspects: Sequence[Aspect]) -> dict[str, Any]:
    """Return the agreement on one aspect, with nothing learned from its set."""
    case = aspect.case
    others = learned([other for other in aspects if other.case.set != case.set])
    return {
        "set": case.set,
        "aspect": case.aspect,
        "catalogue": agreed(aspect, usual_directions(case.aspect, "", case.task)),
        "learned": agreed(aspect, others),
        "both": agreed(aspect, prior_directions(case.aspect, "", case.task, others)),
    }


def learned(aspects: Sequence[Aspect]) -> dict[str, float]:
    """Return the weight of each measure by ridge regression, every aspect counting the same."""
    gram = np.mean([within(each.z, each.groups).T @ within(each.z, each.groups) / len(each.z) for each in aspects], 0)
    along = np.mean([within(each.z, each.groups).T @ each.labels / len(each.z) for each in aspects], axis=0)
    weights = np.linalg.solve(gram + RIDGE * np.eye(len(FEATURE_NAMES)), along)
    return dict(zip(FEATURE_NAMES, weights.tolist(), strict=True))


def within(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the values less their group's mean; less the mean of all where every text is a group of its own."""
    names, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) == len(groups):
        centred: np.ndarray = values - values.mean(axis=0)
        return centred
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, place, values)
    return values - (sums / counts[:, np.newaxis])[place]


def agreed(aspect: Aspect, weights: Mapping[str, float]) -> float:
    """Return the mean Spearman correlation within groups; over all texts where these are groups of their own."""
    raw = aspect.z @ np.array([weights[name] for name in FEATURE_NAMES])
    level: Level = "group" if len(set(aspect.groups)) < len(aspect.groups) else "dataset"
    found = agreement(raw, aspect.labels, aspect.groups.tolist(), level=level, resamples=0)
    return round(found.spearman.value or 0.0, 4)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean agreement by set, for Markdown."""
    lines = ["| set left out | aspects | catalogue's directions | learned | mean of both |", "|---|---|---|---|---|"]
    every = {name: [row for row in rows if row["set"] == name] for name in dict.fromkeys(row["set"] for row in rows)}
    for name, own in {**every, "mean over aspects": rows}.items():
        means = [np.mean([row[kind] for row in own]) for kind in ("catalogue", "learned", "both")]
        lines.append(f"| {name} | {len(own)} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    return "\n".join(lines)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"directions": table(json.loads(STORED.read_text()))}


if __name__ == "__main__":
    main()
