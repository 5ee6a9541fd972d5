"""`rubriclab label`: a page on which people rate texts."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.files import check_rows_place, writing_rows
from rubriclab.cli.options import STORED, command, json_option, option, store_option
from rubriclab.cli.places import FILE, OUTPUT
from rubriclab.cli.printing import note, options_of, print_json, print_view, workspace_of


@command(None, "LabelOptions")
@click.argument("texts", type=FILE)
@option(
    "--output",
    "-o",
    section=STORED,
    required=True,
    type=OUTPUT,
    metavar="PATH",
    help="Write the labelled rows to this file: .jsonl, .csv, .tsv, .xlsx or .parquet.",
)
@store_option
@json_option
def label(texts: str, *, output: str, as_json: bool, **values: Any) -> None:
    """Open a page on which people rate TEXTS, and write the rows with their labels for `rubriclab learn`.

    Every answer is in the store as soon as it is given; run the same command again to continue. Raters see neither
    systems nor other raters' labels. One text in ten comes twice and shows how consistent a rater is.
    """
    from rubriclab.ops.options import LabelOptions
    from rubriclab.ops.workspace import finish
    from rubriclab.web.label import label as serve

    options = options_of(LabelOptions, values)
    check_rows_place(output)
    with workspace_of(values) as workspace:
        result = finish(lambda: serve(workspace, texts, None if output == "-" else output, options))
    if output == "-":
        with writing_rows(output) as write:
            for row in result.rows:
                write(row)
        return
    if as_json:
        print_json(result.to_row())
    else:
        print_view(result)
    if result.rows:
        # Without its scale, learning would take the lowest and highest label for the ends.
        learn = f"rubriclab learn {output} --task {options.task} --aspect {options.aspect} --scale {options.scale}"
        note(f"written to {output}; learn from it with: {learn}")
