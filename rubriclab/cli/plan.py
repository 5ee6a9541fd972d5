"""`rubriclab plan`: which texts to label next, and how many more labels are worth it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    option,
    rows_options,
    rubric_option,
    store_option,
)
from rubriclab.cli.places import FILE

if TYPE_CHECKING:
    from rubriclab.active_learning import LabelPlan, PoolText
    from rubriclab.cli.session import Session
    from rubriclab.data import Example
    from rubriclab.data.readers import Rows
    from rubriclab.judges.judge import Judge
    from rubriclab.store import Version
    from rubriclab.training_record import TrainingRecord

USUAL_COUNT = 10
FAULTS_SHOWN = 5


@click.command()
@click.argument("texts")
@rubric_option
@option("--count", type=click.IntRange(min=1), metavar="N", help=f"How many texts to plan.  [default: {USUAL_COUNT}]")
@option(
    "--sample",
    type=click.IntRange(1, 5000),
    default=200,
    show_default=True,
    metavar="N",
    help="The most texts that are looked at; of more, these are drawn, the same ones each time.",
)
@option(
    "--worth",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="What ten more labels have to add to the agreement with people for them to be worth it.",
)
@option(
    "--output",
    "-o",
    type=FILE,
    metavar="PATH",
    help="Where the rows to label go, as JSON Lines, with the reasons in `plan`.",
)
@judge_options
@rows_options
@store_option
@dry_run_option
@json_option
def plan(texts: str, **given: Any) -> None:
    """Plan which of TEXTS to label next so that a rubric learns most, and say how many more labels are worth it.

    TEXTS is a .jsonl, .csv (both also .gz) or .parquet file of texts without labels, or - for standard input. Each text
    looked at is scored by the rubric's criteria, which costs the judge's calls; texts that were learned from, or have a
    label already, are left out. Scores of the aspect go into the rows planned, and these beside the old ones into
    `rubriclab learn`.
    """
    from rubriclab.cli.session import finish, judge_of, session
    from rubriclab.cli.texts import rows_of

    _check_output(texts, given)
    rows = rows_of(texts, given)
    with session(given["store"], given) as work:
        version = work.store.load(given["rubric"])
        record = _record(version, work)
        choice = judge_of(version, given["judge"], work.store)
        pool = _pool(rows, version, given)
        if given["dry_run"]:
            from rubriclab.cli.dry_run import say_most
            from rubriclab.scoring.estimate import scoring_at_most

            most = scoring_at_most(version.rubric, [text.example for text in pool])
            say_most({"judge": most}, {"judge": choice.spec}, given)
        else:
            rated = finish(lambda: _rate(pool, version, work.judge(choice), work))
            found = _planned(version, record, rated, given)
            if given["output"]:
                _write(found, pool, given["output"])
            _print(found, version, work, given)


def _check_output(texts: str, given: Mapping[str, Any]) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    if given["dry_run"] or not given["output"]:
        return
    if given["as_json"] and given["output"] == "-":
        raise SettingsError("--json prints the plan, but standard output holds the rows.", "Give --output PATH.")
    check_place(given["output"], texts, "The rows", "--output")


def _record(version: Version, work: Session) -> TrainingRecord:
    """Return what the version learned from.

    Raises:
        NotInStore: if that is not known.
    """
    from rubriclab.errors import NotInStore
    from rubriclab.report.verdicts import unrecorded

    record = work.store.training(version.ref)
    if record is None or version.rubric.aggregation is None:
        raise NotInStore(
            f"No plan can be made for {version.ref}, as it hangs on the ratings of the texts learned from. "
            f"{unrecorded(version)}",
            "Learn the rubric again from these texts, without --method, in this store.",
        )
    return record


@dataclass(frozen=True)
class _Text:
    """A text to choose from, and its row as it came."""

    key: str
    example: Example
    row: Any


@dataclass
class _Left:
    """Rows that are not looked at, by why."""

    faulty: list[str] = field(default_factory=list)
    learned: int = 0
    labelled: int = 0
    usable: int = 0
    repeated: int = 0


def _pool(rows: Rows, version: Version, given: Mapping[str, Any]) -> list[_Text]:
    """Return the texts to look at, and say which rows are not; a bounded number of them is held at a time.

    Raises:
        DataError: if there are none, or fewer than are to be planned.
    """
    left = _Left()
    # Digests are as good as drawn, and the same whatever the order of the rows.
    drawn = heapq.nsmallest(given["sample"], _usable(rows, version, left), key=lambda text: (text.key, text.example.id))
    pool = list({text.key: text for text in reversed(drawn)}.values())[::-1]
    left.repeated = len(drawn) - len(pool)
    _say_left(left, pool, version)
    _check_pool(left, pool, version, given)
    return pool


def _usable(rows: Rows, version: Version, left: _Left) -> Iterator[_Text]:
    """Yield the texts that have no label and were not learned from."""
    from rubriclab.data import RowError
    from rubriclab.data.example import text_digest

    learned, aspect = frozenset(version.provenance.texts), version.rubric.aspect.name
    for row in rows:
        if isinstance(row, RowError):
            left.faulty.append(str(row))
        elif (key := text_digest(row)) in learned:
            left.learned += 1
        elif aspect in row.scores:
            left.labelled += 1
        else:
            left.usable += 1
            yield _Text(key, row, rows.came)


def _say_left(left: _Left, pool: Sequence[_Text], version: Version) -> None:
    from rubriclab.cli.session import note
    from rubriclab.report.wording import count

    for fault in left.faulty[:FAULTS_SHOWN]:
        note(f"left out: {fault}")
    if len(left.faulty) > FAULTS_SHOWN:
        note(f"left out: {count(len(left.faulty) - FAULTS_SHOWN, 'more faulty row')}")
    if left.learned:
        note(f"left out: {count(left.learned, 'text')} that {version.ref} has learned from")
    if left.labelled:
        note(f"left out: {count(left.labelled, 'text')} with a label that {version.ref} has not learned from yet")
    if left.repeated:
        note(f"left out: {count(left.repeated, 'row')} with the same text as another one")
    if len(pool) + left.repeated < left.usable:
        note(f"looking at {count(len(pool), 'text')} of {left.usable:,} (--sample)")


def _check_pool(left: _Left, pool: Sequence[_Text], version: Version, given: Mapping[str, Any]) -> None:
    from rubriclab.errors import DataError
    from rubriclab.report.wording import count

    if not pool and left.learned + left.labelled:
        raise DataError(
            f"All {left.learned + left.labelled} usable rows have a label for {version.rubric.aspect.name!r} already.",
            "Give texts without one; `rubriclab learn` takes the labels.",
        )
    if not pool:
        raise DataError(f"None of {count(len(left.faulty), 'row')} can be used.", left.faulty[0])
    if (given["count"] or 0) > len(pool):
        raise DataError(
            f"--count {given['count']} is more than the {count(len(pool), 'text')} to choose from.",
            "Give a smaller one, or more texts (--sample bounds how many are looked at).",
        )


def _planned(
    version: Version, record: TrainingRecord, rated: Sequence[PoolText], given: Mapping[str, Any]
) -> LabelPlan:
    from rubriclab.active_learning import plan

    count = given["count"] or USUAL_COUNT
    return plan(version.rubric, version.provenance, record, rated, count, threshold=given["worth"])


async def _rate(pool: Sequence[_Text], version: Version, judge: Judge, work: Session) -> list[PoolText]:
    """Return the texts that could be scored, with what the criteria say of them, and say how many could not.

    Raises:
        JudgeError: if none could be.
    """
    from rubriclab.active_learning import PoolText
    from rubriclab.cli.progress import progress
    from rubriclab.cli.session import note
    from rubriclab.errors import JudgeError
    from rubriclab.report.wording import count
    from rubriclab.scoring import score_stream

    rated, reasons = list[PoolText](), list[str]()
    examples = [text.example for text in pool]
    with progress(work.ledger) as advance:
        scores = score_stream(version.rubric, examples, judge, version.ref, 2 * work.options.concurrency)
        async for score in scores:
            if score.unscored:
                reasons.append(score.unscored)
            else:
                own = {each.id: each.score for each in score.criteria if each.applies}
                rated.append(PoolText(examples[len(rated) + len(reasons)], own))
            done = len(rated) + len(reasons)
            advance(f"{done:,} of {len(pool):,} texts", done / len(pool))
    if not rated:
        raise JudgeError(f"None of {count(len(pool), 'text')} could be scored; the latest reason: {reasons[-1]}")
    if reasons:
        note(f"left out: {count(len(reasons), 'text')} that could not be scored; the latest reason: {reasons[-1]}")
    return rated


def _write(found: LabelPlan, pool: Sequence[_Text], output: str) -> None:
    import orjson

    from rubriclab.cli.files import writing
    from rubriclab.report.planning import plan_row

    rows = {id(text.example): text.row for text in pool}
    with writing(output) as write:
        for each in found.texts:
            row = {**rows[id(each.example)], "plan": plan_row(each)}
            write(orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE))


def _print(found: LabelPlan, version: Version, work: Session, given: Mapping[str, Any]) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.cli.session import note
    from rubriclab.report.planning import advised, plan_row, plan_view
    from rubriclab.report.wording import count

    if given["as_json"]:
        texts = [{"id": each.example.id, **plan_row(each)} for each in found.texts]
        advice = found.advice.to_row() if found.advice else None
        row = {"rubric": version.ref, "pool": found.pool, "width": found.width, "texts": texts, "advice": advice}
        print_json({**row, "advised": advised(found), "output": given["output"], **effort_row(work.effort())})
        return
    print_view(plan_view(found, version.ref), err=given["output"] == "-")
    if given["output"] not in (None, "-"):
        note(
            f"{count(len(found.texts), 'row')} written to {given['output']}; "
            "`rubriclab learn` takes them once they have labels"
        )
