"""What every design has: its cases, how one is run, and what is measured."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from experiments.runner.arms import Learned, Trial, course, learn, test
from experiments.runner.cases import Case, Material, every_case, material
from experiments.runner.figures import agreement_row, baseline_evaluators, bases, gap
from experiments.runner.results import Gap, Outcome, Row
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import DataError, Judge, JudgeError, RubriclabError, SettingsError, __version__
from rubriclab.base_options import first_fault
from rubriclab.errors import ChecklistError
from rubriclab.methods.method import Progress, ignore_progress
from rubriclab.models.base import FrozenModel
from rubriclab.ops.evaluate import Evaluator

T = TypeVar("T")


class NoOptions(FrozenModel):
    """The options of a design that has none."""


@dataclass(frozen=True)
class Bench:
    """A study with its texts and judges.

    Attributes:
        judges: in the order in which the user named them; most designs ask the first alone.
        under_way: how many texts are scored at a time.
        on_progress: gets the current arm, and which share of the arms is done.
    """

    study: Study
    sets: Sets
    judges: tuple[Judge, ...]
    under_way: int = 16
    on_progress: Progress = ignore_progress

    @property
    def judge(self) -> Judge:
        """The first judge."""
        return self.judges[0]

    def material(self, case: Case) -> Material:
        """Return the texts of a case."""
        return material(case, self.study, self.sets)

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

    async def learned(self, arm: Arm, texts: Material, seed: int, judge: Judge | None = None) -> Learned:
        """Return what an arm learns from the texts of a case."""
        given = course(arm, texts.learned_from, texts.home, texts.benchmarks)
        return await learn(given, judge or self.judge, seed=seed)

    async def trials(
        self, case: Case, texts: Material, judge: Judge | None = None
    ) -> tuple[dict[str, Trial], list[Row]]:
        """Return every arm's scores of the texts tested, and a row for each arm that failed."""

        async def attempt(arm: Arm) -> Trial:
            learned = await self.learned(arm, texts, case.seed, judge)
            return await test(arm, learned, texts, judge or self.judge, self.under_way)

        return await self.of_arms(case, attempt)

    def pairs(self, known: Mapping[str, T]) -> list[tuple[T, T]]:
        """Return the pairs that the study compares, of what is known."""
        return [(known[one], known[other]) for one, other in self.study.compare if one in known and other in known]

    def outcome(self, case: Case, texts: Material, rows: Sequence[Row], gaps: Iterable[Gap] = ()) -> Outcome:
        """Return a finished case."""
        return Outcome(
            case=case,
            split=texts.split,
            basis=bases(self.study, texts),
            rows=tuple(rows),
            gaps=tuple(gaps),
            version=__version__,
        )

    def agreement(self, case: Case, texts: Material, trials: Mapping[str, Trial], missing: Sequence[Row]) -> Outcome:
        """Return the agreement of every arm and baseline, and the differences that the study names."""
        evaluators, rows = dict[str, Evaluator](), list[Row]()
        for evaluator, about in with_baselines(trials, texts):
            evaluators[evaluator.name] = evaluator
            rows.append(agreement_row(self.study, texts, evaluator, **about))
        gaps = [gap(self.study, texts, *pair) for pair in self.pairs(evaluators)]
        return self.outcome(case, texts, [*rows, *missing], gaps)


def with_baselines(trials: Mapping[str, Trial], texts: Material) -> list[tuple[Evaluator, dict[str, Any]]]:
    """Return the evaluators of the trials and the baselines, each with further fields of its row."""
    return [
        *((done.evaluator, {"learning": done.learning, "scoring": done.scoring}) for done in trials.values()),
        *((evaluator, {"note": note}) for evaluator, note in baseline_evaluators(texts)),
    ]


@dataclass(frozen=True, slots=True)
class Design:
    """What a study does with its cases.

    Attributes:
        measures: those of its rows, the most important first.
        options: the model of the table `[options]`.
        cases: those that can be run on the sets that are there.
        judges: the smallest and the largest number of judges.
    """

    run: Callable[[Bench, Case], Awaitable[Outcome]]
    measures: tuple[str, ...]
    options: type[FrozenModel] = NoOptions
    cases: Callable[[Study, Sets], Iterable[Case]] = every_case
    judges: tuple[int, int] = (1, 1)


def options_of(study: Study, model: type[Any]) -> Any:
    """Return the options of a study, checked."""
    try:
        return model.model_validate(study.options)
    except ValidationError as error:
        raise SettingsError(f"{study.name}: {first_fault(error, 'options')}.") from None


def check_different(judges: Sequence[Judge]) -> None:
    """Check that no two judges are the same."""
    for place, judge in enumerate(judges):
        for other in judges[:place]:
            if other.identity == judge.identity:
                raise SettingsError(f"{other.name} and {judge.name} are the same judge.", "Name judges that differ.")
