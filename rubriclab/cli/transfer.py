"""`rubriclab transfer`: the agreement of a rubric on other texts or with another judge, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports, write_exports
from rubriclab.cli.help import command
from rubriclab.cli.options import asking_options, measurement_options, option
from rubriclab.cli.places import FILE, JUDGE
from rubriclab.cli.printing import effort_row, print_dry_run, print_json, print_view
from rubriclab.cli.workspace import options_of, workspace_of

if TYPE_CHECKING:
    from rubriclab.services.transfer import TransferResult


@command()
@click.argument("ref")
@option(
    "--to",
    "target",
    required=True,
    type=FILE,
    metavar="PATH",
    help="Texts to transfer the rubric to, with or without labels.",
)
@option("--judge", type=JUDGE, metavar="JUDGE", help="The judge to use.  [default: the one that REF is calibrated for]")
@option("--aspect", help="The aspect of the target's labels.  [default: the rubric's]")
@option("--definition", help="What that aspect means; included for the aspects of well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The scale of the target's labels.  [default: taken from the labels]")
@option("--no-relearn", is_flag=True, help="Do not learn again, which takes the most calls.")
@option("--save", from_found="never", is_flag=True, help="Save the result as a version whose parent is REF.")
@option(
    "--action",
    from_found="never",
    type=click.Choice(("reuse", "recalibrate", "relearn")),
    help="The way to save.  [default: the recommended one]",
)
@option("--name", from_found="never", help="The name to save under.  [default: the rubric's]")
@option("--seed", type=click.IntRange(min=0), default=42, show_default=True, help="Seed of random draws and folds.")
@asking_options
@measurement_options
def transfer(ref: str, *, target: str, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Measure a rubric's agreement on other texts or with another judge, and recommend what to do.

    With labels, the rubric is measured in three ways: as it is, recalibrated, and learned again with its criteria among
    the candidates. All figures are held out. The recommended way has the smallest mean absolute error. Without labels,
    only the share of texts outside of the range of the training texts is known.
    """
    from rubriclab.services.running import finish
    from rubriclab.services.transfer import TransferOptions, prepare_transfer

    check_exports(values)
    with workspace_of(values) as workspace:
        prepared = prepare_transfer(workspace, ref, target, options_of(TransferOptions, values))
        if dry_run:
            print_dry_run(prepared.estimate(), as_json=as_json)
            return
        result = finish(prepared.run)
        write_exports(result.view(), values)
        _print(result, as_json=as_json)
    result.check_saved()


def _print(result: TransferResult, *, as_json: bool) -> None:

    saved = result.saved
    if as_json:
        row = {**result.transfer.model_dump(mode="json"), "saved": saved.ref if saved else None}
        print_json({**row, **effort_row(result.effort)})
        return
    print_view(result.view())
    if saved and saved.new:
        click.echo(f"\nsaved as {saved.ref}, whose parent is {saved.parent}; calibrated for {saved.provenance.judge}")
    elif saved:
        click.echo(f"\nequal to {saved.ref}, so there is no new version")
