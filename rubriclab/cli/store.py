"""Commands on what the store holds, and `trust`: what may choose who gets texts and keys."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.config import TAKEN_TO_CONFIRM, Config, load_config
from rubriclab.cli.options import FILE, command
from rubriclab.cli.output import Call, check_place, check_rows_place, note, write_text, writing, writing_rows
from rubriclab.errors import NoStore, SettingsError

if TYPE_CHECKING:
    from rubriclab.models.version import Outcome, Version
    from rubriclab.ops.versions import VerifyResult


@click.group("store")
def store() -> None:
    """Show the size of the store, remove cached answers, and give their space back."""


@command("RowsCsv", "StoreJson")
def size(call: Call) -> None:
    """Show the rows and bytes of the store by kind, cached answers by model."""
    from rubriclab.ops import versions as service

    with call.store("read") as store:
        result = service.store_size(store)
    call.show_rows(result, result.to_row(), result.to_row()["kinds"])


@command("PruneOptions", "StoreJson")
def prune(call: Call) -> None:
    """Remove cached answers of judges, and nothing else.

    Answers that are removed are asked again, and paid for again, when a command needs them. With --older-than 0d, all
    are removed.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import PruneOptions

    options = call.options(PruneOptions)
    with call.store("read" if options.dry_run else "write") as store:
        result = service.prune(store, options)
    call.show(result, asdict(result))


@command("StoreJson")
def vacuum(call: Call) -> None:
    """Give the space of removed answers back to the file system.

    Other processes that use the store wait meanwhile. SQLite writes a copy of the file first, so that the disk needs as
    much free space as the store takes.
    """
    from rubriclab.ops import versions as service

    with call.store() as store:
        result = service.vacuum(store)
    call.show(result, asdict(result))


for member in (size, prune, vacuum):
    store.add_command(member)


@command("BatchesOptions", "RowsCsv", "StoreJson")
def batches(call: Call) -> None:
    """List the batches that were sent with --batch and whose answers have not been fetched, or cancel one.

    To fetch them, run the command that sent them again: it waits for its batches, and pays for nothing twice.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import BatchesOptions
    from rubriclab.ops.workspace import finish

    options = call.options(BatchesOptions)
    with call.workspace() as workspace:
        result = finish(lambda: service.batches(workspace, options))
    call.show_rows("\n".join(result.lines()), {"batches": result.to_rows()}, result.to_rows())


@command("TrustFlags", "StoreJson")
@click.argument("what", type=FILE, required=False, metavar="[REF|FILE]")
def trust(call: Call, what: str | None, *, revoke: bool) -> None:
    """Allow an imported version or a configuration file to set the judge and the address that texts are sent to.

    REF is an imported version; commands will then send your texts and your key to the judge and address that it names.
    FILE is a rubriclab.toml; its present content is then used when it is found in the working folder. A folder, such as
    `.` for the working folder, stands for its rubriclab.toml with any later content. Without an argument, all imported
    versions and confirmed files are listed.
    """
    if what is not None and (what.endswith((".", ".toml")) or "/" in what or "\\" in what):
        _trust_file(call, Path(what), revoke=revoke)
        return
    config: Config | None = click.get_current_context().find_root().obj
    if call.values["store"] is None and config and TAKEN_TO_CONFIRM in config.values:
        config.check_may_set(TAKEN_TO_CONFIRM)
    if what is None:
        _list_trusted(call)
        return
    with call.store() as store:
        version = store.revoke(what) if revoke else store.confirm(what)
    call.show(_outcome(version), trust_row(version))


def _trust_file(call: Call, file: Path, *, revoke: bool) -> None:
    from rubriclab.cli.config import ANY, CONFIG_NAME, confirm, digest_of, revoke as revoke_file

    if revoke:
        said = f"{file} is no longer confirmed" if revoke_file(file) else f"{file} was not confirmed"
    else:
        any_content = file.is_dir()
        config = load_config(file / CONFIG_NAME if any_content else file)
        assert config, "a file that was named is loaded or refused"
        changes = ", also with later changes" if any_content else " as it is now"
        said = f"{config.file} is confirmed{changes}; it sets {config.said() or 'nothing'}"
        confirm(file, ANY if any_content else digest_of(config.content))
    call.show(said, {"file": str(file.resolve()), "confirmed": not revoke})


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
    from rubriclab.ops.workspace import named_judges, online_judges

    judges = online_judges(version)
    if not judges:
        return "it asks the offline judge only, which sends nothing"
    if all(name.startswith(PREFIX) for name, _ in judges.values()):
        return f"commands read {named_judges(version)} unless --judge names another"
    return f"commands send texts and your key to {named_judges(version)} unless --judge names another"


def _list_trusted(call: Call) -> None:
    from rubriclab.cli.config import ANY, confirmed_files, digest_of
    from rubriclab.report.results import trust_view

    versions: tuple[Version, ...] = ()
    with suppress(NoStore), call.store() as store:
        versions = store.imported()
    files = {
        name: digest == ANY or (Path(name).is_file() and digest_of(Path(name).read_bytes()) == digest)
        for name, digest in confirmed_files().items()
    }
    rows = [{"file": name, "confirmed": same} for name, same in files.items()]
    call.show(trust_view(versions, files), {"versions": [trust_row(version) for version in versions], "files": rows})


def trust_row(version: Version) -> dict[str, Any]:
    """Return whom a version names and whether it may choose, in the form that scripts rely on."""
    names = ("judge", "judge_address", "generator", "generator_address")
    return {
        "rubric": version.ref,
        "imported_from": version.imported_from,
        "confirmed": version.confirmed,
        **{name: getattr(version.provenance, name) for name in names},
    }


@command("RowsCsv", "StoreJson", name="list")
def list_names(call: Call) -> None:
    """List the rubrics in the store, the newest version of each."""
    from rubriclab.ops.versions import list_versions
    from rubriclab.report.results import names_view

    with call.store("read") as store:
        versions = list_versions(store, note)
    rows = [_row(version) for version in versions]
    call.show_rows(names_view(versions) if versions else "", {"versions": rows}, rows)


@command("RowsCsv", "StoreJson")
@click.argument("name")
def log(call: Call, name: str) -> None:
    """List all versions of NAME, the newest first."""
    from rubriclab.report.results import log_view

    with call.store("read") as store:
        versions = store.log(name)
    rows = [_row(version) for version in versions]
    call.show_rows(log_view(versions), {"versions": rows}, rows)


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


@command("Exports", "StoreJson")
@click.argument("before")
@click.argument("after")
def diff(call: Call, before: str, after: str) -> None:
    """Show what changed from version BEFORE to version AFTER."""
    from rubriclab.store.diff import compare

    with call.store("read") as store:
        difference = compare(store.load(before), store.load(after))
    call.show(difference, difference.as_json())


@command("TagFlags", "StoreOption")
@click.argument("ref")
@click.argument("tag")
def tag(call: Call, ref: str, tag: str, *, delete: bool, force: bool) -> None:
    """Point TAG (such as production) to the version REF; tags can be moved.

    The tag production is refused, with exit code 1, if the gate did not find the version better than the free
    baselines.
    """
    from rubriclab.ops import versions as service

    with call.store() as store:
        if delete:
            name = ref.partition("@")[0]
            store.untag(name, tag)
            click.echo(f"{name} has no tag {tag} any more")
        else:
            click.echo(f"{service.tag(store, ref, tag, note, force=force).ref} is {tag}")


@command("ExportFlags", "StoreOption", name="export")
@click.argument("ref")
def export_pack(call: Call, ref: str, *, output: str, anonymous: bool) -> None:
    """Write the version REF as a pack: a file to review, keep in git and share."""
    from rubriclab.ops import versions as service

    with call.store("read") as store:
        text = service.export(store, ref, note, anonymous=anonymous)
    if output == "-":
        click.echo(text, nl=False)
    else:
        write_text(output, text)


@command("ImportFlags", "StoreJson", name="import")
@click.argument("pack", type=FILE)
def import_(call: Call, pack: str, *, name: str | None) -> None:
    """Save the rubric of a PACK file (- for standard input) as a version, after checking its digests."""
    from rubriclab.ops import versions as service

    notes: list[str] = []
    version = service.import_(call.values["store"], pack, notes.append, name)
    shown = version.ref if version.new else f"{version.ref} holds it already"
    call.show(shown, {**trust_row(version), "new": version.new, "digest": version.digest})
    for text in notes if not call.as_json else ():
        note(text)


@command("VerifyFlags", "StoreJson")
def verify(call: Call, *, repair: bool) -> None:
    """Recompute every digest in the store; exit code 1 if any does not match."""
    from rubriclab.ops import versions as service

    with call.store("write" if repair else "read") as store:
        result = service.verify(store, repair=repair)
    row = {"store": result.place, "problems": [str(problem) for problem in result.problems]}
    call.show(result, {**row, "removed": list(result.removed)} if repair else row)
    if result.problems:
        if not call.as_json:
            _say_remedy(result, repair=repair)
        call.end(1)


def _say_remedy(result: VerifyResult, *, repair: bool) -> None:
    if answers := sum(problem.answer is not None for problem in result.problems):
        note(f"damaged answers: {answers}; `rubriclab verify --repair` removes them, so that they are asked again")
    if repair:
        note("what is left cannot be repaired: save it again (learn, import), or restore the store from a copy")


COMMANDS = (list_names, log, diff, tag, export_pack, import_, verify, trust, store, batches)


@command("ShowFlags", "StoreJson")
@click.argument("rubric")
def show(call: Call, rubric: str, *, evidence: bool, matrix: bool, output: str | None) -> None:
    """Show RUBRIC (NAME, NAME@NUMBER or NAME@TAG): its criteria with levels, weights, evidence and agreement."""
    from rubriclab.ops import versions as service
    from rubriclab.report.rubrics import evidence_view, matrix_rows, matrix_view, version_view

    if output and not matrix:
        raise SettingsError("--output goes with --matrix.", "Give both, or neither.")
    with call.store("read") as store:
        version = store.load(rubric)
        if output:
            check_rows_place(output)
        record = service.training_record(store, version.ref) if matrix else None
        pack = service.export(store, version.ref, note) if call.as_json else ""
    if not record:
        if call.as_json:
            click.echo(pack, nl=False)
        else:
            call.show(evidence_view(version) if evidence else version_view(version), None)
        return
    if output:
        with writing_rows(output) as write:
            for row in matrix_rows(record):
                write(row)
    if call.as_json or not output:
        call.show(matrix_view(version, record), {"rubric": version.ref, **record.model_dump(mode="json")})


@command("ReportFlags", "StoreOption")
@click.argument("rubric")
def report(call: Call, rubric: str, *, output: str) -> None:
    """Write an HTML report on RUBRIC: verdict, agreement, criteria, disagreements, raters and provenance.

    The report is one file without external resources. It shows the texts and labels that RUBRIC was learned from, if
    the store has them.
    """
    from rubriclab.report import rubrics

    with call.store("read") as store:
        check_place(output)
        page = rubrics.report(store, rubric)
    with writing(output) as write:
        write(page.encode())
    if output != "-":
        note(f"report written to {output}")


@command("DisagreementsOptions", "RowsCsv", "StoreJson")
@click.argument("rubric")
def disagreements(call: Call, rubric: str) -> None:
    """Show the labelled texts whose held-out scores by RUBRIC lie furthest from their labels.

    Each text has its label, the raters' scores, its source, and the score and reason of every criterion.
    """
    from rubriclab.ops import versions as service
    from rubriclab.ops.options import DisagreementsOptions

    options = call.options(DisagreementsOptions)
    with call.store("read") as store:
        version = store.load(rubric)
        result = service.disagreements(version, service.training_record(store, version.ref), options)
    call.show_rows(result, {"rubric": result.version.ref, "texts": result.to_rows()}, result.to_rows())


EXIT_CODES: Mapping[Outcome, int] = {"better": 0, "not better": 1, "inconclusive": 3}


@command("Exports", "StoreJson")
@click.argument("ref")
def gate(call: Call, ref: str) -> None:
    """Report whether the version REF agrees better with people than the same judge asked directly.

    The comparison was made on held-out labels when the version was learned, in correlation and in error. A rubric must
    also be better than baselines without calls. Exit codes: 0 better, 1 not better, 3 inconclusive.
    """
    from rubriclab.ops import versions as service

    with call.store("read") as store:
        result = service.gate(store, ref)
    fields = {"level", "n", "groups", "folds", "evaluators", "verdicts", "verdict_agreements"}
    figures = result.validation.model_dump(mode="json", include=fields)
    call.show(result, {"rubric": result.version.ref, "outcome": result.outcome, **figures})
    call.end(EXIT_CODES[result.outcome])
