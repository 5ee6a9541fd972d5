"""`rubriclab score`: texts to scores with reasons, as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    option,
    output_option,
    rows_options,
    store_option,
)
from rubriclab.cli.places import FILE

if TYPE_CHECKING:
    from rubriclab.provenance import Effort
    from rubriclab.services.score import ScoreOptions, Scoring


@click.command()
@click.argument("texts")
@option("--rubric", metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")
@option("--task", help="Without a rubric: the kind of text: summarization, story, dialogue, or a word of your own.")
@option("--aspect", help="Without a rubric: the aspect to score; the agreement with people is unknown.")
@option("--definition", help="What the aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="Without a rubric: the scale of the scores.  [default: 1:5]")
@output_option("scores")
@option(
    "--abstain-above",
    type=float,
    metavar="WIDTH",
    help="Mark texts whose interval is wider than this, in points of the scale, for a person to score.",
)
@option("--to-person", type=FILE, metavar="PATH", help="Where the input rows of these texts go, for labelling.")
@judge_options
@rows_options
@store_option
@dry_run_option
@json_option
def score(
    texts: str,
    *,
    rubric: str | None,
    output: str,
    to_person: str | None,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Score TEXTS by a rubric: one row of JSON Lines for each row, in order.

    TEXTS is a .jsonl, .csv (both also .gz) or .parquet file, or - for standard input; it is read as a stream. A faulty
    row, or a text without enough usable ratings, becomes a row with the reason instead of a score. A rubric that
    combines several methods gives an interval for each score, and the contribution of each criterion.

    Before there are labels, --task and --aspect replace --rubric: the judge scores the aspect as a whole; the offline
    judge compares the texts by surface features. The agreement with people is then unknown.
    """
    from rubriclab.cli.printing import note, print_dry_run
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services.score import ScoreOptions, prepare_scoring

    options = options_of(ScoreOptions, values)
    if not dry_run:
        _check_output(texts, output, as_json=as_json)
    _check_person(texts, output, to_person, options)
    with workspace_of(values) as workspace:
        scoring = prepare_scoring(workspace, texts, rubric, options)
        if dry_run:
            print_dry_run(scoring.at_most(), as_json=as_json)
            return
        _write(scoring, output, to_person)
        effort = workspace.effort()
    if as_json:
        _print_json(scoring, output, to_person, effort)
    else:
        note(_summary(scoring, output))
        if options.abstain_above is not None:
            note(_abstained(scoring, options.abstain_above, to_person))
    scoring.check_answered()


def _check_output(texts: str, output: str, *, as_json: bool) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    if as_json and output == "-":
        raise SettingsError("--json prints a summary, but standard output holds the scores.", "Give --output PATH.")
    check_place(output, texts, "The scores", "--output")


def _check_person(texts: str, output: str, to_person: str | None, options: ScoreOptions) -> None:
    from rubriclab.cli.files import check_place, same_file
    from rubriclab.errors import SettingsError

    if to_person is None:
        return
    if options.abstain_above is None:
        raise SettingsError("--to-person needs to know which texts are for a person;", "give --abstain-above WIDTH.")
    if to_person == "-" or same_file(to_person, output):
        raise SettingsError(f"--to-person: {to_person} is where the scores go.", "Give a file of its own.")
    check_place(to_person, texts, "The rows for a person", "--to-person")


def _write(scoring: Scoring, output: str, to_person: str | None) -> None:
    """Write the scores, and the rows of texts for a person, as they come."""
    import orjson

    from rubriclab.cli.files import writing
    from rubriclab.cli.printing import note
    from rubriclab.errors import RubriclabError
    from rubriclab.services.running import finish

    with writing(output) as write, _writing_rows(to_person) as write_row:

        async def run() -> None:
            async for scored in scoring.stream():
                write(orjson.dumps(scored.to_row(), option=orjson.OPT_APPEND_NEWLINE))
                if scored.abstained:
                    write_row(_json(scored.row))

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{scoring.counts.rows:,} rows were written before it ended")
            raise


@contextmanager
def _writing_rows(to_person: str | None) -> Iterator[Callable[[bytes], object]]:
    from rubriclab.cli.files import writing

    if to_person is None:
        yield lambda _row: None
        return
    with writing(to_person) as write:
        yield write
        # Where no text is for a person, the rows of an earlier run must not stay.
        write(b"")


def _json(row: dict[str, Any]) -> bytes:
    """Return a row of any format as a line of JSON."""
    import orjson

    # A cell of CSV may hold bytes that are not UTF-8, in a column that nobody reads.
    valid = {
        name: cell.encode(errors="replace").decode() if isinstance(cell, str) else cell for name, cell in row.items()
    }
    return orjson.dumps(valid, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def _print_json(scoring: Scoring, output: str, to_person: str | None, effort: Effort) -> None:
    from rubriclab.cli.printing import effort_row, print_json

    counts = scoring.counts
    row: dict[str, Any] = {
        "rubric": scoring.name,
        "rows": counts.rows,
        "unscored": counts.unscored,
        "answers_missing": counts.answers_missing,
        "answers": counts.answers,
    }
    if scoring.options.abstain_above is not None:
        row |= {"abstained": counts.abstained, "to_person": to_person}
    print_json({**row, "output": output, **effort_row(effort)})


def _summary(scoring: Scoring, output: str) -> str:
    from rubriclab.report.wording import missing_answers

    counts = scoring.counts
    place = "" if output == "-" else f" to {output}"
    missing = f"; {missing_answers(counts.answers_missing, counts.answers)}" if counts.answers_missing else ""
    scored = f"{counts.rows - counts.unscored:,} texts scored by {scoring.name}"
    return f"{scored}{place}, {counts.unscored:,} unscored{missing}"


def _abstained(scoring: Scoring, above: float, to_person: str | None) -> str:
    from rubriclab.data.scale import show

    counts = scoring.counts
    place = f" in {to_person}" if to_person else ""
    texts = f"{counts.abstained:,} of {counts.rows - counts.unscored:,} texts go to a person{place}"
    return f"{texts}: interval wider than {show(above)}"
