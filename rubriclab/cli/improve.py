"""`rubriclab improve` and `rubriclab edit`: texts rewritten where a rubric finds faults; a rubric changed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports, check_place, check_rows_place, writing, writing_rows
from rubriclab.cli.options import (
    command,
    measurement_options,
    option,
    output_option,
    record_option,
    rubric_option,
    run_options,
)
from rubriclab.cli.places import FILE, OUTPUT
from rubriclab.cli.printing import (
    effort_row,
    note,
    options_of,
    print_dry_run,
    print_json,
    print_result,
    print_view,
    workspace_of,
)
from rubriclab.errors import RubriclabError, SettingsError

if TYPE_CHECKING:
    from rubriclab.ops.improve import Improvement, Improving


@command(None, "ImproveOptions", "CallOptions")
@click.argument("texts", type=FILE)
@rubric_option
@output_option("texts")
@option(
    "--diff",
    type=OUTPUT,
    metavar="PATH",
    help="Write the changes with their reasons to this file, as text; - for standard output.",
)
@run_options
@record_option
def improve(
    texts: str, *, rubric: str, output: str, diff: str | None, dry_run: bool, as_json: bool, **values: Any
) -> None:
    """Rewrite TEXTS where a rubric finds faults, and accept rewrites that score higher: one output row for each row.

    TEXTS is a .jsonl, .csv, .tsv, .xlsx or .parquet file, or - for standard input, and is read as a stream. Each
    output row has the text in `output`, and all rounds in `improvement`.

    If the rubric judges sentences (dcr, most of seal), only sentences with faults may change. If it judges whole texts
    (hypotheses, checklists, and texts too short to be judged by sentence), any sentence may change.
    """
    from rubriclab.ops.improve import prepare_improvement
    from rubriclab.ops.options import ImproveOptions
    from rubriclab.ops.workspace import no_progress

    options = options_of(ImproveOptions, values)
    if not dry_run:
        _check_places(output, diff, as_json=as_json)
    with workspace_of(values) as workspace:
        # Two consoles of rich, one of them with a moving bar, would write over each other.
        if diff == "-":
            workspace.progress = no_progress
        improving = prepare_improvement(workspace, texts, rubric, options)
        if dry_run:
            print_dry_run(improving.estimate(), as_json=as_json)
            note("Texts that become longer can take more calls.")
            return
        _write(improving, output, diff)
        _print(improving, output, as_json=as_json)
    improving.check_answered()


def _check_places(output: str, diff: str | None, *, as_json: bool) -> None:
    if as_json and "-" in (output, diff):
        content, option = ("the texts", "--output") if output == "-" else ("the changes", "--diff")
        raise SettingsError(
            f"--json prints a summary to standard output, but {content} are written there.", f"Give {option} PATH."
        )
    if output == diff == "-":
        raise SettingsError("--output and --diff would both be written to standard output.", "Give each its own PATH.")
    check_rows_place(output)
    check_place(diff or "-")


def _write(improving: Improving, output: str, diff: str | None) -> None:
    """Write the texts, and what changed in them, as they come."""
    from rubriclab.ops.workspace import finish

    with writing_rows(output) as write, writing(diff or "-") as write_diff:

        async def run() -> None:
            async for text in improving.stream():
                write(text.to_row())
                if diff and text.outcome == "improved":
                    _show(text, None if diff == "-" else write_diff)

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{len(improving.metrics):,} rows were written before it ended")
            raise


def _show(text: Improvement, write: Callable[[bytes], object] | None) -> None:
    from rubriclab.report.results import rewrite_view

    if write:
        write(f"{rewrite_view(text)}\n".encode("utf-8", "backslashreplace"))
    else:
        print_view(rewrite_view(text))


def _print(improving: Improving, output: str, *, as_json: bool) -> None:
    summary, effort = improving.summary(), improving.workspace.effort()
    if as_json:
        print_json({**summary.to_row(), "output": output, **effort_row(effort)})
        return
    from rubriclab.report.results import improvement_view

    print_view(improvement_view(summary, effort), err=True)


@command(None, "EditOptions", "CallOptions")
@click.argument("rubric")
@measurement_options
@record_option
def edit(rubric: str, *, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Change the criteria, weights, threshold or definition of RUBRIC, and save a version whose parent is RUBRIC.

    Weights are fitted again to the ratings kept with the version, and the held-out agreement is shown beside the
    parent's. Dropping criteria, limiting weights and setting the threshold takes no calls; the labelled texts are
    rated again by new wordings.
    """
    from rubriclab.ops.edit import edit as prepare
    from rubriclab.ops.options import EditOptions
    from rubriclab.ops.workspace import finish
    from rubriclab.report.edit import edit_view

    options = options_of(EditOptions, {**values, "preview": dry_run or values["preview"]})
    check_exports(values)
    with workspace_of(values) as workspace:
        job = prepare(workspace, rubric, options)
        if dry_run:
            print_dry_run(job.estimate(), as_json=as_json)
            return
        result = finish(job.run)
    print_result(edit_view(result), {**result.to_row(), **effort_row(result.effort)}, values, as_json=as_json)
    if (saved := result.saved) and not as_json:
        new = f"saved as {saved.ref}, whose parent is {saved.parent}; {saved.name} without a number now means it"
        click.echo(f"\n{new if saved.new else f'equal to {saved.ref}, so there is no new version'}")
