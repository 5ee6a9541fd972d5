"""`rubriclab plan`: which texts to label next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_rows_place, writing_rows
from rubriclab.cli.options import command, option, record_option, rubric_option, run_options
from rubriclab.cli.places import FILE, OUTPUT
from rubriclab.cli.printing import effort_row, note, options_of, print_dry_run, print_json, print_view, workspace_of
from rubriclab.errors import SettingsError

if TYPE_CHECKING:
    from rubriclab.ops.label import PlanResult


@command(None, "PlanOptions", "CallOptions")
@click.argument("texts", type=FILE)
@rubric_option
@option(
    "--output",
    "-o",
    type=OUTPUT,
    metavar="PATH",
    help="Write the rows to label to this file, with the reasons in `plan`; its name decides the format.",
)
@run_options
@record_option
def plan(texts: str, *, rubric: str, output: str | None, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Choose which TEXTS to label next, whole groups first.

    TEXTS is a .jsonl, .csv, .tsv, .xlsx or .parquet file of texts without labels, or - for standard input. The texts
    are rated by the rubric's criteria, which takes calls; texts that already have a label or were learned from are left
    out. Add the scores of the aspect to the chosen rows, and give them to `rubriclab learn` together with the old rows.
    """
    from rubriclab.ops.label import plan as prepare
    from rubriclab.ops.options import PlanOptions
    from rubriclab.ops.workspace import finish

    options = options_of(PlanOptions, values)
    if not dry_run:
        _check_output(output, as_json=as_json)
    with workspace_of(values) as workspace:
        job = prepare(workspace, texts, rubric, options)
        if dry_run:
            print_dry_run(job.estimate(), as_json=as_json)
            return
        result = finish(job.run)
    if output:
        _write(result, output)
    _print_json(result, output) if as_json else _print(result, output)


def _check_output(output: str | None, *, as_json: bool) -> None:
    if not output:
        return
    if as_json and output == "-":
        raise SettingsError(
            "--json prints the plan to standard output, but the rows are written there.", "Give --output PATH."
        )
    check_rows_place(output)


def _write(result: PlanResult, output: str) -> None:
    with writing_rows(output) as write:
        for row in result.to_rows():
            write(row)


def _print_json(result: PlanResult, output: str | None) -> None:
    from rubriclab.ops.label import plan_row

    plan = result.plan
    texts = [{"id": text.example.id, **plan_row(text)} for text in plan.texts]
    row = {"rubric": result.version.ref, "pool": plan.pool, "texts": texts, "output": output}
    print_json({**row, **effort_row(result.effort)})


def _print(result: PlanResult, output: str | None) -> None:
    from rubriclab.models.characters import count

    print_view(result.view(), err=output == "-")
    if output not in (None, "-"):
        rows = count(len(result.plan.texts), "row")
        note(f"{rows} written to {output}; label them, and give them to `rubriclab learn` with the old rows")
