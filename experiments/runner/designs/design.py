"""What every design is: which cases a study has, the most that one asks, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from experiments.runner.bench import Bench
from experiments.runner.cases import Case
from experiments.runner.results import Outcome
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import CallEstimate, SettingsError
from rubriclab.research import FrozenModel, first_fault


class NoOptions(FrozenModel):
    """The options of a design that has none."""


class RunCase(Protocol):
    """Runs one case to its end."""

    async def __call__(self, bench: Bench, case: Case, /) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Design:
    """What a study does with its cases.

    Attributes:
        name: as `study.toml` names it.
        cases: those that can be run on the sets that are there.
        at_most: the most that a case asks of each judge, in their order, if no reply needs a repair.
        run: a case; JudgeError only if the provider fails altogether.
        measures: what its rows report, the most important first: the columns of the table.
        options: the model of what stands under `[options]`.
        fewest_judges, most_judges: how many judges it takes.
    """

    name: str
    cases: Callable[[Study, Sets], Iterable[Case]]
    at_most: Callable[[Bench, Case], Sequence[CallEstimate]]
    run: RunCase
    measures: tuple[str, ...]
    options: type[FrozenModel] = NoOptions
    fewest_judges: int = 1
    most_judges: int = 1


def options_of(study: Study, model: type[Any]) -> Any:
    """Return the options of a study, checked.

    Raises:
        SettingsError: for an option that is unknown or wrong.
    """
    try:
        return model.model_validate(study.options)
    except ValidationError as error:
        raise SettingsError(f"{study.name}: {first_fault(error, 'options')}.") from None
