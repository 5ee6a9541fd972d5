"""`carrying`: rubrics are carried over to another set; what does each action give there, and was the advice right?

A rubric is learned at home. Of the texts of the set that is tested, some labels are used to choose an action as
`rubriclab transfer` does, and the other groups tell what every action really gives. The row `advised` says how often
the advice was right, in three senses: `right`, if no other action has smaller errors there by more than chance, all
others taken together (95 %, Bonferroni); `unbeaten`, if none has by its own 95 % interval, which four fair comparisons
pass in some nine of ten cases only; and `near`, if none has by more than `NEAR` of the labels' variance, chance or not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from pydantic import Field

from experiments.runner.arms import course, learn, learning_at_most, scoring_at_most
from experiments.runner.bench import Bench
from experiments.runner.cases import Case
from experiments.runner.designs.design import Design, options_of
from experiments.runner.designs.pairs import Pairs, cases_away
from experiments.runner.results import Gap, Outcome, Row
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import CallEstimate, Example
from rubriclab.research import CONFIDENCE, ActionEvaluation, SourceRubric, TargetTexts, Trained, Transfer, transfer
from rubriclab.stats import Interval

ADVISED = "advised"
# What is as good as the best: a twentieth of the labels' variance.
NEAR = 0.05
# How often chance alone may call the advice wrong.
MISSED = 1 - CONFIDENCE


class CarryingOptions(Pairs):
    """What is carried where.

    Attributes:
        used: how many labels of the tested set the actions may use.
    """

    used: int = Field(30, ge=10)


def cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield a case for each set, aspect, number of labels and seed whose home is there and large enough."""
    return cases_away(study, sets, _options(study))


async def run(bench: Bench, case: Case) -> Outcome:
    """Return what each action gives on the tested set, and whether the one advised was right."""
    texts, arm = bench.material(case), bench.study.arms[0]
    at_home = await learn(course(arm, texts.learned_from, texts.home, texts.benchmarks), bench.judge, seed=case.seed)

    async def relearn(examples: Sequence[Example]) -> Trained:
        return await learn(course(arm, examples, texts.assignment, texts.benchmarks), bench.judge, seed=case.seed)

    home = SourceRubric(f"{' '.join(case.home or ())}", at_home.rubric, at_home.provenance, at_home.record)
    there, own = _there(bench, case), texts.assignment
    labels = min(_options(bench.study).used, len(there) // 2)
    target = TargetTexts(case.set, there, there, own.aspect, own.scale, labels)
    carried = await transfer(
        home,
        target,
        bench.judge,
        relearn=relearn,
        seed=case.seed,
        under_way=bench.under_way,
        on_progress=lambda doing, share: bench.on_progress(f"{case}: {doing}", share),
    )
    return Outcome(
        case=case, split=texts.split, rows=tuple(_rows(carried.transfer)), gaps=tuple(_gaps(carried.transfer))
    )


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate]:
    """Return the most that learning at home, every action and checking them asks."""
    texts, arm, there = bench.material(case), bench.study.arms[0], _there(bench, case)
    at_home = course(arm, texts.learned_from, texts.home, texts.benchmarks)
    again = course(arm, there[: _options(bench.study).used], texts.assignment, texts.benchmarks)
    total = sum((*learning_at_most(at_home), *learning_at_most(again)), CallEstimate())
    # Scored by the rubric, by all criteria that were considered, and by what was reselected and relearned.
    return (total + scoring_at_most(at_home, there) * 4,)


def _there(bench: Bench, case: Case) -> tuple[Example, ...]:
    """Return the texts of the set that is tested: all of it, as nothing was learned there, or as many as are wanted."""
    texts, wanted = bench.sets.texts(case.set, case.aspect), bench.study.test_texts
    groups = sorted({text.group for text in texts})
    random.Random(f"{case.set} {case.seed}").shuffle(groups)
    chosen = set[str]()
    for group in groups:
        if wanted and sum(text.group in chosen for text in texts) >= wanted:
            break
        chosen.add(group)
    return tuple(text for text in texts if text.group in chosen)


def _rows(found: Transfer) -> Iterator[Row]:
    for action in found.actions:
        yield _row(action.action, action)
    if found.advice:
        own = next(each for each in found.actions if each.action == found.advice.action)
        row = _row(ADVISED, own)
        said = {"right": _right(found), "unbeaten": _unbeaten(found), "near": _near(found, own)}
        figures = {**row.figures, **{name: Interval(float(each)) for name, each in said.items()}}
        yield row.model_copy(update={"figures": figures, "note": found.advice.action})


def _row(name: str, found: ActionEvaluation) -> Row:
    if found.cross_validated is None or found.held_out is None:
        return Row(arm=name, missing=found.skipped or "there was nothing to check it on")
    figures = {
        "error": found.held_out.error,
        "spearman": found.held_out.spearman,
        "expected error": found.cross_validated.error,
    }
    counts = {
        "texts": found.held_out.n + found.held_out.unscored,
        "n": found.held_out.n,
        "groups": found.held_out.groups,
    }
    return Row(arm=name, figures=figures, counts={**counts, "unscored": found.held_out.unscored})


def _gaps(found: Transfer) -> Iterator[Gap]:
    """Yield how much smaller the errors of the advised action are than those of each other one."""
    for each in found.actions:
        if each.excess_error and found.advice and each.action != found.advice.action:
            yield Gap(first=ADVISED, second=each.action, measure="error", difference=each.excess_error)


def _right(found: Transfer) -> bool:
    """Return whether no action is better by an interval widened for how many are compared."""
    from scipy.special import stdtrit

    others = [each for each in found.actions if each.excess_error and each.excess_error.value]
    if not any(each.excess_error and each.excess_error.high is not None for each in found.actions):
        # Nothing can be told, so that nothing speaks for it either.
        return False
    for each in others:
        groups = each.held_out.groups if each.held_out else 0
        if (
            groups > 1
            and each.excess_error
            and each.excess_error.value is not None
            and each.excess_error.high is not None
        ):
            single, all_together = (float(stdtrit(groups - 1, 1 - MISSED / 2 / many)) for many in (1, len(others)))
            reach = (each.excess_error.high - each.excess_error.value) * all_together / single
            if each.excess_error.value + reach < 0:
                return False
    return True


def _unbeaten(found: Transfer) -> bool:
    return not any(
        each.excess_error and each.excess_error.high is not None and each.excess_error.high < 0
        for each in found.actions
    )


def _near(found: Transfer, own: ActionEvaluation) -> bool:
    errors = [each.held_out.error.value for each in found.actions if each.held_out]
    best = min((error for error in errors if error is not None), default=math.nan)
    reached = own.held_out.error.value if own.held_out else None
    return reached is not None and reached <= best + NEAR


def _options(study: Study) -> CarryingOptions:
    options: CarryingOptions = options_of(study, CarryingOptions)
    return options


CARRYING = Design(
    name="carrying",
    cases=cases,
    at_most=at_most,
    run=run,
    measures=("error", "spearman", "right", "unbeaten", "near", "expected error"),
    options=CarryingOptions,
)
