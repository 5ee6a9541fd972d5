"""`rubriclab check` and `rubriclab lint`: whether files of rows and checklists can be used, without calls."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import command, json_option, option, rows_options
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import options_of, print_json, print_view

if TYPE_CHECKING:
    from rubriclab.services.lint import LintResult


@command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@option("--task", help="The kind of text, for the command to run next.")
@option("--aspect", help="The aspect to learn; the file is then also checked for what learning needs.")
@option("--scale", metavar="LOW:HIGH", help="The raters' scale, as in 1:5; taken from the labels if not given.")
@rows_options
@json_option
def check(files: tuple[str, ...], *, as_json: bool, **values: Any) -> None:
    """Report the format, columns and all problems of each FILE; exit code 2 if any cannot be used or read.

    The result has the format, encoding and delimiter, the use of each column, raters, scale, distribution of the
    scores, groups, the agreement of the raters, missing and repeated texts, and the command to run next. No calls are
    made.
    """
    from rubriclab.report.data_check import check_commands, check_row, check_view
    from rubriclab.services import check as service

    options = options_of(service.CheckOptions, values)
    results = service.check_each(files, options) if len(files) > 1 else [service.check(files[0], options)]
    if as_json:
        rows = [check_row(result) for result in results]
        print_json(rows if len(files) > 1 else rows[0])
    else:
        for result in results:
            print_view(check_view(result, commands=False))
            for line in check_commands(result):
                click.echo(line)
    if not all(result.usable for result in results):
        click.get_current_context().exit(2)


@command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@json_option
def lint(files: tuple[str, ...], *, as_json: bool) -> None:
    """Check the form of checklist files (- for standard input) and find duplicate questions.

    Exit code 1 if a question is repeated, 2 if a file is no checklist. Whether a question asks one thing that can be
    seen in the text is judged by a language model while learning.
    """
    from rubriclab.services import lint as service

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
