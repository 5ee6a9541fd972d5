"""`rubriclab store`, `batches` and `trust`: what the store holds, what providers process, what may choose judges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.config import TAKEN_TO_CONFIRM, Config, load_config
from rubriclab.cli.files import write_csv
from rubriclab.cli.options import command, json_option, option, row_options, store_option
from rubriclab.cli.places import FILE
from rubriclab.cli.printing import options_of, print_json, print_view

if TYPE_CHECKING:
    from rubriclab.models.version import Version
    from rubriclab.ops.versions import PruneResult, StoreSize, VacuumResult


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
