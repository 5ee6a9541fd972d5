"""`rubriclab store`, `batches` and `trust`: what the store holds, what providers process, what may choose judges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.config import TAKEN_TO_CONFIRM, Config, load_config
from rubriclab.cli.options import (
    command,
    export_options,
    json_option,
    measurement_options,
    option,
    record_option,
    row_options,
    rubric_option,
    store_option,
)
from rubriclab.cli.output import (
    FILE,
    OUTPUT,
    check_exports,
    check_place,
    check_rows_place,
    note,
    options_of,
    print_json,
    print_result,
    print_view,
    run,
    workspace_of,
    write_csv,
    write_text,
    writing,
    writing_rows,
)
from rubriclab.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rubriclab.models.version import TrainingRecord, Version
    from rubriclab.ops.versions import PruneResult, StoreSize, VacuumResult, VerifyResult


@click.group("store")
def store() -> None:
    """Show the size of the store, remove cached answers, and give their space back."""


@command("size")
@store_option
@row_options
def size(*, store: str | None, as_json: bool, csv: str | None) -> None:
    """Show the rows and bytes of the store by kind, cached answers by model."""
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    with Workspace(store) as workspace:
        result = service.store_size(workspace)
    write_csv(csv, result.to_row()["kinds"])
    _print(result, as_json=as_json)


@command("prune", "PruneOptions")
@store_option
@json_option
def prune(*, store: str | None, as_json: bool, **values: Any) -> None:
    """Remove cached answers of judges, and nothing else.

    Answers that are removed are asked again, and paid for again, when a command needs them. With --older-than 0d, all
    are removed.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import PruneOptions
    from rubriclab.ops.workspace import Workspace

    options = options_of(PruneOptions, values)
    with Workspace(store) as workspace:
        result = service.prune(workspace, options)
    _print(result, as_json=as_json)


@command("vacuum")
@store_option
@json_option
def vacuum(*, store: str | None, as_json: bool) -> None:
    """Give the space of removed answers back to the file system.

    Other processes that use the store wait meanwhile. SQLite writes a copy of the file first, so that the disk needs as
    much free space as the store takes.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    with Workspace(store) as workspace:
        result = service.vacuum(workspace)
    _print(result, as_json=as_json)


def _print(result: StoreSize | PruneResult | VacuumResult, *, as_json: bool) -> None:
    if as_json:
        print_json(result.to_row())
    else:
        print_view(result)


for member in (size, prune, vacuum):
    store.add_command(member)


@command(None, "BatchesOptions")
@store_option
@row_options
def batches(*, as_json: bool, csv: str | None, **values: Any) -> None:
    """List the batches that were sent with --batch and whose answers have not been fetched, or cancel one.

    To fetch them, run the command that sent them again: it waits for its batches, and pays for nothing twice.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import BatchesOptions
    from rubriclab.ops.workspace import Workspace, finish

    options = options_of(BatchesOptions, values)
    with Workspace(values["store"]) as workspace:
        result = finish(lambda: service.batches(workspace, options))
    write_csv(csv, result.to_rows())
    if as_json:
        print_json({"batches": result.to_rows()})
        return
    for line in result.lines():
        click.echo(line)


@command()
@click.argument("what", type=FILE, required=False, metavar="[REF|FILE]")
@option("--revoke", from_found="never", is_flag=True, help="Withdraw the confirmation instead.")
@store_option
@json_option
@click.pass_context
def trust(context: click.Context, what: str | None, *, revoke: bool, store: str | None, as_json: bool) -> None:
    """Allow an imported version or a configuration file to set the judge and the address that texts are sent to.

    REF is an imported version; commands will then send your texts and your key to the judge and address that it names.
    FILE is a rubriclab.toml; its present content is then used when it is found in the working folder. Without an
    argument, all imported versions and confirmed files are listed.
    """
    if what is not None and (what.endswith(".toml") or "/" in what or "\\" in what):
        _trust_file(Path(what), revoke=revoke, as_json=as_json)
        return
    config: Config | None = context.find_root().obj
    if store is None and config and TAKEN_TO_CONFIRM in config.values:
        config.check_may_set(TAKEN_TO_CONFIRM)
    if what is None:
        _list(store, as_json=as_json)
    else:
        _trust_version(what, store, revoke=revoke, as_json=as_json)


def _trust_file(file: Path, *, revoke: bool, as_json: bool) -> None:
    from rubriclab.cli.config import confirm, revoke as revoke_file

    if revoke:
        there = revoke_file(file)
        said = f"{file} is no longer confirmed" if there else f"{file} was not confirmed"
    else:
        config = load_config(file)
        if config is None:
            raise ValueError("expected the configuration file that was named, got none")
        said = f"{file} is confirmed as it is now; it sets {config.said() or 'nothing'}"
        confirm(file, config.content)
    if as_json:
        print_json({"file": str(file.resolve()), "confirmed": not revoke})
    else:
        click.echo(said)


def _trust_version(ref: str, store: str | None, *, revoke: bool, as_json: bool) -> None:
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    with Workspace(store) as workspace:
        version = service.trust(workspace, ref, revoke=revoke)
    if as_json:
        print_json(trust_row(version))
    else:
        click.echo(_outcome(version))


def _outcome(version: Version) -> str:
    if version.confirmed:
        return f"{version.ref} is confirmed; {_consequence(version)}"
    if version.imported:
        return f"{version.ref} is not confirmed: its judge is asked only if it is named with --judge"
    made = version.provenance
    sources = " and ".join(sorted({source for source in (made.judge_from, made.generator_from) if source}))
    if sources:
        return f"{version.ref} was made in this store with a judge that {sources} names: confirm or revoke {sources}"
    return f"{version.ref} was learned in this store: there is nothing to confirm"


def _consequence(version: Version) -> str:
    from rubriclab.judges.stack import PREFIX
    from rubriclab.ops.versions import named_judges
    from rubriclab.ops.workspace import online_judges

    judges = online_judges(version)
    if not judges:
        return "it asks the offline judge only, which sends nothing"
    if all(name.startswith(PREFIX) for name, _ in judges.values()):
        return f"commands read {named_judges(version)} unless --judge names another"
    return f"commands send texts and your key to {named_judges(version)} unless --judge names another"


def _list(store: str | None, *, as_json: bool) -> None:
    from rubriclab.cli.config import confirmed_files, digest_of
    from rubriclab.ops.versions import imported_versions
    from rubriclab.ops.workspace import Workspace
    from rubriclab.report.results import trust_view

    with Workspace(store) as workspace:
        versions = imported_versions(workspace)
    files = {
        name: Path(name).is_file() and digest_of(Path(name).read_bytes()) == digest
        for name, digest in confirmed_files().items()
    }
    if as_json:
        rows = [{"file": name, "confirmed": same} for name, same in files.items()]
        print_json({"versions": [trust_row(version) for version in versions], "files": rows})
    else:
        print_view(trust_view(versions, files))


def trust_row(version: Version) -> dict[str, Any]:
    """Return whom a version names and whether it may choose, in the form that scripts rely on."""
    made = version.provenance
    return {
        "rubric": version.ref,
        "imported_from": version.imported_from,
        "confirmed": version.confirmed,
        "judge": made.judge,
        "judge_address": made.judge_address,
        "generator": made.generator,
        "generator_address": made.generator_address,
    }


@command("list")
@store_option
@row_options
def list_names(*, store: str | None, as_json: bool, csv: str | None) -> None:
    """List the rubrics in the store, the newest version of each."""
    from rubriclab.ops.versions import list_versions
    from rubriclab.ops.workspace import Workspace

    with Workspace(store, notify=note) as workspace:
        versions = list_versions(workspace)
    write_csv(csv, map(_row, versions))
    if versions or as_json:
        _print_versions(versions, as_json=as_json, view="names_view")


@command()
@click.argument("name")
@store_option
@row_options
def log(name: str, *, store: str | None, as_json: bool, csv: str | None) -> None:
    """List all versions of NAME, the newest first."""
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    with Workspace(store) as workspace:
        versions = service.log(workspace, name)
    write_csv(csv, map(_row, versions))
    _print_versions(versions, as_json=as_json, view="log_view")


@command()
@click.argument("before")
@click.argument("after")
@export_options
@store_option
@json_option
def diff(before: str, after: str, *, store: str | None, as_json: bool, **values: Any) -> None:
    """Show what changed from version BEFORE to version AFTER."""
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    check_exports(values)
    with Workspace(store) as workspace:
        difference = service.diff(workspace, before, after)
    print_result(difference.view(), difference.as_json(), values, as_json=as_json)


@command()
@click.argument("ref")
@click.argument("tag")
@option("--delete", from_found="never", is_flag=True, help="Remove the tag instead.")
@option("--force", from_found="never", is_flag=True, help="Allow the tag production regardless of the gate.")
@store_option
def tag(ref: str, tag: str, *, delete: bool, force: bool, store: str | None) -> None:
    """Point TAG (such as production) to the version REF; tags can be moved.

    The tag production is refused, with exit code 1, if the gate did not find the version better than the free
    baselines.
    """
    from rubriclab.ops import versions as service

    with workspace_of({"store": store}) as workspace:
        if delete:
            service.untag(workspace, ref, tag)
            click.echo(f"{ref.partition('@')[0]} has no tag {tag} any more")
        else:
            click.echo(f"{service.tag(workspace, ref, tag, force=force).ref} is {tag}")


@command("export")
@click.argument("ref")
@option(
    "--output", "-o", default="-", type=OUTPUT, metavar="PATH", help="The pack to write.  [default: standard output]"
)
@store_option
def export_pack(ref: str, *, output: str, store: str | None) -> None:
    """Write the version REF as a pack: a file to review, keep in git and share."""
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    with Workspace(store) as workspace:
        text = service.export(workspace, ref)
    if output == "-":
        click.echo(text, nl=False)
        return
    write_text(output, text)


@command("import")
@click.argument("pack", type=FILE)
@option(
    "--as", "name", from_found="never", metavar="NAME", help="The name to save it under.  [default: the pack's own]"
)
@store_option
@json_option
def import_(pack: str, *, name: str | None, store: str | None, as_json: bool) -> None:
    """Save the rubric of a PACK file (- for standard input) as a version, after checking its digests."""
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    notes: list[str] = []
    with Workspace(store, notify=notes.append) as workspace:
        version = service.import_(workspace, pack, name)
    if as_json:
        print_json({**trust_row(version), "new": version.new, "digest": version.digest})
        return
    click.echo(version.ref if version.new else f"{version.ref} holds it already")
    for text in notes:
        note(text)


@command()
@option(
    "--repair",
    from_found="never",
    is_flag=True,
    help="Remove damaged cached answers; their prompts are sent again when needed.",
)
@store_option
@json_option
def verify(*, repair: bool, store: str | None, as_json: bool) -> None:
    """Recompute every digest in the store; exit code 1 if any does not match."""
    from rubriclab.ops import versions as service
    from rubriclab.ops.workspace import Workspace

    with Workspace(store) as workspace:
        result = service.verify(workspace, repair=repair)
    if as_json:
        row: dict[str, Any] = {"store": result.place, "problems": [str(problem) for problem in result.problems]}
        print_json({**row, "removed": list(result.removed)} if repair else row)
    else:
        _print_verified(result, repair=repair)
    if result.problems:
        click.get_current_context().exit(1)


def _print_verified(result: VerifyResult, *, repair: bool) -> None:
    """Print what was removed and what does not match, and say on standard error what can be done about it."""

    print_view(result)
    if not result.problems:
        return
    answers = sum(problem.answer is not None for problem in result.problems)
    if answers:
        note(f"damaged answers: {answers}; `rubriclab verify --repair` removes them, so that they are asked again")
    if repair:
        note("what is left cannot be repaired: save it again (learn, import), or restore the store from a copy")


def _print_versions(versions: Sequence[Version], *, as_json: bool, view: str) -> None:
    if as_json:
        print_json({"versions": [_row(version) for version in versions]})
        return
    from rubriclab.report import results

    print_view(getattr(results, view)(versions))


def _row(version: Version) -> dict[str, Any]:
    agreement = version.provenance.agreement
    return {
        "rubric": version.ref,
        "digest": version.digest,
        "tags": list(version.tags),
        "parent": version.parent,
        "created": version.created.isoformat(),
        "task": version.rubric.task,
        "aspect": version.rubric.aspect.name,
        "criteria": len(version.rubric.criteria),
        "judge": version.provenance.judge,
        "imported_from": version.imported_from,
        "confirmed": version.confirmed,
        "agreement": agreement.model_dump(mode="json") if agreement else None,
    }


COMMANDS = (list_names, log, diff, tag, export_pack, import_, verify)


@command()
@click.argument("rubric")
@option(
    "--evidence",
    from_found="always",
    is_flag=True,
    help="Also show the origin of each criterion, and dropped criteria with reasons.",
)
@option(
    "--matrix",
    from_found="always",
    is_flag=True,
    help="Show the rating of each labelled text by each candidate criterion instead.",
)
@option(
    "--output",
    "-o",
    type=OUTPUT,
    metavar="PATH",
    help="Write the matrix with all reasons to this file, a row for each text and criterion.",
)
@store_option
@json_option
def show(rubric: str, *, evidence: bool, matrix: bool, output: str | None, store: str | None, as_json: bool) -> None:
    """Show RUBRIC (NAME, NAME@NUMBER or NAME@TAG): its criteria with levels, weights, evidence and agreement."""
    from rubriclab.ops import versions as service

    if output and not matrix:
        raise SettingsError("--output goes with --matrix.", "Give both, or neither.")
    with workspace_of({"store": store}) as workspace:
        version = service.load(workspace, rubric)
        if output:
            check_rows_place(output)
        record = service.training_record(workspace, version.ref) if matrix else None
        pack = service.export(workspace, version.ref) if as_json else ""
    if record:
        _show_matrix(version, record, output, as_json=as_json)
    elif as_json:
        click.echo(pack, nl=False)
    else:
        from rubriclab.report.rubrics import evidence_view, version_view

        print_view(evidence_view(version) if evidence else version_view(version))


def _show_matrix(version: Version, record: TrainingRecord, output: str | None, *, as_json: bool) -> None:
    if output:
        _write(record, output)
    if as_json:
        print_json({"rubric": version.ref, **record.model_dump(mode="json")})
    elif not output:
        from rubriclab.report.rubrics import matrix_view

        print_view(matrix_view(version, record))


def _write(record: TrainingRecord, output: str) -> None:
    from rubriclab.report.rubrics import matrix_rows

    with writing_rows(output) as write:
        for row in matrix_rows(record):
            write(row)


@command()
@click.argument("rubric")
@option(
    "--output",
    "-o",
    "--html",
    default="-",
    type=OUTPUT,
    metavar="PATH",
    help="The page to write.  [default: standard output]",
)
@store_option
def report(rubric: str, *, output: str, store: str | None) -> None:
    """Write an HTML report on RUBRIC: verdict, agreement, criteria, disagreements, raters and provenance.

    The report is one file without external resources. It shows the texts and labels that RUBRIC was learned from, if
    the store has them.
    """
    from rubriclab.report import rubrics

    with workspace_of({"store": store}) as workspace:
        check_place(output)
        page = rubrics.report(workspace, rubric)
    with writing(output) as write:
        write(page.encode())
    if output != "-":
        note(f"report written to {output}")


@command(None, "DisagreementsOptions")
@click.argument("rubric")
@store_option
@row_options
def disagreements(rubric: str, *, as_json: bool, csv: str | None, **values: Any) -> None:
    """Show the labelled texts whose held-out scores by RUBRIC lie furthest from their labels.

    Each text has its label, the raters' scores, its source, and the score and reason of every criterion.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import DisagreementsOptions
    from rubriclab.ops.workspace import Workspace

    options = options_of(DisagreementsOptions, values)
    with Workspace(values["store"]) as workspace:
        result = service.disagreements(workspace, rubric, options)
    write_csv(csv, result.to_rows())
    if as_json:
        print_json({"rubric": result.version.ref, "texts": result.to_rows()})
    else:
        print_view(result)


@command(None, "ExplainOptions", "CallOptions")
@click.argument("text", type=FILE, required=False)
@rubric_option
@measurement_options
@record_option
def explain(text: str | None, *, rubric: str, as_json: bool, **values: Any) -> None:
    """Explain the score of TEXT by a rubric: each criterion's share with its reason, and the nearest labelled texts.

    TEXT is a .txt file, or - for standard input, with the text itself; or a file of rows, of which --id names one.
    Without TEXT, --id names a text that the rubric was learned from; its
    kept ratings are used, and no calls are made.
    """
    from rubriclab.ops.explain import explain as prepare
    from rubriclab.ops.options import ExplainOptions

    check_exports(values)
    options = options_of(ExplainOptions, values)
    explanation = run(values, prepare, text, rubric, options, as_json=as_json)
    if explanation is None:
        return
    print_result(explanation.view(), explanation.to_row(), values, as_json=as_json)
    explanation.check_answered()
