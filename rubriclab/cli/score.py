"""`rubriclab score`: texts to scores with reasons, as a stream."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
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
    from rubriclab.cli.session import JudgeChoice, Session
    from rubriclab.data.example import Example
    from rubriclab.data.readers import Rows
    from rubriclab.data.row import RowError
    from rubriclab.judges.judge import Judge
    from rubriclab.rubric import Rubric
    from rubriclab.scoring import Score
    from rubriclab.store import Version

# What scores without a learned rubric name as theirs.
UNVALIDATED = "unvalidated"


@click.command()
@click.argument("texts")
@option("--rubric", metavar="REF", help="NAME (the newest), NAME@NUMBER or NAME@TAG.")
@option("--task", help="Without a rubric: the kind of text: summarization, story, dialogue, or a word of your own.")
@option("--aspect", help="Without a rubric: the aspect to score. Nothing then says how far people would agree.")
@option("--definition", help="What the aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="Without a rubric: the scale of the scores.  [default: 1:5]")
@output_option("scores")
@option(
    "--abstain-above",
    type=float,
    metavar="WIDTH",
    help="Mark texts whose interval is wider, in points of the scale: their score is for a person to decide.",
)
@option("--to-person", type=FILE, metavar="PATH", help="Where the rows of these texts go, as they came, for labelling.")
@judge_options
@rows_options
@store_option
@dry_run_option
@json_option
def score(texts: str, **given: Any) -> None:
    """Score TEXTS by a rubric: one row of JSON Lines for each row, in order.

    TEXTS is a .jsonl, .csv (both also .gz) or .parquet file, or - for standard input; it is read as a stream. A faulty
    row, or a text without enough usable ratings, becomes a row without a score that says why. A rubric that combines
    several methods gives each score an interval, and each criterion its share of it.

    Before there are labels, --task and --aspect take the place of --rubric: the judge scores the aspect as a whole; the
    offline judge compares the texts by surface measures. Nothing is then known of the agreement with people.
    """
    from rubriclab.cli.session import session
    from rubriclab.cli.texts import rows_of

    _check_output(texts, given)
    _check_abstaining(texts, given)
    with session(given["store"], given, create=not given["rubric"]) as work:
        basis = _stored(work, given) if given["rubric"] else _unvalidated(texts, given)
        if given["dry_run"]:
            from rubriclab.cli.dry_run import say_most
            from rubriclab.scoring.estimate import scoring_at_most

            most = scoring_at_most(basis.rubric, rows_of(texts, given))
            say_most({"judge": most}, {"judge": basis.choice.spec}, given)
        else:
            _score(rows_of(texts, given), basis, work.judge(basis.choice), work, given)


@dataclass(frozen=True)
class _Basis:
    """What texts are scored by: a rubric, the name that scores give it, and the judge."""

    rubric: Rubric
    name: str
    choice: JudgeChoice


def _stored(work: Session, given: dict[str, Any]) -> _Basis:
    from rubriclab.cli.session import judge_of, note

    if left_out := [f"--{name}" for name in ("task", "aspect", "definition", "scale") if given[name]]:
        note(f"{', '.join(left_out)}: left out, as --rubric says it")
    version = work.store.load(given["rubric"])
    _check_intervals(version, given)
    return _Basis(version.rubric, version.ref, judge_of(version, given["judge"], work.store))


def _unvalidated(texts: str, given: dict[str, Any]) -> _Basis:
    """Return what scores texts before anybody has labelled one, and say that nothing is known of its agreement.

    Raises:
        SettingsError: if task or aspect is not given, intervals are asked for, or the texts cannot be read twice.
        DataError: if there are too few texts to compare.
    """
    from itertools import islice

    from rubriclab.cli.session import JudgeChoice, judge_named, note
    from rubriclab.cli.texts import rows_of
    from rubriclab.data import Assignment, Example, find_aspect, parse_scale, task_words
    from rubriclab.errors import SettingsError
    from rubriclab.judges.connect import EMBEDDED
    from rubriclab.learning.unlabelled import MOST, judged_rubric, measured_rubric

    if not (given["task"] and given["aspect"]):
        raise SettingsError(
            "There is nothing to score by: expected --rubric REF,", "or without labels --task TASK --aspect ASPECT."
        )
    if given["abstain_above"] is not None:
        raise SettingsError("--abstain-above: without labels scores have no intervals;", "leave it out, or learn.")
    aspect = find_aspect(given["task"], given["aspect"], given["definition"])
    assignment = Assignment(task_words(given["task"]), aspect, parse_scale(given["scale"] or "1:5"))
    judge = judge_named(given["judge"])
    note(
        f"unvalidated: no label says how far these scores agree with people's; label about 30 texts and run "
        f"rubriclab learn --task {given['task']} --aspect {aspect.name}"
    )
    if judge != EMBEDDED:
        return _Basis(judged_rubric(assignment), UNVALIDATED, JudgeChoice(judge))
    if texts == "-":
        raise SettingsError(
            "Without labels and a language model, texts are compared with each other, and standard input cannot be "
            "read twice;",
            "give a file, or name a language model with --judge.",
        )
    compared = [row for row in islice(rows_of(texts, given), MOST) if isinstance(row, Example)]
    rubric = measured_rubric(assignment, compared)
    note(
        f"scored by {len(rubric.criteria)} surface measures, as no language model is named; "
        f"compared with each other: {len(compared):,} texts"
    )
    return _Basis(rubric, UNVALIDATED, JudgeChoice(judge))


def _check_output(texts: str, given: dict[str, Any]) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    output = given["output"]
    if given["dry_run"]:
        return
    if given["as_json"] and output == "-":
        raise SettingsError("--json prints a summary, but standard output holds the scores.", "Give --output PATH.")
    check_place(output, texts, "The scores", "--output")


def _check_abstaining(texts: str, given: dict[str, Any]) -> None:
    from rubriclab.cli.files import check_place, same_file
    from rubriclab.errors import SettingsError

    above, place = given["abstain_above"], given["to_person"]
    if above is not None and not above > 0:
        raise SettingsError(f"--abstain-above: got {above:g}, expected a width above 0, in points of the scale.")
    if place is None:
        return
    if above is None:
        raise SettingsError("--to-person needs to know which texts are for a person;", "give --abstain-above WIDTH.")
    if place == "-" or same_file(place, given["output"]):
        raise SettingsError(f"--to-person: {place} is where the scores go.", "Give a file of its own.")
    check_place(place, texts, "The rows for a person", "--to-person")


def _check_intervals(version: Version, given: dict[str, Any]) -> None:
    from rubriclab.errors import SettingsError

    aggregation = version.rubric.aggregation
    if given["abstain_above"] is None or (aggregation and aggregation.conformal):
        return
    why = "was learned from too few texts for that" if aggregation else "does not combine its criteria by weights"
    raise SettingsError(
        f"--abstain-above: {version.ref} gives no intervals, as it {why};",
        "score without it, or learn a rubric of several methods: rubriclab learn without --method.",
    )


@dataclass
class _Count:
    """Rows written and those without a score, answers and those missing, the latest reason for a judged text's."""

    rows: int = 0
    unscored: int = 0
    answers: int = 0
    answers_missing: int = 0
    reason: str | None = None

    def add(self, score: Score) -> None:
        """Count one more row."""
        self.rows += 1
        self.unscored += score.score is None
        self.answers += score.answers
        self.answers_missing += score.answers_missing
        self.reason = score.unscored if score.criteria else self.reason


@dataclass
class _Person:
    """Who gets the texts whose interval is wider than `above`: how many of them, and by `keep` their rows.

    `ahead` holds the rows that are being scored, and no more of them.
    """

    above: float | None
    keep: Callable[[bytes], object] | None
    ahead: deque[Any] = field(default_factory=deque)
    texts: int = 0

    def watched(self, rows: Rows) -> Iterator[Example | RowError]:
        """Yield the rows, remembering each as it came until its score is here."""
        for row in rows:
            self.ahead.append(rows.came)
            yield row

    def row_of(self, score: Score) -> dict[str, Any]:
        """Return the row of the next score, and hand the text on if need be."""
        came = self.ahead.popleft()
        if self.above is None:
            return score.to_row()
        abstained = score.width is not None and score.width > self.above
        self.texts += abstained
        if abstained and self.keep:
            self.keep(_json(came))
        return {**score.to_row(), "abstained": abstained}


@contextmanager
def _person(given: dict[str, Any]) -> Iterator[_Person]:
    from rubriclab.cli.files import writing

    if not given["to_person"]:
        yield _Person(given["abstain_above"], None)
        return
    with writing(given["to_person"]) as keep:
        yield _Person(given["abstain_above"], keep)
        # Where there was nothing to keep, the rows of an earlier run must not stand for it.
        keep(b"")


def _json(came: dict[str, Any]) -> bytes:
    """Return a row of any format as a line of JSON."""
    import orjson

    # A cell of CSV may hold bytes that are not UTF-8, in a column that nobody reads.
    sound = {
        name: cell.encode(errors="replace").decode() if isinstance(cell, str) else cell for name, cell in came.items()
    }
    return orjson.dumps(sound, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def _score(rows: Rows, basis: _Basis, judge: Judge, work: Session, given: dict[str, Any]) -> None:
    import orjson

    from rubriclab.cli.files import lines, writing
    from rubriclab.cli.progress import progress
    from rubriclab.cli.session import finish, note, note_comparisons
    from rubriclab.errors import JudgeError, RubriclabError
    from rubriclab.scoring import score_stream

    count = _Count()
    whole = lines(Path(rows.where)) if sys.stderr.isatty() else 0
    with writing(given["output"]) as write, _person(given) as person, progress(work.ledger) as advance:

        async def run() -> None:
            # Twice the requests in flight, so that a slow text at the front never leaves the provider idle.
            under_way = 2 * work.options.concurrency
            async for score in score_stream(basis.rubric, person.watched(rows), judge, basis.name, under_way):
                write(orjson.dumps(person.row_of(score), option=orjson.OPT_APPEND_NEWLINE))
                count.add(score)
                advance(f"{count.rows:,} texts", count.rows / whole if whole else -1.0)

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{count.rows:,} rows were written before it ended")
            raise
    note_comparisons(rows)
    _summary(basis.name, count, person, work, given)
    if count.reason and work.ledger.silent:
        raise JudgeError(f"The provider gave no reply at all; the latest reason: {count.reason}")


def _summary(rubric: str, count: _Count, person: _Person, work: Session, given: dict[str, Any]) -> None:
    from rubriclab.cli.printing import effort_row, print_json
    from rubriclab.cli.session import note
    from rubriclab.data.scale import show
    from rubriclab.report.wording import missing_answers

    scored = count.rows - count.unscored
    if given["as_json"]:
        row = {"rubric": rubric, "rows": count.rows, "unscored": count.unscored}
        answers = {"answers_missing": count.answers_missing, "answers": count.answers}
        abstained = {} if person.above is None else {"abstained": person.texts, "to_person": given["to_person"]}
        print_json({**row, **answers, **abstained, "output": given["output"], **effort_row(work.effort())})
        return
    place = "" if given["output"] == "-" else f" to {given['output']}"
    missing = f"; {missing_answers(count.answers_missing, count.answers)}" if count.answers_missing else ""
    note(f"{scored:,} texts scored by {rubric}{place}, {count.unscored:,} unscored{missing}")
    if person.above is not None:
        where = f" in {given['to_person']}" if given["to_person"] else ""
        wider = f"interval wider than {show(person.above)}"
        note(f"{person.texts:,} of {scored:,} texts go to a person{where}: {wider}")
