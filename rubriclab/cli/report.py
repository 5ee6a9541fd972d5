"""`rubriclab report`: an HTML report on how a rubric was learned and how well it agrees with people."""

from __future__ import annotations

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import option, store_option
from rubriclab.cli.places import OUTPUT


@command()
@click.argument("rubric")
@option(
    "--output",
    "-o",
    "--html",
    default="-",
    type=OUTPUT,
    metavar="PATH",
    help="The page to write.  [default: standard output]",
)
@store_option
def report(rubric: str, *, output: str, store: str | None) -> None:
    """Write an HTML report on RUBRIC: verdict, agreement, criteria, disagreements, raters and provenance.

    The report is one file without external resources. It shows the texts and labels that RUBRIC was learned from, if
    the store has them.
    """
    from rubriclab.cli.files import check_place, writing
    from rubriclab.cli.printing import note
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.services import versions as service

    with workspace_of({"store": store}) as workspace:
        check_place(output)
        page = service.report(workspace, rubric)
    with writing(output) as write:
        write(page.encode())
    if output != "-":
        note(f"report written to {output}")
