"""`rubriclab experiment`: the papers' claims as studies, run with any judge, their figures in the next column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import (
    asking_options,
    dry_run_option,
    export_options,
    json_option,
    option,
    output_option,
    store_option,
)
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from experiments.runner.results import Results
    from experiments.runner.run import Schedule
    from experiments.runner.sets import Sets
    from experiments.runner.study import Study
    from rubriclab import Example
    from rubriclab.report.model import View
    from rubriclab.research import Workspace


@click.group()
def experiment() -> None:
    """Run the studies behind the methods, and see the results beside the papers' figures."""


@experiment.command("list")
@json_option
def list_studies(*, as_json: bool) -> None:
    """List the studies, with what each asks and whose claim it is, and the measurements."""
    from experiments.runner.measurement import MODULES, measurement_named
    from experiments.runner.study import load_study, studies
    from experiments.runner.view import studies_view
    from rubriclab.cli.printing import print_json, print_view

    found = [load_study(name) for name in studies()]
    questions = {name: measurement_named(name).question for name in MODULES}
    if as_json:
        rows = [study.model_dump(mode="json", include={"name", "question", "paper"}) for study in found]
        print_json({"studies": rows, "measurements": [{"name": name, "question": q} for name, q in questions.items()]})
        return
    print_view(studies_view(found, questions))


@experiment.command("run")
@click.argument("name")
@option(
    "--data",
    required=True,
    type=FILE,
    metavar="FOLDER",
    help="The public sets: FOLDER/summeval.jsonl (or .jsonl.gz), …",
)
@option(
    "--judge",
    "judges",
    multiple=True,
    type=JUDGE,
    metavar="JUDGE",
    help="A litellm model string, 'embedded' or recorded:PATH; several times for a study of several judges.",
)
@option(
    "--output",
    "-o",
    type=FILE,
    metavar="FILE",
    help="Where the results are kept; a file begun before is gone on with.  [default: NAME-JUDGE.json]",
)
@option("--small", is_flag=True, help="A little of everything, to see that everything runs.")
@option(
    "--only",
    multiple=True,
    metavar="SET[:ASPECT]",
    help="Only this set, or this aspect of it; may be given several times.",
)
@option(
    "--set",
    "settings",
    multiple=True,
    metavar="METHOD.NAME=VALUE",
    help="A hyperparameter for every arm that has it, as in hypoeval.k=5; may be given several times.",
)
@asking_options
@store_option
@dry_run_option
@json_option
def run_study(name: str, **given: Any) -> None:
    """Run a study on the public sets in a folder.

    NAME is a study that ships (see `python -m experiments list`) or the folder of one of your own. It runs on those of
    its sets that are there; `python -m experiments data` makes their files. First it is said what that takes at most.
    Results are kept after each case, and answers as they come: killed or stopped by a cap, the same command goes on
    where it was.
    """
    from experiments.runner.results import begun
    from experiments.runner.run import schedule
    from experiments.runner.sets import sets_in
    from rubriclab.cli.printing import note
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.research import finish, judge_named

    sets = sets_in(given["data"])
    study = _study(name, sets, given)
    judges = [judge_named(judge, note) for judge in given["judges"] or (None,)]
    found = schedule(study, sets, len(judges))
    for line in found.notes:
        note(line)
    path = Path(given["output"] or _file_name(study, judges, small=given["small"]))
    results = begun(path, found.empty(judges, small=given["small"]))
    if given["retry_failed"]:
        results = results.without_failures()
    if given["dry_run"] or not all(map(_is_free, judges)):
        _print_bounds(found, results, judges, given)
    if given["dry_run"]:
        return
    with workspace_of(given) as workspace:
        workspace.open_store(create=True)
        results = finish(lambda: _run(found, results, path, judges, workspace))
    _print([(study, results)], as_json=given["as_json"])
    own = f"{name} " if Path(name).is_dir() else ""
    note(f"kept in {path}; to see it again: python -m experiments show {own}{path}")


@experiment.command("measure")
@click.argument("name")
@option("--data", required=True, type=FILE, metavar="FOLDER", help="The public sets, as for `run`.")
@option("--judge", type=JUDGE, metavar="JUDGE", help="Who rates texts.  [default: embedded]")
@option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the measurement.")
@option("--processes", type=click.IntRange(min=1), default=2, show_default=True, help="Cases measured at a time.")
@option("--output", "-o", type=FILE, metavar="FILE", help="An existing file is resumed.  [default: NAME-JUDGE.json]")
@json_option
def run_measurement(name: str, **given: Any) -> None:
    """Run a measurement on the public sets in a folder, and print its table.

    NAME is one that `python -m experiments list` names; --set gives its options, such as --set runs=10. Results are
    written after each case: interrupted, the same command resumes them.
    """
    from rich.console import Console
    from rich.progress import Progress

    from experiments.runner.measurement import begin, measure, measurement_named, parse_options, write_measured
    from rubriclab.cli.printing import note, print_json

    measurement = measurement_named(name)
    options = parse_options(measurement, {"data": given["data"], "judge": given["judge"]}, given["settings"])
    path = Path(given["output"] or f"{re.sub(r'[^A-Za-z0-9._-]+', '-', f'{name}-{options.judge}')}.json")
    begun = begin(measurement, options, path)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name)
        measured = measure(
            measurement,
            options,
            begun,
            processes=given["processes"],
            keep=lambda so_far: write_measured(so_far, path),
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if given["as_json"]:
        print_json(measured.model_dump(mode="json"))
    else:
        click.echo(measurement.table(measured.rows))
    note(f"written to {path}")


@experiment.command("show")
@click.argument("names", nargs=-1, required=True, metavar="NAME|FILE…")
@export_options
@json_option
def show_study(names: Sequence[str], *, as_json: bool, **values: Any) -> None:
    """Show results beside the papers' figures.

    NAME shows the stored results of a study or a measurement, FILE what `python -m experiments run` has written. Files
    that hold parts of one study are merged; the folder of a study of your own comes before its files.
    """
    from experiments.figures import blocks
    from experiments.runner.measurement import MODULES, folder_of
    from experiments.runner.results import merged, read_results
    from rubriclab.cli.files import check_exports, write_exports

    measurements = [name for name in names if name in MODULES]
    for name in measurements:
        click.echo("\n\n".join(blocks(folder_of(name)).values()))
    names = [name for name in names if name not in measurements]
    if not names:
        return
    named, files = ([name for name in names if Path(name).is_file() == is_file] for is_file in (False, True))
    if files:
        results = merged({file: read_results(Path(file)) for file in files})
        chosen: list[str] | list[None] = named or [None]
        found = [(_study_of(results, name), results) for name in chosen]
    else:
        found = [pair for name in named for pair in _shipped(name)]
    check_exports(values, *files)
    write_exports(_print(found, as_json=as_json), values)


def _study_of(results: Results, name: str | None) -> Study:
    """Return the study of this name, if the results are its own; by default, the one that they name or contain."""
    from experiments.runner.study import load_study, parse_study, studies
    from rubriclab import SettingsError

    if name is None and results.study not in studies():
        if results.configuration is None:
            raise SettingsError(
                f"{results.study} is not a study that ships, and the results do not contain its configuration.",
                "Give the folder of the study before the file.",
            )
        return parse_study(results.configuration, f"the configuration of {results.study} in the results")
    study = load_study(name or results.study)
    if study.name != results.study:
        raise SettingsError(f"These are results of {results.study}, not of {study.name}.", f"Give {results.study}.")
    return study


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
    """Record a language model's answers to the commands of `rubriclab demo`, for the shipped sample."""
    from experiments.demo import record

    context.exit(record(("--judge", model, *(("--api-base", api_base) if api_base else ()))))


@experiment.command("data")
@click.argument("name", metavar="SET")
@click.argument("file", metavar="FILE")
@output_option("rows")
def public_data(name: str, file: str, output: str) -> None:
    """Turn a public SET's own FILE into rows that studies run on.

    FILE is what the set's authors publish, also packed with gzip; `python -m experiments run` looks for the rows in its
    folder under the set's name: -o FOLDER/SET.jsonl.
    """
    import orjson

    from experiments.datasets import read_published
    from rubriclab.cli.files import check_place, writing
    from rubriclab.cli.printing import note
    from rubriclab.research import count

    check_place(output, file, "the rows", "-o")
    written = 0
    with writing(output) as write:
        for example in read_published(name, Path(file)):
            write(orjson.dumps(_native(example), option=orjson.OPT_APPEND_NEWLINE))
            written += 1
    note(f"{count(written, 'row')} of {name}")


def _study(name: str, sets: Sets, given: Mapping[str, Any]) -> Study:
    """Return the study, as the options change it."""
    from experiments.runner.sets import public_sets
    from experiments.runner.study import load_study
    from rubriclab.research import parse_settings

    shipped = public_sets()
    own = {name: tuple(about.aspects) for name, about in sets.known.items() if name not in shipped}
    study = load_study(name).only(given["only"], own)
    if given["small"]:
        study = study.small()
    return study.changed(parse_settings(given["settings"]))


def _file_name(study: Study, judges: Sequence[str], *, small: bool) -> str:
    words = "-".join((study.name, *judges, *(["small"] if small else [])))
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', words)}.json"


def _is_free(judge: str) -> bool:
    return judge == "embedded" or judge.startswith("recorded:")


def _print_bounds(found: Schedule, results: Results, judges: Sequence[str], given: Mapping[str, Any]) -> None:
    """Print the most that the remaining cases ask of each judge."""
    from experiments.runner.bench import Bench
    from experiments.runner.run import at_most
    from rubriclab.cli.printing import note, print_dry_run
    from rubriclab.cli.workspace import workspace_of
    from rubriclab.research import Ledger, connect, count, dry_run

    options = workspace_of(given).options
    remaining = found.left(results.done)
    connected = tuple(connect(judge, options=options, ledger=Ledger()) for judge in judges)
    estimates = at_most(found, Bench(found.study, found.sets, connected), remaining)
    names = ["judge"] if len(judges) == 1 else [f"judge {number}" for number in range(len(judges))]
    bounds = dry_run(dict(zip(names, zip(judges, estimates, strict=True), strict=True)), options, proposes=True)
    if given["dry_run"]:
        print_dry_run(bounds, as_json=given["as_json"])
        return
    note(f"{count(len(remaining), 'case')} to run, {len(results.done)} finished before")
    for bound in bounds.roles.values():
        cost = "price unknown (--price)" if bound.cost_usd is None else f"${bound.cost_usd:.2f}"
        note(f"{bound.judge}: at most {bound.calls:,} calls, {cost}; cached answers lower this bound")


async def _run(found: Schedule, results: Results, path: Path, judges: Sequence[str], workspace: Workspace) -> Results:
    from experiments.runner.bench import Bench
    from experiments.runner.results import with_judges, write_results
    from experiments.runner.run import run
    from rubriclab.research import JudgeChoice

    asked = tuple(workspace.judge(JudgeChoice(judge)) for judge in judges)
    results = with_judges(results, asked)
    write_results(results, path)
    with workspace.progress(workspace.ledger) as advance:
        bench = Bench(found.study, found.sets, asked, workspace.under_way, advance)
        return await run(
            found,
            bench,
            results,
            keep=lambda so_far: write_results(so_far, path),
            model_versions=lambda: workspace.ledger.model_versions,
        )


def _shipped(name: str) -> list[tuple[Study, Results]]:
    """Return a study with each of the results that lie beside it."""
    from experiments.runner.results import read_results
    from experiments.runner.study import load_study, shipped_results
    from rubriclab import DataError

    study, files = load_study(name), shipped_results(name)
    if not files:
        raise DataError(f"{name} has no results yet.", f"Make some: python -m experiments run {name} --data FOLDER.")
    return [(study, read_results(file)) for file in files]


def _print(found: Sequence[tuple[Study, Results]], *, as_json: bool) -> View:
    """Print the results of studies, and return the view of all."""
    from experiments.runner.summary import summarise
    from experiments.runner.view import study_view
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.report.model import Section, View

    summaries = [(study, results, summarise(study, results)) for study, results in found]
    if as_json:
        print_json({"results": [summary.to_row() for _, _, summary in summaries]})
    views = [study_view(study, results, summary) for study, results, summary in summaries]
    for view in () if as_json else views:
        print_view(view)
    return views[0] if len(views) == 1 else View("Studies", tuple(Section(view.title, view.blocks) for view in views))


def _native(example: Example) -> dict[str, Any]:
    """Return an example as a native row, without the fields that it does not have."""
    from dataclasses import asdict

    return {name: value for name, value in asdict(example).items() if value not in (None, {})}
