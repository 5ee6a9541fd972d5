"""`rubriclab learn`: labelled texts to a version in the store."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
from rubriclab.methods.names import METHOD_NAMES

if TYPE_CHECKING:
    from rubriclab.checklist import Checklist
    from rubriclab.methods.method import Lesson, Method
    from rubriclab.rubric import Rubric, TrainingAgreement
    from rubriclab.store import Version


@click.command()
@click.argument("labelled")
@option("--task", required=True, help="The kind of text: summarization, story, dialogue, or a word of your own.")
@option("--aspect", required=True, help="The aspect to learn, one that the rows have scores for.")
@option(
    "--method",
    type=click.Choice(METHOD_NAMES),
    help="How to learn and score: a method, or a baseline to compare with.  [default: hypoeval]",
)
@option("--name", help="The rubric's name in the store.  [default: TASK-ASPECT, or TASK-ASPECT-METHOD with --method]")
@option("--definition", help="What the aspect means; shipped for those of the well-known data sets.")
@option("--scale", metavar="LOW:HIGH", help="The raters' scale, as in 1:5; taken from the labels if not given.")
@option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="Decides the order in which the texts are seen.",
)
@option("--generator", metavar="JUDGE", help="Who proposes criteria and refines them.  [default: the judge]")
@option("--literature", metavar="PATH", help="Findings of your own, a file or a folder.  [default: those that ship]")
@option("--no-literature", is_flag=True, help="Learn without findings.")
@option(
    "--checklist",
    metavar="PATH",
    help="Questions of your own, for checkeval, seal and dcr.  [default: those that ship]",
)
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
    from rubriclab.cli.settings import method_settings
    from rubriclab.methods.catalogue import METHODS
    from rubriclab.store.version import check_name

    name = check_name(given["name"] or default_name(given["task"], given["aspect"], given["method"]))
    method = METHODS[given["method"] or "hypoeval"]
    settings = method_settings(method, given["settings"], given["configured"])
    lesson = _lesson(labelled, method, given)
    judge = judge_named(given["judge"])
    generator = given["generator"] or judge
    if given["dry_run"]:
        from rubriclab.cli.dry_run import say_most

        for_judge, for_generator = method.learning_at_most(lesson, settings)
        roles = {"judge": judge, "generator": generator}
        say_most({"judge": for_judge, "generator": for_generator}, roles, given, proposes=True)
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
                    method,
                    lesson,
                    settings,
                    judge=asked_judge,
                    generator=asked_generator,
                    seed=given["seed"],
                    snapshots=lambda: sorted(work.ledger.snapshots),
                    say=advance,
                )
            )
        version = work.store.save(name, trained.rubric, trained.provenance, work.effort(), given["parent"])
        for line in trained.notes:
            note(line)
        _report(version, work.effort(), work.store.place, as_json=given["as_json"])


def default_name(task: str, aspect: str, method: str | None = None) -> str:
    """Return what a rubric is called in the store if its user does not say: `summarization-coherence-checkeval`."""
    words = "-".join(filter(None, (task, aspect, method)))
    return re.sub(r"[^a-z0-9._-]+", "-", words.lower()).strip("-._")


def _lesson(labelled: str, method: Method, given: Mapping[str, Any]) -> Lesson:
    """Return what the options name to learn from, and say what was made of the labelled texts."""
    from rubriclab.checklist import seed_questions
    from rubriclab.cli.session import note
    from rubriclab.data import Assignment, find_aspect, parse_mapping, read, task_words, training_examples
    from rubriclab.data.aspect import shipped_aspects
    from rubriclab.data.mapping import NATIVE
    from rubriclab.literature import load_findings
    from rubriclab.methods.method import Lesson

    task, own = given["task"], given["checklist"]
    if own and not method.checklists:
        note(f"--checklist is left out: {method.name} asks no questions of a checklist")
    file = Path(own) if own else None
    checklist = seed_questions(method.checklists, task, given["aspect"], file, needed=method.needs_checklist)
    if own and checklist:
        _say_faults(checklist, own)
    shipped = given["aspect"] in (aspect.name for aspect in shipped_aspects(task))
    definition = given["definition"] or (checklist.definition if checklist and (own or not shipped) else None)
    aspect = find_aspect(task, given["aspect"], definition)
    mapping = parse_mapping(given["mapping"]) if given["mapping"] else NATIVE
    rows = read(labelled, mapping)
    training = training_examples(rows, aspect.name, given["scale"], labels_needed=method.needs_labels)
    for line in training.notes:
        note(line)
    path = Path(given["literature"]) if given["literature"] else None
    findings = () if given["no_literature"] else load_findings(task, aspect.name, path)
    return Lesson(training.examples, Assignment(task_words(task), aspect, training.scale), findings, checklist)


def _say_faults(checklist: Checklist, path: str) -> None:
    """Say before anything is paid for that a checklist of the user's own has faults."""
    from rubriclab.cli.session import note
    from rubriclab.methods.checkeval.lint import lint

    if faults := lint(checklist):
        found = "1 fault was" if len(faults) == 1 else f"{len(faults)} faults were"
        note(f"{found} found in the questions of {path}; `rubriclab lint {path}` says which")


def _report(version: Version, effort: Any, place: str, *, as_json: bool) -> None:
    from rubriclab.cli.session import note
    from rubriclab.report.describe import contents

    if as_json:
        _print_json(version, effort)
        return
    criteria, agreement = version.rubric.criteria, version.provenance.agreement
    state = "" if version.new else ", unchanged, so no new version"
    click.echo(f"{version.ref}: {contents(criteria)}{state}")
    if agreement:
        click.echo(_agreed(version.rubric, agreement))
    if agreement and not any((criterion.evidence.pearson or 0) > 0 for criterion in criteria):
        nothing = "none of the criteria tracks" if len(criteria) > 1 else "it does not track"
        note(f"warning: {nothing} the labels; the scores of this rubric mean nothing")
    if effort.failed:
        note(f"{effort.failed} questions had no usable reply; the same command with --retry-failed asks them again")
    note(f"kept in {place}; read it with: rubriclab show {version.ref}")


def _agreed(rubric: Rubric, found: TrainingAgreement) -> str:
    from rubriclab.report.describe import labels_proposed
    from rubriclab.report.wording import estimate

    on = f"Spearman {estimate(found.spearman)} on the {found.n} training texts"
    if not found.optimistic:
        return f"{on}, whose labels had no part in it"
    which = "both" if labels_proposed(rubric) else "the first is"
    return f"{on}, {estimate(found.reselected)} re-selected without each group's own labels ({which} optimistic)"


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
