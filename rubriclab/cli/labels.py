"""`rubriclab labels`: the labels that a version was learned from, and their corrections."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import STORED, author_options, change_option, json_option, option, store_option
from rubriclab.cli.pairs import pairs_of
from rubriclab.cli.places import OUTPUT


@command()
@click.argument("rubric")
@change_option("--correct", "ID=SCORE", "Correct the label of a text; may be repeated.")
@change_option(
    "--rubric-right", "ID", "The rubric's score of this text is right: leave its label out of fitting and agreement."
)
@change_option("--misses", "ID=TEXT", "Note what the rubric misses in a text.")
@option(
    "--rater",
    from_found="never",
    metavar="NAME",
    help="The rater whose score is corrected.  [default: the label of the text]",
)
@author_options
@option(
    "--output",
    "-o",
    section=STORED,
    type=OUTPUT,
    metavar="PATH",
    help="Write the texts with their labels as corrected to this file, for learn.",
)
@store_option
@json_option
def labels(rubric: str, *, output: str | None, as_json: bool, **values: Any) -> None:
    """Show the labels that RUBRIC was learned from and their corrections, and add corrections.

    The old label is kept beside the new one. `rubriclab edit` uses the labels as corrected.
    """
    from rubriclab.cli.files import check_rows_place, writing_rows
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services import labels as service

    changes = {
        "correct": pairs_of(values["correct"], "--correct", "ID=SCORE"),
        "misses": pairs_of(values["misses"], "--misses", "ID=TEXT"),
        "rubric_right": values["rubric_right"] or None,
    }
    options = options_of(service.LabelsOptions, {**values, **changes})
    check_rows_place(output or "-")
    with workspace_of(values) as workspace:
        result = service.labels(workspace, rubric, options)
    if output:
        with writing_rows(output) as write:
            for row in result.to_rows():
                write(row)
    if output == "-":
        return
    if as_json:
        corrections = [each.model_dump(mode="json") for each in result.corrections]
        print_json({"rubric": result.version.ref, "texts": result.to_rows(), "corrections": corrections})
    else:
        print_view(result)
