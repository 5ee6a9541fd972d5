"""`rounds`: how many inconsistent texts are consistent after they were rewritten once, twice, ...

DCR (section 4.2, table 4; appendix C.3, figure 4) has texts rewritten by the reasons of a judge and judged again by the
same judge, which flatters. A second judge, if named, scores the texts before and after, and has no other part. The
paper takes every rewriting; `rubriclab improve` takes those that score higher. A baseline for arms that judge sentences
removes the sentences that fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from experiments.runner.arms import Tally, course, score
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.design import Bench, Design, options_of
from experiments.runner.figures import TOLERANCE, Share
from experiments.runner.results import Outcome, Row
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import Assignment, Example, Judge, Part, Rubric, SettingsError, __version__
from rubriclab.methods.dcr import DCRSettings, learning_criterion
from rubriclab.models.base import FrozenModel
from rubriclab.models.text import Units
from rubriclab.ops.improve import Improvement, improve_stream
from rubriclab.ops.options import ImproveOptions


class RoundsOptions(FrozenModel):
    """How texts are rewritten.

    Attributes:
        rounds: the largest number of rewritings of one text.
        good_from: the share of the scale from which on a text is consistent.
        take: the rewritings that are taken: those that score higher, or every one, as in the paper.
    """

    rounds: int = Field(3, ge=1, le=20)
    good_from: float = Field(1.0, gt=0, le=1)
    take: Literal["better", "every"] = "better"


@dataclass(frozen=True, eq=False)
class Path:
    """The scores of a text as shares of the scale, NaN if there is none, and its numbers of words: before, and after
    each round."""

    group: str
    shares: tuple[float, ...]
    words: tuple[int, ...]


def cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield the cases of a study."""
    if other := [arm for arm in study.arms if arm.method != "dcr"]:
        raise SettingsError(f"{study.name}: arm {other[0].name} is {other[0].method}, expected dcr.")
    yield from every_case(study, sets)


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the share of the inconsistent texts that every arm has repaired after each round."""
    texts = bench.material(case)

    async def attempt(arm: Arm) -> list[Row]:
        return await _arm_rows(bench, arm, texts)

    rows, missing = await bench.of_arms(case, attempt)
    every = (*(row for each in rows.values() for row in each), *missing)
    return Outcome(case=case, split=texts.split, rows=every, version=__version__)


def rubric_of(arm: Arm, home: Assignment) -> Rubric:
    """Return the rubric of an arm; DCR learns nothing."""
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


async def _arm_rows(bench: Bench, arm: Arm, texts: Material) -> list[Row]:
    """Return an arm's rows: before, after each round, and by the second judge."""
    options: RoundsOptions = options_of(bench.study, RoundsOptions)
    rubric, tally = rubric_of(arm, texts.home), Tally(bench.judge)
    settings = ImproveOptions(rounds=options.rounds, good_from=options.good_from, take=options.take)
    found = improve_stream(rubric, texts.test, tally, arm.name, bench.under_way, settings=settings)
    async with aclosing(found) as improved:
        done = [each async for each in improved]
    paths = [path_of(each, rubric, options.rounds) for each in done]
    rows = _rows(arm.name, paths, options)
    rows[-1] = rows[-1].model_copy(update={"scoring": tally.spent})
    if rubric.parts[0].settings["level"] == "sentence":
        rows.append(_rows(f"baseline: {arm.name}, failing ones struck out", _struck(done, paths), options)[-1])
    for second in bench.judges[1:]:
        rows += await _by_second(bench, arm, rubric, done, second)
    return rows


def path_of(done: Improvement, rubric: Rubric, rounds: int) -> Path:
    """Return the path of a text; a round that was not taken, or not needed, leaves it unchanged."""
    shares = [_share(done.before.score if done.before else None, rubric)]
    words = [_words(done.example)]
    for number in range(rounds):
        took = done.rounds[number] if number < len(done.rounds) and done.rounds[number].accepted else None
        shares.append(_share(took.score, rubric) if took else shares[-1])
        longer = sum(len(change.after.split()) - len(change.before.split()) for change in took.changes) if took else 0
        words.append(words[-1] + longer)
    return Path(done.example.group if done.example else done.id, tuple(shares), tuple(words))


def _struck(done: Sequence[Improvement], paths: Sequence[Path]) -> list[Path]:
    """Return the paths if the sentences that fail were removed; a text of which nothing would be left stays."""
    found = []
    for each, path in zip(done, paths, strict=True):
        units = [unit for criterion in each.before.criteria for unit in criterion.units] if each.before else []
        kept = [unit.unit for unit in units if unit.value == 1]
        struck = bool(kept) and any(unit.value == 0 for unit in units)
        after = (1.0, sum(len(unit.split()) for unit in kept)) if struck else (path.shares[0], path.words[0])
        found.append(Path(path.group, (path.shares[0], after[0]), (path.words[0], after[1])))
    return found


async def _by_second(bench: Bench, arm: Arm, rubric: Rubric, done: Sequence[Improvement], judge: Judge) -> list[Row]:
    """Return the rows of the texts before and in the end, by a judge that had no other part."""
    came = [each.example for each in done if each.example]
    final = [replace(text, output=each.output or "") for text, each in zip(came, done, strict=True)]
    (before, spent), (after, more) = [await score("", rubric, each, judge, bench.under_way) for each in (came, final)]
    paths = [
        Path(text.group, (_share(one, rubric), _share(other, rubric)), (_words(text), _words(end)))
        for text, end, one, other in zip(came, final, before.scores.tolist(), after.scores.tolist(), strict=True)
    ]
    first, last = _rows(arm.name, paths, options_of(bench.study, RoundsOptions))
    return [
        first.model_copy(update={"variant": f"before, by {judge.name}"}),
        last.model_copy(update={"variant": f"in the end, by {judge.name}", "scoring": spent + more}),
    ]


def _rows(name: str, paths: Sequence[Path], options: RoundsOptions) -> list[Row]:
    """Return a row for the texts before, and for each round after."""
    shares = np.array([path.shares for path in paths], dtype=float)
    words = np.array([path.words for path in paths], dtype=float)
    known, groups = ~np.isnan(shares[:, 0]), [path.group for path in paths]
    good = shares >= options.good_from - TOLERANCE
    bad = known & ~good[:, 0]
    return [
        Row(
            arm=name,
            variant=f"round {number}" if number else "before",
            figures={
                "repaired": Share(bad & good[:, number], bad).interval(groups),
                "words": Share(bad * words[:, number], bad * words[:, 0]).interval(groups),
                "consistent": Share(known & good[:, number], known).interval(groups),
                "score": Share(np.where(known, shares[:, number], 0), known).interval(groups),
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


ROUNDS = Design(run, ("repaired", "words", "consistent", "score"), RoundsOptions, cases, judges=(1, 2))
