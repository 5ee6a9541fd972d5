"""A measurement: what studies of evaluators cannot express, as cases that one runner measures and keeps.

A measurement says what its options and cases are, how one case is measured, and how all rows are shown as a table. The
runner measures cases in processes of their own, writes the file after each, and resumes it: cases that it holds are
not measured again.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from experiments import ROOT
from rubriclab import DataError, JudgeOptions, SettingsError, __version__
from rubriclab.research import FrozenModel, Ledger, Unreadable, connect, first_fault, read_file

Row = dict[str, Any]

# Where each measurement is defined, as `MEASUREMENT`.
MODULES = {
    "agreement": "experiments.agreement.agreement",
    "coverage": "experiments.coverage.coverage",
    "gate": "experiments.gate.gate",
    "gate-recorded": "experiments.gate.recorded",
    "planning": "experiments.planning.planning",
    "weighing": "experiments.weighing.weighing",
}


class Options(FrozenModel):
    """What every measurement takes; each adds its own.

    Attributes:
        data: folder with the public sets.
        judge: who rates texts.
    """

    data: Path
    judge: str = "embedded"


@dataclass(frozen=True)
class Measurement:
    """A measurement by name.

    Attributes:
        question: what it answers.
        options: their type, with defaults.
        cases: what is measured, each with a text of its own by `str`, in the order of their rows.
        run: measures one case, in another process; the same case gives the same rows.
        table: all rows, for Markdown.
        asks_judge: whether the judge of the options is asked, or recorded judgments alone are used.
    """

    name: str
    question: str
    options: type[Options]
    cases: Callable[[Any], Iterable[Any]]
    run: Callable[[Any], Sequence[Row]]
    table: Callable[[Sequence[Row]], str]
    asks_judge: bool = True


class Measured(FrozenModel):
    """What a measurement has found so far.

    Attributes:
        version: of this package; `None` in results that are older than this record.
        judge: as the user named it; `None` where all answers come from recorded judgments.
        identity: what the judge's answers depend on; `None` in results of an earlier judge, and without a judge.
        recorded: digest of each folder of recorded judgments.
        options: other than folders and the judge.
        cases: the rows of each finished case.
    """

    format: Literal["rubriclab-measurement/1"] = "rubriclab-measurement/1"
    measurement: str
    version: str | None = __version__
    judge: str | None
    identity: Mapping[str, Any] | None = None
    recorded: Mapping[str, str] = Field(default_factory=dict)
    options: Mapping[str, Any]
    cases: Mapping[str, tuple[Row, ...]]

    @property
    def rows(self) -> list[Row]:
        """The rows of all cases, in their order."""
        return [row for rows in self.cases.values() for row in rows]


def measurement_named(name: str) -> Measurement:
    """Return the measurement of this name.

    Raises:
        SettingsError: if there is none.
    """
    if name not in MODULES:
        raise SettingsError(f"There is no measurement {name!r}.", f"There are: {', '.join(MODULES)}.")
    found: Measurement = importlib.import_module(MODULES[name]).MEASUREMENT
    return found


def folder_of(name: str) -> Path:
    """Return the folder of a measurement, which holds its README and stored results."""
    return ROOT / MODULES[name].split(".")[1]


def parse_options(measurement: Measurement, given: Mapping[str, Any], pairs: Sequence[str]) -> Options:
    """Return the options of a measurement; `pairs` are NAME=VALUE.

    Raises:
        SettingsError: for an option that it does not have, or a wrong value.
    """
    if broken := next((pair for pair in pairs if "=" not in pair), None):
        raise SettingsError(f"--set {broken} has no value.", "Write --set NAME=VALUE.")
    values = {name: value for name, value in given.items() if value is not None}
    try:
        return measurement.options.model_validate({**values, **dict(pair.split("=", 1) for pair in pairs)})
    except ValidationError as error:
        known = ", ".join(sorted(set(measurement.options.model_fields) - set(Options.model_fields)))
        raise SettingsError(f"{measurement.name}: {first_fault(error)}.", f"Options for --set: {known}.") from None


def begin(measurement: Measurement, options: Options, path: Path) -> Measured:
    """Return what `path` holds of this measurement, to be resumed, or a record without any case.

    Raises:
        DataError: if the file holds something else: another measurement, judge, version of the judge, or options.
    """
    asked = connect(options.judge, options=JudgeOptions(), ledger=Ledger()) if measurement.asks_judge else None
    folders = {name: value for name, value in options if isinstance(value, Path) and name != "data"}
    new = Measured(
        measurement=measurement.name,
        judge=options.judge if asked else None,
        identity=dict(asked.identity) if asked else None,
        recorded={name: _digest(folder) for name, folder in folders.items()},
        options=_comparable(options),
        cases={},
    )
    if not path.exists():
        return new
    found = read_measured(path)
    for what in ("measurement", "judge", "identity", "recorded", "options"):
        if getattr(found, what) != getattr(new, what):
            raise DataError(
                f"{path} holds results of something else: {what} differs.",
                "Give another file with -o, or remove this one.",
            )
    return found


def _digest(folder: Path) -> str:
    """Return the digest of the recorded judgments in a folder.

    Raises:
        DataError: if there are none.
    """
    files = sorted(folder.glob("*.gz"))
    if not files:
        raise DataError(f"{folder} has no recorded judgments.", "They are gzipped files, NAME.json.gz or NAME.csv.gz.")
    contents = (f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files)
    return f"sha256:{hashlib.sha256(chr(10).join(contents).encode()).hexdigest()}"


def _comparable(options: Options) -> dict[str, Any]:
    values = {name: value for name, value in options if not isinstance(value, Path) and name != "judge"}
    return json.loads(json.dumps(values))  # type: ignore[no-any-return]


def measure(
    measurement: Measurement,
    options: Options,
    begun: Measured,
    *,
    processes: int = 2,
    keep: Callable[[Measured], None],
    on_progress: Callable[[int, int], None],
) -> Measured:
    """Return the rows of every case, in the order of the cases.

    Args:
        keep: gets all finished cases after each of them.
        on_progress: gets how many cases are finished, and of how many.
    """
    cases = {str(case): case for case in measurement.cases(options)}
    finished = dict(begun.cases)
    left = {name: case for name, case in cases.items() if name not in finished}
    measured = begun
    with ProcessPoolExecutor(processes) as pool:
        for name, rows in _as_finished(pool, measurement, left):
            finished[name] = tuple(rows)
            ordered = {name: finished[name] for name in (*cases, *finished) if name in finished}
            measured = begun.model_copy(update={"cases": ordered})
            keep(measured)
            on_progress(len(cases) - len(left.keys() - finished.keys()), len(cases))
    return measured


def _as_finished(
    pool: Executor, measurement: Measurement, cases: Mapping[str, Any]
) -> Iterable[tuple[str, Sequence[Row]]]:
    names = {pool.submit(measurement.run, case): name for name, case in cases.items()}
    try:
        yield from ((names[future], future.result()) for future in as_completed(names))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def write_measured(measured: Measured, path: Path) -> None:
    """Write results to `path`, a line a row; the earlier file stays whole until all is written.

    Raises:
        DataError: if it cannot be written.
    """
    whole = measured.model_dump(mode="json")
    cases = ",\n".join(f"{json.dumps(name)}: {_lines(rows)}" for name, rows in whole.pop("cases").items())
    head = json.dumps(whole, indent=1, ensure_ascii=False).removesuffix("\n}")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(f'{head},\n "cases": {{\n{cases}\n}}\n}}\n', "utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None


def _lines(rows: Sequence[Row]) -> str:
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows) + "\n]"


def read_measured(path: Path) -> Measured:
    """Return the results in a file.

    Raises:
        DataError: if it cannot be read, or holds something else.
    """
    try:
        return Measured.model_validate_json(read_file(path))
    except Unreadable as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    except ValidationError as error:
        raise DataError(f"{path} holds no results of a measurement: {first_fault(error)}.") from None


def stored_rows(path: Path) -> list[Row]:
    """Return the rows of stored results, for tables.

    Raises:
        DataError: if the file cannot be read, or holds something else.
    """
    return read_measured(path).rows
