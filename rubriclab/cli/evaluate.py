"""`rubriclab evaluate`: how well rubrics agree with human scores, beside the floors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    option,
    rows_options,
    settings_option,
    store_option,
)
from rubriclab.cli.places import FILE
from rubriclab.methods.names import BASELINE_NAMES

if TYPE_CHECKING:
    from rubriclab.cli.baselines import RequestedBaselines
    from rubriclab.cli.session import JudgeChoice, Session
    from rubriclab.data import Example
    from rubriclab.evaluation import Evaluator, Result
    from rubriclab.judges.judge import Judge
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
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice(BASELINE_NAMES),
    help="Also evaluate this baseline, made for the rubric's aspect and kept as a version; may be given several times.",
)
@option(
    "--labelled",
    type=FILE,
    metavar="PATH",
    help="Labelled texts that the baseline few_shot shows; they are not evaluated.",
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
@option("--include-training", is_flag=True, help="Do not leave out the groups that a rubric has learned from.")
@option("--report", type=FILE, metavar="PATH", help="Also write a report as one HTML file.")
@judge_options
@settings_option
@rows_options
@store_option
@dry_run_option
@json_option
def evaluate(heldout: str, **given: Any) -> None:
    """Evaluate rubrics on HELDOUT texts with human scores, beside the floors that never read a text.

    Groups that any of the rubrics has learned from are left out, and it is said how many.
    """
    from rubriclab.cli.baselines import wanted_baselines
    from rubriclab.cli.session import finish, judge_of, note, session

    with session(given["store"], given) as work:
        versions = [work.store.load(ref) for ref in given["rubrics"]]
        versions = list({version.ref: version for version in versions}.values())
        choices = {version.ref: judge_of(version, given["judge"], work.store) for version in versions}
        wanted = wanted_baselines(versions, choices, given)
        examples = _unseen(_heldout(heldout, versions, given), versions, given)
        if given["dry_run"]:
            texts = _texts(examples, versions)
            _check(texts, versions, given)
            _say_most(versions, wanted, texts, choices, given)
            return
        for baseline in wanted:
            made = finish(partial(baseline.make, work))
            if made.ref not in choices:
                versions.append(made)
                choices[made.ref] = baseline.choice
                examples = _unseen(examples, [made], given)
        texts = _texts(examples, versions)
        _check(texts, versions, given)
        scored = finish(lambda: _score(versions, texts, {ref: work.judge(c) for ref, c in choices.items()}, work))
        results, floors = _results(versions, texts, scored, given)
        _print(results, as_json=given["as_json"])
        if not given["as_json"]:
            _print_verdicts(versions, texts, scored, results, floors)
        _stop_if_dead(scored, work)
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
    versions: Sequence[Version], texts: Mapping[str, Sequence[Example]], judges: Mapping[str, Judge], work: Session
) -> dict[str, list[Score]]:
    from rubriclab.cli.progress import progress
    from rubriclab.scoring import score_stream

    scored: dict[str, list[Score]] = {version.ref: [] for version in versions}
    with progress(work.ledger) as advance:
        for version in versions:
            done, rows = scored[version.ref], texts[version.ref]
            judge = judges[version.ref]
            async for score in score_stream(version.rubric, rows, judge, version.ref, 2 * work.options.concurrency):
                done.append(score)
                advance(f"{version.ref}: {len(done)} of {len(rows)} texts", len(done) / len(rows))
    return scored


def _results(
    versions: Sequence[Version],
    texts: Mapping[str, Sequence[Example]],
    scored: Mapping[str, Sequence[Score]],
    given: dict[str, Any],
) -> tuple[list[Result], dict[str, list[Evaluator]]]:
    """Return every evaluator's agreement, and by aspect the floors among them."""
    import numpy as np

    from rubriclab.evaluation import LEVELS, Evaluator, evaluate, floors

    results: list[Result] = []
    by_aspect: dict[str, list[Evaluator]] = {}
    for aspect in dict.fromkeys(version.rubric.aspect.name for version in versions):
        chosen = [version for version in versions if version.rubric.aspect.name == aspect]
        rows = texts[chosen[0].ref]
        evaluators = []
        for version in chosen:
            own = scored[version.ref]
            values = np.array([math.nan if score.score is None else score.score for score in own], dtype=float)
            missing, answers = sum(score.answers_missing for score in own), sum(score.answers for score in own)
            evaluators.append(Evaluator(version.ref, values, missing, answers))
        known = {version.ref: version.provenance.baseline for version in chosen}
        by_aspect[aspect] = floors(rows, {ref: floor for ref, floor in known.items() if floor})
        levels = given["levels"] or LEVELS
        everyone = [*evaluators, *by_aspect[aspect]]
        results += evaluate(rows, everyone, aspect, levels=levels, constant=given["constant_groups"])
    return results, by_aspect


def _say_most(
    versions: Sequence[Version],
    wanted: Sequence[RequestedBaselines],
    texts: Mapping[str, Sequence[Example]],
    choices: Mapping[str, JudgeChoice],
    given: dict[str, Any],
) -> None:
    from rubriclab.cli.dry_run import say_most
    from rubriclab.scoring.estimate import scoring_at_most

    most = {v.ref: scoring_at_most(v.rubric, texts[v.ref]) for v in versions}
    most |= {f"{each.name} beside {each.like.ref}": each.at_most(texts[each.like.ref]) for each in wanted}
    judges = {ref: choice.spec for ref, choice in choices.items()}
    judges |= {f"{each.name} beside {each.like.ref}": each.choice.spec for each in wanted}
    say_most(most, judges, given)


def _heldout(heldout: str, versions: Sequence[Version], given: dict[str, Any]) -> tuple[Example, ...]:
    """Return the usable texts of the file, and say which are not; labels from comparisons are fitted."""
    from rubriclab.cli.texts import usable_texts

    aspects = {version.rubric.aspect.name: version.rubric.scores_on for version in versions}
    return usable_texts(heldout, given, aspects.items())


def _unseen(examples: tuple[Example, ...], versions: Sequence[Version], given: dict[str, Any]) -> tuple[Example, ...]:
    """Return the texts that none of the versions has learned from, unless all are wanted."""
    from rubriclab.cli.session import note
    from rubriclab.errors import DataError
    from rubriclab.evaluation import unseen

    if given["include_training"]:
        return examples
    kept = unseen(examples, [version.provenance for version in versions])
    if len(kept) < len(examples):
        left = len(examples) - len(kept)
        note(f"{left} of {len(examples)} texts left out: their groups, or the texts themselves, were learned from")
    if not kept:
        raise DataError(
            f"All {len(examples)} usable rows belong to groups that the rubrics have learned from.",
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


def _print_verdicts(
    versions: Sequence[Version],
    texts: Mapping[str, Sequence[Example]],
    scored: Mapping[str, Sequence[Score]],
    results: Sequence[Result],
    floors: Mapping[str, Sequence[Evaluator]],
) -> None:
    """Print for each aspect in words whether its rubrics are above the floors, as the report does."""
    from rubriclab.report.summary import sentences, summarize
    from rubriclab.report.texts import judged_texts

    for aspect, flooring in floors.items():
        chosen = [version for version in versions if version.rubric.aspect.name == aspect]
        judged = {v.ref: judged_texts(texts[v.ref], scored[v.ref], v.ref, aspect) for v in chosen}
        own = [result for result in results if result.aspect == aspect]
        if summary := summarize(aspect, chosen, own, judged, flooring):
            click.echo("\n" + " ".join(sentences(summary)))


def _check(texts: Mapping[str, Sequence[Example]], versions: Sequence[Version], given: dict[str, Any]) -> None:
    """Say what would make the figures mean something else, and stop before anything is asked if they cannot be had."""
    from rubriclab.cli.session import note
    from rubriclab.errors import DataError
    from rubriclab.report.wording import count

    if given["report"] and not Path(given["report"]).absolute().parent.is_dir():
        raise DataError(f"{given['report']} cannot be written: there is no such folder.")
    for version in versions:
        rows, aspect, scale = texts[version.ref], version.rubric.aspect.name, version.rubric.scores_on
        if len({row.id for row in rows}) < len(rows):
            note(f"{version.ref}: some ids stand more than once; such texts count as often as they stand")
        outside = sum(not scale.contains(row.scores[aspect]) for row in rows)
        if outside:
            note(f"{version.ref}: {count(outside, 'label')} outside of its scale, {scale.describe()}")
        if len({row.group for row in rows}) == len(rows):
            note(f"{version.ref}: every text is a group of its own; give `group` or `source` to compare rivals")
        if any(row.system is None for row in rows):
            if "system" in given["levels"]:
                raise DataError("Some texts do not name their system, so systems cannot be compared.", "Give `system`.")
            note(f"{version.ref}: no comparison of systems, as some texts do not name theirs")


def _stop_if_dead(scored: Mapping[str, Sequence[Score]], work: Session) -> None:
    from rubriclab.errors import JudgeError

    reasons = [score.unscored for scores in scored.values() for score in scores if score.unscored]
    if reasons and work.ledger.silent:
        raise JudgeError(f"The provider gave no reply at all; the latest reason: {reasons[-1]}")


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
