"""`rubriclab improve`: texts rewritten on the grounds of what a rubric finds wrong with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
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
    rubric_option,
    store_option,
)
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.cli.session import JudgeChoice, Session
    from rubriclab.data.readers import Rows
    from rubriclab.judges.judge import Judge
    from rubriclab.judges.ledger import Ledger
    from rubriclab.revision import Improvement, RevisionMetrics
    from rubriclab.store import Version

ROLES = ("judge", "writer", "second judge")


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
    help="Who must not score a rewriting lower, and of whose reasons the writer sees nothing.",
)
@option("--diff", type=FILE, metavar="PATH", help="What changed and why, for people to read; - for standard output.")
@judge_options
@rows_options
@store_option
@dry_run_option
@json_option
def improve(texts: str, **given: Any) -> None:
    """Rewrite TEXTS where a rubric finds fault with them, and keep what scores higher: one row for each row, in order.

    TEXTS is a .jsonl, .csv (both also .gz) or .parquet file, or - for standard input; it is read as a stream. Each row
    has the text in `output`, and every round in `improvement`.

    Where the rubric judges sentences (dcr, most of seal), only those that fail may change, and the others are kept as
    they stand. Where it judges whole texts (hypotheses, checklists, and texts too short to be judged by sentence),
    everything may change.
    """
    from rubriclab.cli.session import JudgeChoice, judge_of, session
    from rubriclab.cli.texts import rows_of
    from rubriclab.revision import require_reasons

    _check_places(texts, given)
    rows = rows_of(texts, given)
    with session(given["store"], given) as work:
        version = work.store.load(given["rubric"])
        require_reasons(version.rubric, version.ref)
        judge = judge_of(version, given["judge"], work.store)
        writer = JudgeChoice(_also(given["writer"], judge)) if given["writer"] else judge
        second = JudgeChoice(_also(given["second_judge"], judge)) if given["second_judge"] else None
        if given["dry_run"]:
            _say_most(rows, version, (judge, writer, second), given)
        else:
            _improve(rows, version, _Judges.of(work, judge, writer, second), work, given)


def _check_places(texts: str, given: dict[str, Any]) -> None:
    from rubriclab.cli.files import check_place, same_file
    from rubriclab.errors import SettingsError

    output, diff = given["output"], given["diff"]
    if given["dry_run"]:
        return
    if given["as_json"] and "-" in (output, diff):
        holds = "the texts" if output == "-" else "what changed"
        option = "--output" if output == "-" else "--diff"
        raise SettingsError(f"--json prints a summary, but standard output holds {holds}.", f"Give {option} PATH.")
    if diff is not None and (output == diff or same_file(output, diff)):
        both = "standard output" if diff == "-" else diff
        raise SettingsError(f"--output and --diff would both be written to {both}.", "Give each a PATH of its own.")
    check_place(output, texts, "The texts", "--output")
    check_place(diff or "-", texts, "What changed", "--diff")


def _also(named: str, judge: JudgeChoice) -> str:
    """Return the judge named beside the first one, and say what it is unless that has been said."""
    from rubriclab.cli.session import judge_named

    return named if named == judge.spec else judge_named(named)


@dataclass(frozen=True)
class _Judges:
    """Who takes part, with a ledger for each role, beside the one that they share."""

    judge: Judge
    writer: Judge
    second: Judge | None
    ledgers: Mapping[str, Ledger]

    @classmethod
    def of(cls, work: Session, judge: JudgeChoice, writer: JudgeChoice, second: JudgeChoice | None) -> _Judges:
        from rubriclab.judges.ledger import Ledger, Metered

        ledgers = {role: Ledger() for role in ROLES}
        asked = work.judge(judge)
        writing = asked if writer.spec == judge.spec else work.judge(writer)
        seconding = _second(asked, work.judge(second)) if second else None
        return cls(
            Metered(asked, ledgers["judge"]),
            Metered(writing, ledgers["writer"]),
            Metered(seconding, ledgers["second judge"]) if seconding else None,
            ledgers,
        )

    def require_replies(self, reasons: Mapping[str, str]) -> None:
        """Return if every role that was asked had a reply; `reasons` holds the latest one of a failure by role.

        Raises:
            JudgeError: if one had none at all.
        """
        from rubriclab.errors import JudgeError

        for role, ledger in self.ledgers.items():
            if ledger.silent and role in reasons:
                raise JudgeError(f"The {role} gave no reply at all; the latest reason: {reasons[role]}")


def _second(judge: Judge, second: Judge) -> Judge:
    from rubriclab.errors import SettingsError

    if judge.identity == second.identity:
        raise SettingsError(
            f"{second.name} is the judge itself, who has seen what was gained already;",
            "name another --second-judge.",
        )
    return second


def _say_most(
    rows: Rows, version: Version, choices: tuple[JudgeChoice, JudgeChoice, JudgeChoice | None], given: dict[str, Any]
) -> None:
    from rubriclab.cli.dry_run import say_most
    from rubriclab.cli.session import note
    from rubriclab.data import Example
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.revision import rewriting_at_most
    from rubriclab.scoring.estimate import scoring_at_most

    scoring, rewriting = CallEstimate(), CallEstimate()
    for row in rows:
        if isinstance(row, Example):
            scoring += scoring_at_most(version.rubric, [row])
            rewriting += rewriting_at_most(version.rubric, row)
    judged = scoring * (1 + given["rounds"])
    asked = zip(ROLES, choices, (judged, rewriting * given["rounds"], judged), strict=True)
    named = {role: (choice.spec, most) for role, choice, most in asked if choice}
    say_most(
        {role: most for role, (_, most) in named.items()}, {role: spec for role, (spec, _) in named.items()}, given
    )
    note("A text that becomes longer can take more.")


def _improve(rows: Rows, version: Version, judges: _Judges, work: Session, given: dict[str, Any]) -> None:
    import orjson

    from rubriclab.cli.files import lines, writing
    from rubriclab.cli.progress import progress
    from rubriclab.cli.session import finish, note, note_comparisons
    from rubriclab.errors import RubriclabError
    from rubriclab.revision import ImproveSettings, figures, improve_stream

    done: list[RevisionMetrics] = []
    reasons: dict[str, str] = {}
    whole = lines(Path(rows.where)) if sys.stderr.isatty() else 0
    # Two consoles of rich, one of them with a moving bar, would write over each other.
    bar = nullcontext(_still) if given["diff"] == "-" else progress(work.ledger)
    with writing(given["output"]) as write, writing(given["diff"] or "-") as write_diff, bar as advance:

        async def run() -> None:
            improved = improve_stream(
                version.rubric,
                rows,
                judges.judge,
                version.ref,
                2 * work.options.concurrency,
                writer=judges.writer,
                second_judge=judges.second,
                settings=ImproveSettings(rounds=given["rounds"], good_from=given["good_from"], take=given["take"]),
            )
            async for text in improved:
                write(orjson.dumps(text.to_row(), option=orjson.OPT_APPEND_NEWLINE))
                if given["diff"]:
                    _show(text, given["diff"], write_diff)
                done.append(figures(text))
                reasons.update(_failures(text))
                advance(f"{len(done):,} texts", len(done) / whole if whole else -1.0)

        try:
            finish(run)
        except (RubriclabError, KeyboardInterrupt):
            note(f"{len(done):,} rows were written before it ended")
            raise
    note_comparisons(rows)
    _summary(version, judges, done, work, given)
    judges.require_replies(reasons)


def _failures(text: Improvement) -> Iterator[tuple[str, str]]:
    """Yield who gave nothing that could be used of a text, by role, and why."""
    if text.before and text.before.unscored:
        yield "judge", text.before.unscored
    if text.second_before and text.second_before.unscored:
        yield "second judge", text.second_before.unscored
    if text.rounds and text.rounds[-1].refused == "no usable rewriting":
        yield "writer", text.rounds[-1].why


def _still(_doing: str, _share: float) -> None:
    """Show nothing."""


def _show(text: Improvement, diff: str, write: Callable[[bytes], object]) -> None:
    """Print what changed in a text, if anything did."""
    if text.outcome != "improved":
        return
    from rubriclab.cli.printing import print_view, view_text
    from rubriclab.report.revision import rewriting_view

    if diff == "-":
        print_view(rewriting_view(text))
    else:
        write(view_text(rewriting_view(text)).encode("utf-8", "backslashreplace"))


def _summary(
    version: Version, judges: _Judges, done: list[RevisionMetrics], work: Session, given: dict[str, Any]
) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.revision import summary

    second = judges.second.name if judges.second else None
    found = summary(version.rubric, version.ref, done, judges.judge.name, second)
    if given["as_json"]:
        print_json({**found.to_row(), "output": given["output"], **effort_row(work.effort())})
        return
    from rubriclab.report.revision import improvement_view

    print_view(improvement_view(found, work.effort()), err=True)
