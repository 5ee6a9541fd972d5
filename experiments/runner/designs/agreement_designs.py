"""Designs that measure how well scores agree with people.

- `agreement`: every arm learns from a set and is tested on it.
- `bands`: the same among all texts, those with a low human score and those with a high one (CheckEval, appendix C.1).
- `transfer`: some arms learn on another set than the one tested (HypoEval, table 4).
- `crossed`: arms learn with one judge and are scored by another (HypoEval, table 5).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import compress
from typing import Literal

from pydantic import Field

from experiments.runner.arms import Learned, Trial, test
from experiments.runner.cases import Case, every_case, most_labels
from experiments.runner.designs.design import Bench, Design, check_different, options_of, with_baselines
from experiments.runner.figures import COEFFICIENTS, agreement_row, bases, border_of, gap, human_scores
from experiments.runner.results import Outcome
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import SettingsError
from rubriclab.models.base import FrozenModel
from rubriclab.ops.evaluate import Evaluator


async def run_agreement(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm and baseline."""
    texts = bench.material(case)
    return bench.agreement(case, texts, *await bench.trials(case, texts))


class BandsOptions(FrozenModel):
    """The border between low and high human scores, as a share of the scale's width; scores there are high."""

    border: float = Field(0.5, gt=0, lt=1)


async def run_bands(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm and baseline on all texts tested, on the low ones and on the high ones."""
    texts, study = bench.material(case), bench.study
    trials, missing = await bench.trials(case, texts)
    everyone = with_baselines(trials, texts)
    rows = [agreement_row(study, texts, evaluator, variant="all texts", **about) for evaluator, about in everyone]
    # All bands are measured at the level of all texts, even if few texts of a band have rivals.
    fixed = study.model_copy(update={"level": bases(study, texts)["paper"].level, "levels": {}})
    known = {evaluator.name: evaluator for evaluator, _ in everyone}
    gaps = [gap(fixed, texts, *pair, "all texts") for pair in bench.pairs(known)]
    high = human_scores(texts) >= border_of(texts, options_of(study, BandsOptions).border)
    for name, inside in (("low", ~high), ("high", high)):
        band = replace(texts, test=tuple(compress(texts.test, inside)))
        # Answers are counted for all texts only.
        own = {name: Evaluator(name, evaluator.scores[inside]) for name, evaluator in known.items()}
        rows += [agreement_row(fixed, band, each, variant=name) for each in own.values()]
        gaps += [gap(fixed, band, *pair, name) for pair in bench.pairs(own)]
    missing = [row.model_copy(update={"variant": "all texts"}) for row in missing]
    return bench.outcome(case, texts, [*rows, *missing], gaps)


class TransferOptions(FrozenModel):
    """Where arms learn.

    Attributes:
        pairs: each two places, written SET:ASPECT, of which either is the other's home.
        elsewhere: the arms that learn at the home of what is tested; others learn on the tested set itself.
    """

    pairs: tuple[tuple[str, str], ...] = Field(min_length=1)
    elsewhere: tuple[str, ...] = Field(min_length=1)


def transfer_cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield the cases whose home is there and large enough."""
    options: TransferOptions = options_of(study, TransferOptions)
    if unknown := set(options.elsewhere) - {arm.name for arm in study.arms}:
        raise SettingsError(f"{study.name}: options.elsewhere names {sorted(unknown)[0]!r}, which is not an arm.")
    both_ways = itertools.chain(options.pairs, ((second, first) for first, second in options.pairs))
    homes = dict(both_ways)
    if len(homes) < 2 * len(options.pairs) or not {":".join(each) for each in study.qualities} <= homes.keys():
        raise SettingsError(f"{study.name}: options.pairs must name each tested SET:ASPECT once.")
    for case in every_case(study, sets):
        name, _, aspect = homes[f"{case.set}:{case.aspect}"].partition(":")
        if sets.path(name) and case.labels <= most_labels(sets.texts(name, aspect)):
            yield case.model_copy(update={"home": (name, aspect)})


async def run_transfer(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of the arms that learned elsewhere and of those that learned on the tested set."""
    here = bench.material(case.model_copy(update={"home": None}))
    away = replace(bench.material(case), test=here.test)
    elsewhere = options_of(bench.study, TransferOptions).elsewhere

    async def attempt(arm: Arm) -> Trial:
        learned = await bench.learned(arm, away if arm.name in elsewhere else here, case.seed)
        return await test(arm, learned, here, bench.judge, bench.under_way)

    return bench.agreement(case, here, *await bench.of_arms(case, attempt))


class CrossedOptions(FrozenModel):
    """For each arm the judge that it learns with and the one that scores: 1 or 2, as the user named them."""

    judges: Mapping[str, tuple[Literal[1, 2], Literal[1, 2]]]


def crossed_cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield the cases of a study."""
    arms, named = {arm.name for arm in study.arms}, set(options_of(study, CrossedOptions).judges)
    if odd := sorted(arms ^ named):
        hint = "Write the arm's name = [judge that learns, judge that scores], as in [1, 2]."
        raise SettingsError(f"{study.name}: options.judges must name every arm and nothing else; see {odd[0]!r}.", hint)
    yield from every_case(study, sets)


async def run_crossed(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm; arms that learn the same with the same judge share what was learned."""
    check_different(bench.judges)
    texts, judges = bench.material(case), options_of(bench.study, CrossedOptions).judges
    lessons = dict[str, Learned]()

    async def attempt(arm: Arm) -> Trial:
        learner, scorer = judges[arm.name]
        lesson = f"{learner} {arm.model_dump_json(exclude={'name'})}"
        if lesson not in lessons:
            lessons[lesson] = await bench.learned(arm, texts, case.seed, bench.judges[learner - 1])
        return await test(arm, lessons[lesson], texts, bench.judges[scorer - 1], bench.under_way)

    return bench.agreement(case, texts, *await bench.of_arms(case, attempt))


AGREEMENT = Design(run_agreement, COEFFICIENTS)
BANDS = Design(run_bands, COEFFICIENTS, BandsOptions)
TRANSFER = Design(run_transfer, COEFFICIENTS, TransferOptions, transfer_cases)
CROSSED = Design(run_crossed, COEFFICIENTS, CrossedOptions, crossed_cases, judges=(2, 2))
