"""`rubriclab evaluate`: how well rubrics agree with human scores, beside the floors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import dry_run_option, json_option, judge_options, map_option, option, store_option

if TYPE_CHECKING:
    from rubriclab.cli.session import Session
    from rubriclab.data import Example
    from rubriclab.evaluation import Result
    from rubriclab.scoring import Score
    from rubriclab.store import Version


@click.command()
@click.argument("heldout")
@option(
    "--rubric",
    "rubrics",
    multiple=True,
    required=True,
    metavar="REF",
    help="A rubric to evaluate; may be given several times.",
)
@option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(["group", "dataset", "system"]),
    help="Level of agreement; may be given several times.  [default: all]",
)
@option(
    "--constant-groups",
    type=click.Choice(["skip", "papers"]),
    default="skip",
    show_default=True,
    help="What a group with constant human scores counts for; 'papers' counts it as 1, as HypoEval does.",
)
@click.option("--include-training", is_flag=True, help="Do not leave out the groups that a rubric has learned from.")
@option("--report", metavar="PATH", help="Also write a report as one HTML file.")
@judge_options
@map_option
@store_option
@dry_run_option
@json_option
def evaluate(heldout: str, **given: Any) -> None:
    """Evaluate rubrics on HELDOUT texts with human scores, beside the floors that never read a text.

    Groups that any of the rubrics has learned from are left out, and it is said how many.
    """
    from rubriclab.cli.session import chosen_judge, finish, note, session

    with session(given["store"], given) as work:
        versions = [work.store.load(ref) for ref in given["rubrics"]]
        versions = list({version.ref: version for version in versions}.values())
        examples = _heldout(heldout, versions, given)
        texts = _texts(examples, versions)
        judges = {v.ref: chosen_judge(given["judge"], v.provenance.judge) for v in versions}
        if given["dry_run"]:
            _say_most(versions, texts, judges, given)
            return
        scored = finish(lambda: _score(versions, texts, judges, work))
        results = _results(versions, texts, scored, given)
        _print(results, as_json=given["as_json"])
        if given["report"]:
            _write_report(given["report"], versions, results, scored, examples)
            note(f"report written to {given['report']}")


def _texts(examples: Sequence[Example], versions: Sequence[Version]) -> dict[str, tuple[Example, ...]]:
    """Return the texts that each version is evaluated on: those with a score for its aspect."""
    from rubriclab.data import labelled
    from rubriclab.errors import DataError

    texts = {version.ref: labelled(examples, version.rubric.aspect.name) for version in versions}
    for version in versions:
        aspect = version.rubric.aspect.name
        if not texts[version.ref]:
            raise DataError(
                f"No row to evaluate {version.ref} on has a score for {aspect!r}.",
                f"Map the column that holds it: --map scores.{aspect}=COLUMN.",
            )
    return texts


async def _score(
    versions: Sequence[Version], texts: Mapping[str, Sequence[Example]], judges: Mapping[str, str], work: Session
) -> dict[str, list[Score]]:
    from rubriclab.cli.progress import progress
    from rubriclab.scoring import score_stream

    scored: dict[str, list[Score]] = {version.ref: [] for version in versions}
    with progress(work.ledger) as advance:
        for version in versions:
            done, rows = scored[version.ref], texts[version.ref]
            judge = work.judge(judges[version.ref])
            async for score in score_stream(version.rubric, rows, judge, version.ref, 2 * work.options.concurrency):
                done.append(score)
                advance(f"{version.ref}: {len(done)} of {len(rows)} texts", len(done) / len(rows))
    return scored


def _results(
    versions: Sequence[Version],
    texts: Mapping[str, Sequence[Example]],
    scored: Mapping[str, Sequence[Score]],
    given: dict[str, Any],
) -> list[Result]:
    import numpy as np

    from rubriclab.evaluation import LEVELS, Evaluator, evaluate, floors

    results: list[Result] = []
    for aspect in dict.fromkeys(version.rubric.aspect.name for version in versions):
        chosen = [version for version in versions if version.rubric.aspect.name == aspect]
        rows = texts[chosen[0].ref]
        evaluators = []
        for version in chosen:
            values = [math.nan if score.score is None else score.score for score in scored[version.ref]]
            evaluators.append(Evaluator(version.ref, np.array(values, dtype=float)))
        known = {version.ref: version.provenance.floor for version in chosen}
        evaluators += floors(rows, {ref: floor for ref, floor in known.items() if floor})
        levels = given["levels"] or LEVELS
        results += evaluate(rows, evaluators, aspect, levels=levels, constant=given["constant_groups"])
    return results


def _say_most(
    versions: Sequence[Version],
    texts: Mapping[str, Sequence[Example]],
    judges: Mapping[str, str],
    given: dict[str, Any],
) -> None:
    from rubriclab.cli.dry_run import say_most, scoring_at_most

    say_most({v.ref: scoring_at_most(v.rubric, texts[v.ref]) for v in versions}, judges, given)


def _heldout(heldout: str, versions: Sequence[Version], given: dict[str, Any]) -> tuple[Example, ...]:
    from rubriclab.cli.session import note
    from rubriclab.data import Example, parse_mapping, read
    from rubriclab.data.mapping import NATIVE
    from rubriclab.errors import DataError
    from rubriclab.evaluation import unseen

    rows = list(read(heldout, parse_mapping(given["mapping"]) if given["mapping"] else NATIVE))
    examples = tuple(row for row in rows if isinstance(row, Example))
    for fault in [row for row in rows if not isinstance(row, Example)]:
        note(f"left out: {fault}")
    if given["include_training"]:
        return examples
    groups = {group for version in versions for group in version.provenance.groups}
    kept = unseen(examples, groups)
    if len(kept) < len(examples):
        note(f"{len(examples) - len(kept)} of {len(examples)} texts left out: their groups were learned from")
    if not kept:
        raise DataError(
            f"All {len(examples)} usable rows of {heldout} belong to groups that the rubrics have learned from.",
            "Give texts of other groups, or --include-training for a figure that flatters.",
        )
    return kept


def _print(results: Sequence[Result], *, as_json: bool) -> None:
    from rubriclab.cli.printing import print_json, print_view

    if as_json:
        print_json({"results": [result.to_row() for result in results]})
        return
    from rubriclab.report.terminal import results_view

    print_view(results_view(results))


def _write_report(
    path: str,
    versions: Sequence[Version],
    results: Sequence[Result],
    scored: Mapping[str, Sequence[Score]],
    examples: Sequence[Example],
) -> None:
    from rubriclab.errors import DataError
    from rubriclab.report.html import evaluation_report

    page = evaluation_report(versions, results, scored, examples)
    try:
        Path(path).write_text(page, "utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None
