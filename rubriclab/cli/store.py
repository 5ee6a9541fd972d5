"""`rubriclab store` and `rubriclab batches`: what the store holds, and what is under way at a provider's Batch API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import write_csv
from rubriclab.cli.help import command
from rubriclab.cli.options import json_option, option, row_options, store_option
from rubriclab.cli.printing import print_json, print_view
from rubriclab.cli.workspace import options_of

if TYPE_CHECKING:
    from rubriclab.services.storage import PruneResult, StoreSize, VacuumResult


@click.group("store")
def store() -> None:
    """Show the size of the store, remove cached answers, and give their space back."""


@command("size")
@store_option
@row_options
def size(*, store: str | None, as_json: bool, csv: str | None) -> None:
    """Show the rows and bytes of the store by kind, cached answers by model."""
    from rubriclab.services import storage as service
    from rubriclab.services.workspace import Workspace

    with Workspace(store) as workspace:
        result = service.store_size(workspace)
    write_csv(csv, result.to_row()["kinds"])
    _print(result, as_json=as_json)


@command("prune")
@option("--older-than", from_found="never", metavar="AGE", help="Answers cached longer ago than this: 12h, 90d or 8w.")
@option("--dry-run", from_found="never", is_flag=True, help="Remove nothing, and print what would be removed.")
@store_option
@json_option
def prune(*, store: str | None, as_json: bool, **values: Any) -> None:
    """Remove cached answers of judges, and nothing else.

    Answers that are removed are asked again, and paid for again, when a command needs them. With --older-than 0d, all
    are removed.
    """
    from rubriclab.services import storage as service
    from rubriclab.services.workspace import Workspace

    options = options_of(service.PruneOptions, values)
    with Workspace(store) as workspace:
        result = service.prune(workspace, options)
    _print(result, as_json=as_json)


@command("vacuum")
@store_option
@json_option
def vacuum(*, store: str | None, as_json: bool) -> None:
    """Give the space of removed answers back to the file system.

    Other processes that use the store wait meanwhile. SQLite writes a copy of the file first, so that the disk needs as
    much free space as the store takes.
    """
    from rubriclab.services import storage as service
    from rubriclab.services.workspace import Workspace

    with Workspace(store) as workspace:
        result = service.vacuum(workspace)
    _print(result, as_json=as_json)


def _print(result: StoreSize | PruneResult | VacuumResult, *, as_json: bool) -> None:

    if as_json:
        print_json(result.to_row())
    else:
        print_view(result)


for member in (size, prune, vacuum):
    store.add_command(member)


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
