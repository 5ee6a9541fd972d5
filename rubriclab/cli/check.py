"""`rubriclab check`, `lint` and `split`: whether files of rows and checklists can be used; rows to hold out."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import STORED, command, json_option, option
from rubriclab.cli.output import (
    FILE,
    as_typed,
    check_output,
    check_rows_place,
    dialect_of,
    note,
    options_of,
    print_json,
    print_view,
    writing_rows,
)
from rubriclab.errors import UserError

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


NAME, OFFLINE, STORE = "news-coherence", "news-coherence-offline", "store.db"
TASK = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5")


@command()
@click.argument("folder", default="demo", type=click.Path(path_type=Path))
@option("--sample-only", is_flag=True, help="Write the files of the sample, and run no command.")
@click.pass_context
def demo(context: click.Context, folder: Path, *, sample_only: bool) -> None:
    """Learn, report, score and evaluate on the shipped sample; needs no key and no language model.

    FOLDER is for the sample and all results: a new one, an empty one, or that of an earlier demonstration.
    [default: demo]

    The first part replays a language model's recorded answers, the second runs the offline judge. Every command is
    printed before it runs, without your configuration file and RUBRICLAB_ variables.
    """
    from rubriclab.ops.check import FILES, README, RECORDING, write_sample

    write_sample(folder)
    if sample_only:
        click.echo(f"The sample is in the folder {folder}: {', '.join(FILES)}.")
        return
    click.echo(
        "The sample's labels are not human ratings: each follows from how its summary was damaged, as "
        f"{folder / README} says. The figures show how the commands work, not agreement with people.\n"
    )
    click.echo("Part 1: a language model, whose answers were recorded\n")
    click.echo(f"$ cd {shlex.quote(str(folder))}")
    recorded = run_in(folder, commands(("--judge", f"recorded:{RECORDING}")))
    if recorded not in (0, UserError.exit_code):
        context.exit(recorded)
    if recorded:
        click.echo(
            "\nThis part ends here. If the error above names a request that is not recorded, a prompt has changed "
            "since the answers were recorded."
        )
    click.echo("\nPart 2: the offline judge, which needs no language model and measures text features instead\n")
    if failed := run_in(folder, offline_commands()):
        context.exit(failed)
    if not recorded:
        click.echo("\nThe recording holds the replies to these commands only: other questions need a language model.")
    end = "-offline" if recorded else ""
    click.echo(f"\nDone. Open {folder}/rubric{end}.html in a browser, and {folder}/scores{end}.csv in a spreadsheet.")
    program = _program()
    click.echo(f"\nTo inspect and edit the rubrics in a browser:\n  {program} {shlex.join(studio_command(folder))}")
    click.echo(f"\nTo rate texts in a browser and learn from them:\n  {program} {shlex.join(label_command(folder))}")


# As many criteria are considered as were when the answers were recorded.
AS_RECORDED = ("--criteria", "6", "--set", "hypoeval.bank_size=30", "--set", "checkeval.most=35")


def commands(judge: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the commands of the first part, to be run in the folder of the sample."""
    from rubriclab.ops.check import HELDOUT, LABELLED

    return [
        ("learn", LABELLED, *TASK, "--name", NAME, *AS_RECORDED, *judge),
        ("report", NAME, "-o", "rubric.html"),
        ("score", HELDOUT, "--rubric", NAME, "-o", "scores.csv", *judge),
        ("evaluate", HELDOUT, "--rubric", NAME, "--html", "evaluation.html", *judge),
        ("export", NAME, "-o", f"{NAME}.json"),
    ]


def offline_commands() -> list[tuple[str, ...]]:
    """Return the commands of the second part, to be run in the folder of the sample."""
    from rubriclab.ops.check import HELDOUT, LABELLED

    judge = ("--judge", "embedded")
    return [
        ("learn", LABELLED, *TASK, "--name", OFFLINE, *judge),
        ("report", OFFLINE, "-o", "rubric-offline.html"),
        ("score", HELDOUT, "--rubric", OFFLINE, "-o", "scores-offline.csv", *judge),
    ]


def studio_command(folder: Path) -> tuple[str, ...]:
    """Return the command that opens the rubrics of the demonstration in a browser."""
    return ("studio", "--store", str(folder / STORE))


def label_command(folder: Path) -> tuple[str, ...]:
    """Return the command that opens a page on which people rate the sample."""
    from rubriclab.ops.check import UNLABELLED

    labelled = ("-o", str(folder / "rated.jsonl"), "--store", str(folder / STORE))
    return ("label", str(folder / UNLABELLED), *TASK, *labelled)


def run_in(folder: Path, lines: Sequence[Sequence[str]]) -> int:
    """Print and run each command in `folder`, until one fails; return its exit code, or 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RUBRICLAB_")}
    for line in lines:
        arguments = (*line, "--store", STORE)
        click.echo(f"$ rubriclab {shlex.join(arguments)}")
        sys.stdout.flush()
        # Without the folder on Python's path: it is not ours alone.
        command = [sys.executable, "-P", "-m", "rubriclab", *arguments]
        if code := subprocess.run(command, cwd=folder, env=environment, check=False).returncode:
            return code
    return 0


def _program() -> str:
    if shutil.which("rubriclab"):
        return "rubriclab"
    started = Path(sys.argv[0])
    return str(started) if started.name == "rubriclab" else f"{sys.executable} -m rubriclab"
