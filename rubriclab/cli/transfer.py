"""`rubriclab transfer`: the agreement of a rubric on other texts or with another judge, and what to do about it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    asking_options,
    dry_run_option,
    json_option,
    option,
    rows_options,
    store_option,
)
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.provenance import Effort
    from rubriclab.services.transfer import TransferResult
    from rubriclab.store import Version

ACTIONS = ("reuse", "recalibrate", "reweight", "reselect", "relearn")


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@option(
    "--to",
    "targets",
    multiple=True,
    required=True,
    type=FILE,
    metavar="PATH",
    help="Texts to transfer the rubric to, with or without labels; several for a matrix.",
)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="The judge to use; several for a matrix.  [default: the one the rubric is calibrated for]",
)
@option("--aspect", help="The aspect of the target's labels.  [default: the rubric's]")
@option("--definition", help="What that aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The scale of the target's labels.  [default: taken from the labels]")
@option(
    "--labels",
    type=click.IntRange(min=10),
    metavar="K",
    help="The number of labels to use; the others evaluate the result.  [default: all]",
)
@option("--no-relearn", is_flag=True, help="Do not learn from scratch, which takes the most calls.")
@option("--save", is_flag=True, help="Save the result as a version whose parent is REF.")
@option("--action", type=click.Choice(ACTIONS), help="The action to save.  [default: the one advised]")
@option("--name", help="The name to save under.  [default: the rubric's]")
@option("--matrix", "as_matrix", is_flag=True, help="Show all rubrics, targets and judges in one table.")
@option("--csv", "table_path", type=FILE, metavar="PATH", help="Also write the table as CSV.")
@option("--report", "report_path", type=FILE, metavar="PATH", help="Also write a report as one HTML file.")
@option("--seed", type=click.IntRange(min=0), default=42, show_default=True, help="Of draws and folds.")
@asking_options
@rows_options
@store_option
@dry_run_option
@json_option
def transfer(
    refs: Sequence[str],
    *,
    targets: Sequence[str],
    judges: Sequence[str],
    as_matrix: bool,
    table_path: str | None,
    report_path: str | None,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure a rubric's agreement on other texts or with another judge, and advise what to do about it.

    With labels, the agreement there is compared with that on the texts it was learned from, and with what each action
    gives: reuse it unchanged, recalibrate it, reweight its criteria, or learn them again. No label has a part in the
    scores of its own text. Without labels, the texts are compared with those that the rubric was learned from.
    """
    from rubriclab.cli.printing import print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services.running import finish
    from rubriclab.services.transfer import TransferOptions, all_at_most, prepare_transfer, run_all

    refs, targets = tuple(dict.fromkeys(refs)), tuple(dict.fromkeys(targets))
    each_judge: tuple[str | None, ...] = tuple(dict.fromkeys(judges)) or (None,)
    several = as_matrix or max(len(refs), len(targets), len(each_judge)) > 1
    _check(targets, table_path, report_path, saved_matrix=several and values["save"])
    with workspace_of(values) as workspace:
        prepared = [
            prepare_transfer(workspace, ref, target, options_of(TransferOptions, {**values, "judge": judge}))
            for ref, target, judge in itertools.product(refs, targets, each_judge)
        ]
        if dry_run:
            print_dry_run(all_at_most(prepared), as_json=as_json)
            return
        results = finish(lambda: run_all(prepared))
        if table_path:
            _write_table(table_path, results)
        if report_path:
            _write_report(report_path, results)
        if several:
            _print_matrix(results, workspace.effort(), as_json=as_json)
        else:
            _print(results[0], as_json=as_json)
    for result in results:
        result.check_saved()


def _check(targets: Sequence[str], table: str | None, report: str | None, *, saved_matrix: bool) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    if saved_matrix:
        raise SettingsError("--save keeps one result; this asks for a matrix.", "Give one REF, one --to, one --judge.")
    if table and table == report:
        raise SettingsError("--csv and --report would write to the same file.", "Name two.")
    for path, what in ((table, "--csv"), (report, "--report")):
        for target in targets if path else ():
            check_place(path or "-", target, "The result", what)


def _print(result: TransferResult, *, as_json: bool) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.report.transfer import transfer_view

    saved = result.saved
    if as_json:
        row = {**result.transfer.model_dump(mode="json"), "saved": saved.ref if saved else None}
        print_json({**row, **effort_row(result.effort)})
        return
    print_view(transfer_view(result.transfer))
    if saved:
        click.echo(_saved(saved))


def _saved(version: Version) -> str:
    if version.new:
        return f"\nsaved as {version.ref}, whose parent is {version.parent}; calibrated for {version.provenance.judge}"
    return f"\nequal to {version.ref}, so there is no new version"


def _print_matrix(results: Sequence[TransferResult], effort: Effort, *, as_json: bool) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.report.transfer import transfer_matrix_view

    transfers = [result.transfer for result in results]
    if as_json:
        print_json({"cells": [each.model_dump(mode="json") for each in transfers], **effort_row(effort)})
    else:
        print_view(transfer_matrix_view(transfers))


def _write_table(path: str, results: Sequence[TransferResult]) -> None:
    import csv
    import io

    from rubriclab.cli.files import writing
    from rubriclab.report.transfer import csv_rows

    rows = csv_rows([result.transfer for result in results])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with writing(path) as write:
        write(text.getvalue().encode())


def _write_report(path: str, results: Sequence[TransferResult]) -> None:
    from rubriclab.cli.files import writing
    from rubriclab.report.transfer import transfer_report

    page = transfer_report([result.transfer for result in results])
    with writing(path) as write:
        write(page.encode())
