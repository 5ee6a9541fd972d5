"""`rubriclab drift`: what changes for texts when a new version, or another judge, takes over; as an exit code too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import asking_options, dry_run_option, json_option, option, rows_options, store_option
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.cli.session import JudgeChoice, Session
    from rubriclab.data import Example
    from rubriclab.data.readers import Rows
    from rubriclab.drift import Drift, LimitCheck, PairedScore, ScorerPair
    from rubriclab.drift.limits import LimitOutcome
    from rubriclab.judges.judge import Judge
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.store import Store, Version

EXIT_CODES: Mapping[LimitOutcome, int] = {"within": 0, "beyond": 1, "unknown": 3}
ORDER = "REF [REF] TEXTS"


@click.command()
@click.argument("named", nargs=-1, required=True, metavar=ORDER)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="Who scores; given twice, the first for the side before and the second for the side after.  [default: whom "
    "each version was learned with]",
)
@option(
    "--flip-at",
    type=float,
    metavar="SCORE",
    help="Texts flip that are at least at this score on one side and below on the other.  [default: the middle]",
)
@option("--max-shift", type=click.FloatRange(min=0), metavar="POINTS", help="Fail if the mean score moves farther.")
@option("--max-flips", type=click.FloatRange(0, 1), metavar="SHARE", help="Fail if a larger share of the texts flips.")
@option(
    "--min-rank",
    type=click.FloatRange(-1, 1),
    metavar="CORRELATION",
    help="Fail if Spearman's correlation of the two rankings is lower; it is taken within groups where there are any.",
)
@option(
    "--output", "-o", type=FILE, metavar="PATH", help="Where the texts that flip go, with all reasons, as JSON Lines."
)
@option("--all", "every", is_flag=True, help="Write all texts there, not only those that flip.")
@asking_options
@rows_options
@store_option
@dry_run_option
@json_option
def drift(named: Sequence[str], **given: Any) -> None:
    """Say what changes for TEXTS, which need no labels, from one version REF to another, or from one judge to another.

    \b
    rubriclab drift news@1 news@2 texts.jsonl
    rubriclab drift news@2 texts.jsonl --judge JUDGE --judge OTHER

    Scores that move, ranks, the texts that cross a line, and the criteria that did it. The exit code is 1 where a limit
    is passed (--max-shift, --max-flips, --min-rank), and 3 where it cannot be told.
    """
    from rubriclab.cli.session import session

    refs, texts = _named(named, given["judges"])
    _check_output(texts, given)
    with session(given["store"], given) as work:
        versions = [work.store.load(ref) for ref in refs]
        sides, choices = _sides(versions, given, work.store)
        if given["dry_run"]:
            _say_most(sides, choices, _usable(_rows(texts, given)), given)
            return
        found, checks = _compare(sides, texts, choices, work, given)
        _print(found, checks, work, given)
        _stop_if_dead(found, work)
    from rubriclab.drift.limits import worst_outcome

    click.get_current_context().exit(EXIT_CODES[worst_outcome(checks)])


def _named(named: Sequence[str], judges: Sequence[str]) -> tuple[tuple[str, str], str]:
    """Return the versions before and after, which are one where only the judge changes, and the file."""
    from rubriclab.errors import SettingsError

    if not 2 <= len(named) <= 3:
        raise SettingsError(f"Expected {ORDER}, got {len(named)} of them.", "Drift lies between two sides.")
    if len(judges) > 2:
        raise SettingsError(f"Drift lies between two sides, and {len(judges)} judges are named.", "Give one or two.")
    if len(named) == 2 and len(judges) < 2:
        raise SettingsError(
            f"{named[0]} is one version, and drift lies between two sides;",
            "name a second version before the texts, or two judges: --judge JUDGE --judge OTHER.",
        )
    if len(named) == 2 and judges[0] == judges[1]:
        raise SettingsError(f"The judge {judges[0]} is named twice;", "from it to itself nothing changes.")
    return (named[0], named[-2]), named[-1]


def _check_output(texts: str, given: Mapping[str, Any]) -> None:
    from rubriclab.cli.files import check_place
    from rubriclab.errors import SettingsError

    if given["every"] and not given["output"]:
        raise SettingsError("--all says what is written to --output.", "Give --output PATH.")
    if given["output"] == "-":
        raise SettingsError("Standard output holds the figures.", "Give --output a file.")
    if given["output"]:
        check_place(given["output"], texts, "The pairs", "--output")


def _sides(
    versions: Sequence[Version], given: Mapping[str, Any], store: Store
) -> tuple[ScorerPair, tuple[JudgeChoice, JudgeChoice]]:
    """Return both sides and who is asked on each, and say what to keep in mind of them."""
    from rubriclab.cli.session import judge_of
    from rubriclab.data.scale import show
    from rubriclab.drift import Scorer, scorer_pair
    from rubriclab.errors import SettingsError

    before, after = versions
    names = (*given["judges"], *given["judges"]) if len(given["judges"]) < 2 else given["judges"]
    first, second = names[:2] or (None, None)
    choices = judge_of(before, first, store), judge_of(after, second, store)
    sides = scorer_pair(Scorer(before, choices[0].spec), Scorer(after, choices[1].spec), given["flip_at"])
    if not sides.scale.contains(sides.threshold):
        raise SettingsError(
            f"--flip-at {show(sides.threshold)} is not on the scale of {before.ref}, {sides.scale.describe()};",
            "no text could cross it.",
        )
    _note_sides(sides, given)
    return sides, choices


def _note_sides(sides: ScorerPair, given: Mapping[str, Any]) -> None:
    from rubriclab.cli.session import note
    from rubriclab.data.scale import show

    before, after = sides.before.version, sides.after.version
    if before.digest == after.digest and sides.before.judge == sides.after.judge:
        note(f"both sides are the rubric of {after.ref} by {sides.after.judge}: nothing can change")
    if before.rubric.aspect.name != after.rubric.aspect.name:
        aspects = f"{before.rubric.aspect.name} and {after.rubric.aspect.name}"
        note(f"{before.ref} and {after.ref} judge different aspects, {aspects}: their scores mean different things")
    if sides.rescaled:
        ends = f"{sides.after.scale.describe()} to {sides.scale.describe()}"
        note(f"scores of {after.ref} are moved in a straight line from {ends}")
    if given["flip_at"] is None:
        note(f"texts flip at {show(sides.threshold)}, the middle of the scale (--flip-at names another score)")


def _rows(texts: str, given: Mapping[str, Any]) -> Rows:
    from rubriclab.cli.texts import rows_of

    return rows_of(texts, given)


def _usable(rows: Rows) -> Iterator[Example]:
    """Yield the texts as they are read, and say which rows are none."""
    from rubriclab.cli.session import note, note_comparisons
    from rubriclab.data import Example
    from rubriclab.errors import DataError

    usable = count = 0
    for row in rows:
        count += 1
        if isinstance(row, Example):
            usable += 1
            yield row
        else:
            note(f"left out: {row}")
    note_comparisons(rows)
    if not usable:
        raise DataError(f"None of the {count} rows of {rows.where} can be used.", "Mend the rows named above.")


def _say_most(
    sides: ScorerPair, choices: tuple[JudgeChoice, JudgeChoice], texts: Iterable[Example], given: Mapping[str, Any]
) -> None:
    from rubriclab.cli.dry_run import say_most
    from rubriclab.methods.estimate import CallEstimate
    from rubriclab.scoring.estimate import scoring_at_most

    rubrics = {"before": sides.before.version.rubric, "after": sides.after.version.rubric}
    most: dict[str, CallEstimate] = dict.fromkeys(rubrics, CallEstimate())
    for text in texts:
        for side, rubric in rubrics.items():
            most[side] += scoring_at_most(rubric, [text])
    say_most(most, dict(zip(rubrics, (choice.spec for choice in choices), strict=True)), given)


def _compare(
    sides: ScorerPair, texts: str, choices: tuple[JudgeChoice, JudgeChoice], work: Session, given: Mapping[str, Any]
) -> tuple[Drift, tuple[LimitCheck, ...]]:
    from rubriclab.cli.session import finish, note
    from rubriclab.drift import DriftLimits, check_limits, compare_scores

    judges = work.judge(choices[0]), work.judge(choices[1])
    _check_identities(sides, judges)
    pairs = finish(lambda: _score(sides, _rows(texts, given), judges, work, given))
    if len({pair.id for pair in pairs}) < len(pairs):
        note("some ids stand more than once; such texts count as often as they stand")
    found = compare_scores(sides, pairs)
    return found, check_limits(found, DriftLimits(given["max_shift"], given["max_flips"], given["min_rank"]))


def _check_identities(sides: ScorerPair, judges: tuple[Judge, Judge]) -> None:
    """Refuse one judge under two names, as where a recording of it stands beside it."""
    from rubriclab.errors import SettingsError

    before, after = sides.before, sides.after
    if before.version.ref != after.version.ref or before.judge == after.judge:
        return
    if judges[0].identity == judges[1].identity:
        one = f"{before.judge} and {after.judge}"
        raise SettingsError(f"{one} are one and the same judge;", "from it to itself nothing changes.")


async def _score(
    sides: ScorerPair, rows: Rows, judges: tuple[Judge, Judge], work: Session, given: Mapping[str, Any]
) -> list[PairedScore]:
    import orjson

    from rubriclab.cli.files import lines
    from rubriclab.cli.progress import progress
    from rubriclab.drift import score_both

    whole = lines(Path(rows.where)) if sys.stderr.isatty() else 0
    pairs: list[PairedScore] = []
    with _writing(given["output"]) as write, progress(work.ledger) as advance:
        async for pair, before, after in score_both(sides, _usable(rows), *judges, 2 * work.options.concurrency):
            pairs.append(pair)
            if write and (given["every"] or sides.flips(pair)):
                write(orjson.dumps(sides.to_row(pair, before, after), option=orjson.OPT_APPEND_NEWLINE))
            advance(f"{len(pairs):,} texts", len(pairs) / whole if whole else -1.0)
    return pairs


@contextmanager
def _writing(output: str | None) -> Iterator[Callable[[bytes], object] | None]:
    from rubriclab.cli.files import writing

    if output is None:
        yield None
        return
    with writing(output) as write:
        yield write
        # Where no text flips, those of an earlier run must not stand there.
        write(b"")


def _print(found: Drift, checks: Sequence[LimitCheck], work: Session, given: Mapping[str, Any]) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view
    from rubriclab.cli.session import note

    if given["as_json"]:
        checked = [each.model_dump(mode="json") for each in checks]
        row = {**found.model_dump(mode="json"), "checks": checked, "output": given["output"]}
        print_json({**row, **effort_row(work.effort())})
        return
    from rubriclab.report.drift import drift_view

    print_view(drift_view(found, checks))
    if given["output"]:
        note(f"{'all texts' if given['every'] else 'texts that flip'} written to {given['output']}")


def _stop_if_dead(found: Drift, work: Session) -> None:
    from rubriclab.errors import JudgeError

    for side in (found.before, found.after):
        if not side.scored and work.ledger.failed:
            raise JudgeError(
                f"{side.judge} gave no reply that {side.rubric} can use; the latest reason: {side.unscored_reason}"
            )
