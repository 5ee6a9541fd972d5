"""A measurement: a question that a study cannot express, with cases that are run in processes of their own."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from experiments import ROOT
from experiments.runner.arms import uncached_judge
from experiments.runner.results import provenance, read_stored
from rubriclab import SettingsError, __version__
from rubriclab.base_options import first_fault
from rubriclab.models.base import FrozenModel
from rubriclab.stats.intervals import Interval

StoredRow = dict[str, Any]

# The module that defines each measurement, as `MEASUREMENT`.
MODULES = {name: f"experiments.{name}.{name}" for name in ("binary", "gate", "intervals", "small_judge", "withheld")}


class Options(FrozenModel):
    """The options of every measurement: the folder with the public sets, and the judge that rates texts."""

    data: Path
    judge: str = "embedded"


@dataclass(frozen=True)
class Measurement:
    """A measurement by name.

    Attributes:
        options: their type, with defaults.
        cases: each with its name by `str`, in the order of their rows.
        run: measures a case in a process of its own; the same case gives the same rows.
        table: the figures of all rows, as Markdown.
        judged: whether a judge is asked.
    """

    name: str
    question: str
    options: type[Options]
    cases: Callable[[Any], Iterable[Any]]
    run: Callable[[Any], Sequence[StoredRow]]
    table: Callable[[Sequence[StoredRow]], str]
    judged: bool = True


class Measured(FrozenModel):
    """The results of a measurement.

    Attributes:
        version: of this package.
        judge, identity, prompts, sample: as in `Results`; `None` and empty if no judge is asked.
        options: other than the folder and the judge.
        cases: the rows of each case.
    """

    format: Literal["rubriclab-measurement/1"]
    measurement: str
    version: str
    judge: str | None = None
    identity: Mapping[str, Any] = Field(default_factory=dict)
    prompts: str | None = None
    sample: tuple[float, ...] = ()
    options: Mapping[str, Any]
    cases: Mapping[str, tuple[StoredRow, ...]]

    @property
    def rows(self) -> list[StoredRow]:
        """The rows of all cases, in their order."""
        return [row for rows in self.cases.values() for row in rows]


def measurement_named(name: str) -> Measurement:
    """Return the measurement of this name."""
    if name not in MODULES:
        raise SettingsError(f"There is no measurement {name!r}.", f"There are: {', '.join(MODULES)}.")
    found: Measurement = importlib.import_module(MODULES[name]).MEASUREMENT
    return found


def parse_options(measurement: Measurement, given: Mapping[str, Any], pairs: Sequence[str]) -> Options:
    """Return the options of a measurement; `pairs` are NAME=VALUE."""
    if broken := next((pair for pair in pairs if "=" not in pair), None):
        raise SettingsError(f"--set {broken} has no value.", "Write --set NAME=VALUE.")
    values = {name: value for name, value in given.items() if value is not None}
    try:
        return measurement.options.model_validate({**values, **dict(pair.split("=", 1) for pair in pairs)})
    except ValidationError as error:
        known = ", ".join(sorted(set(measurement.options.model_fields) - set(Options.model_fields)))
        raise SettingsError(f"{measurement.name}: {first_fault(error)}.", f"Options for --set: {known}.") from None


def measure(
    measurement: Measurement, options: Options, *, processes: int, on_progress: Callable[[int, int], None]
) -> Measured:
    """Return the rows of every case.

    Args:
        on_progress: gets how many cases are finished, and of how many.
    """
    cases = {str(case): case for case in measurement.cases(options)}
    finished = dict[str, tuple[StoredRow, ...]]()
    with ProcessPoolExecutor(processes) as pool:
        for name, rows in zip(cases, pool.map(measurement.run, cases.values()), strict=True):
            finished[name] = tuple(rows)
            on_progress(len(finished), len(cases))
    own = {name: value for name, value in options if name not in Options.model_fields}
    return Measured(
        format="rubriclab-measurement/1",
        measurement=measurement.name,
        version=__version__,
        **(provenance(options.judge, uncached_judge(options.judge).identity) if measurement.judged else {}),
        options=json.loads(json.dumps(own)),
        cases=finished,
    )


def stored_rows(name: str, judge: str = "embedded") -> list[StoredRow]:
    """Return the rows of the stored results of a measurement with a judge."""
    return read_stored(Measured, ROOT / name / "results" / f"{judge}.json").rows


def holds(interval: Interval, value: float) -> int | None:
    """Return 1 if the value lies in the interval, else 0; `None` where there is no interval."""
    if interval.low is None or interval.high is None:
        return None
    return int(interval.low <= value <= interval.high)


def percent(share: float) -> str:
    """Return a share for a table."""
    return f"{share:.1%}"
