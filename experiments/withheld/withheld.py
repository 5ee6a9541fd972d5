"""How well default rubrics agree with people on texts that learning never saw, and whether stated intervals hold there.

    python -m experiments measure withheld --data FOLDER -o experiments/withheld/results/embedded.json

A rubric is learned by `learn` from 30 texts of half of the groups, and scores the texts of the others. For the mean
human score and the difference of two systems, labels and scores are also simulated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments import ROOT
from experiments.runner.measurement import Measurement, Options, StoredRow, holds, percent, stored_rows
from experiments.runner.results import changed_since
from experiments.runner.sets import public_scale
from experiments.runner.training import SETS, LabelledAspect, labelled_aspects, temporary_lab
from experiments.small_judge.small_judge import APART, CALIBRATED, ERROR, TOGETHER, errors_in_percent, interval
from experiments.tables import table as markdown
from rubriclab import Example, Lab, Version
from rubriclab.learning.baselines import feature_values
from rubriclab.models.characters import join_names
from rubriclab.models.text_features import WORD_COUNT
from rubriclab.stats import agreement
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import Interval, mean_interval, renumber
from rubriclab.stats.prediction_powered import (
    LabelledScores,
    ScoredSet,
    corrected_mean,
    difference_by_other_labels,
    difference_by_own_labels,
    mean_by_own_labels,
)

SEED, LEARNED = 42, 30
# How often groups with labels of their own are drawn for a learning set, and pairs of systems each time.
LABELLINGS, PAIRS = 20, 5
# The share of the groups that have labels of their own.
OWN = 0.4
TARGETS = {"mean": "mean", "difference": "difference of two systems"}
METHODS = ("scores alone", "labels of learning", "own labels")
RUBRIC, DIRECT, WORDS, MEAN_LABEL = "the rubric", "asked directly", "word count", "mean of the labels"
THIRDS = ("low", "middle", "high")
SPACE = "\N{NO-BREAK SPACE}"
SET_NAMES = {
    "summeval": "SummEval",
    "newsroom": "NewsRoom",
    "hanna": "HANNA",
    "topical_chat": "Topical-Chat",
    "qags_cnndm": "QAGS",
}


class WithheldOptions(Options):
    """Which human-scored texts, and how many learning sets of each aspect and of the simulation."""

    sets: str = SETS
    runs: int = 5
    simulated: int = 300


class Case(NamedTuple):
    """Learning sets of one aspect, or simulated ones without it."""

    aspect: LabelledAspect | None
    runs: int
    judge: str

    def __str__(self) -> str:
        """Return what the case is of."""
        return str(self.aspect or "simulated")


class Texts(NamedTuple):
    """Labels and scores of texts, with the numbers of their groups and systems.

    Attributes:
        expected: the mean label of each text's system in all groups that there could be, if known.
    """

    labels: FloatArray
    scores: FloatArray
    group: IntArray
    system: IntArray
    expected: FloatArray | None = None


def cases(options: WithheldOptions) -> Iterator[Case]:
    """Yield the cases."""
    yield Case(None, options.simulated, options.judge)
    for aspect in labelled_aspects(options.data, options.sets):
        yield Case(aspect, options.runs, options.judge)


def run(case: Case) -> list[StoredRow]:
    """Return a row for each learning set."""
    rng, rows = np.random.default_rng([SEED, *str(case).encode()]), list[StoredRow]()
    with temporary_lab(case.judge) as lab:
        for number in range(case.runs):
            if case.aspect is None:
                found: Mapping[str, Any] = inference(*simulated(rng), rng)
            else:
                found = measured(lab, case.aspect, rng)
            rows.append({"case": str(case), "run": number, **found})
    return rows


def measured(lab: Lab, aspect: LabelledAspect, rng: np.random.Generator) -> dict[str, Any]:
    """Return how a rubric that is learned from half of the groups does on the texts of the others."""
    groups = rng.permutation(sorted({each.group for each in aspect.examples}))
    half = set(groups[: len(groups) // 2].tolist())
    pool = [each for each in aspect.examples if each.group in half]
    chosen = [pool[place] for place in sorted(rng.permutation(len(pool))[:LEARNED].tolist())]
    others = [each for each in aspect.examples if each.group not in half]
    version = lab.learn(chosen, name="rubric", **aspect.options)
    direct = lab.learn(chosen, name="direct", methods=["direct"], **aspect.options)
    record = {each.id: each.predicted for each in lab.training_record(version).texts}
    scored = lab.score(others, version)
    scores = {
        RUBRIC: np.array(scored.values, dtype=float),
        DIRECT: np.array(lab.score(others, direct).values, dtype=float),
        WORDS: feature_values(others, [WORD_COUNT])[:, 0],
        MEAN_LABEL: np.full(len(others), np.mean([each.scores[aspect.aspect] for each in chosen])),
    }
    labels = np.array([each.scores[aspect.aspect] for each in others])
    learned_from = _texts(aspect, chosen, np.array([record[each.id] for each in chosen], dtype=float))
    intervals = np.array([each.interval or (np.nan, np.nan) for each in scored])
    return {
        **agreed(version, scores, labels, [each.group for each in others]),
        "errors": {
            name: round(float(np.nanmean(np.abs(scores[name] - labels))), 4) for name in (RUBRIC, DIRECT, MEAN_LABEL)
        },
        **covered(intervals, labels, aspect.assignment.scale.width),
        **inference(learned_from, _texts(aspect, others, scores[RUBRIC]), rng),
    }


def agreed(
    version: Version, scores: Mapping[str, FloatArray], labels: FloatArray, groups: Sequence[str]
) -> dict[str, Any]:
    """Return the agreement over all withheld texts, and whether it differs from what learning promised, at the level
    of its verdict, by more than both intervals allow."""
    said = version.provenance.validation
    assert said is not None
    found = {
        name: agreement(scores[name], labels, groups, level="dataset").spearman for name in (RUBRIC, DIRECT, WORDS)
    }
    promised = said.evaluators[0].spearman
    value = agreement(scores[RUBRIC], labels, groups, level=said.level).spearman
    return {
        "spearman": {name: None if each.value is None else round(each.value, 4) for name, each in found.items()},
        "promised": promised.value,
        "found": value.value,
        "kept": _compatible(promised, value),
        "outcome": said.outcome,
    }


def _compatible(promised: Interval, found: Interval) -> int | None:
    """Return 1 if two estimates differ by less than the root of the sum of their squared margins, on Fisher's scale."""
    ends = [promised.low, promised.high, found.low, found.high]
    if promised.value is None or found.value is None or None in ends:
        return None
    low, high, other_low, other_high = np.arctanh(np.clip(np.array(ends, dtype=float), -0.999, 0.999))
    margin = np.hypot((high - low) / 2, (other_high - other_low) / 2)
    return int(abs(np.arctanh(promised.value) - np.arctanh(found.value)) <= margin)


def covered(intervals: FloatArray, labels: FloatArray, width: float) -> dict[str, Any]:
    """Return the share of labels that lie in the intervals of their texts, by thirds of the labels, and the width."""
    held = (labels >= intervals[:, 0] - 1e-9) & (labels <= intervals[:, 1] + 1e-9)
    parts = np.array_split(held[np.argsort(labels, kind="stable")], 3)
    return {
        "texts": {
            "all": round(float(held.mean()), 4),
            **{name: round(float(part.mean()), 4) for name, part in zip(THIRDS, parts, strict=True)},
            "width": round(float(np.nanmean(intervals[:, 1] - intervals[:, 0])) / width, 4),
        }
    }


def _texts(aspect: LabelledAspect, examples: Sequence[Example], scores: FloatArray) -> Texts:
    labels = np.array([each.scores[aspect.aspect] for each in examples])
    scored = ~np.isnan(scores)
    groups, systems = (np.array([getattr(each, name) or each.id for each in examples]) for name in ("group", "system"))
    return Texts(labels[scored], scores[scored], renumber(groups[scored]), renumber(systems[scored]))


def inference(learned_from: Texts, texts: Texts, rng: np.random.Generator) -> dict[str, Any]:
    """Return how often intervals hold people's mean and differences, and their widths, by target and method."""
    labelled, found = LabelledScores(*learned_from[:4]), dict[str, list[tuple[Interval, float]]]()
    mean = float(texts.labels.mean())
    pairs = list(combinations(np.unique(texts.system).tolist(), 2))
    for _ in range(LABELLINGS):
        own = _labelled(texts, rng)
        intervals = (
            mean_interval(texts.scores, texts.group),
            corrected_mean(float(texts.scores.mean()), len(texts.group), int(texts.group.max()) + 1, labelled),
            mean_by_own_labels(ScoredSet(texts.scores, own, texts.group, np.ones(len(own))), np.zeros(len(own), int)),
        )
        for method, each in zip(METHODS, intervals, strict=True):
            found.setdefault(f"mean {method}", []).append((each, mean))
        for place in rng.permutation(len(pairs))[:PAIRS].tolist():
            for method, each, true in difference(pairs[place], texts, own, labelled):
                found.setdefault(f"difference {method}", []).append((each, true))
    shares: dict[str, Any] = {}
    for name, pairs_found in found.items():
        held = [hold for interval, true in pairs_found if (hold := holds(interval, true)) is not None]
        widths = [(one.high or 0.0) - (one.low or 0.0) for one, _ in pairs_found if one.low is not None]
        if held:
            shares |= {name: float(np.mean(held)), f"{name} width": float(np.mean(widths) / np.std(texts.labels))}
    return {name: round(value, 4) for name, value in shares.items()}


def difference(
    pair: tuple[int, int], texts: Texts, own: FloatArray, labelled: LabelledScores
) -> Iterator[tuple[str, Interval, float]]:
    """Yield the interval of two systems' difference by each method, with the true one; for groups that both have."""
    first, second = ({int(texts.group[n]): n for n in np.flatnonzero(texts.system == system)} for system in pair)
    shared = sorted(first.keys() & second.keys())
    if len(shared) < 5:
        return
    unit = np.arange(len(shared))
    places = [np.array([side[group] for group in shared]) for side in (first, second)]
    one, other = (ScoredSet(texts.scores[at], own[at], unit, np.full(len(at), 1 / len(at))) for at in places)
    before, after = places
    people = texts.labels if texts.expected is None else texts.expected
    true = float((people[after] - people[before]).mean())
    found = (
        mean_interval(texts.scores[after] - texts.scores[before], unit),
        difference_by_other_labels(one, other, labelled),
        difference_by_own_labels(one, other),
    )
    yield from ((method, each, true) for method, each in zip(METHODS, found, strict=True))


def _labelled(texts: Texts, rng: np.random.Generator) -> FloatArray:
    """Return the labels of a share of the groups, NaN for others."""
    groups = int(texts.group.max()) + 1
    chosen = rng.permutation(groups)[: max(5, round(OWN * groups))]
    return np.where(np.isin(texts.group, chosen), texts.labels, np.nan)


def simulated(rng: np.random.Generator) -> tuple[Texts, Texts]:
    """Return texts of eight systems in 25 groups, which a judge favours to different degrees: 30 others, and all."""
    system, unit = np.tile(np.arange(8), 50), np.repeat(np.arange(50), 8)
    expected = rng.normal(0, 0.5, 8)[system]
    quality = expected + rng.normal(0, 0.5, 50)[unit] + rng.normal(0, 0.7, 400)
    favour = rng.normal(0, 0.4, 8)[system] + rng.normal(0, 0.3, 50)[unit]
    scores = 0.8 * quality + favour + rng.normal(0, 0.4, 400)
    some: list[npt.NDArray[np.int64]] = [np.sort(rng.permutation(200)[:LEARNED]), np.arange(200, 400)]
    first, second = (
        Texts(quality[at], scores[at], renumber(unit[at]), renumber(system[at]), expected[at]) for at in some
    )
    return first, second


def means(rows: Sequence[StoredRow]) -> str:
    """Return how often intervals of means and differences hold people's figure, and their width, for Markdown."""
    lines = []
    for target, words in TARGETS.items():
        for real in (False, True):
            own = [each for each in rows if (each["case"] != "simulated") == real]
            cells = []
            for name in (f"{target} {method}" for method in METHODS):
                shares, widths = ([each[key] for each in own if key in each] for key in (name, f"{name} width"))
                cells += [percent(float(np.mean(shares))), f"{np.mean(widths):.2f}"] if shares else ["", ""]
            lines.append([words, "human" if real else "simulated", str(len(own)), *cells])
    return markdown(["of", "texts", "sets", *(part for name in METHODS for part in (name, "width"))], lines)


def mean_errors(rows: Sequence[StoredRow]) -> list[float]:
    """Return the mean error of the rubric, the judge asked directly and the mean label, as a share of each scale's
    width, since aspects have scales of different widths."""
    return [
        float(np.mean([each["errors"][who] / public_scale(*each["case"].split()).width for each in rows]))
        for who in (RUBRIC, DIRECT, MEAN_LABEL)
    ]


def table(rows: Sequence[StoredRow]) -> str:
    """Return agreement and error by aspect, for Markdown."""
    lines = []
    real = [each for each in rows if each["case"] != "simulated"]
    for name in (*dict.fromkeys(each["case"] for each in real), "mean of all aspects"):
        own = [each for each in real if each["case"] == name] or real
        ranks = [f"{np.mean([each['spearman'][who] or 0 for each in own]):.2f}" for who in (RUBRIC, DIRECT, WORDS)]
        lines.append([name, str(len(own)), *ranks, *map(percent, mean_errors(own))])
    errors = [f"error of {name}" for name in (RUBRIC, DIRECT, MEAN_LABEL)]
    return markdown(["aspect", "sets", f"Spearman of {RUBRIC}", DIRECT, WORDS, *errors], lines)


def promises(rows: Sequence[StoredRow]) -> str:
    """Return how often intervals of texts and of the agreement hold what is found, for Markdown."""
    lines = []
    real = [each for each in rows if each["case"] != "simulated"]
    for name in (*dict.fromkeys(each["case"].split()[0] for each in real), "all"):
        own = [each for each in real if name in ("all", each["case"].split()[0])]
        shares = [percent(float(np.mean([each["texts"][part] for each in own]))) for part in ("all", *THIRDS)]
        width = f"{np.mean([each['texts']['width'] for each in own]):.2f}"
        # The stored runs are of the time when thirty labels were always compared over all texts.
        agreed_on = [each.get("found", each["spearman"][RUBRIC]) for each in own]
        promised, found = (
            f"{np.mean([each or 0 for each in values]):.2f}"
            for values in ([each["promised"] for each in own], agreed_on)
        )
        kept = percent(float(np.mean([each["kept"] for each in own if each["kept"] is not None])))
        lines.append([name, str(len(own)), *shares, width, promised, found, kept])
    heads = ["labels in their interval", *(f"{name} labels" for name in THIRDS), "width", "Spearman promised", "found"]
    return markdown(["set", "sets", *heads, "within both intervals"], lines)


def scale_ends(name: str, aspect: str) -> str:
    scale = public_scale(name, aspect)
    return f"{scale.low:g} to {scale.high:g}"


def offline_errors(rows: Sequence[StoredRow]) -> str:
    """Return a sentence on the offline judge's errors in per cent of the scale, and its order."""
    real = [each for each in rows if each["case"] != "simulated"]
    shares = [f"{100 * each:.1f}{SPACE}%" for each in mean_errors(real)]
    orders = [f"{np.mean([each['spearman'][who] or 0 for each in real]):.2f}" for who in (RUBRIC, DIRECT)]
    names = dict.fromkeys(tuple(each["case"].split()) for each in real)
    numbers = Counter(scale_ends(name, aspect) for name, aspect in names)
    widths = join_names(f"{ends} for {number}" for ends, number in numbers.most_common())
    return (
        f"The offline judge, which only counts features of texts, has an error of {shares[0]} with a rubric and "
        f"{shares[1]} asked directly, where the mean label has {shares[2]}; its order, over all texts instead of "
        f"within groups, is {orders[0]} with a rubric and {orders[1]} asked directly (means of {len(real)} draws of "
        f"30 labels, {len(names)} aspects of {join_names(dict.fromkeys(SET_NAMES[name] for name, _ in names))}, with "
        f"scores from {widths})."
    )


def first_screen() -> str:
    """Return the figures of the project's README: those of a small language model."""
    small = stored_rows("small_judge", "local")
    changed = changed_since(json.loads((ROOT / "small_judge/results/local.json").read_bytes()))

    def of(who: str, field: str) -> list[Any]:
        return [each[field] for each in small if each["evaluator"] == who]

    def errors(who: str) -> FloatArray:
        return np.array([errors_in_percent(each) for each in small if each["evaluator"] == who])

    def over_groups(by_aspect: Sequence[Sequence[float]], decimals: int) -> str:
        # A narrow column breaks before an interval, not inside of it.
        return interval(by_aspect, decimals).replace(", ", f",{SPACE}")

    lines = [
        [title, over_groups(errors(who).tolist(), 1), over_groups(of(who, "spearman"), 2)]
        for title, who in (("rubric", APART), (DIRECT, DIRECT), (CALIBRATED, CALIBRATED))
    ]

    aspects = dict.fromkeys((each["set"], each["aspect"]) for each in small)
    texts = join_names(f"{SET_NAMES[name]} {aspect} ({scale_ends(name, aspect)})" for name, aspect in aspects)
    usual, ours, direct = map(errors, (MEAN_LABEL, APART, DIRECT))
    lines.append(["the mean label", over_groups(usual.tolist(), 1), "none"])
    meaning = (
        "*The mean label* gives every text the mean of the 30 labels. That alone saves "
        f"{np.mean(direct - usual):.1f} of the {np.mean(direct - ours):.1f} percentage points of error that the rubric "
        f"saves beside the judge asked directly; the rubric saves {over_groups((usual - ours).tolist(), 1)} more (all "
        "before rounding)."
    )
    notes = [
        "*Error*: mean absolute error in per cent of the scale's width, lower is better. *Order*: Spearman's "
        f"correlation within groups, higher is better. *Brackets*: 95{SPACE}% intervals over groups.",
        f"*Texts*: {of(APART, 'n')[0]} for each of {len(aspects)} aspects of public sets, in {usual.shape[1]} groups "
        f"that nothing was learned from: {texts}."
        + (f" {changed.capitalize()} have changed since." if changed else ""),
        "*Judge*: 1.5 billion parameters; a large model proposed the criteria. With one call for each criterion, "
        f"{sum(of(APART, 'unscored'))} of {sum(of(APART, 'n'))} texts got no score; with one call for all criteria, "
        f"{sum(of(TOGETHER, 'unscored'))}.",
    ]
    table = markdown(["small model on unseen texts", ERROR, "order"], lines)
    return f"{table}\n\n{meaning}\n\n" + "\n".join(f"- {note}" for note in notes)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = stored_rows("withheld")
    return {
        "first screen": first_screen(),
        "offline": offline_errors(rows),
        "agreement": table(rows),
        "intervals": promises(rows),
        "means": means(rows),
    }


MEASUREMENT = Measurement(
    "withheld",
    "How well do default rubrics agree with people on texts that learning never saw, and do stated intervals hold?",
    WithheldOptions,
    cases,
    run,
    table,
)
