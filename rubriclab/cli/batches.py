"""`rubriclab batches`: what is under way at a provider's Batch API."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import option, row_options, store_option


@command()
@option(
    "--cancel", from_found="never", metavar="ID", help="Cancel this batch; its answers so far can still be collected."
)
@store_option
@row_options
def batches(*, as_json: bool, csv: str | None, **values: Any) -> None:
    """List the batches that were sent with --batch and whose answers have not been fetched, or cancel one.

    To fetch them, run the command that sent them again: it waits for its batches, and pays for nothing twice.
    """
    from rubriclab.cli.files import write_csv
    from rubriclab.cli.printing import print_json
    from rubriclab.cli.workspace import options_of
    from rubriclab.services import batches as service
    from rubriclab.services.running import finish
    from rubriclab.services.workspace import Workspace

    options = options_of(service.BatchesOptions, values)
    with Workspace(values["store"]) as workspace:
        result = finish(lambda: service.batches(workspace, options))
    write_csv(csv, result.to_rows())
    if as_json:
        print_json({"batches": result.to_rows()})
        return
    for line in result.lines():
        click.echo(line)
