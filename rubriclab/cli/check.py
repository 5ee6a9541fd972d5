"""`rubriclab check`: the format, columns and problems of a file of rows, without calls."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import json_option, option, rows_options
from rubriclab.cli.places import FILE


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
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.cli.workspace import options_of
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
