"""`rubriclab check`: the format, columns and problems of a file of rows, without calls."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import json_option, option, rows_options


@command()
@click.argument("file")
@option("--task", help="The kind of text, for the command to run next.")
@option("--aspect", help="The aspect to learn; the file is then also checked for what learning needs.")
@option("--scale", metavar="LOW:HIGH", help="The raters' scale, as in 1:5; taken from the labels if not given.")
@rows_options
@json_option
def check(file: str, *, as_json: bool, **values: Any) -> None:
    """Report the format, columns and all problems of FILE; exit code 2 if it cannot be used.

    The result has the format, encoding and delimiter, the use of each column, raters, scale, distribution of the
    scores, groups, the agreement of the raters, missing and repeated texts, and the command to run next. No calls are
    made.
    """
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.cli.workspace import options_of
    from rubriclab.report.data_check import check_commands, check_row, check_view
    from rubriclab.services import check as service

    result = service.check(file, options_of(service.CheckOptions, values))
    if as_json:
        print_json(check_row(result))
    else:
        print_view(check_view(result, commands=False))
        for line in check_commands(result):
            click.echo(line)
    if not result.usable:
        click.get_current_context().exit(2)
