"""`rubriclab report`: how a rubric was trained and how far it can be trusted, as one HTML file."""

from __future__ import annotations

import click

from rubriclab.cli.options import option, store_option
from rubriclab.cli.places import FILE


@click.command()
@click.argument("rubric")
@option("--output", "-o", default="-", type=FILE, metavar="PATH", help="The page to write.  [default: standard output]")
@store_option
def report(rubric: str, *, output: str, store: str | None) -> None:
    """Write a page on how RUBRIC was trained: verdict, agreement, criteria, disagreements, raters and provenance.

    It is one file that needs no network. It shows texts and labels if the store holds those that RUBRIC was learned
    from.
    """
    from rubriclab.cli.files import check_place, writing
    from rubriclab.cli.printing import note
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.services import versions as service

    with workspace_of({"store": store}) as workspace:
        check_place(output, workspace.open_store(access="read").place, "The report", "-o")
        page = service.report(workspace, rubric)
    with writing(output) as write:
        write(page.encode())
    if output != "-":
        note(f"report written to {output}")
