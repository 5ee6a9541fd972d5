"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    dry_run_option,
    json_option,
    judge_options,
    map_option,
    option,
    settings_option,
    store_option,
)

if TYPE_CHECKING:
    from rubriclab.methods.hypoeval import HypoEvalSettings
    from rubriclab.store import Version


@click.command()
@click.argument("labelled")
@option("--task", required=True, help="The kind of text: summarization, story, dialogue, or a word of your own.")
@option("--aspect", required=True, help="The aspect to learn, one that the rows have scores for.")
@option("--name", help="The rubric's name in the store.  [default: TASK-ASPECT]")
@option("--definition", help="What the aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The raters' scale, as in 1:5; taken from the labels if not given.")
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="Decides the order in which the texts are seen.",
)
@option("--generator", metavar="JUDGE", help="Who proposes and refines hypotheses.  [default: the judge]")
@option("--literature", metavar="PATH", help="Findings of your own, a file or a folder.  [default: those that ship]")
@option("--no-literature", is_flag=True, help="Learn without findings.")
@option("--parent", metavar="REF", help="The version that this one continues.  [default: the newest of the name]")
@judge_options
@settings_option
@map_option
@store_option
@dry_run_option
@json_option
def learn(labelled: str, **given: Any) -> None:
    """Learn a rubric from LABELLED texts and keep it as a version in the store.

    LABELLED is a .jsonl, .csv (both also .gz) or .parquet file of texts with human scores, or - for standard input.
    Killed or stopped by a cap, the same command goes on where it was: answers are kept as they come.
    """
    from rubriclab.cli.session import Choice, finish, judge_named, note, session
    from rubriclab.data import Assignment, find_aspect, parse_mapping, read, task_words, training_examples
    from rubriclab.data.mapping import NATIVE
    from rubriclab.literature import load_findings
    from rubriclab.store.version import check_name

    name = check_name(given["name"] or _default_name(given["task"], given["aspect"]))
    settings = _settings([*given["configured"], *given["settings"]])
    aspect = find_aspect(given["task"], given["aspect"], given["definition"])
    mapping = parse_mapping(given["mapping"]) if given["mapping"] else NATIVE
    training = training_examples(read(labelled, mapping), aspect.name, given["scale"])
    for line in training.notes:
        note(line)
    assignment = Assignment(task_words(given["task"]), aspect, training.scale)
    path = Path(given["literature"]) if given["literature"] else None
    findings = () if given["no_literature"] else load_findings(given["task"], aspect.name, path)
    judge = judge_named(given["judge"])
    generator = given["generator"] or judge
    if given["dry_run"]:
        from rubriclab.cli.dry_run import say_most
        from rubriclab.methods.hypoeval.estimate import estimate_learning

        asked = dict(
            zip(
                ("judge", "generator"),
                estimate_learning(training.examples, assignment, findings, settings),
                strict=True,
            )
        )
        say_most(asked, {"judge": judge, "generator": generator}, given)
        return
    with session(given["store"], given, create=True) as work:
        from rubriclab.cli.progress import progress
        from rubriclab.learning import train

        if given["parent"]:
            work.store.load(given["parent"])
        asked_judge = work.judge(Choice(judge))
        asked_generator = asked_judge if generator == judge else work.judge(Choice(generator))
        with progress(work.ledger) as advance:
            trained = finish(
                lambda: train(
                    training.examples,
                    assignment,
                    judge=asked_judge,
                    generator=asked_generator,
                    findings=findings,
                    settings=settings,
                    seed=given["seed"],
                    snapshots=lambda: sorted(work.ledger.snapshots),
                    say=advance,
                )
            )
        version = work.store.save(name, trained.rubric, trained.provenance, work.effort(), given["parent"])
        _report(version, work.effort(), work.store.place, as_json=given["as_json"])


def _default_name(task: str, aspect: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", f"{task}-{aspect}".lower()).strip("-._")


def _settings(pairs: Sequence[str]) -> HypoEvalSettings:
    import orjson
    from pydantic import ValidationError

    from rubriclab.errors import SettingsError
    from rubriclab.methods.hypoeval import HypoEvalSettings, hypoeval_settings

    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        method, dot, field = name.strip().partition(".")
        if not equals or not dot or method != "hypoeval":
            raise SettingsError(f"--set {pair!r} is not understood;", "write METHOD.NAME=VALUE, as in hypoeval.k=10.")
        try:
            values[field] = orjson.loads(text)
        except orjson.JSONDecodeError:
            values[field] = text.strip()
    try:
        return hypoeval_settings(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = ", ".join(sorted(HypoEvalSettings.model_fields))
        hint = f"Known are: preset, {known}." if first["type"] == "extra_forbidden" else None
        raise SettingsError(f"hypoeval.{first['loc'][0]}: {first['msg']}; got {first['input']!r}.", hint) from None
    except ValueError as error:
        raise SettingsError(f"hypoeval.preset: {error}.") from None


def _report(version: Version, effort: Any, place: str, *, as_json: bool) -> None:
    from rubriclab.cli.session import note
    from rubriclab.report.wording import estimate

    agreement = version.provenance.agreement
    if as_json:
        _print_json(version, effort)
        return
    state = "" if version.new else ", unchanged, so no new version"
    click.echo(f"{version.ref}: {len(version.rubric.criteria)} criteria{state}")
    if agreement:
        click.echo(
            f"Spearman {estimate(agreement.spearman)} on the {agreement.n} training texts, "
            f"{estimate(agreement.reselected)} re-selected without each group's own labels (both optimistic)"
        )
    if not any((criterion.evidence.pearson or 0) > 0 for criterion in version.rubric.criteria):
        note("warning: none of the criteria tracks the labels; the scores of this rubric mean nothing")
    if effort.failed:
        note(f"{effort.failed} questions had no usable reply; the same command with --retry-failed asks them again")
    note(f"kept in {place}; read it with: rubriclab show {version.ref}")


def _print_json(version: Version, effort: Any) -> None:
    from rubriclab.cli.printing import effort_row, print_json

    agreement = version.provenance.agreement
    row: Mapping[str, Any] = {
        "rubric": version.ref,
        "new": version.new,
        "digest": version.digest,
        "criteria": len(version.rubric.criteria),
        **effort_row(effort),
        "agreement": agreement.model_dump(mode="json") if agreement else {},
    }
    print_json(row)
