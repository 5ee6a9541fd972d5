"""What is kept of what the methods found, and how it is weighed: agreement on other groups of texts.

    python -m experiments measure weighing --data FOLDER --set judgments=FOLDER --set live=FOLDER/learned \
        -o experiments/weighing/results/compared.json
    python -m experiments measure weighing --data FOLDER --set shots=100 --set splits=3 \
        -o experiments/weighing/results/compared_100.json

Each case learns the cheapest rubric that held-out labels justify from 30 labels of an aspect, and tests it on other
groups. `judgments` are a language model's recorded answers to given criteria; `live` are the packs and matrices of
rubrics that were learned with a language model, cross-validated by group, as there are no other texts.
results/before.json holds the figures of the recipes that were used before.
"""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.runner.measurement import Measurement, Options, Row, stored_rows
from experiments.runner.training import (
    SHOTS,
    LabelledAspect,
    Split,
    candidate_values,
    labelled_aspects,
    plans,
    uncached_judge,
)
from rubriclab import Scale
from rubriclab.research import ONE_CALL, CandidatePool, JointSettings, RatingMatrix, find_candidates, fit, select_rubric
from rubriclab.stats import agreement

HERE = Path(__file__).parent
SEED = 42
TEST_GROUPS = 12
SETTINGS = JointSettings(calibration="linear", repeats=1)
# Of the aspects that judgments are recorded for.
SCALES = {"summeval": (1, 5), "hanna": (1, 5), "topical_chat": (1, 3)}


class WeighingOptions(Options):
    """Which ratings are weighed.

    Attributes:
        sets: each SET or SET:ASPECT, separated by commas.
        splits: random splits by group, beside the official ids.
        shots: texts to learn from, where there are so many.
        judgments: folder with a language model's recorded judgments, SET.json.gz.
        live: folder with NAME.matrix.csv.gz and NAME.pack.json.gz.
    """

    sets: str = "summeval,newsroom,hanna,topical_chat"
    splits: int = 10
    shots: int = SHOTS
    judgments: Path | None = None
    live: Path | None = None


@dataclass(frozen=True)
class Case:
    """One matrix of ratings: of an aspect by the judge, or of a file."""

    name: str
    aspect: LabelledAspect | None = None
    split: Split | None = None
    judge: str = "embedded"
    file: Path | None = None
    data: Path | None = None

    def __str__(self) -> str:
        """Return what the case is of."""
        return self.name


def cases(options: WeighingOptions) -> Iterator[Case]:
    """Yield every aspect with each split, and the recorded and live matrices."""
    for name in ("official", *(f"random {number}" for number in range(options.splits))):
        for aspect in labelled_aspects(options.data, options.sets):
            called = f"{aspect} {name}".replace(" ", "_")
            yield Case(called, aspect, Split(name, options.shots, TEST_GROUPS), options.judge)
    for path in sorted(options.judgments.glob("*.json.gz")) if options.judgments else ():
        name = path.name.partition(".")[0]
        yield Case(f"{name} {_recorded(path)['aspect']}", file=path, data=options.data)
    for path in sorted(options.live.glob("*.matrix.csv.gz")) if options.live else ():
        yield Case(f"{path.name.partition('.')[0]} live", file=path)


def run(case: Case) -> list[Row]:
    """Return the figures of the rubric that is made of one matrix."""
    shots = case.split.shots if case.split else SHOTS
    if case.aspect and case.split:
        figures = compared(asyncio.run(judged(case.aspect, case.split, case.judge)))
    elif case.file and case.data:
        figures = compared(recorded(case.file, labelled_aspects(case.data, _recorded(case.file)["data"])))
    else:
        figures = cross_validated(live(Path(str(case.file))))
    return [{"case": case.name, "shots": shots, **figures}]


async def judged(aspect: LabelledAspect, split: Split, judge_name: str) -> dict[str, Any]:
    """Return a judge's ratings of learning and test texts by every candidate."""
    learned_from, test = split.of(aspect)
    judge = uncached_judge(judge_name)
    chosen, _ = plans(aspect, learned_from)
    found = await find_candidates(chosen, judge=judge, generator=judge, seed=SEED)
    table = found.table(aspect.assignment, "by method")
    return {
        "train": table.values,
        "test": await candidate_values(found, test, aspect.assignment, judge),
        "train_labels": table.labels,
        "test_labels": np.array([text.scores[aspect.aspect] for text in test], dtype=float),
        "train_groups": np.array(table.groups),
        "test_groups": np.array([text.group for text in test]),
        "methods": np.array(table.methods),
        "kinds": np.array([each.criterion.kind for each in found.candidates]),
        "bundles": np.array(table.bundles),
        "seen": table.seen,
        "scale": np.array([aspect.assignment.scale.low, aspect.assignment.scale.high]),
    }


def compared(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of the rubric that is made of one matrix."""
    own = both_ways(held)
    found = select_rubric(own, SETTINGS)
    twice = np.hstack([held["test"], held["test"]])
    raw = found.fit.raw(twice)
    everything = fit(own, SETTINGS, CandidatePool(tuple(range(len(held["kinds"]))))).raw(twice)
    step = found.steps[found.kept]
    figures = {"after_calls": step.calls, "after_criteria": len(found.fit.columns), "rubric": step.rubric.name}
    direct = np.flatnonzero(held["methods"] == "direct")[0]
    figures["direct"] = round(agreed(held["test"][:, direct], held), 4)
    figures["everything"] = round(agreed(everything, held), 4)
    return {"after": round(agreed(raw, held), 4), **figures}


def _recorded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def recorded(path: Path, aspects: Sequence[LabelledAspect]) -> dict[str, Any]:
    """Return the matrix of a set that a language model's judgments are recorded for."""
    kept = _recorded(path)
    examples = next(aspect.examples for aspect in aspects if aspect.aspect == kept["aspect"])
    labels = {text.id: text.scores[kept["aspect"]] for text in examples}
    groups = {text.id: text.group for text in examples}
    hypotheses, questions = (len(kept["criteria"][kind]) for kind in ("hypotheses", "questions"))
    methods = np.array(["hypoeval"] * hypotheses + ["checkeval"] * questions + ["seeval", "direct"])
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
        held[f"{part}_groups"] = np.array([groups[name] for name in kept[part]])
    return held


def _cells(answers: Mapping[str, Any]) -> list[float | None]:
    """Return a text's ratings, column by column."""
    single = [answers["explained"]["score"], answers["direct"]["score"]]
    return [*answers["hypotheses"].values(), *answers["checklist"].values(), *single]


def cross_validated(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a live matrix: correlations of held-out scores with the labels."""
    own = both_ways(held)
    found = select_rubric(own, SETTINGS)
    direct = held["train"][:, np.flatnonzero(held["methods"] == "direct")[0]]
    step = found.steps[found.kept]
    return {
        "after": _r(found.held_out.raw, own.labels),
        "after_calls": step.calls,
        "after_criteria": len(found.fit.columns),
        "rubric": step.rubric.name,
        "direct": _r(direct, own.labels),
    }


def _r(scores: np.ndarray, labels: np.ndarray) -> float:
    return round(float(np.corrcoef(np.nan_to_num(scores), labels)[0, 1]), 4)


def live(path: Path) -> dict[str, Any]:
    """Return the matrix of a file, without texts to test on."""
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
        signed=kinds == "feature",
        unit=kinds == "question",
        holistic=kinds == "score",
        prior_direction=np.ones(len(kinds)),
        bundles=tuple(held["bundles"].tolist()),
        seen=held["seen"],
        scale=Scale(low=float(held["scale"][0]), high=float(held["scale"][1]), whole=False),
        places=tuple(range(len(kinds))),
    )
    return own.joined_with(replace(own, bundles=(ONE_CALL,) * len(kinds)))


LOOKED_AT = ("_random_0", "_random_1", "_random_2")


def _kind(row: Mapping[str, Any]) -> str:
    """Return which of the table's rows a learning set belongs to."""
    name = row["case"]
    if " " in name:
        return "three sets learned live, held out (Pearson)" if name.endswith(" live") else "three recorded sets"
    aspects = "Topical-Chat" if name.startswith("topical") else "14 aspects"
    if row["shots"] != 30:
        return f"{aspects}, up to {row['shots']} labels"
    return f"{aspects}, {'design draws' if name.endswith(LOOKED_AT) else 'other draws'}"


def table(rows: Sequence[Row]) -> str:
    """Return means before and after with the paired differences, for Markdown; rows without `before` are left out."""
    former = {(row["case"], row["shots"]): row for row in stored_rows(HERE / "results" / "before.json")}
    rows = [former[key] | row for row in rows if (key := (row["case"], row["shots"])) in former]
    lines = [
        "| learning sets | n | former default | calls | criteria | present default | calls | criteria"
        " | all criteria, present weights | direct | present - former | present - direct |"
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
    error = own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
    return f"{own.mean():+.3f} ± {error:.3f}"


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    files = (HERE / "results" / name for name in ("compared.json", "compared_100.json"))
    return {"compared": table([row for file in files for row in stored_rows(file)])}


MEASUREMENT = Measurement(
    "weighing",
    "Does the cheapest rubric that held-out labels justify agree with people as well as larger ones did before?",
    WeighingOptions,
    cases,
    run,
    table,
)
