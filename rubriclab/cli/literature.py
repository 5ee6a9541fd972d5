"""`rubriclab literature`: findings about raters, taken from papers, that learning can start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import write_csv
from rubriclab.cli.options import command, dry_run_option, json_option, record_option, row_options, store_option
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import effort_row, note, options_of, print_dry_run, print_json, print_view, workspace_of

if TYPE_CHECKING:
    from rubriclab.base_options import Options
    from rubriclab.ops.literature import FindingList


@click.group("literature")
def literature() -> None:
    """Take papers apart into findings about what raters reward, and keep them for learning.

    `learn --literature PATH` proposes criteria from the findings in PATH.
    """


@command("add", "LiteratureAddOptions", "CallOptions")
@click.argument("paper", type=FILE)
@store_option
@dry_run_option
@json_option
@record_option
def add(paper: str, *, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Have a language model read PAPER, a PDF or a text file, and write findings about raters.

    Every finding has a quotation and its page; a finding whose quotation is not in the paper is dropped. Read what was
    kept, and remove what does not follow from the paper. Findings about the raters of a public data set carry its name,
    so that `learn --literature-without` can leave them out.
    """
    from rubriclab.ops import literature as service
    from rubriclab.ops.options import LiteratureAddOptions
    from rubriclab.ops.workspace import finish

    options = options_of(LiteratureAddOptions, values)
    with workspace_of(values) as workspace:
        job = service.literature_add(workspace, paper, options)
        if dry_run:
            print_dry_run(job.estimate(), as_json=as_json)
            return
        added = finish(job.run)
    print_json({**added.to_row(), **effort_row(added.effort)}) if as_json else print_view(added)
    if added.unread:
        note("The same command with --retry-failed asks again for the parts that were not read.")


@command("list", "LiteratureShowOptions")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@row_options
def list_(ids: tuple[str, ...], **values: Any) -> None:
    """List the findings that you keep, or those that ship; of each ID, show the quotation, page and paper, too."""
    from rubriclab.ops import literature as service
    from rubriclab.ops.options import LiteratureShowOptions

    _print(service.list_findings, LiteratureShowOptions, ids, **values)


@command("remove", "LiteratureOptions")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@row_options
def remove(ids: tuple[str, ...], **values: Any) -> None:
    """Remove findings from all of your files, or from the file of a task, and print them."""
    from rubriclab.ops import literature as service
    from rubriclab.ops.options import LiteratureOptions

    _print(service.remove, LiteratureOptions, ids, **values)


def _print(
    call: Callable[..., FindingList],
    options: type[Options],
    *arguments: Any,
    as_json: bool,
    csv: str | None,
    **values: Any,
) -> None:
    result = call(options_of(options, values), *arguments)
    write_csv(csv, result.to_row()["findings"])
    print_json(result.to_row()) if as_json else print_view(result)


for member in (add, list_, remove):
    literature.add_command(member)
