"""`rubriclab score`: texts to scores with reasons, as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_rows_place, dialect_of, writing_rows
from rubriclab.cli.options import STORED, Number, command, option, output_option, record_option, run_options
from rubriclab.cli.places import FILE, OUTPUT
from rubriclab.cli.printing import effort_row, note, options_of, print_dry_run, print_json, print_view, workspace_of
from rubriclab.errors import RubriclabError, SettingsError

if TYPE_CHECKING:
    from rubriclab.models.text import Scale
    from rubriclab.models.version import Effort
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
    end = _keep(scoring, texts, output) if resume else 0
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
                note(f"{scoring.counts.rows:,} rows were written before it ended")
            raise
        if not resume:
            record_of(output).unlink(missing_ok=True)


def _keep(scoring: Scoring, texts: str, output: str) -> int:
    """Keep the complete rows of the output file, and return where they end, in bytes."""
    from rubriclab.ops.score import keep_scores, prepare_resuming

    end = prepare_resuming(scoring, output)
    if end:
        keep_scores(scoring, texts, output, end)
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
