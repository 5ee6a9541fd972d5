"""`rubriclab disagreements`: the labelled texts on which people and a rubric differ most."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import count_option, option, row_options, store_option


@command()
@click.argument("rubric")
@count_option("--count", from_found="always", at_least=1, help="The number of texts.  [default: 10]")
@option(
    "--side",
    from_found="always",
    type=click.Choice(["both", "higher", "lower"]),
    help="Only texts that the rubric scores higher, or lower, than people do.  [default: both]",
)
@store_option
@row_options
def disagreements(rubric: str, *, as_json: bool, csv: str | None, **values: Any) -> None:
    """Show the labelled texts whose held-out scores by RUBRIC lie furthest from their labels.

    Each text has its label, the raters' scores, its source, and the score and reason of every criterion.
    """
    from rubriclab.cli.files import write_csv
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.cli.workspace import options_of
    from rubriclab.services import disagreements as service
    from rubriclab.services.workspace import Workspace

    options = options_of(service.DisagreementsOptions, values)
    with Workspace(values["store"]) as workspace:
        result = service.disagreements(workspace, rubric, options)
    write_csv(csv, result.to_rows())
    if as_json:
        print_json({"rubric": result.version.ref, "texts": result.to_rows()})
    else:
        print_view(result)
