"""What is known of a rubric and its texts: `show`, `report`, `disagreements` and `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports, check_place, check_rows_place, write_csv, writing, writing_rows
from rubriclab.cli.options import (
    command,
    json_option,
    measurement_options,
    option,
    record_option,
    row_options,
    store_option,
)
from rubriclab.cli.places import FILE, OUTPUT
from rubriclab.cli.printing import note, options_of, print_dry_run, print_json, print_result, print_view, workspace_of
from rubriclab.errors import SettingsError

if TYPE_CHECKING:
    from rubriclab.models.version import TrainingRecord, Version


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
    from rubriclab.ops import versions as service

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
    if output:
        _write(record, output)
    if as_json:
        print_json({"rubric": version.ref, **record.model_dump(mode="json")})
    elif not output:
        from rubriclab.report.recorded import matrix_view

        print_view(matrix_view(record))


def _write(record: TrainingRecord, output: str) -> None:
    from rubriclab.report.recorded import matrix_rows

    with writing_rows(output) as write:
        for row in matrix_rows(record):
            write(row)


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
    from rubriclab.ops import versions as service

    with workspace_of({"store": store}) as workspace:
        check_place(output)
        page = service.report(workspace, rubric)
    with writing(output) as write:
        write(page.encode())
    if output != "-":
        note(f"report written to {output}")


@command(None, "DisagreementsOptions")
@click.argument("rubric")
@store_option
@row_options
def disagreements(rubric: str, *, as_json: bool, csv: str | None, **values: Any) -> None:
    """Show the labelled texts whose held-out scores by RUBRIC lie furthest from their labels.

    Each text has its label, the raters' scores, its source, and the score and reason of every criterion.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import DisagreementsOptions
    from rubriclab.ops.workspace import Workspace

    options = options_of(DisagreementsOptions, values)
    with Workspace(values["store"]) as workspace:
        result = service.disagreements(workspace, rubric, options)
    write_csv(csv, result.to_rows())
    if as_json:
        print_json({"rubric": result.version.ref, "texts": result.to_rows()})
    else:
        print_view(result)


@command(None, "ExplainOptions", "CallOptions")
@click.argument("rubric")
@click.argument("text", type=FILE, required=False)
@measurement_options
@record_option
def explain(rubric: str, text: str | None, *, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Explain the score of TEXT by RUBRIC: each criterion's share with its reason, and the nearest labelled texts.

    TEXT is a .txt file, or - for standard input, with the text itself; or a file of rows, of which --id names one.
    Without TEXT, --id names a text that RUBRIC was learned from; its kept ratings are used, and no calls are made.
    """
    from rubriclab.ops.explain import explain as prepare
    from rubriclab.ops.options import ExplainOptions
    from rubriclab.ops.workspace import finish

    check_exports(values)
    options = options_of(ExplainOptions, values)
    with workspace_of(values) as workspace:
        job = prepare(workspace, rubric, text, options)
        if dry_run:
            print_dry_run(job.estimate(), as_json=as_json)
            return
        explanation = finish(job.run)
    print_result(explanation.view(), explanation.to_row(), values, as_json=as_json)
    explanation.check_answered()
