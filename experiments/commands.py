"""`python -m experiments`: studies and measurements, their data and their results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rubriclab.cli.options import FILE, PathType, SectionCommand
from rubriclab.cli.output import Call

if TYPE_CHECKING:
    from experiments.runner.results import Results
    from experiments.runner.run import Schedule
    from experiments.runner.study import Study
    from rubriclab.ops.workspace import Workspace


@click.group()
def experiment() -> None:
    """Run the studies of the papers' claims, and show the results beside the papers' figures."""


@experiment.command("list", cls=SectionCommand, model_names=("JsonOption",))
def list_studies(_call: Call, *, as_json: bool) -> None:
    """List the studies with their questions and papers, and the measurements."""
    from experiments.runner.measurement import MODULES, measurement_named
    from experiments.runner.study import load_study, studies
    from rubriclab.cli.output import print_json

    found = [load_study(name).model_dump(mode="json", include={"name", "question", "paper"}) for name in studies()]
    measurements = [{"name": name, "question": measurement_named(name).question} for name in MODULES]
    if as_json:
        print_json({"studies": found, "measurements": measurements})
        return
    for row in found:
        click.echo(f"{row['name']}\n  {row['question']}\n  {row['paper'] or 'a question of our own'}")
    click.echo("\nMeasurements (python -m experiments measure):\n")
    for row in measurements:
        click.echo(f"{row['name']}\n  {row['question']}")


@experiment.command("run", cls=SectionCommand, model_names=("CallOptions", "RecordOption", "StoreAndJsonOptions"))
@click.argument("name")
@click.option(
    "--data",
    required=True,
    type=FILE,
    metavar="FOLDER",
    help="The public sets: FOLDER/summeval.jsonl (or .jsonl.gz), …",
)
@click.option(
    "--judge",
    type=PathType("judge"),
    envvar="RUBRICLAB_JUDGE",
    metavar="JUDGE",
    help="A litellm model string, 'embedded' or recorded:PATH.  [default: the configured one]",
)
@click.option(
    "--output",
    "-o",
    type=FILE,
    metavar="FILE",
    help="The file of the results; an existing file is continued.  [default: NAME-JUDGE.json]",
)
@click.option("--small", is_flag=True, help="Run a little of everything, to see that it runs.")
@click.option(
    "--only",
    multiple=True,
    metavar="SET[:ASPECT]",
    help="Only this set, or this aspect of it; may be given several times.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="METHOD.NAME=VALUE",
    help="A setting for every arm that has it, as in hypoeval.k=5; may be given several times.",
)
def run_study(call: Call, name: str) -> None:
    """Run a study on the public sets in a folder.

    NAME is a study of `python -m experiments list`, or the folder of one of your own. It runs on those of its sets that
    are there; `python -m experiments data` makes their files. Results are stored after each case, and replies as they
    come: after a stop, the same command continues. A cap on cost (--max-cost) or calls (--max-calls) stops it cleanly.
    """
    from experiments.runner.results import begun
    from experiments.runner.run import schedule
    from experiments.runner.sets import sets_in
    from experiments.runner.study import load_study
    from rubriclab.cli.options import note
    from rubriclab.models.characters import count
    from rubriclab.ops.options import parse_settings
    from rubriclab.ops.workspace import judge_or_offline
    from rubriclab.running import run_to_end

    sets = sets_in(call.values["data"])
    study = load_study(name).only(call.values["only"])
    study = (study.small() if call.values["small"] else study).changed(parse_settings(call.values["settings"]))
    judge = judge_or_offline(call.values["judge"], note)
    found = schedule(study, sets)
    for line in found.notes:
        note(line)
    path = Path(call.values["output"] or _file_name(study.name, judge, *(["small"] if call.values["small"] else [])))
    results = begun(path, found.empty(judge, small=call.values["small"]))
    if call.values["retry_failed"]:
        results = results.without_failures()
    note(f"{count(len(found.left(results)), 'case')} to run, {len(results.done)} finished before")
    with call.workspace() as workspace:
        workspace.open_store(create=True)
        results = run_to_end(lambda: _run(found, results, path, judge, workspace))
    _print(study, results, as_json=call.values["as_json"])
    note(f"stored in {path}; to see it again: python -m experiments show {path}")


@experiment.command("measure", cls=SectionCommand, model_names=("JsonOption",))
@click.argument("name")
@click.option("--data", required=True, type=FILE, metavar="FOLDER", help="The public sets, as for `run`.")
@click.option(
    "--judge",
    type=PathType("judge"),
    envvar="RUBRICLAB_JUDGE",
    metavar="JUDGE",
    help="The judge that rates texts.  [default: embedded]",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the measurement.")
@click.option("--processes", type=click.IntRange(min=1), default=2, show_default=True, help="Cases measured at a time.")
@click.option("--output", "-o", type=FILE, metavar="FILE", help="The file of the results.  [default: NAME-JUDGE.json]")
def run_measurement(call: Call, name: str) -> None:
    """Run a measurement on the public sets in a folder, and print its table.

    NAME is one that `python -m experiments list` names; --set gives its options, such as --set runs=10.
    """
    from rich.console import Console
    from rich.progress import Progress

    from experiments.runner.measurement import measure, measurement_named, parse_options
    from experiments.runner.results import write_stored
    from rubriclab.cli.options import note
    from rubriclab.cli.output import print_json

    measurement = measurement_named(name)
    given = {name: call.values[name] for name in ("data", "judge")}
    options = parse_options(measurement, given, call.values["settings"])
    path = Path(call.values["output"] or _file_name(name, options.judge))
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name)
        measured = measure(
            measurement,
            options,
            processes=call.values["processes"],
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    write_stored(measured, path)
    if call.values["as_json"]:
        print_json(measured.model_dump(mode="json"))
    else:
        click.echo(measurement.table(measured.rows))
    note(f"stored in {path}")


@experiment.command("show", cls=SectionCommand, model_names=("JsonOption",))
@click.argument("name", metavar="NAME|FILE")
def show_study(_call: Call, name: str, *, as_json: bool) -> None:
    """Show results beside the papers' figures.

    NAME shows the stored results of a study or a measurement, FILE those that `python -m experiments run` has stored.
    """
    from experiments import ROOT
    from experiments.figures import blocks
    from experiments.runner.measurement import MODULES
    from experiments.runner.results import Results, read_stored
    from experiments.runner.study import load_study, study_folder
    from rubriclab import DataError

    if name in MODULES:
        click.echo("\n\n".join(blocks(ROOT / name).values()))
        return
    path = Path(name) if Path(name).is_file() else study_folder(name) / "results" / "embedded.json"
    if not path.is_file():
        raise DataError(f"{name} has no results yet.", f"Make some: python -m experiments run {name} --data FOLDER.")
    results = read_stored(Results, path)
    _print(load_study(results.study), results, as_json=as_json)


@experiment.command("figures")
@click.option("--check", is_flag=True, help="Print which pages differ from the stored results, and write nothing.")
@click.pass_context
def write_figures(context: click.Context, *, check: bool) -> None:
    """Write the measured figures of all pages from stored results; with --check, exit with 1 if any differs."""
    from experiments.figures import update

    context.exit(update(check=check))


@experiment.command("demo")
@click.option("--record", "model", metavar="MODEL", required=True, help="Ask this language model.")
@click.option("--api-base", metavar="URL", help="The server's address, for a server of your own.")
@click.pass_context
def record_demo(context: click.Context, *, model: str, api_base: str | None) -> None:
    """Record a language model's answers to the commands of `rubriclab demo`, about 530 requests."""
    import shlex
    from tempfile import TemporaryDirectory

    from rubriclab.cli.commands import DEMO_PARTS, run_commands
    from rubriclab.models.base import content_path
    from rubriclab.ops.check import DEMO_FILES, write_content

    judge = ["--judge", model, *(["--api-base", api_base] if api_base else [])]
    with TemporaryDirectory() as folder:
        write_content("ratings", DEMO_FILES, Path(folder))
        record = ("--record", str(content_path("ratings", "recording.jsonl")))
        options = shlex.join((*judge, *record))
        for part in DEMO_PARTS.values():
            if code := run_commands(Path(folder), part, options):
                context.exit(code)


@experiment.command("data", cls=SectionCommand, model_names=("RowsOutput",))
@click.argument("name", metavar="SET")
@click.argument("file", metavar="FILE")
def public_data(_call: Call, name: str, file: str, output: str) -> None:
    """Turn a public SET's own FILE into rows that studies run on.

    FILE is the one that the set's authors publish, also packed with gzip; `python -m experiments run` looks for the
    rows in its folder under the set's name: -o FOLDER/SET.jsonl.
    """
    import orjson

    from experiments.datasets import native_row, read_published
    from rubriclab.cli.options import note
    from rubriclab.cli.output import check_folder_exists, refuse_overwriting, writing
    from rubriclab.models.characters import count

    check_folder_exists(output)
    refuse_overwriting(output, "-o", [file])
    examples = read_published(name, Path(file))
    with writing(output) as write:
        for example in examples:
            write(orjson.dumps(native_row(example), option=orjson.OPT_APPEND_NEWLINE))
    note(f"{count(len(examples), 'row')} of {name}")


def _file_name(*words: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', '-'.join(words))}.json"


async def _run(found: Schedule, results: Results, path: Path, named: str, workspace: Workspace) -> Results:
    from experiments.runner.results import write_stored
    from experiments.runner.run import Bench, run
    from rubriclab.ops.workspace import JudgeChoice

    judge = workspace.judge(JudgeChoice(named))
    results = results.with_judge(judge)
    write_stored(results, path)
    with workspace.progress(workspace.ledger) as advance:
        bench = Bench(found.study, found.sets, judge, workspace.texts_at_once, advance)
        return await run(
            found,
            bench,
            results,
            keep=lambda so_far: write_stored(so_far, path),
            model_versions=lambda: workspace.ledger.model_versions,
        )


def _print(study: Study, results: Results, *, as_json: bool) -> None:
    """Print the results of a study."""
    from experiments.runner.summary import summarise
    from experiments.tables import tables
    from rubriclab.cli.options import note
    from rubriclab.cli.output import print_json

    if results.digest != study.digest and not results.small:
        note("run with another configuration than the study has now")
    if as_json:
        print_json(summarise(study, results).to_row())
        return
    click.echo("\n\n".join([study.question, study.paper or "a question of our own", *tables(study, results).values()]))
