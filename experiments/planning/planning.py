"""Planned against random choice of the next texts to label: labels needed for the same agreement on held-out groups.

    python -m experiments measure planning --data FOLDER --set judgments=FOLDER --set draws=4 \
        -o experiments/planning/results/planning.json

Criteria are found from 30 labelled texts of each split; then half of the other groups are a pool, and the others are
held out. From ten labels drawn from the pool, five at a time are added, drawn at random or planned from what the labels
so far say, the rubric's numbers are fitted anew, and agreement is measured on the groups held out.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.runner.measurement import Measurement, Options, Row, stored_rows
from experiments.runner.training import (
    LabelledAspect,
    Split,
    candidate_values,
    labelled_aspects,
    of_other_texts,
    plans,
    uncached_judge,
    unsigned_matrix,
)
from rubriclab import Example
from rubriclab.research import (
    DesignPoints,
    Fit,
    JointSettings,
    RatingMatrix,
    find_candidates,
    fit,
    learning_curve,
    select_texts,
)
from rubriclab.stats import FloatArray, IntArray, agreement

HERE = Path(__file__).parent
SEED = 42
FIRST, BATCH, LAST = 10, 5, 60
MOST_TEXTS = 320
SETTINGS = JointSettings(calibration="linear", repeats=1)
STRATEGIES = ("random", "spread over groups", "planned", "planned by all candidates")
# Labels at which the learning curve is asked what further ones would bring.
ASKED_AT, ASKED_ABOUT = 30, 30
CURVES_PER_CASE = 3


class PlanningOptions(Options):
    """Which aspects and judgments, and how often texts are drawn.

    Attributes:
        judgments: folder with a language model's recorded judgments of some of the sets.
        sets: each SET or SET:ASPECT, separated by commas.
        splits: random splits by group beside the official ids.
        draws: of pool and first labels, for each split; four times as many of recorded judgments.
    """

    judgments: Path | None = None
    sets: str = "summeval,newsroom,hanna,topical_chat"
    splits: int = 1
    draws: int = 5


@dataclass(frozen=True)
class Case:
    """One aspect of one set with criteria found from one choice of texts, or one recorded set of judgments."""

    aspect: LabelledAspect
    split: str
    judge: str
    judgments: Path | None
    draws: int

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect} {self.split}"


def cases(options: PlanningOptions) -> Iterator[Case]:
    """Yield every aspect with each split, and the aspects that judgments are recorded for."""
    aspects = labelled_aspects(options.data, options.sets)
    for aspect in aspects:
        for split in ("official", *(f"random {number}" for number in range(options.splits))):
            yield Case(aspect, split, options.judge, None, options.draws)
    for aspect in aspects if options.judgments else ():
        path = Path(str(options.judgments), f"{aspect.set}.json.gz")
        if path.exists() and _judgments(path)["aspect"] == aspect.aspect:
            yield Case(aspect, "recorded", options.judge, options.judgments, 4 * options.draws)


def run(case: Case) -> list[Row]:
    """Return the curves of every draw."""
    table = recorded(case) if case.judgments else asyncio.run(judged(case))
    found = [_draw(table, case, number) for number in range(case.draws)]
    return [row for row in found if row]


async def judged(case: Case) -> RatingMatrix:
    """Return the judge's ratings of the texts that no criterion was made from, by every candidate."""
    learned_from, others = Split(case.split).of(case.aspect)
    judge, assignment = uncached_judge(case.judge), case.aspect.assignment
    chosen, _ = plans(case.aspect, learned_from)
    found = await find_candidates(chosen, judge=judge, generator=judge, seed=SEED)
    texts = _whole_groups(others)
    values = await candidate_values(found, texts, assignment, judge)
    return of_other_texts(found.table(assignment, "by method"), values, texts, case.aspect.aspect)


def _judgments(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def recorded(case: Case) -> RatingMatrix:
    """Return a language model's judgments of the recorded test texts."""
    kept = _judgments(Path(str(case.judgments), f"{case.aspect.set}.json.gz"))
    by_id = {text.id: text for text in case.aspect.examples}
    texts = [by_id[name] for name in kept["test"]]
    answers = [kept["answers"][name] for name in kept["test"]]
    columns: dict[tuple[str, str], list[float | None]] = {}
    for method, kind in (("hypoeval", "hypotheses"), ("checkeval", "checklist")):
        for name in answers[0][kind]:
            columns[method, name] = [answer[kind].get(name) for answer in answers]
    for method, kind in (("seeval", "explained"), ("direct", "direct")):
        columns[method, kind] = [answer[kind]["score"] for answer in answers]
    return unsigned_matrix(
        np.array(list(columns.values()), dtype=float).T,
        [method for method, _ in columns],
        np.array([text.scores[case.aspect.aspect] for text in texts], dtype=float),
        [text.group for text in texts],
        case.aspect.assignment.scale,
    )


def _whole_groups(texts: Sequence[Example]) -> list[Example]:
    """Return some of the texts, as many whole groups as there is time for."""
    groups = np.random.default_rng(SEED).permutation(sorted({text.group for text in texts})).tolist()
    chosen: list[Example] = []
    for group in groups:
        own = [text for text in texts if text.group == group]
        chosen += own if len(chosen) + len(own) <= MOST_TEXTS else []
    return chosen


@dataclass(frozen=True, eq=False)
class Draw:
    """Texts to choose from and texts to test on, by their places in the table."""

    table: RatingMatrix
    pool: IntArray
    test: IntArray
    first: list[int]
    seed: int


def _draw(table: RatingMatrix, case: Case, number: int) -> dict[str, Any] | None:
    """Return the curves of one draw; `None` where its first labels or those held out are all the same."""
    rng = np.random.default_rng([number, *case.aspect.set.encode(), *case.aspect.aspect.encode(), *case.split.encode()])
    groups = rng.permutation(sorted(set(table.groups)))
    inside = np.isin(table.groups, groups[: (len(groups) + 1) // 2])
    pool, test = np.flatnonzero(inside), np.flatnonzero(~inside)
    first = _spread(table, rng.permutation(pool).tolist(), [], FIRST)
    if np.ptp(table.labels[first]) == 0 or np.ptp(table.labels[test]) == 0:
        return None
    draw = Draw(table, pool, test, first, number)
    found = {strategy: _curve(draw, strategy) for strategy in STRATEGIES}
    about = {"set": case.aspect.set, "aspect": case.aspect.aspect, "split": case.split, "draw": number}
    return {**about, "curves": found, "asked": _asked(draw) if number < CURVES_PER_CASE else None}


def _steps(draw: Draw) -> range:
    return range(FIRST, min(LAST, len(draw.pool)) + 1, BATCH)


def _curve(draw: Draw, strategy: str) -> dict[str, list[float]]:
    rng = np.random.default_rng(draw.seed)
    labelled, spearman, pearson = list(draw.first), list[float](), list[float]()
    for number in _steps(draw):
        if number > len(labelled):
            free = [place for place in draw.pool.tolist() if place not in set(labelled)]
            labelled += _next(draw, strategy, free, labelled, rng)
        rank, linear = _agreement(draw, fit(_rows(draw.table, labelled), SETTINGS))
        spearman.append(rank)
        pearson.append(linear)
    return {"spearman": spearman, "pearson": pearson}


def _rows(table: RatingMatrix, places: Sequence[int] | IntArray) -> RatingMatrix:
    return table.rows(np.array(places, dtype=np.int64))


def _next(draw: Draw, strategy: str, free: list[int], labelled: list[int], rng: np.random.Generator) -> list[int]:
    """Return the places of the next texts to label."""
    table = draw.table
    order: list[int] = rng.permutation(free).tolist()
    if strategy == "random":
        return order[:BATCH]
    if strategy == "spread over groups":
        return _spread(table, order, labelled, BATCH)
    found = fit(_rows(table, labelled), SETTINGS)
    columns, shares = list(found.columns), np.abs(found.weights)
    if strategy == "planned by all candidates":
        columns = list(range(table.values.shape[1]))
        shares = np.zeros(len(columns))
        shares[list(found.columns)] = np.abs(found.weights)
    pool, known = (_texts(table, places, columns) for places in (free, labelled))
    return [free[pick.row] for pick in select_texts(pool, known, shares, BATCH)]


def _texts(table: RatingMatrix, places: Sequence[int], columns: Sequence[int]) -> DesignPoints:
    return DesignPoints(table.values[np.ix_(places, columns)], [table.groups[place] for place in places])


def _spread(table: RatingMatrix, order: Sequence[int], labelled: Sequence[int], count: int) -> list[int]:
    """Return the first texts of the order, none from a group while another has fewer labels."""
    labels = {name: sum(table.groups[place] == name for place in labelled) for name in table.groups}
    left, chosen = list(order), list[int]()
    while left and len(chosen) < count:
        place = min(left, key=lambda each: labels[table.groups[each]])
        left.remove(place)
        chosen.append(place)
        labels[table.groups[place]] += 1
    return chosen


def _agreement(draw: Draw, found: Fit) -> tuple[float, float]:
    """Return Spearman within groups and Pearson over all, of the texts held out; 0 where nothing is told apart."""
    table = _rows(draw.table, draw.test)
    raw = np.nan_to_num(found.raw(table.values)).round(9)
    within = agreement(raw, table.labels, table.groups, level="group", resamples=0).spearman.value
    over_all = agreement(raw, table.labels, table.groups, level="dataset", resamples=0).pearson.value
    return within or 0.0, over_all or 0.0


def _asked(draw: Draw) -> dict[str, float | None] | None:
    """Return what the learning curve expects of further labels drawn at random, and what they then bring."""
    if len(draw.pool) < ASKED_AT + ASKED_ABOUT:
        return None
    drawn = np.random.default_rng(draw.seed).permutation(draw.pool)
    then = ASKED_AT + ASKED_ABOUT
    curve = learning_curve(_rows(draw.table, drawn[:ASKED_AT]), SETTINGS)
    if curve is None:
        return None
    now, after = (_agreement(draw, fit(_rows(draw.table, drawn[:n]), SETTINGS))[1] for n in (ASKED_AT, then))
    level, gain = curve.at(ASKED_AT), curve.gain(ASKED_ABOUT)
    found: dict[str, float | None] = {
        "level": level.value,
        "level_low": level.low,
        "level_high": level.high,
        "now": now,
        "then": after,
    }
    worth = curve.worthwhile(0.01)
    return {
        **found,
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "worth": worth.value,
        "worth_low": worth.low,
        "worth_high": worth.high,
    }


# Tables


def report(rows: Sequence[Row]) -> str:
    """Return the tables, for Markdown."""
    return "\n\n".join(parts_of(rows).values())


def parts_of(rows: Sequence[Row]) -> dict[str, str]:
    """Return the tables of each judge, and what the learning curve said, by name."""
    offline = [row for row in rows if row["split"] != "recorded"]
    kept = [row for row in rows if row["split"] == "recorded"]
    found = {"offline judge": offline, "recorded judgments": kept}
    tables = {name: _tables(own, name.capitalize()) for name, own in found.items() if own}
    return {**tables, "learning curve": _curves(offline)}


def _tables(rows: Sequence[Row], title: str) -> str:
    return "\n\n".join([_means(rows, title), _needed(rows), _aspects(rows)])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return parts_of(stored_rows(HERE / "results" / "planning.json"))


def _keys(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["set"], row["aspect"]) for row in rows))


def _of(rows: Sequence[Row], key: tuple[str, str]) -> list[Row]:
    return [row for row in rows if (row["set"], row["aspect"]) == key]


def _advantages(rows: Sequence[Row], strategy: str, figure: str) -> FloatArray:
    """Return by draw the mean over the steps of agreement less that of random choice."""
    return np.array(
        [np.mean(np.subtract(*(row["curves"][s][figure][1:] for s in (strategy, "random")))) for row in rows]
    )


def _mean_interval(by_aspect: Sequence[FloatArray], resamples: int = 2000) -> tuple[float, float, float]:
    """Return the mean over aspects with a 90 % bootstrap interval: aspects, and draws of each, are drawn anew."""
    means = _resampled([draws[:, np.newaxis] for draws in by_aspect], resamples)
    low, high = np.quantile(means, [0.05, 0.95])
    return float(np.mean([draws.mean() for draws in by_aspect])), float(low), float(high)


def _resampled(by_aspect: Sequence[FloatArray], resamples: int) -> FloatArray:
    """Return means over aspects drawn anew, and over draws of each that are drawn anew; shape (resamples, figures).

    The figures of an aspect have the shape (draws, figures).
    """
    rng = np.random.default_rng(SEED)
    lengths = np.array([len(draws) for draws in by_aspect])
    values = np.array([np.resize(draws, (lengths.max(), draws.shape[1])) for draws in by_aspect])
    places = rng.integers(len(by_aspect), size=(resamples, len(by_aspect)))
    own = lengths[places][..., np.newaxis]
    draws = (rng.random((*places.shape, lengths.max())) * own).astype(np.int64)
    shares = (np.arange(lengths.max()) < own) / own
    found: FloatArray = np.einsum("rad,radf->rf", shares, values[places[..., np.newaxis], draws]) / len(by_aspect)
    return found


def _means(rows: Sequence[Row], title: str) -> str:
    lines = [f"{title}, {len(rows)} draws, {len(_keys(rows))} aspects:", ""]
    lines += [
        "| choice of texts | Spearman within groups, difference to random | Pearson, difference to random |",
        "|---|---|---|",
    ]
    for strategy in STRATEGIES[1:]:
        cells = []
        for figure in ("spearman", "pearson"):
            by_aspect = [_advantages(_of(rows, key), strategy, figure) for key in _keys(rows)]
            value, low, high = _mean_interval(by_aspect)
            ahead = sum(draws.mean() > 0 for draws in by_aspect)
            cells.append(f"{value:+.3f} [{low:+.3f}, {high:+.3f}], better on {ahead} of {len(by_aspect)}")
        lines.append(f"| {strategy} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _labels_for(curve: FloatArray, level: float) -> float:
    """Return the labels at which a curve, made to rise, reaches a level, between steps in proportion; NaN if never."""
    rising, steps = np.maximum.accumulate(curve), FIRST + BATCH * np.arange(len(curve))
    return float(np.interp(level, rising, steps)) if rising[-1] >= level else np.nan


def _needed(rows: Sequence[Row], resamples: int = 1000) -> str:
    """Return the table of labels that planning needs where random choice needs 20, 30 or 40."""
    steps = min(len(row["curves"]["random"]["pearson"]) for row in rows)
    wanted = [n for n in (20, 30, 40) if n <= FIRST + BATCH * (steps - 1)]
    curves = [
        np.array([[row["curves"][name]["pearson"][:steps] for name in ("random", "planned")] for row in _of(rows, key)])
        for key in _keys(rows)
    ]

    def needed(both: FloatArray) -> list[tuple[float, float]]:
        random, planned = both.reshape(2, steps)
        levels = [np.maximum.accumulate(random)[(n - FIRST) // BATCH] for n in wanted]
        return [(level, _labels_for(planned, level)) for level in levels]

    whole = np.mean([own.mean(axis=0) for own in curves], axis=0)
    resampled = _resampled([own.reshape(len(own), -1) for own in curves], resamples)
    drawn = np.array([[labels for _, labels in needed(both)] for both in resampled])
    lines = [
        "| random labels | their agreement (Pearson) | planned labels for the same agreement | 90 % interval |",
        "|---|---|---|---|",
    ]
    for place, (number, (level, labels)) in enumerate(zip(wanted, needed(whole), strict=True)):
        # Where planning never gets there it needs more than all the labels that were tried.
        column = np.nan_to_num(drawn[:, place], nan=np.inf)
        low, high = np.quantile(column, [0.05, 0.95], method="nearest")
        end = f"more than {FIRST + BATCH * (steps - 1)}" if np.isinf(high) else f"{high:.0f}"
        lines.append(f"| {number} | {level:.3f} | {labels:.0f} | {low:.0f} to {end} |")
    return "\n".join(lines)


def _aspects(rows: Sequence[Row]) -> str:
    lines = ["| aspect | draws | Spearman, planned - random | Pearson, planned - random |", "|---|---|---|---|"]
    for key in _keys(rows):
        own = _of(rows, key)
        cells = []
        for figure in ("spearman", "pearson"):
            draws = _advantages(own, "planned", figure)
            error = 1.645 * draws.std(ddof=1) / np.sqrt(len(draws))
            cells.append(f"{draws.mean():+.3f} [{draws.mean() - error:+.3f}, {draws.mean() + error:+.3f}]")
        lines.append(f"| {' '.join(key)} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _curves(rows: Sequence[Row]) -> str:
    """Return in words how what the learning curve expects compares with what came."""
    asked: list[Mapping[str, float]] = [row["asked"] for row in rows if row["asked"]]
    if not asked:
        return "It was never asked."
    gains = np.array([[one["gain"], one["gain_low"], one["gain_high"], one["then"] - one["now"]] for one in asked])
    levels = np.array([[one["level"], one["level_low"], one["level_high"], one["now"]] for one in asked])
    inside = ((gains[:, 1] <= gains[:, 3]) & (gains[:, 3] <= gains[:, 2])).mean()
    holds = ((levels[:, 1] <= levels[:, 3]) & (levels[:, 3] <= levels[:, 2])).mean()
    return (
        f"Asked {len(asked)} times from {ASKED_AT} labels drawn at random, it expected an agreement of "
        f"{levels[:, 0].mean():.3f}; found was {levels[:, 3].mean():.3f}\non the groups held out, in the 90 % interval "
        f"in {holds:.0%}. Of {ASKED_ABOUT} more labels it expected a gain of {gains[:, 0].mean():.3f}; found was\n"
        f"{gains[:, 3].mean():.3f} (standard deviation {gains[:, 3].std():.3f}), in the interval in {inside:.0%}; the "
        f"correlation of expected and found gains is {np.corrcoef(gains[:, 0], gains[:, 3])[0, 1]:.2f}."
    )


MEASUREMENT = Measurement(
    "planning",
    "How many labels does a rubric need if the texts to label are planned instead of drawn at random?",
    PlanningOptions,
    cases,
    run,
    report,
)
