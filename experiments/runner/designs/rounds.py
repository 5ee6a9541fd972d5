"""`rounds`: texts found inconsistent are rewritten; how many are consistent after one round, after two, ...?

DCR (section 4.2, table 4; appendix C.3, figure 4) has texts rewritten on the grounds of its reasons and judges them
again by itself, which flatters: what was written to please a judge is shown to nobody else. A second judge, where one
is named, sees the texts as they were and as they are in the end, and has no say in between. The paper takes every
rewriting, `rubriclab.revision` those that score higher.

Beside the arms that judge sentences stands what costs no rewriting at all: those that fail are struck out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from experiments.runner.arms import Tally, course, score
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.attempts import telling
from experiments.runner.designs.design import Design, options_of
from experiments.runner.designs.shares import Share, share
from experiments.runner.results import Outcome, Row
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import (
    Assignment,
    CallEstimate,
    Example,
    ImproveSettings,
    Part,
    Rubric,
    RubriclabError,
    SettingsError,
    Units,
)
from rubriclab.research import (
    DCRSettings,
    FrozenModel,
    Improvement,
    Progress,
    improve_stream,
    learning_criterion,
    rewriting_at_most,
    scoring_at_most,
)

# Scores are rounded when they are written down.
TOLERANCE = 1e-6

BEFORE = "before"


class RoundsOptions(FrozenModel):
    """How texts are rewritten.

    Attributes:
        rounds: the most rewritings of one text.
        good_from: the share of the scale from which on a text is consistent.
        take: which rewritings are taken: those that score higher, or every one, as in the paper.
    """

    rounds: int = Field(3, ge=1, le=20)
    good_from: float = Field(1.0, gt=0, le=1)
    take: Literal["better", "every"] = "better"


@dataclass(frozen=True, eq=False)
class Path:
    """How a text went on: its scores as shares of the scale and its numbers of words, as it came and after each round.

    Scores are NaN where there are none.
    """

    group: str
    shares: tuple[float, ...]
    words: tuple[int, ...]


def cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield a case for each set that is there, with each aspect, number of labels and seed.

    Raises:
        SettingsError: if an arm is none of DCR's, whose improver this is.
    """
    if other := [arm for arm in study.arms if arm.method != "dcr"]:
        raise SettingsError(f"{study.name}: arm {other[0].name} is {other[0].method}; rounds are of dcr.")
    return every_case(study, sets)


async def run(bench: Bench, case: Case) -> Outcome:
    """Return what share of the inconsistent texts every arm has repaired after each round."""
    texts = bench.material(case)
    rows = list[Row]()
    for place, arm in enumerate(bench.study.arms):
        try:
            rows += await _arm(bench, arm, texts, telling(bench, case, arm, place))
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
    return Outcome(case=case, split=texts.split, rows=tuple(rows))


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate, ...]:
    """Return the most that is asked of the judge, who also rewrites, and of the second one if there is any."""
    texts, rounds = bench.material(case), _options(bench.study).rounds
    first, second = CallEstimate(), CallEstimate()
    for arm in bench.study.arms:
        rubric = rubric_of(arm, texts.home)
        scoring = scoring_at_most(rubric, texts.test)
        rewriting = sum((rewriting_at_most(rubric, text) for text in texts.test), CallEstimate())
        first += scoring * (1 + rounds) + rewriting * rounds
        second += scoring * 2
    return (first, second)[: len(bench.judges)]


def rubric_of(arm: Arm, home: Assignment) -> Rubric:
    """Return what an arm judges by, which nothing is asked for: DCR learns nothing.

    Raises:
        ChecklistError: if no checks ship for the aspect.
    """
    (plan,) = course(arm, (), home).plans
    settings = DCRSettings.model_validate(plan.settings.model_dump())
    criterion, material = learning_criterion(plan.training_input, settings)
    part = Part(
        method="dcr",
        settings=settings.model_dump(mode="json"),
        criteria=(criterion,),
        units=Units(kind="sentence", beside=(material,)),
    )
    return Rubric(task=home.words.task, aspect=home.aspect, scale=home.scale, parts=(part,))


async def _arm(bench: Bench, arm: Arm, texts: Material, on_progress: Progress) -> list[Row]:
    """Return an arm's rows: as texts came, after each round, and by the second judge."""
    options, rubric, tally = _options(bench.study), rubric_of(arm, texts.home), Tally(bench.judge)
    settings = ImproveSettings(rounds=options.rounds, good_from=options.good_from, take=options.take)
    done = list[Improvement]()
    found = improve_stream(rubric, texts.test, tally, arm.name, bench.under_way, settings=settings)
    async with aclosing(found) as improved:
        async for each in improved:
            done.append(each)
            on_progress(f"{len(done)} of {len(texts.test)} texts", len(done) / len(texts.test))
    paths = [path_of(each, rubric, options.rounds) for each in done]
    rows = _rows(arm.name, paths, options)
    rows[-1] = rows[-1].model_copy(update={"scoring": tally.spent})
    if rubric.parts[0].settings["level"] == "sentence":
        rows.append(_rows(f"baseline: {arm.name}, failing ones struck out", _struck(done, paths), options)[-1])
    for second in bench.judges[1:]:
        rows += await _by_second(bench, arm, rubric, done, Tally(second))
    return rows


def path_of(done: Improvement, rubric: Rubric, rounds: int) -> Path:
    """Return how a text went on; a round that was not taken, or not needed, leaves it as it is."""
    shares = [_share(done.before.score if done.before else None, rubric)]
    words = [_words(done.example)]
    for number in range(rounds):
        took = done.rounds[number] if number < len(done.rounds) and done.rounds[number].accepted else None
        shares.append(_share(took.score, rubric) if took else shares[-1])
        longer = sum(len(change.after.split()) - len(change.before.split()) for change in took.changes) if took else 0
        words.append(words[-1] + longer)
    return Path(done.example.group if done.example else done.id, tuple(shares), tuple(words))


def _struck(done: Sequence[Improvement], paths: Sequence[Path]) -> list[Path]:
    """Return what became of the texts if the sentences that fail were taken out and the others judged as before.

    A text of which nothing would be left stays as it was.
    """
    found = []
    for each, path in zip(done, paths, strict=True):
        units = [unit for criterion in each.before.criteria for unit in criterion.units] if each.before else []
        kept = [unit.unit for unit in units if unit.value == 1]
        struck = bool(kept) and any(unit.value == 0 for unit in units)
        after = (1.0, sum(len(unit.split()) for unit in kept)) if struck else (path.shares[0], path.words[0])
        found.append(Path(path.group, (path.shares[0], after[0]), (path.words[0], after[1])))
    return found


async def _by_second(bench: Bench, arm: Arm, rubric: Rubric, done: Sequence[Improvement], judge: Tally) -> list[Row]:
    """Return the rows of the texts as they came and as they are in the end, by a judge that had no part in it."""
    came = [each.example for each in done if each.example]
    final = [replace(text, output=each.output or "") for text, each in zip(came, done, strict=True)]
    scored = [await score(rubric, some, judge, under_way=bench.under_way) for some in (came, final)]
    paths = [
        Path(text.group, (_share(before, rubric), _share(after, rubric)), (_words(text), _words(end)))
        for text, end, before, after in zip(came, final, *(each.values.tolist() for each in scored), strict=True)
    ]
    before, after = _rows(arm.name, paths, _options(bench.study))
    named = {"before": f"{BEFORE}, by {judge.name}", "after": f"in the end, by {judge.name}"}
    return [
        before.model_copy(update={"variant": named["before"]}),
        after.model_copy(update={"variant": named["after"], "scoring": judge.spent}),
    ]


def _rows(name: str, paths: Sequence[Path], options: RoundsOptions) -> list[Row]:
    """Return a row for the texts as they came, and for each round after."""
    shares = np.array([path.shares for path in paths], dtype=float)
    words = np.array([path.words for path in paths], dtype=float)
    known, groups = ~np.isnan(shares[:, 0]), [path.group for path in paths]
    good = shares >= options.good_from - TOLERANCE
    bad = known & ~good[:, 0]
    return [
        Row(
            arm=name,
            variant=f"round {number}" if number else BEFORE,
            figures={
                "repaired": share(Share(bad & good[:, number], bad), groups),
                "words": share(Share(bad * words[:, number], bad * words[:, 0]), groups),
                "consistent": share(Share(known & good[:, number], known), groups),
                "score": share(Share(np.where(known, shares[:, number], 0), known), groups),
            },
            counts={
                "texts": len(paths),
                "unscored": int((~known).sum()),
                "inconsistent": int(bad.sum()),
                "repaired": int((bad & good[:, number]).sum()),
            },
        )
        for number in range(shares.shape[1])
    ]


def _share(score: float | None, rubric: Rubric) -> float:
    return np.nan if score is None else (score - rubric.scale.low) / rubric.scale.width


def _words(text: Example | None) -> int:
    return len(text.output.split()) if text else 0


def _options(study: Study) -> RoundsOptions:
    options: RoundsOptions = options_of(study, RoundsOptions)
    return options


ROUNDS = Design(
    name="rounds",
    cases=cases,
    at_most=at_most,
    run=run,
    measures=("repaired", "words", "consistent", "score"),
    options=RoundsOptions,
    most_judges=2,
)
