"""`rubriclab check`, `lint` and `split`: whether files of rows and checklists can be used; rows to hold out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_rows_place, dialect_of, writing_rows
from rubriclab.cli.options import STORED, command, json_option, option
from rubriclab.cli.places import FILE, check_output
from rubriclab.cli.printing import as_typed, note, options_of, print_json, print_view

if TYPE_CHECKING:
    from rubriclab.ops.check import CheckResult, LintResult


@command(None, "CheckOptions")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@json_option
def check(files: tuple[str, ...], *, as_json: bool, **values: Any) -> None:
    """Report the format, columns and all problems of each FILE; exit code 2 if any cannot be used or read.

    The result has the format, encoding and delimiter, the use of each column, raters, scale, distribution of the
    scores, groups, the agreement of the raters, missing and repeated texts, and the command to run next. No calls are
    made.
    """
    from rubriclab.ops import check as service
    from rubriclab.ops.options import CheckOptions
    from rubriclab.report.results import check_commands, check_view

    options = options_of(CheckOptions, values)
    results = service.check_each(files, options) if len(files) > 1 else [service.check(files[0], options)]
    results = [_typed(result) for result in results]
    if as_json:
        rows = [result.to_row() for result in results]
        print_json(rows if len(files) > 1 else rows[0])
    else:
        for result in results:
            print_view(check_view(result, commands=False))
            for line in check_commands(result):
                click.echo(line)
    if not all(result.usable for result in results):
        click.get_current_context().exit(2)


def _typed(result: CheckResult) -> CheckResult:
    """Return the result with the options in its messages as they are typed."""
    source = result.source
    return replace(
        result,
        source=replace(source, hidden=_each_typed(source.hidden), details=_each_typed(source.details)),
        problems=_each_typed(result.problems),
        hints=_each_typed(result.hints),
        notes=_each_typed(result.notes),
    )


def _each_typed(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(as_typed, lines))


@command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@json_option
def lint(files: tuple[str, ...], *, as_json: bool) -> None:
    """Check the form of checklist files (- for standard input) and find duplicate questions.

    Exit code 1 if a question is repeated, 2 if a file is no checklist. Whether a question asks one thing that can be
    seen in the text is judged by a language model while learning.
    """
    from rubriclab.ops import check as service

    results = {file: service.lint(file) for file in files}
    if as_json:
        rows = [{"file": file, **_row(result)} for file, result in results.items()]
        print_json(rows if len(files) > 1 else _row(results[files[0]]))
    else:
        for file, result in results.items():
            if len(files) > 1:
                click.echo(f"{file}:")
            for line in result.lines():
                click.echo(line)
    if any(result.duplicates for result in results.values()):
        click.get_current_context().exit(1)


def _row(result: LintResult) -> dict[str, Any]:
    duplicates = [dataclasses.asdict(each) for each in result.duplicates]
    return {"questions": len(result.checklist.questions), "duplicates": duplicates}


SIDES = ("train", "heldout")


@command(None, "SplitOptions")
@click.argument("file", type=FILE)
@option(
    "--output",
    "-o",
    section=STORED,
    type=FILE,
    metavar="PREFIX",
    help="Write PREFIX-train and PREFIX-heldout, in the format that PREFIX ends in.  [default: the name of FILE]",
)
@json_option
def split(file: str, *, output: str | None, as_json: bool, **values: Any) -> None:
    """Split FILE by whole groups into rows to learn from and rows to hold out for `rubriclab evaluate`.

    Groups are taken until there are --train texts. The same file and seed give the same split, whatever the order of
    the rows. All columns are kept.
    """
    from rubriclab.ops import check as service
    from rubriclab.ops.options import SplitOptions

    places = _places(file, output)
    for place in places:
        check_rows_place(place)
        check_output(place, "--output", [file])
    options = options_of(SplitOptions, values)
    result = service.split(file, options, note)
    dialect = dialect_of(file, options)
    for place, rows in zip(places, (result.train, result.heldout), strict=True):
        with writing_rows(place, always=True, dialect=dialect) as write:
            for row in rows:
                write(row)
    if as_json:
        sizes = ((len(result.train), result.train_groups), (len(result.heldout), result.heldout_groups))
        counts = zip(SIDES, places, sizes, strict=True)
        print_json({side: {"output": place, "rows": rows, "groups": groups} for side, place, (rows, groups) in counts})
        return
    print_view(result)
    note(f"written to {places[0]} and {places[1]}")


def _places(file: str, output: str | None) -> tuple[str, str]:
    """Return the two files: the prefix with `-train` and `-heldout` before its ending, or that of the file read."""
    prefix, ending = _ending(output) if output else ("", "")
    own, own_ending = ("rows", ".jsonl") if file == "-" else _ending(file)
    prefix, ending = prefix or own, ending or own_ending.replace(".xlsm", ".xlsx")
    return f"{prefix}-{SIDES[0]}{ending}", f"{prefix}-{SIDES[1]}{ending}"


def _ending(name: str) -> tuple[str, str]:
    path = Path(name)
    ending = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
    return (name[: -len(ending)], ending) if ending else (name, "")
