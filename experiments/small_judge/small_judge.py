"""What a rubric adds to a small judge: criteria that a strong model proposed, rated by a weak one.

    OPENAI_API_BASE=http://127.0.0.1:8200/v1 OPENAI_API_KEY=none python -m experiments measure small_judge \
        --data FOLDER --judge openai/local --processes 1 -o experiments/small_judge/results/local.json

The files in `criteria` hold criteria that `learn` made with a strong generator, and the ids of labelled texts. The
small judge rates these texts, and the labels weigh and calibrate its ratings. Texts of other groups are tested.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments import ROOT
from experiments.runner.measurement import Measured, Measurement, Options, StoredRow
from experiments.runner.results import read_stored
from experiments.runner.training import LabelledAspect, labelled_aspects
from experiments.tables import table as markdown
from rubriclab import Example, Part
from rubriclab.judges.options import JudgeOptions
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.fitting import fit
from rubriclab.learning.rating_matrix import candidate_table
from rubriclab.learning.settings import JointSettings
from rubriclab.methods.baselines import whole_aspect
from rubriclab.scoring.score import ratings_of
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.workspace import Workspace
from rubriclab.stats import FloatArray, spearman
from rubriclab.stats.missing import floats
from rubriclab.text_features import WORD_COUNT
from rubriclab.training_record import Candidate

DIRECT, APART, TOGETHER = "asked directly", "rubric, one criterion a call", "rubric, one call"
CALIBRATED, MEAN_LABEL, WORDS = "asked directly, calibrated", "mean of the labels", "word count"
ALONE = ", without the score of the whole"
RESAMPLES = 2000


class SmallJudgeOptions(Options):
    """Which aspects, and on how many texts.

    Attributes:
        sets: each SET:ASPECT with a file in `criteria`, separated by commas.
        groups, size: groups tested, whose labels differ, and the texts of each.
        store: the file that keeps answers; finished cases are kept beside it, so that an interrupted run goes on.
    """

    sets: str = "topical_chat:engagingness,topical_chat:understandability,hanna:empathy,summeval:fluency"
    groups: int = 6
    size: int = 5
    store: str = "small_judge.db"


@dataclass(frozen=True)
class Case:
    """One aspect, asked about in one way."""

    aspect: LabelledAspect
    asked: str
    options: SmallJudgeOptions

    def __str__(self) -> str:
        """Return the name of the case."""
        return f"{self.aspect}, {self.asked}"


def cases(options: SmallJudgeOptions) -> Iterator[Case]:
    """Yield every aspect asked about in every way."""
    for asked in (DIRECT, APART, TOGETHER):
        for aspect in labelled_aspects(options.data, options.sets):
            yield Case(aspect, asked, options)


def run(case: Case) -> list[StoredRow]:
    """Return a row for each evaluator of a case, as an earlier run left them if it finished the case."""
    kept = Path(f"{case.options.store}.{case}.json")
    if not kept.exists():
        kept.write_text(json.dumps(asyncio.run(measured(case))), "utf-8")
    rows: list[StoredRow] = json.loads(kept.read_text("utf-8"))
    return rows


async def measured(case: Case) -> list[StoredRow]:
    """Return the agreement and error of each evaluator on the texts tested, with the price of a text."""
    given = json.loads((ROOT / "small_judge/criteria" / f"{case.aspect.set}_{case.aspect.aspect}.json").read_bytes())
    learned_from, test = split(case, given["labelled"])
    assignment = case.aspect.assignment
    definition = whole_aspect(assignment, assignment.aspect.definition).model_copy(update={"id": "direct"})
    whole = Part(method="direct", settings={}, criteria=(definition,))
    parts = [] if case.asked == DIRECT else [Part.model_validate(part) for part in given["parts"]]
    apart = [[part.model_copy(update={"criteria": (each,)})] for part in parts for each in part.criteria]
    calls = [[*parts, whole]] if case.asked == TOGETHER else [*apart, [whole]]
    values, price = await rated(case, calls, [*learned_from, *test])
    labels = np.array([text.scores[case.aspect.aspect] for text in (*learned_from, *test)])
    matrix = candidate_table(
        [Candidate(method=part.method, criterion=each, kept=True) for part in (*parts, whole) for each in part.criteria],
        values,
        labels,
        texts=[(text.id, text.group) for text in (*learned_from, *test)],
        scale=assignment.scale,
    )
    known, columns = len(learned_from), range(values.shape[1])
    usual = np.full(len(test), labels[:known].mean())

    def fitted(chosen: Sequence[int]) -> FloatArray:
        own = matrix.columns(chosen)
        return fit(own.rows(np.arange(known)), JointSettings()).scores(own.values[known:], assignment.scale)

    if case.asked == DIRECT:
        words = feature_values(test, [WORD_COUNT])[:, 0]
        scores = {DIRECT: values[known:, 0], CALIBRATED: fitted(columns), MEAN_LABEL: usual, WORDS: words}
    else:
        scores = {case.asked: fitted(columns), case.asked + ALONE: fitted(columns[:-1])}
    about = {"set": case.aspect.set, "aspect": case.aspect.aspect}
    return [
        {**about, "evaluator": name, **by_group(found, labels[known:], test), **price, "different": len(set(found))}
        for name, found in scores.items()
    ]


def split(case: Case, ids: Sequence[str]) -> tuple[list[Example], list[Example]]:
    """Return the labelled texts, and those to test of other groups; both group by group."""
    rows = sorted(case.aspect.examples, key=lambda text: (text.group, text.id))
    labelled = [text for text in rows if text.id in set(ids)]
    groups = sorted({text.group for text in rows} - {text.group for text in labelled})
    rng, test = random.Random("test groups"), list[list[Example]]()
    for group in rng.sample(groups, len(groups)):
        own = [text for text in rows if text.group == group]
        drawn = rng.sample(own, min(case.options.size, len(own)))
        if len({text.scores[case.aspect.aspect] for text in drawn}) > 1 and len(test) < case.options.groups:
            test.append(drawn)
    return labelled, [text for drawn in test for text in drawn]


async def rated(
    case: Case, calls: Sequence[Sequence[Part]], texts: Sequence[Example]
) -> tuple[FloatArray, Mapping[str, float]]:
    """Return the ratings, shape (texts, criteria), and what a text takes.

    A call is made about all texts, group after group, before the next: prompts that begin alike are read faster.
    """
    options = JudgeOptions(concurrency=1, timeout=600, structured="schema")
    with Workspace(location=case.options.store, options=options) as workspace:
        workspace.open_store(create=True)
        judge, began, columns = workspace.judge(JudgeChoice(case.options.judge)), time.monotonic(), []
        for parts in calls:
            ask = "in one call" if len(parts) > 1 else "by method"
            ratings = [await ratings_of(text, parts, ask, case.aspect.assignment, judge) for text in texts]
            columns.append(np.stack([floats([each.score for each in row]) for row in ratings]))
        ledger, seconds = workspace.ledger, time.monotonic() - began
    # Cached answers took no time now, so all figures are those of the answers given now, a call.
    a_text = (ledger.calls + ledger.cached) / len(texts)
    usage, share = ledger.usage, a_text / max(ledger.calls, 1)
    price = {
        "calls": a_text,
        "repaired": ledger.repaired / len(texts),
        "seconds": seconds * share,
        "prompt_tokens": usage.prompt_tokens * share,
        "cached_tokens": usage.cached_tokens * share,
        "reply_tokens": usage.completion_tokens * share,
    }
    return np.hstack(columns), {name: round(value, 2) for name, value in price.items()}


def by_group(scores: FloatArray, labels: FloatArray, texts: Sequence[Example]) -> dict[str, Any]:
    """Return Spearman's correlation and the mean absolute error of each group, 0 for scores that are all the same."""
    correlations, errors, groups = [], [], np.array([text.group for text in texts])
    for group in dict.fromkeys(groups.tolist()):
        there = (groups == group) & ~np.isnan(scores)
        correlations.append(round(float(np.nan_to_num(spearman(scores[there], labels[there]))), 4))
        errors.append(round(float(np.abs(scores - labels)[there].mean()), 4))
    return {"n": len(texts), "unscored": int(np.isnan(scores).sum()), "spearman": correlations, "error": errors}


def interval(by_aspect: Sequence[Sequence[float]]) -> str:
    """Return the mean over aspects of the means over groups, with its 90 % interval over resampled groups."""
    rng = np.random.default_rng(0)
    means = [np.mean(rng.choice(each, (RESAMPLES, len(each))), axis=1) for each in map(np.array, by_aspect)]
    low, high = np.quantile(np.mean(means, axis=0), [0.05, 0.95])
    return f"{np.mean([np.mean(each) for each in by_aspect]):.2f} [{low:.2f}, {high:.2f}]"


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {}


MEASUREMENT = Measurement(
    "small_judge",
    "What does a rubric add to a small judge, asked about all criteria in one call or one at a time?",
    SmallJudgeOptions,
    cases,
    run,
    lambda rows: "",
)
