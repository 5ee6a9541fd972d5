"""`rubriclab agree`: how far several judges agree when they apply one rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    asking_options,
    dry_run_option,
    json_option,
    option,
    rows_options,
    rubric_option,
    store_option,
)
from rubriclab.cli.places import JUDGE

if TYPE_CHECKING:
    from rubriclab.cli.session import Session
    from rubriclab.data import Example
    from rubriclab.interrater import InterraterAgreement
    from rubriclab.judges.judge import Judge
    from rubriclab.scoring import Score
    from rubriclab.store import Version


@click.command()
@click.argument("texts")
@rubric_option
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="A litellm model string, 'embedded' or recorded:PATH#JUDGE; given twice or more.",
)
@option(
    "--bins",
    type=click.IntRange(min=2),
    metavar="NUMBER",
    help="Cut scores into so many bins of equal width.  [default: the levels of the rubric's scale]",
)
@asking_options
@rows_options
@store_option
@dry_run_option
@json_option
def agree(texts: str, **given: Any) -> None:
    """Say how far judges agree when each scores TEXTS by one rubric: alpha, kappas and differences in severity.

    TEXTS need no human scores. Figures are given for the scores, as they are and binned, and for each criterion.
    """
    from rubriclab.cli.session import JudgeChoice, finish, judge_named, session

    _check_names(given["judges"])
    with session(given["store"], given) as work:
        version = work.store.load(given["rubric"])
        examples = _examples(texts, given)
        names = [judge_named(name) for name in given["judges"]]
        if given["dry_run"]:
            _say_most(version, examples, names, given)
            return
        judges = {name: work.judge(JudgeChoice(name)) for name in names}
        _check_identities(judges)
        scored, silent = finish(lambda: _score(version, examples, judges, work))
        _print(version, _concordance(version, examples, scored, given), work, given)
        _stop_if_silent(scored, silent)


def _check_names(names: Sequence[str]) -> None:
    from rubriclab.errors import SettingsError

    if len(names) < 2:
        got = f"only {names[0]} was named" if names else "none was named"
        raise SettingsError(f"Agreement takes two judges or more, and {got};", "give --judge once for each of them.")
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise SettingsError(f"The judge {twice[0]} is named twice;", "its agreement with itself says nothing.")


def _check_identities(judges: Mapping[str, Judge]) -> None:
    """Refuse one judge under two names, as where a recording of it stands beside it."""
    from rubriclab.errors import SettingsError

    known: list[tuple[str, Mapping[str, Any]]] = []
    for name, judge in judges.items():
        for other, identity in known:
            if identity == judge.identity:
                raise SettingsError(
                    f"{other} and {name} are one and the same judge;", "its agreement with itself says nothing."
                )
        known.append((name, judge.identity))


def _examples(texts: str, given: Mapping[str, Any]) -> tuple[Example, ...]:
    from rubriclab.cli.session import note, note_comparisons
    from rubriclab.cli.texts import rows_of
    from rubriclab.data import Example
    from rubriclab.errors import DataError

    found = rows_of(texts, given)
    rows = list(found)
    note_comparisons(found)
    examples = tuple(row for row in rows if isinstance(row, Example))
    for fault in [row for row in rows if not isinstance(row, Example)]:
        note(f"left out: {fault}")
    if not examples:
        raise DataError(f"None of the {len(rows)} rows of {texts} can be used.", "Fix the rows named above.")
    if len({example.id for example in examples}) < len(examples):
        note("some ids stand more than once; such texts count as often as they stand")
    return examples


def _say_most(version: Version, examples: Sequence[Example], names: Sequence[str], given: Mapping[str, Any]) -> None:
    from rubriclab.cli.dry_run import say_most
    from rubriclab.scoring.estimate import scoring_at_most

    most = scoring_at_most(version.rubric, examples)
    roles = {f"judge {number}": name for number, name in enumerate(names, start=1)}
    say_most(dict.fromkeys(roles, most), roles, given)


async def _score(
    version: Version, examples: Sequence[Example], judges: Mapping[str, Judge], work: Session
) -> tuple[dict[str, list[Score]], list[str]]:
    """Return each judge's scores of the texts, and the judges of whom not a single reply came."""
    from rubriclab.cli.progress import progress
    from rubriclab.scoring import score_stream

    scored: dict[str, list[Score]] = {name: [] for name in judges}
    silent = []
    whole = len(judges) * len(examples)
    with progress(work.ledger) as advance:
        for number, (name, judge) in enumerate(judges.items()):
            replies, failed = work.ledger.calls + work.ledger.cached, work.ledger.failed
            done = scored[name]
            async for score in score_stream(version.rubric, examples, judge, version.ref, 2 * work.options.concurrency):
                done.append(score)
                advance(f"{name}: {len(done)} of {len(examples)} texts", (number * len(examples) + len(done)) / whole)
            if work.ledger.failed > failed and work.ledger.calls + work.ledger.cached == replies:
                silent.append(name)
    return scored, silent


def _concordance(
    version: Version, examples: Sequence[Example], scored: Mapping[str, Sequence[Score]], given: Mapping[str, Any]
) -> InterraterAgreement:
    from rubriclab.interrater import interrater_agreement

    return interrater_agreement(version.rubric, examples, scored, bins=given["bins"])


def _print(version: Version, found: InterraterAgreement, work: Session, given: Mapping[str, Any]) -> None:
    from rubriclab.cli.printing import effort_row, print_json, print_view

    if given["as_json"]:
        print_json({"rubric": version.ref, **found.to_row(), **effort_row(work.effort())})
        return
    from rubriclab.report.interrater import interrater_view

    print_view(interrater_view(version.ref, found))


def _stop_if_silent(scored: Mapping[str, Sequence[Score]], silent: Sequence[str]) -> None:
    from rubriclab.errors import JudgeError

    if silent:
        reasons = [score.unscored for score in scored[silent[0]] if score.unscored]
        raise JudgeError(f"{silent[0]} gave no reply at all; the latest reason: {reasons[-1]}")
