"""`rubriclab score`: texts to scores with reasons, as a stream."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    map_option,
    output_option,
    rubric_option,
    store_option,
)

if TYPE_CHECKING:
    from rubriclab.cli.session import Session
    from rubriclab.data.readers import Rows
    from rubriclab.judges.judge import Judge
    from rubriclab.store import Version


@click.command()
@click.argument("texts")
@rubric_option
@output_option("scores")
@judge_options
@map_option
@store_option
@dry_run_option
@json_option
def score(texts: str, **given: Any) -> None:
    """Score TEXTS by a rubric: one row of JSON Lines for each row, in order.

    TEXTS is a .jsonl, .csv (both also .gz) or .parquet file, or - for standard input; it is read as a stream. A faulty
    row, or a text without enough usable ratings, becomes a row without a score that says why.
    """
    from rubriclab.cli.session import judge_of, session
    from rubriclab.data import parse_mapping, read
    from rubriclab.data.mapping import NATIVE

    _check_output(texts, given)
    mapping = parse_mapping(given["mapping"]) if given["mapping"] else NATIVE
    with session(given["store"], given) as work:
        version = work.store.load(given["rubric"])
        choice = judge_of(version, given["judge"])
        if given["dry_run"]:
            from rubriclab.cli.dry_run import say_most, scoring_at_most

            say_most({"judge": scoring_at_most(version.rubric, read(texts, mapping))}, {"judge": choice.spec}, given)
        else:
            _score(read(texts, mapping), version, work.judge(choice), work, given)


def _check_output(texts: str, given: dict[str, Any]) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    output = given["output"]
    if given["dry_run"]:
        return
    if given["as_json"] and output == "-":
        raise SettingsError("--json prints a summary, but standard output holds the scores.", "Give --output PATH.")
    check_place(output, texts, "The scores", "--output")


@dataclass
class _Count:
    """Rows written and those without a score, answers and those missing, the latest reason for a judged text's."""

    rows: int = 0
    unscored: int = 0
    answers: int = 0
    answers_missing: int = 0
    reason: str | None = None


def _score(rows: Rows, version: Version, judge: Judge, work: Session, given: dict[str, Any]) -> None:
    import orjson

    from rubriclab.cli.files import lines, writing
    from rubriclab.cli.progress import progress
    from rubriclab.cli.session import finish, note
    from rubriclab.errors import JudgeError, RubriclabError
    from rubriclab.scoring import score_stream

    count = _Count()
    whole = lines(Path(rows.where)) if sys.stderr.isatty() else 0
    with writing(given["output"]) as write, progress(work.ledger) as advance:

        async def run() -> None:
            # Twice the requests in flight, so that a slow text at the front never leaves the provider idle.
            under_way = 2 * work.options.concurrency
            async for row in score_stream(version.rubric, rows, judge, version.ref, under_way):
                write(orjson.dumps(row.to_row(), option=orjson.OPT_APPEND_NEWLINE))
                count.rows += 1
                count.unscored += row.score is None
                count.answers += row.answers
                count.answers_missing += row.answers_missing
                count.reason = row.unscored if row.criteria else count.reason
                advance(f"{count.rows:,} texts", count.rows / whole if whole else -1.0)

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{count.rows:,} rows were written before it ended")
            raise
    _summary(version, count, work, given)
    if count.reason and work.ledger.silent:
        raise JudgeError(f"The provider gave no reply at all; the latest reason: {count.reason}")


def _summary(version: Version, count: _Count, work: Session, given: dict[str, Any]) -> None:
    from rubriclab.cli.printing import effort_row, print_json
    from rubriclab.cli.session import note
    from rubriclab.report.wording import missing_answers

    if given["as_json"]:
        row = {"rubric": version.ref, "rows": count.rows, "unscored": count.unscored}
        answers = {"answers_missing": count.answers_missing, "answers": count.answers}
        print_json({**row, **answers, "output": given["output"], **effort_row(work.effort())})
        return
    place = "" if given["output"] == "-" else f" to {given['output']}"
    missing = f"; {missing_answers(count.answers_missing, count.answers)}" if count.answers_missing else ""
    note(f"{count.rows - count.unscored:,} texts scored by {version.ref}{place}, {count.unscored:,} unscored{missing}")
