"""`rubriclab transfer`: the agreement of a rubric on other texts or with another judge, and what to do about it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import asking_options, measurement_options, option
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.provenance import Effort
    from rubriclab.services.transfer import TransferResult
    from rubriclab.store import Version

ACTIONS = ("reuse", "recalibrate", "reweight", "reselect", "relearn")


@command()
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@option(
    "--to",
    "targets",
    multiple=True,
    required=True,
    type=FILE,
    metavar="PATH",
    help="Texts to transfer the rubric to, with or without labels; several give a table.",
)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="The judge to use; several give a table.  [default: the one the rubric is calibrated for]",
)
@option("--aspect", help="The aspect of the target's labels.  [default: the rubric's]")
@option("--definition", help="What that aspect means; included for the aspects of well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The scale of the target's labels.  [default: taken from the labels]")
@option(
    "--labels",
    type=click.IntRange(min=10),
    metavar="K",
    help="The number of labels to use; the result is evaluated on the others.  [default: all]",
)
@option("--no-relearn", is_flag=True, help="Do not learn from scratch, which takes the most calls.")
@option("--save", from_found="never", is_flag=True, help="Save the result as a version whose parent is REF.")
@option(
    "--action",
    from_found="never",
    type=click.Choice(ACTIONS),
    help="The action to save.  [default: the recommended one]",
)
@option("--name", from_found="never", help="The name to save under.  [default: the rubric's]")
@option("--matrix", "as_matrix", is_flag=True, help="Show all rubrics, targets and judges in one table.")
@option("--seed", type=click.IntRange(min=0), default=42, show_default=True, help="Seed of random draws and folds.")
@asking_options
@measurement_options
def transfer(
    refs: Sequence[str],
    *,
    targets: Sequence[str],
    judges: Sequence[str],
    as_matrix: bool,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure a rubric's agreement on other texts or with another judge, and recommend what to do.

    With labels, the agreement is compared with that on the texts it was learned from, and five actions are evaluated:
    reuse the rubric, recalibrate it, reweight its criteria, reselect among all candidates, or relearn from scratch. All
    figures are cross-validated. Without labels, the texts are compared with those that the rubric was learned from.
    """
    from rubriclab.cli.files import check_exports
    from rubriclab.cli.printing import print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.errors import SettingsError
    from rubriclab.services.running import finish
    from rubriclab.services.transfer import TransferOptions, all_at_most, prepare_transfer, run_all

    refs, targets = tuple(dict.fromkeys(refs)), tuple(dict.fromkeys(targets))
    each_judge: tuple[str | None, ...] = tuple(dict.fromkeys(judges)) or (None,)
    several = as_matrix or max(len(refs), len(targets), len(each_judge)) > 1
    if several and values["save"]:
        raise SettingsError(
            "--save saves one result, but a matrix was requested.", "Give one REF, one --to, one --judge."
        )
    check_exports(values, *targets)
    with workspace_of(values) as workspace:
        prepared = [
            prepare_transfer(workspace, ref, target, options_of(TransferOptions, {**values, "judge": judge}))
            for ref, target, judge in itertools.product(refs, targets, each_judge)
        ]
        if dry_run:
            print_dry_run(all_at_most(prepared), as_json=as_json)
            return
        results = finish(lambda: run_all(prepared))
        _write(results, values, several=several)
        if several:
            _print_matrix(results, workspace.effort(), as_json=as_json)
        else:
            _print(results[0], as_json=as_json)
    for result in results:
        result.check_saved()


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


def _write(results: Sequence[TransferResult], values: Mapping[str, Any], *, several: bool) -> None:
    """Write the exports; the CSV file has one row for each cell of the matrix, with all figures."""
    from rubriclab.cli.files import write_exports, write_text
    from rubriclab.report.transfer import csv_text, transfer_matrix_view, transfer_report, transfer_view

    transfers = [result.transfer for result in results]
    view = transfer_matrix_view(transfers) if several else transfer_view(transfers[0])
    write_exports(view, {**values, "csv": None}, page=transfer_report(transfers))
    if values["csv"]:
        write_text(values["csv"], csv_text(transfers))
