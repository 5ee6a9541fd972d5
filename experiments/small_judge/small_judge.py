"""What a rubric adds to a small judge, with criteria that a strong model proposed.

    python -m experiments measure small_judge --data FOLDER -o experiments/small_judge/results/local.json

The files in `criteria` hold criteria of rubrics that `learn` made with a strong model, and the ids of the labelled
texts. The small judge rates these texts, and the labels weigh and calibrate its ratings. Other groups are tested.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.sets import public_scale
from experiments.runner.training import LabelledAspect, labelled_aspects
from experiments.tables import table as markdown
from rubriclab import Example, JudgeOptions, Part, Prompt, Reply, Usage
from rubriclab.judges.judge import JudgeWrapper
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.fitting import fit
from rubriclab.learning.matrix import rating_matrix
from rubriclab.learning.scoring import ratings_of_text
from rubriclab.methods.holistic import whole_aspect_criterion
from rubriclab.models.aggregation import CallGrouping
from rubriclab.models.text_features import WORD_COUNT
from rubriclab.models.version import Candidate
from rubriclab.ops.workspace import JudgeChoice, Workspace
from rubriclab.stats.correlation import FloatArray, float_table, spearman_rows

DIRECT, TOGETHER, APART = "asked directly", "rubric, one call", "rubric, one criterion a call"
CALIBRATED, MEAN_LABEL, WORDS = "asked directly, calibrated", "mean of the labels", "word count"
SPEARMAN, ERROR = "spearman", "error, % of the scale"
PRICE = ("calls", "repaired", "prompt tokens", "cached tokens", "reply tokens", "seconds")
# Tokens a second of a prompt and of a reply, on two cores without other work.
READ, WRITTEN = 100, 30


class SmallJudgeOptions(Options):
    """Which aspects, and on how many texts.

    Attributes:
        sets: each SET:ASPECT, separated by commas.
        groups, size: groups tested, whose labels differ, and the texts of each.
        criteria: the folder of criteria.
        store: the file that keeps answers, so that an interrupted measurement goes on.
    """

    sets: str = "topical_chat:engagingness,topical_chat:understandability,hanna:empathy,summeval:fluency"
    groups: int = 4
    size: int = 5
    criteria: str = "experiments/small_judge/criteria"
    store: str = "small_judge.db"


class Case(NamedTuple):
    """One aspect, asked about in one way."""

    aspect: LabelledAspect
    asked: str
    options: SmallJudgeOptions

    def __str__(self) -> str:
        return f"{self.aspect}, {self.asked}"


def cases(options: SmallJudgeOptions) -> Iterator[Case]:
    """Yield every aspect asked about in every way."""
    for asked in (DIRECT, TOGETHER, APART):
        for aspect in labelled_aspects(options.data, options.sets):
            yield Case(aspect, asked, options)


def run(case: Case) -> list[StoredRow]:
    """Return the agreement and error of each evaluator on the texts tested, with the price of a text."""
    aspect, assignment = case.aspect.aspect, case.aspect.assignment
    given = json.loads(Path(case.options.criteria, f"{case.aspect.set}_{aspect}.json").read_bytes())
    labelled, test = split(case, given["labelled"])
    definition = whole_aspect_criterion(assignment, assignment.aspect.definition)
    whole = Part(method="direct", settings={}, criteria=(definition.model_copy(update={"id": "direct"}),))
    parts = [] if case.asked == DIRECT else [Part.model_validate(part) for part in given["parts"]]
    apart = [part.model_copy(update={"criteria": (each,)}) for part in (*parts, whole) for each in part.criteria]
    calls = [[*parts, whole]] if case.asked == TOGETHER else [[part] for part in apart]
    values, price = asyncio.run(rated(case, calls, [*labelled, *test]))
    columns = [Candidate(method=part.method, criterion=part.criteria[0], kept=True) for part in apart]
    labels = np.array([text.scores[aspect] for text in (*labelled, *test)])
    matrix = rating_matrix(columns, values, [*labelled, *test], labels, assignment)
    known, fresh = (matrix.select_rows(rows) for rows in np.split(np.arange(len(values)), [len(labelled)]))
    scores = {case.asked: fit(known).scores(fresh.values, assignment.scale)}
    if case.asked == DIRECT:
        usual, words = np.full(len(test), known.labels.mean()), feature_values(test, [WORD_COUNT])[:, 0]
        scores = {DIRECT: fresh.values[:, 0], CALIBRATED: scores[DIRECT], MEAN_LABEL: usual, WORDS: words}
    row = {"set": case.aspect.set, "aspect": aspect, **price}
    return [{**row, "evaluator": name, **by_group(each, fresh.labels, fresh.groups)} for name, each in scores.items()]


def split(case: Case, ids: Sequence[str]) -> tuple[list[Example], list[Example]]:
    """Return the labelled texts, and those to test of other groups; both group by group."""
    rows, chosen = sorted(case.aspect.examples, key=lambda text: (text.group, text.id)), set(ids)
    labelled, test = [text for text in rows if text.id in chosen], list[list[Example]]()
    groups = sorted({text.group for text in rows} - {text.group for text in labelled})
    rng = random.Random("test groups")
    for group in rng.sample(groups, len(groups)):
        own = [text for text in rows if text.group == group]
        drawn = rng.sample(own, min(case.options.size, len(own)))
        if len({text.scores[case.aspect.aspect] for text in drawn}) > 1:
            test.append(drawn)
    return labelled, [text for drawn in test[: case.options.groups] for text in drawn]


class Counted(JudgeWrapper):
    """A judge that adds up what its replies took when they came, cached or not."""

    usage = Usage()

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply."""
        reply = await self.judge.reply(prompt)
        self.usage += reply.usage
        return reply


async def rated(case: Case, calls: Sequence[Sequence[Part]], texts: Sequence[Example]) -> tuple[FloatArray, StoredRow]:
    """Return the ratings, shape (texts, criteria), and what a text takes."""
    options = JudgeOptions(concurrency=1, timeout=600, structured="schema")
    with Workspace(location=case.options.store, options=options) as workspace:
        workspace.open_store(create=True)
        judge, columns = Counted(workspace.judge(JudgeChoice(case.options.judge))), []
        # Each call about all texts, group after group, before the next: prompts that begin alike are read faster.
        for parts in calls:
            # Asked alone, the score of the whole is that of the plain question.
            ask: CallGrouping = "by method" if parts[0].method == "direct" else "in one call"
            ratings = [await ratings_of_text(text, parts, ask, case.aspect.assignment, judge) for text in texts]
            columns.append(float_table(([each.score for each in row] for row in ratings), len(ratings[0])))
        ledger, usage = workspace.ledger, judge.usage
    prompt, cached, reply = usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens
    seconds = (prompt - cached) / READ + reply / WRITTEN
    figures = (ledger.calls + ledger.cached, ledger.repaired, prompt, cached, reply, seconds)
    return np.hstack(columns), {name: round(each / len(texts), 2) for name, each in zip(PRICE, figures, strict=True)}


def by_group(scores: FloatArray, labels: FloatArray, groups: Sequence[str]) -> dict[str, Any]:
    """Return Spearman's correlation, 0 for scores that are all the same, and the mean absolute error of each group, in
    points of the scale."""
    found: dict[str, Any] = {"n": len(scores), "unscored": int(np.isnan(scores).sum()), "spearman": [], "error": []}
    for group in dict.fromkeys(groups):
        there = (np.array(groups) == group) & ~np.isnan(scores)
        found["spearman"].append(round(float(np.nan_to_num(spearman_rows(scores[there], labels[there])[0])), 4))
        found["error"].append(round(float(np.abs(scores - labels)[there].mean()), 4))
    return found


def errors_in_percent(row: StoredRow) -> list[Any]:
    """Return the error of each group in per cent of the scale's width; `None` where no text of a group was scored."""
    width = public_scale(row["set"], row["aspect"]).width
    return [None if each is None else 100 * each / width for each in row["error"]]


def interval(by_aspect: Sequence[Sequence[float]], decimals: int) -> str:
    """Return the mean over aspects of the means over groups, with its 95 % interval over resampled groups."""
    rng = np.random.default_rng(0)
    means = [rng.choice(each, (2000, len(each))).mean(axis=1) for each in by_aspect]
    low, high = np.quantile(np.mean(means, axis=0), [0.025, 0.975])
    # Adding 0 turns a rounded -0.00 into 0.00.
    mean, low, high = (
        round(float(value), decimals) + 0.0 for value in (np.mean([np.mean(each) for each in by_aspect]), low, high)
    )
    return f"{mean:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def table(rows: Sequence[StoredRow]) -> str:
    """Return correlation and error by aspect, with what each gains over a baseline, and the price of a text."""
    found: dict[str, dict[str, StoredRow]] = {}
    for row in rows:
        found.setdefault(row["evaluator"], {})[f"{row['set']} {row['aspect']}"] = {**row, ERROR: errors_in_percent(row)}
    aspects = list(found[DIRECT])

    def compared(figure: str, decimals: int, base: str, without: str) -> str:
        lines = []
        for name in (each for each in found if each != without):
            own = {aspect: row[figure] for aspect, row in found[name].items() if None not in row[figure]}
            gains = [np.subtract(each, found[base][aspect][figure]) for aspect, each in own.items()]
            cells = (f"{np.mean(own[aspect]):.{decimals}f}" if aspect in own else "" for aspect in aspects)
            lines.append([name, *cells, interval(list(own.values()), decimals), interval(gains, decimals)])
        return markdown([figure, *aspects, "mean", f"less that of *{base}*"], lines)

    prices = [
        [name, aspect, *(f"{row[key]:.4g}" for key in (*PRICE, "unscored"))]
        for name in (DIRECT, TOGETHER, APART)
        for aspect, row in found.get(name, {}).items()
    ]
    priced = markdown(["a text", "aspect", *PRICE, "unscored texts"], prices)
    return "\n\n".join([compared(SPEARMAN, 2, DIRECT, MEAN_LABEL), compared(ERROR, 1, MEAN_LABEL, WORDS), priced])


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"local": table(stored_rows("small_judge", "local"))}


MEASUREMENT = Measurement(
    "small_judge", "What does a rubric add to a small judge?", SmallJudgeOptions, cases, run, table
)
