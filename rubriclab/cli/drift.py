"""`rubriclab drift`: how scores change from one version or judge to another; limits are exit codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports, check_rows_place, writing_rows
from rubriclab.cli.help import command
from rubriclab.cli.options import asking_options, measurement_options, option
from rubriclab.cli.places import FILE, JUDGE, OUTPUT
from rubriclab.cli.printing import effort_row, note, print_dry_run, print_result
from rubriclab.cli.workspace import options_of, workspace_of
from rubriclab.errors import SettingsError

if TYPE_CHECKING:
    from rubriclab.comparison.results import LimitOutcome

EXIT_CODES: Mapping[LimitOutcome, int] = {"within": 0, "beyond": 1, "unknown": 3}
ORDER = "REF [REF] TEXTS"


@command()
@click.argument("named", type=FILE, nargs=-1, required=True, metavar=ORDER)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="The judge of both versions; give it twice for the judges before and after.  [default: those that the "
    "versions were learned with]",
)
@option(
    "--flip-at",
    type=float,
    metavar="SCORE",
    help="The threshold; a text flips if only one of its scores reaches it.  [default: the middle of the scale]",
)
@option("--max-shift", type=click.FloatRange(min=0), metavar="POINTS", help="Fail if the mean score shifts by more.")
@option("--max-flips", type=click.FloatRange(0, 1), metavar="SHARE", help="Fail if a larger share of texts flips.")
@option(
    "--min-rank",
    type=click.FloatRange(-1, 1),
    metavar="CORRELATION",
    help="Fail if Spearman's correlation of the two rankings is lower; within groups, if groups have several texts.",
)
@option(
    "--output",
    "-o",
    type=OUTPUT,
    metavar="PATH",
    help="Write the texts that flip to this file, with all reasons, as JSON Lines.",
)
@option("--all", "write_all", is_flag=True, help="Write all texts to --output, not only those that flip.")
@asking_options
@measurement_options
def drift(
    named: Sequence[str], *, output: str | None, write_all: bool, dry_run: bool, as_json: bool, **values: Any
) -> None:
    """Measure how the scores of TEXTS change from one version REF or judge to another.

    \b
    rubriclab drift news@1 news@2 texts.jsonl
    rubriclab drift news@2 texts.jsonl --judge JUDGE --judge OTHER

    The result has the shift of the scores, the changes of rank, the texts that cross a threshold, and the criteria that
    cause the changes. The exit code is 1 if a limit is exceeded (--max-shift, --max-flips, --min-rank), and 3 if
    inconclusive.
    """
    from rubriclab.services import drift as service
    from rubriclab.services.running import finish

    before, after, texts = _sides(named)
    options = options_of(service.DriftOptions, values)
    check_exports(values)
    if write_all and not output:
        raise SettingsError("--all needs --output.", "Give --output PATH.")
    if output == "-":
        raise SettingsError("Standard output is used for the figures.", "Give --output a file.")
    if output:
        check_rows_place(output)
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.drift_estimate(workspace, texts, before, after, options), as_json=as_json)
            return
        # If no text flips, those of an earlier run must not remain.
        with writing_rows(output, always=True) if output else nullcontext() as write:

            def on_row(row: dict[str, Any]) -> None:
                if write and (write_all or row["flips"]):
                    write(row)

            result = finish(
                lambda: service.drift(workspace, texts, before, after, options, on_row=on_row if output else None)
            )
    found = {**result.result.model_dump(mode="json"), "outcome": result.outcome}
    print_result(result.view(), {**found, "output": output, **effort_row(result.effort)}, values, as_json=as_json)
    if output and not as_json:
        note(f"{'all texts' if write_all else 'texts that flip'} written to {output}")
    result.check_answered()
    click.get_current_context().exit(EXIT_CODES[result.outcome])


def _sides(named: Sequence[str]) -> tuple[str, str | None, str]:
    """Return the version before, the version after if another one is named, and the file."""

    from rubriclab.store.version import names_a_version

    if not 2 <= len(named) <= 3:
        raise SettingsError(
            f"Expected {ORDER}, got {len(named)} arguments.", "Name two versions, or one version and two judges."
        )
    if names_a_version(named[-1]) and not Path(named[-1]).exists():
        raise SettingsError(
            f"Expected {ORDER}; {named[-1]} is a version, and no file of texts is named.",
            f"Add the texts to score with both: rubriclab drift {' '.join(named)} TEXTS",
        )
    return named[0], named[1] if len(named) == 3 else None, named[-1]
