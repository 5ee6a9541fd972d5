"""`rubriclab drift`: how scores change from one version or judge to another; limits are exit codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import asking_options, dry_run_option, json_option, option, rows_options, store_option
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.drift.limits import LimitOutcome
    from rubriclab.services.drift import DriftMeasurement, DriftResult

EXIT_CODES: Mapping[LimitOutcome, int] = {"within": 0, "beyond": 1, "unknown": 3}
ORDER = "REF [REF] TEXTS"


@click.command()
@click.argument("named", nargs=-1, required=True, metavar=ORDER)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="The judge of both versions; given twice, the judge before and the judge after.  [default: those that the "
    "versions were learned with]",
)
@option(
    "--flip-at",
    type=float,
    metavar="SCORE",
    help="Texts flip if their score is at or above this on one side only.  [default: the middle of the scale]",
)
@option("--max-shift", type=click.FloatRange(min=0), metavar="POINTS", help="Fail if the mean score shifts farther.")
@option("--max-flips", type=click.FloatRange(0, 1), metavar="SHARE", help="Fail if a larger share of the texts flips.")
@option(
    "--min-rank",
    type=click.FloatRange(-1, 1),
    metavar="CORRELATION",
    help="Fail if Spearman's correlation of the two rankings is lower; within groups, if groups have several texts.",
)
@option(
    "--output", "-o", type=FILE, metavar="PATH", help="Write the texts that flip here, with all reasons, as JSON Lines."
)
@option("--all", "write_all", is_flag=True, help="Write all texts there, not only those that flip.")
@asking_options
@rows_options
@store_option
@dry_run_option
@json_option
def drift(
    named: Sequence[str], *, output: str | None, write_all: bool, dry_run: bool, as_json: bool, **values: Any
) -> None:
    """Measure how the scores of TEXTS, which need no labels, change from one version REF or judge to another.

    \b
    rubriclab drift news@1 news@2 texts.jsonl
    rubriclab drift news@2 texts.jsonl --judge JUDGE --judge OTHER

    Reported are the shift of scores, changes of rank, texts that cross a threshold, and the criteria behind them. The
    exit code is 1 if a limit is exceeded (--max-shift, --max-flips, --min-rank), and 3 if that is unknown.
    """
    from rubriclab.cli.printing import print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services.drift import DriftOptions, prepare_drift

    before, after, texts = _sides(named)
    options = options_of(DriftOptions, values)
    _check_output(texts, output, write_all=write_all)
    with workspace_of(values) as workspace:
        measurement = prepare_drift(workspace, texts, before, after, options)
        if dry_run:
            print_dry_run(measurement.at_most(), as_json=as_json)
            return
        _measure(measurement, output, write_all=write_all)
        result = measurement.result()
        _print(result, output, write_all=write_all, as_json=as_json)
        measurement.check_answered(result.drift)
    click.get_current_context().exit(EXIT_CODES[result.outcome])


def _sides(named: Sequence[str]) -> tuple[str, str | None, str]:
    """Return the version before, the version after if another one is named, and the file."""
    from rubriclab.errors import SettingsError

    if not 2 <= len(named) <= 3:
        raise SettingsError(f"Expected {ORDER}, got {len(named)} of them.", "Drift is between two sides.")
    return named[0], named[1] if len(named) == 3 else None, named[-1]


def _check_output(texts: str, output: str | None, *, write_all: bool) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    if write_all and not output:
        raise SettingsError("--all says what is written to --output.", "Give --output PATH.")
    if output == "-":
        raise SettingsError("Standard output holds the figures.", "Give --output a file.")
    if output:
        check_place(output, texts, "The pairs", "--output")


def _measure(measurement: DriftMeasurement, output: str | None, *, write_all: bool) -> None:
    """Score the texts, and write the pairs as they come."""
    import orjson

    from rubriclab.services.running import finish

    scorers = measurement.scorers
    with _writing(output) as write:

        async def run() -> None:
            async for pair, before, after in measurement.stream():
                if write and (write_all or scorers.flips(pair)):
                    write(orjson.dumps(scorers.to_row(pair, before, after), option=orjson.OPT_APPEND_NEWLINE))

        finish(run)


@contextmanager
def _writing(output: str | None) -> Iterator[Callable[[bytes], object] | None]:
    from rubriclab.cli.files import writing

    if output is None:
        yield None
        return
    with writing(output) as write:
        yield write
        # If no text flips, those of an earlier run must not remain.
        write(b"")


def _print(result: DriftResult, output: str | None, *, write_all: bool, as_json: bool) -> None:
    from rubriclab.cli.printing import effort_row, note, print_json, print_view

    if as_json:
        checks = [check.model_dump(mode="json") for check in result.checks]
        row = {**result.drift.model_dump(mode="json"), "checks": checks, "output": output}
        print_json({**row, **effort_row(result.effort)})
        return
    from rubriclab.report.drift import drift_view

    print_view(drift_view(result.drift, result.checks))
    if output:
        note(f"{'all texts' if write_all else 'texts that flip'} written to {output}")
