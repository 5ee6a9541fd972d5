"""Agreement with people as tables for Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.runner.measurement import Row, stored_rows
from rubriclab.stats import FloatArray, agreement, difference

HERE = Path(__file__).parent
SEED = 42
BASELINES = ("baseline: word count", "baseline: best text feature")
BESIDE_SEAL = ("seal", "seal:weights=labels", "checkeval", "hypoeval", "direct")
NO_METHOD = '\n\nNo method was measured: name some, as in --set "variants=joint checkeval direct".'
WAYS = ("with_the_reason", "converted")


def overview(rows: Sequence[Row]) -> str:
    """Return all figures on the official ids, and the means of each evaluator."""
    names = [name for name in dict.fromkeys(row["evaluator"] for row in rows) if not name.startswith("baseline")]
    note = "" if names else NO_METHOD
    return f"{table([row for row in rows if row['split'] == 'official'], names)}\n\n{means(rows, names)}{note}"


def table(rows: Sequence[Row], variants: Sequence[str]) -> str:
    """Return a table with a line an aspect, for Markdown."""
    columns = [*variants, *BASELINES]
    lines = [f"| aspect | groups | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for key in dict.fromkeys((row["set"], row["aspect"]) for row in rows):
        found = {row["evaluator"]: row for row in rows if (row["set"], row["aspect"]) == key}
        figures = [shown(found[column]) if column in found else "" for column in columns]
        lines.append(f"| {' '.join(key)} | {next(iter(found.values()))['groups']} | {' | '.join(figures)} |")
    return "\n".join(lines)


def shown(row: Row) -> str:
    """Return a figure with its interval."""
    if row["spearman"] is None:
        return "undefined"
    interval = "" if row["low"] is None else f"[{row['low']:.2f}, {row['high']:.2f}] "
    return f"{row['spearman']:.2f} {interval}{row['measure'] or ''}".rstrip()


def means(rows: Sequence[Row], evaluators: Sequence[str]) -> str:
    """Return each evaluator's mean over its aspects, for the official ids and over the random splits, for Markdown."""
    kinds = [kind for kind in ("official", "random") if any(row["split"].startswith(kind) for row in rows)]
    heads = [f"{kind} | aspects" for kind in kinds]
    lines = [f"| evaluator | {' | '.join(heads)} |", "|---" * (2 * len(kinds) + 1) + "|"]
    for name in (*evaluators, *BASELINES):
        own = [[row for row in rows if row["evaluator"] == name and row["split"].startswith(kind)] for kind in kinds]
        cells = [f"{over_aspects(found).mean():.3f} | {len(over_aspects(found))}" if found else " | " for found in own]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def over_aspects(rows: Sequence[Row]) -> FloatArray:
    """Return one evaluator's mean correlation on each aspect; where all texts got one score it counts as 0."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found.setdefault((row["set"], row["aspect"]), []).append(row["spearman"] or 0.0)
    return np.array([np.mean(values) for values in found.values()])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    alone, together = (stored_rows(HERE / "results" / name) for name in ("embedded.json", "joint.json"))
    names = [name for name in dict.fromkeys(row["evaluator"] for row in alone) if name not in BASELINES]
    general = [name for name in names if len(_aspects(alone, name)) == len(_aspects(alone))]
    compared = [name for name in names if name.startswith("dcr")]
    packs, comparisons = _aspects(alone, "seal:preset=published"), _aspects(alone, "dcr")
    return {
        "methods": means(alone, general),
        "unit packs": means([row for row in alone if _aspect(row) in packs], ["seal:preset=published", *BESIDE_SEAL]),
        "comparisons": means([row for row in alone if _aspect(row) in comparisons], [*compared, *BESIDE_SEAL]),
        "joint": _together(together),
        "joint less others": _less(together),
        "verdicts": _verdicts(json.loads((HERE / "results" / "dcr_verdicts.json").read_text())),
    }


def _aspect(row: Row) -> tuple[str, str]:
    return row["set"], row["aspect"]


def _aspects(rows: Sequence[Row], evaluator: str | None = None) -> set[tuple[str, str]]:
    return {_aspect(row) for row in rows if evaluator in (None, row["evaluator"])}


def _together(rows: Sequence[Row]) -> str:
    """Return each evaluator's mean over the splits, aspect by aspect."""
    names = _together_names(rows)
    lines = [f"| aspect | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    by_name = {name: over_aspects([row for row in rows if row["evaluator"] == name]) for name in names}
    for place, aspect in enumerate(dict.fromkeys(map(_aspect, rows))):
        lines.append(f"| {' '.join(aspect)} | {' | '.join(f'{by_name[name][place]:.2f}' for name in names)} |")
    shown_means = " | ".join(f"{by_name[name].mean():.3f}" for name in names)
    splits = len({row["split"] for row in rows})
    lines.append(f"| mean of {len(_aspects(rows))} | {shown_means} |")
    return f"Means over {splits} splits:\n\n" + "\n".join(lines)


def _together_names(rows: Sequence[Row]) -> list[str]:
    others = dict.fromkeys(row["evaluator"] for row in rows)
    return ["joint", *(name for name in others if name != "joint" and name not in BASELINES), *BASELINES]


def _less(rows: Sequence[Row]) -> str:
    """Return the joint rubric's lead over each other evaluator, with an interval over aspects."""
    lines = ["| joint less | difference | 95 % over aspects | ahead on |", "|---" * 4 + "|"]
    joint_own, *others = (
        (name, over_aspects([row for row in rows if row["evaluator"] == name])) for name in _together_names(rows)
    )
    drawn = np.random.default_rng(SEED).integers(len(joint_own[1]), size=(2000, len(joint_own[1])))
    for name, own in others:
        gaps = joint_own[1] - own
        low, high = np.quantile(gaps[drawn].mean(axis=1), (0.025, 0.975))
        ahead = f"{int((gaps > 0).sum())} of {len(gaps)}"
        lines.append(f"| {name} | {gaps.mean():+.3f} | [{low:+.3f}, {high:+.3f}] | {ahead} |")
    return "\n".join(lines)


def _verdicts(texts: Sequence[Row]) -> str:
    """Return in words how verdicts with the reason compare with those that a second call converts."""
    marks = [(one, other) for text in texts for one, other in zip(text[WAYS[0]], text[WAYS[1]], strict=True)]
    labels = [text["label"] for text in texts]
    scored = [[float(np.mean(np.array(text[way]) > 0)) for text in texts] for way in WAYS]
    groups = [text["id"] for text in texts]
    first, second = (agreement(own, labels, groups, level="dataset", seed=SEED).spearman for own in scored)
    gap = difference(scored[0], scored[1], labels, groups, level="dataset", seed=SEED).spearman
    same, other, less = (f"{each.value:.2f} [{each.low:.2f}, {each.high:.2f}]" for each in (first, second, gap))
    return (
        f"{sum(one != other for one, other in marks)} of the {len(marks)} sentences of {len(texts)} texts "
        f"({sum(label < 1 for label in labels)} with a label below 1) got another mark. Spearman's\n"
        f"correlation with the labels is {same} with the verdict in the same reply and {other} converted,\n"
        f"the difference {less}."
    )
