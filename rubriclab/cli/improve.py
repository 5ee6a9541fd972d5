"""`rubriclab improve`: texts rewritten where a rubric finds faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_place, check_rows_place, writing, writing_rows
from rubriclab.cli.options import command, judge_options, option, output_option, rubric_option, run_options
from rubriclab.cli.places import FILE, JUDGE, OUTPUT
from rubriclab.cli.printing import (
    effort_row,
    note,
    options_of,
    print_dry_run,
    print_json,
    print_view,
    view_text,
    workspace_of,
)
from rubriclab.errors import RubriclabError, SettingsError

if TYPE_CHECKING:
    from rubriclab.revision import Improvement
    from rubriclab.services.improve import Improving


@command()
@click.argument("texts", type=FILE)
@rubric_option
@output_option("texts")
@option(
    "--rounds",
    type=click.IntRange(1, 20),
    default=2,
    show_default=True,
    help="The maximum number of rewrites of one text.",
)
@option(
    "--good-from",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.75,
    show_default=True,
    help="Scores at or above this share of the scale are not faults.",
)
@option(
    "--take",
    type=click.Choice(["better", "every"]),
    default="better",
    show_default=True,
    help="Accept rewrites that score higher, or every rewrite, as in DCR's paper.",
)
@option("--writer", type=JUDGE, metavar="JUDGE", help="The model that rewrites.  [default: the judge]")
@option(
    "--diff",
    type=OUTPUT,
    metavar="PATH",
    help="Write the changes with their reasons to this file, as text; - for standard output.",
)
@judge_options
@run_options
def improve(
    texts: str, *, rubric: str, output: str, diff: str | None, dry_run: bool, as_json: bool, **values: Any
) -> None:
    """Rewrite TEXTS where a rubric finds faults, and accept rewrites that score higher: one output row for each row.

    TEXTS is a .jsonl, .csv, .tsv, .xlsx or .parquet file, or - for standard input, and is read as a stream. Each
    output row has the text in `output`, and all rounds in `improvement`.

    If the rubric judges sentences (dcr, most of seal), only sentences with faults may change. If it judges whole texts
    (hypotheses, checklists, and texts too short to be judged by sentence), any sentence may change.
    """
    from rubriclab.services.improve import ImproveOptions, prepare_improvement
    from rubriclab.services.workspace import no_progress

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
    from rubriclab.services.running import finish

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
    from rubriclab.report.revision import rewrite_view

    if write:
        write(view_text(rewrite_view(text)).encode("utf-8", "backslashreplace"))
    else:
        print_view(rewrite_view(text))


def _print(improving: Improving, output: str, *, as_json: bool) -> None:

    summary, effort = improving.summary(), improving.workspace.effort()
    if as_json:
        print_json({**summary.to_row(), "output": output, **effort_row(effort)})
        return
    from rubriclab.report.revision import improvement_view

    print_view(improvement_view(summary, effort), err=True)
