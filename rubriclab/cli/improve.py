"""`rubriclab improve`: texts rewritten where a rubric finds faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    option,
    output_option,
    rows_options,
    rubric_option,
    store_option,
)
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.revision import Improvement
    from rubriclab.services.improve import Improving


@click.command()
@click.argument("texts")
@rubric_option
@output_option("texts")
@option("--rounds", type=click.IntRange(1, 20), default=2, show_default=True, help="The most rewritings of one text.")
@option(
    "--good-from",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.75,
    show_default=True,
    help="The share of the scale from which on a score is no fault.",
)
@option(
    "--take",
    type=click.Choice(["better", "every"]),
    default="better",
    show_default=True,
    help="Keep rewritings that score higher, or every one, as DCR's paper does.",
)
@option("--writer", type=JUDGE, metavar="JUDGE", help="Who rewrites.  [default: the judge]")
@option(
    "--second-judge",
    type=JUDGE,
    metavar="JUDGE",
    help="A judge that must not score a rewriting lower; the writer is not shown its reasons.",
)
@option("--diff", type=FILE, metavar="PATH", help="Write what changed and why, as text; - for standard output.")
@judge_options
@rows_options
@store_option
@dry_run_option
@json_option
def improve(
    texts: str, *, rubric: str, output: str, diff: str | None, dry_run: bool, as_json: bool, **values: Any
) -> None:
    """Rewrite TEXTS where a rubric finds faults, and keep what scores higher: one row for each row, in order.

    TEXTS is a .jsonl, .csv (both also .gz) or .parquet file, or - for standard input; it is read as a stream. Each row
    has the text in `output`, and every round in `improvement`.

    If the rubric judges sentences (dcr, most of seal), only those that fail may change. If it judges whole texts
    (hypotheses, checklists, and texts too short to be judged by sentence), everything may change.
    """
    from rubriclab.cli.printing import note, print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services.improve import ImproveOptions, prepare_improvement
    from rubriclab.services.workspace import no_progress

    options = options_of(ImproveOptions, values)
    if not dry_run:
        _check_places(texts, output, diff, as_json=as_json)
    with workspace_of(values) as workspace:
        # Two consoles of rich, one of them with a moving bar, would write over each other.
        if diff == "-":
            workspace.progress = no_progress
        improving = prepare_improvement(workspace, texts, rubric, options)
        if dry_run:
            print_dry_run(improving.at_most(), as_json=as_json)
            note("A text that becomes longer can take more.")
            return
        _write(improving, output, diff)
        _print(improving, output, as_json=as_json)
    improving.check_answered()


def _check_places(texts: str, output: str, diff: str | None, *, as_json: bool) -> None:
    from rubriclab.cli.files import check_place, same_file
    from rubriclab.errors import SettingsError

    if as_json and "-" in (output, diff):
        content, option = ("the texts", "--output") if output == "-" else ("what changed", "--diff")
        raise SettingsError(f"--json prints a summary, but standard output holds {content}.", f"Give {option} PATH.")
    if diff is not None and (output == diff or same_file(output, diff)):
        both = "standard output" if diff == "-" else diff
        raise SettingsError(f"--output and --diff would both be written to {both}.", "Give each a PATH of its own.")
    check_place(output, texts, "The texts", "--output")
    check_place(diff or "-", texts, "What changed", "--diff")


def _write(improving: Improving, output: str, diff: str | None) -> None:
    """Write the texts, and what changed in them, as they come."""
    import orjson

    from rubriclab.cli.files import writing
    from rubriclab.cli.printing import note
    from rubriclab.errors import RubriclabError
    from rubriclab.services.running import finish

    with writing(output) as write, writing(diff or "-") as write_diff:

        async def run() -> None:
            async for text in improving.stream():
                write(orjson.dumps(text.to_row(), option=orjson.OPT_APPEND_NEWLINE))
                if diff and text.outcome == "improved":
                    _show(text, None if diff == "-" else write_diff)

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{len(improving.metrics):,} rows were written before it ended")
            raise


def _show(text: Improvement, write: Callable[[bytes], object] | None) -> None:
    """Print or write what changed in a text."""
    from rubriclab.cli.printing import print_view, view_text
    from rubriclab.report.revision import rewriting_view

    if write:
        write(view_text(rewriting_view(text)).encode("utf-8", "backslashreplace"))
    else:
        print_view(rewriting_view(text))


def _print(improving: Improving, output: str, *, as_json: bool) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view

    summary, effort = improving.summary(), improving.workspace.effort()
    if as_json:
        print_json({**summary.to_row(), "output": output, **effort_row(effort)})
        return
    from rubriclab.report.revision import improvement_view

    print_view(improvement_view(summary, effort), err=True)
