"""`rubriclab score`: texts to scores with reasons, as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    STORED,
    Number,
    command,
    measurement_options,
    option,
    output_option,
    record_option,
    rubric_option,
    run_options,
)
from rubriclab.cli.output import (
    FILE,
    OUTPUT,
    check_exports,
    check_place,
    check_rows_place,
    dialect_of,
    effort_row,
    note,
    options_of,
    print_dry_run,
    print_json,
    print_result,
    print_view,
    run,
    workspace_of,
    writing,
    writing_rows,
)
from rubriclab.errors import RubriclabError, SettingsError

if TYPE_CHECKING:
    from rubriclab.models.text import Scale
    from rubriclab.models.version import Effort
    from rubriclab.ops.improve import Improving
    from rubriclab.ops.score import Scoring


# Whether the mean human score is at least `--fail-under`.
OUTCOMES: Mapping[bool | None, tuple[int, str]] = {True: (0, "met"), False: (1, "not met"), None: (3, "inconclusive")}


@command(None, "ScoreOptions", "CallOptions", "BatchOptions")
@click.argument("texts", type=FILE)
@option("--rubric", metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")
@output_option("scores")
@option(
    "--fail-under",
    type=Number(),
    metavar="SCORE",
    help="Exit with 1 if the interval of the mean human score is below this, or 3 if it holds this or more than a "
    "tenth of the texts have no score. Without labels of learning, the mean score decides.",
)
@option(
    "--keep-replies",
    type=OUTPUT,
    metavar="PATH",
    help="Write the replies that could not be used, and why, to this .jsonl file: a line for each text with a missing "
    "answer.",
)
@option(
    "--resume",
    is_flag=True,
    section=STORED,
    help="Keep the rows that --output, a .jsonl file, has already, and score the texts after them.",
)
@run_options
@record_option
def score(
    texts: str,
    *,
    rubric: str | None,
    output: str,
    fail_under: float | None,
    keep_replies: str | None,
    resume: bool,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Score TEXTS by a rubric, with one output row for each row, in the same order.

    TEXTS is a .jsonl, .csv, .tsv, .xlsx or .parquet file, or - for standard input, and is read as a stream. For a
    faulty row, or a text for which the judge gave too few usable ratings, the output row has the reason instead of a
    score. A rubric that was learned with several methods, as by default, gives an interval for each score, and the
    contribution of each criterion.

    Before there are labels, --task and --aspect replace --rubric. The judge gives one score for the aspect as a whole;
    the offline judge scores each text relative to the others of the file, by text features. The agreement of these
    scores with people is unknown.
    """
    from rubriclab.ops.options import ScoreOptions
    from rubriclab.ops.score import check_resumable, prepare_scoring
    from rubriclab.report.results import distribution_view

    options = options_of(ScoreOptions, values)
    if not dry_run:
        _check_output(output, as_json=as_json)
    _check_replies(keep_replies)
    with workspace_of(values) as workspace:
        scoring = prepare_scoring(workspace, texts, rubric, options)
        _check_threshold(fail_under, scoring.rubric.scores_on)
        if dry_run:
            print_dry_run(scoring.estimate(), as_json=as_json)
            return
        if resume:
            check_resumable(scoring, output)
        _write(scoring, texts, output, keep_replies, resume=resume)
        scoring.correct_mean()
        effort = workspace.effort()
    if as_json:
        _print_json(scoring, output, effort)
    else:
        print_view(distribution_view(scoring.summary), err=True)
        note(_summary(scoring, output))
    scoring.check_answered()
    if fail_under is not None:
        code, outcome = OUTCOMES[scoring.summary.meets(fail_under)]
        note(f"--fail-under {fail_under:g}: {outcome}")
        click.get_current_context().exit(code)


def _check_output(output: str, *, as_json: bool) -> None:
    if as_json and output == "-":
        raise SettingsError(
            "--json prints a summary to standard output, but the scores are written there.", "Give --output PATH."
        )
    check_rows_place(output)


def _check_threshold(fail_under: float | None, scale: Scale) -> None:
    if fail_under is not None and not scale.contains(fail_under):
        raise SettingsError(
            f"--fail-under: got {fail_under:g}, expected a score on the scale from {scale.describe()}.",
            "No mean can lie beyond it.",
        )


def _check_replies(place: str | None) -> None:
    from rubriclab.data.write import table_kind

    if place is None:
        return
    if place == "-" or table_kind(place):
        raise SettingsError(
            f"--keep-replies: got {place}; expected a file of JSON Lines.", "Name one ending in .jsonl."
        )
    check_rows_place(place)


def _write(scoring: Scoring, texts: str, output: str, keep_replies: str | None, *, resume: bool) -> None:
    """Write the scores as they come; with `resume`, after those in the file."""
    from rubriclab.data.write import table_kind
    from rubriclab.ops.score import record_of, write_record
    from rubriclab.ops.workspace import finish
    from rubriclab.report.results import criteria_rows

    as_table = output != "-" and table_kind(output) is not None
    dialect = dialect_of(texts, scoring.options)
    earlier = Path(keep_replies).stat().st_size if resume and keep_replies and Path(keep_replies).exists() else 0
    replies = writing_rows(keep_replies, always=True, after=earlier) if keep_replies else nullcontext(None)
    legend = criteria_rows(scoring.rubric)
    end = _keep(scoring, output) if resume else 0
    scores = writing_rows(output, always=resume, dialect=dialect, legend=legend, after=end)
    with scores as write, replies as write_replies:

        async def run() -> None:
            async for scored in scoring.stream():
                if scoring.counts.rows == 1 and not resume:
                    write_record(scoring, output)
                write(scored.to_cells() if as_table else scored.to_row())
                if write_replies and scored.score.answers_missing:
                    write_replies(scored.replies_row())

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            if scoring.counts.rows:
                resume_by = "; with --resume they are kept" if output != "-" and not as_table else ""
                note(f"{scoring.counts.rows:,} rows were written before it ended{resume_by}")
            raise
        if not resume:
            record_of(output).unlink(missing_ok=True)


def _keep(scoring: Scoring, output: str) -> int:
    """Keep the complete rows of the output file, and return where they end, in bytes."""
    from rubriclab.ops.score import keep_scores, prepare_resuming

    end = prepare_resuming(scoring, output)
    if end:
        keep_scores(scoring, output, end)
        note(f"{scoring.counts.rows:,} rows of {output} are kept")
    return end


def _print_json(scoring: Scoring, output: str, effort: Effort) -> None:
    counts = scoring.counts
    row: dict[str, Any] = {
        "rubric": scoring.name,
        "rows": counts.rows,
        **scoring.summary.to_row(),
        "unscored": counts.unscored,
        "addresses_judge": counts.addresses_judge,
        "answers_missing": counts.answers_missing,
        "answers": counts.answers,
    }
    if counts.rivals.calls:
        row["rivals"] = counts.rivals.to_row()
    print_json({**row, "output": output, **effort_row(effort)})


def _summary(scoring: Scoring, output: str) -> str:
    from rubriclab.report.wording import missing_answers

    counts = scoring.counts
    place = "" if output == "-" else f" to {output}"
    missing = f"; {missing_answers(counts.answers_missing, counts.answers)}" if counts.answers_missing else ""
    scored = f"{counts.rows - counts.unscored:,} texts scored by {scoring.name}"
    return f"{scored}{place}, {counts.unscored:,} unscored{missing}"


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
    from rubriclab.report.results import improvement_view

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
        _write_of_improve(improving, output, diff)
        summary, effort = improving.summary(), workspace.effort()
    if as_json:
        print_json({**summary.to_row(), "output": output, **effort_row(effort)})
    else:
        print_view(improvement_view(summary, effort), err=True)
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


def _write_of_improve(improving: Improving, output: str, diff: str | None) -> None:
    """Write the texts, and what changed in them, as they come."""
    from rubriclab.ops.workspace import finish
    from rubriclab.report.results import rewrite_view

    with writing_rows(output) as write, writing(diff or "-") as write_diff:

        async def run() -> None:
            async for text in improving.stream():
                write(text.to_row())
                if diff == "-" and text.outcome == "improved":
                    print_view(rewrite_view(text))
                elif diff and text.outcome == "improved":
                    write_diff(f"{rewrite_view(text)}\n".encode("utf-8", "backslashreplace"))

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{len(improving.metrics):,} rows were written before it ended")
            raise


@command(None, "EditOptions", "CallOptions")
@click.argument("rubric")
@measurement_options
@record_option
def edit(rubric: str, *, as_json: bool, **values: Any) -> None:
    """Change the criteria, weights, threshold or definition of RUBRIC, and save a version whose parent is RUBRIC.

    Weights are fitted again to the ratings kept with the version, and the held-out agreement is shown beside the
    parent's. Dropping criteria, limiting weights and setting the threshold takes no calls; the labelled texts are
    rated again by new wordings.
    """
    from rubriclab.ops.edit import edit as prepare
    from rubriclab.ops.options import EditOptions
    from rubriclab.report.results import edit_view

    options = options_of(EditOptions, {**values, "preview": values["dry_run"] or values["preview"]})
    check_exports(values)
    result = run(values, prepare, rubric, options, as_json=as_json)
    if result is None:
        return
    print_result(edit_view(result), {**result.to_row(), **effort_row(result.effort)}, values, as_json=as_json)
    if (saved := result.saved) and not as_json:
        new = f"saved as {saved.ref}, whose parent is {saved.parent}; {saved.name} without a number now means it"
        click.echo(f"\n{new if saved.new else f'equal to {saved.ref}, so there is no new version'}")
