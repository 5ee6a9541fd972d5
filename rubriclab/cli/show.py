"""`rubriclab show`: a readable rubric, or the rating matrix that it was selected from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import json_option, option, store_option
from rubriclab.cli.places import OUTPUT

if TYPE_CHECKING:
    from rubriclab.store import Version
    from rubriclab.training_record import TrainingRecord


@command()
@click.argument("rubric")
@option(
    "--evidence",
    from_found="always",
    is_flag=True,
    help="Also show the origin of each criterion, and dropped criteria with reasons.",
)
@option(
    "--matrix",
    from_found="always",
    is_flag=True,
    help="Show the rating of each labelled text by each candidate criterion instead.",
)
@option(
    "--output",
    "-o",
    type=OUTPUT,
    metavar="PATH",
    help="Write the matrix with all reasons to this file, a row for each text and criterion.",
)
@store_option
@json_option
def show(rubric: str, *, evidence: bool, matrix: bool, output: str | None, store: str | None, as_json: bool) -> None:
    """Show RUBRIC (NAME, NAME@NUMBER or NAME@TAG): its criteria with levels, weights, evidence and agreement."""
    from rubriclab.cli.files import check_rows_place
    from rubriclab.cli.printing import print_view
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.errors import SettingsError
    from rubriclab.services import versions as service

    if output and not matrix:
        raise SettingsError("--output goes with --matrix.", "Give both, or neither.")
    with workspace_of({"store": store}) as workspace:
        version = service.load(workspace, rubric)
        if output:
            check_rows_place(output)
        record = service.training_record(workspace, version.ref) if matrix else None
        pack = service.export(workspace, version.ref) if as_json else ""
    if record:
        _show_matrix(version, record, output, as_json=as_json)
    elif as_json:
        click.echo(pack, nl=False)
    else:
        from rubriclab.report.training import evidence_view
        from rubriclab.report.version import version_view

        print_view(evidence_view(version) if evidence else version_view(version))


def _show_matrix(version: Version, record: TrainingRecord, output: str | None, *, as_json: bool) -> None:
    from rubriclab.cli.printing import print_json, print_view

    if output:
        _write(record, output)
    if as_json:
        print_json({"rubric": version.ref, **record.model_dump(mode="json")})
    elif not output:
        from rubriclab.report.recorded import matrix_view

        print_view(matrix_view(record))


def _write(record: TrainingRecord, output: str) -> None:
    from rubriclab.cli.files import writing_rows
    from rubriclab.report.recorded import matrix_rows

    with writing_rows(output) as write:
        for row in matrix_rows(record):
            write(row)
