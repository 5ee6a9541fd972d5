"""A study from its first case to its last, stored after each: every arm learns from a set and is tested on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from experiments.runner.arms import Trial, course, learn, test
from experiments.runner.cases import Case, every_case, left_out, material
from experiments.runner.figures import agreement_row, baseline_evaluators, bases, gap
from experiments.runner.results import Outcome, Results, Row, provenance
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import DataError, Judge, JudgeError, RubriclabError, __version__
from rubriclab.errors import ChecklistError
from rubriclab.learning.evaluation import Evaluator
from rubriclab.methods.method import Progress, ignore_progress

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    """A study with its texts and judge.

    Attributes:
        under_way: how many texts are scored at a time.
        on_progress: gets the current arm, and which share of the arms is done.
    """

    study: Study
    sets: Sets
    judge: Judge
    under_way: int = 16
    on_progress: Progress = ignore_progress

    async def of_arms(self, case: Case, attempt: Callable[[Arm], Awaitable[T]]) -> tuple[dict[str, T], list[Row]]:
        """Return the result of every arm by name, and a row with the reason for each arm that failed."""
        found, missing = dict[str, T](), list[Row]()
        for place, arm in enumerate(self.study.arms):
            self.on_progress(f"{case}: {arm.name}", place / len(self.study.arms))
            try:
                found[arm.name] = await attempt(arm)
            except RubriclabError as error:
                # Their subclasses are failures of the provider or the budget.
                if type(error) not in (ChecklistError, DataError, JudgeError):
                    raise
                missing.append(Row(arm=arm.name, missing=str(error)))
        return found, missing

    async def run(self, case: Case) -> Outcome:
        """Return the agreement of every arm and baseline, and the differences that the study names."""
        texts = material(case, self.study, self.sets)

        async def attempt(arm: Arm) -> Trial:
            given = course(arm, texts.learned_from, texts.assignment, texts.benchmarks)
            return await test(arm, await learn(given, self.judge, seed=case.seed), texts, self.judge, self.under_way)

        trials, missing = await self.of_arms(case, attempt)
        found: list[tuple[Evaluator, dict[str, Any]]] = [
            *((done.evaluator, {"learning": done.learning, "scoring": done.scoring}) for done in trials.values()),
            *((evaluator, {"note": note}) for evaluator, note in baseline_evaluators(texts)),
        ]
        rows = [agreement_row(self.study, texts, evaluator, **about) for evaluator, about in found]
        known = {evaluator.name: evaluator for evaluator, _ in found}
        pairs = [(known[one], known[other]) for one, other in self.study.compare if {one, other} <= known.keys()]
        return Outcome(
            case=case,
            split=texts.split,
            basis=bases(self.study, texts),
            rows=(*rows, *missing),
            gaps=tuple(gap(self.study, texts, *pair) for pair in pairs),
            version=__version__,
        )


@dataclass(frozen=True)
class Schedule:
    """A study, ready to run.

    Attributes:
        cases: all that can be run on the sets that are there.
        notes: what cannot, and why.
    """

    study: Study
    sets: Sets
    cases: tuple[Case, ...]
    notes: tuple[str, ...]

    def empty(self, judge: str, *, small: bool) -> Results:
        """Return results without any case."""
        return Results(
            format="rubriclab-study-results/1",
            study=self.study.name,
            digest=self.study.digest,
            small=small,
            **provenance(judge, {}),
            data={name: self.sets.digest(name) for name in dict.fromkeys(case.set for case in self.cases)},
        )

    def left(self, results: Results) -> list[Case]:
        """Return the cases that are not finished."""
        return [case for case in self.cases if str(case) not in results.done]


def schedule(study: Study, sets: Sets) -> Schedule:
    """Return what of a study can be run."""
    for name, aspect in study.qualities:
        sets.assignment(name, aspect)
    notes = tuple(left_out(study, sets))
    cases = tuple(every_case(study, sets))
    if not cases:
        files = ", ".join(f"{sets.about(name).file}.jsonl" for name in study.sets)
        raise DataError(
            f"Nothing of {study.name} can be run on {sets.folder}{': ' if notes else ''}{'; '.join(notes)}.",
            f"It runs on any of: {files} (also as .gz). python -m experiments data makes them of the public files.",
        )
    return Schedule(study, sets, cases, notes)


async def run(
    found: Schedule,
    bench: Bench,
    results: Results,
    *,
    keep: Callable[[Results], None],
    model_versions: Callable[[], Iterable[str]] = tuple,
) -> Results:
    """Return the results with the cases that were left, each given to `keep` as soon as it is finished."""
    left = found.left(results)
    for number, case in enumerate(left):

        def on_progress(doing: str, share: float, number: int = number) -> None:
            bench.on_progress(doing, (number + share) / len(left))

        outcome = await replace(bench, on_progress=on_progress).run(case)
        results = results.with_case(outcome, model_versions())
        keep(results)
    return results
