"""Commands on the content of the store, and `trust`, which allows a version or file to choose the judge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab import ops, report as views
from rubriclab.cli import config
from rubriclab.cli.options import FILE, CommandGroup, command, flag, note, option, output_option, with_complete_commands
from rubriclab.cli.output import EXIT_CODES, Call, check_folder_exists, check_rows_file, write_rows, write_text
from rubriclab.errors import NoStore, SettingsError

if TYPE_CHECKING:
    from rubriclab.models.version import Version


@click.group("store", cls=CommandGroup, section="Store")
def store() -> None:
    """Show the size of the store, and remove cached answers."""


@command("RowsCsvOption", "StoreAndJsonOptions")
def size(call: Call) -> None:
    """Show how many rows and bytes of the store are versions, cached answers of each model, and other content."""
    with call.store("read") as store:
        result = ops.versions.StoreSize(store.address, *store.sizes())
    call.show_rows(result, result.to_row(), result.to_row()["kinds"])


@command("versions.PruneOptions", "StoreAndJsonOptions")
def prune(call: Call) -> None:
    """Remove cached answers of judges, and nothing else.

    A command that needs such an answer later asks the judge again, and pays again. --older-than 0d removes all answers.
    """
    options = call.options(ops.versions.PruneOptions)
    with call.store("read" if options.dry_run else "write") as store:
        result = ops.versions.prune(store, options)
    call.show(result, asdict(result))


for member in (size, prune):
    store.add_command(member)


@command("versions.BatchesOptions", "RowsCsvOption", "StoreAndJsonOptions", section="Store")
def batches(call: Call) -> None:
    """List the batches that were sent with --batch and whose answers have not been fetched, or cancel one.

    To fetch the answers, repeat the command that sent a batch: it waits for its batches, and pays for nothing twice.
    """
    options = call.options(ops.versions.BatchesOptions)
    with call.workspace() as workspace:
        result = call.run_to_end(lambda: ops.versions.batches(workspace, options))
    call.show_rows("\n".join(result.lines()), {"batches": result.to_rows()}, result.to_rows())


@command("StoreAndJsonOptions", section="Store")
@flag("--revoke", config_may_set="never", help="Withdraw the confirmation instead.")
@click.argument("target", type=FILE, required=False, metavar="[REF|FILE]")
def trust(call: Call, target: str | None, *, revoke: bool) -> None:
    """Allow an imported version or a configuration file to set the judge and the address that texts are sent to.

    REF is an imported version; commands will then send your texts and your key to the judge and address that it names.
    FILE is a rubriclab.toml; commands in its folder then use its present content. A folder, such as `.` or `work/`,
    stands for its rubriclab.toml with any later content. Without an argument, the imported versions
    and confirmed files are listed.
    """
    is_path = target is not None and (target.endswith((".", ".toml")) or "/" in target or "\\" in target)
    if is_path:
        path = Path(str(target))
        if revoke:
            was_confirmed = config.set_confirmed_digest(path, None)
            message = f"{path} is no longer confirmed" if was_confirmed else f"{path} was not confirmed"
        else:
            is_folder = path.is_dir()
            target_config = config.load_config(path / config.CONFIG_NAME if is_folder else path)
            assert target_config, "for a path, `load_config` returns a file or raises an error"
            digest = config.ANY_CONTENT if is_folder else config.content_digest(target_config.content)
            config.set_confirmed_digest(path, digest)
            changes = ", also with later changes" if is_folder else " as it is now"
            message = f"{target_config.file} is confirmed{changes}; it sets {target_config.summary() or 'nothing'}"
        call.show(message, {"file": str(path.resolve()), "confirmed": not revoke})
        return
    # A configuration file that is not confirmed must not choose the store whose versions are confirmed or listed.
    used_config: config.Config | None = click.get_current_context().find_root().obj
    if call.values["store"] is None and used_config and "store" in used_config.values:
        used_config.check_may_set("store")
    if target is not None:
        with call.store() as store:
            version = store.revoke(target) if revoke else store.confirm(target)
        call.show(_confirmation_message(version), trust_row(version))
        return
    versions: tuple[Version, ...] = ()
    with suppress(NoStore), call.store() as store:
        versions = store.list_imported(lambda error: note(f"left out: {error.text}"))
    files: dict[str, bool] = {}  # by path: whether the present content is confirmed
    for file, digest in config.confirmed_digests().items():
        present_digest = config.content_digest(Path(file).read_bytes()) if Path(file).is_file() else None
        files[file] = digest in (config.ANY_CONTENT, present_digest)
    file_rows = [{"file": file, "confirmed": is_confirmed} for file, is_confirmed in files.items()]
    row = {"versions": [trust_row(version) for version in versions], "files": file_rows}
    call.show(views.render.view("trust", versions=versions, files=files), row)


def _confirmation_message(version: Version) -> str:
    from rubriclab.judges.cache import RECORDED_PREFIX

    if version.confirmed:
        judges, judge_names = ops.workspace.online_judges(version), ops.workspace.describe_judges(version)
        if not judges:
            consequence = "it asks the offline judge only, which sends nothing"
        elif all(name.startswith(RECORDED_PREFIX) for name, _ in judges.values()):
            consequence = f"commands read {judge_names} unless --judge names another"
        else:
            consequence = f"commands send texts and your key to {judge_names} unless --judge names another"
        return f"{version.ref} is confirmed; {consequence}"
    if version.imported:
        return f"{version.ref} is not confirmed: its judge is asked only if it is named with --judge"
    source_refs = [version.provenance.judge_from, version.provenance.generator_from]
    sources = " and ".join(sorted({ref for ref in source_refs if ref}))
    if sources:
        return f"{version.ref} was made in this store with a judge that {sources} names: confirm or revoke {sources}"
    return f"{version.ref} was learned in this store: there is nothing to confirm"


def trust_row(version: Version) -> dict[str, Any]:
    row = {"rubric": version.ref, "imported_from": version.imported_from, "confirmed": version.confirmed}
    names = ("judge", "judge_address", "generator", "generator_address")
    return row | {name: getattr(version.provenance, name) for name in names}


@command("RowsCsvOption", "StoreAndJsonOptions", name="list", section="Store")
def list_names(call: Call) -> None:
    """List the rubrics in the store, the newest version of each."""
    with call.store("read") as store:
        versions = ops.versions.list_versions(store, note)
    _show_versions(call, versions, views.results.names_view(versions) if versions else "")


@command("RowsCsvOption", "StoreAndJsonOptions", section="Store")
@click.argument("name")
def log(call: Call, name: str) -> None:
    """List all versions of NAME, the newest first."""
    with call.store("read") as store:
        versions = ops.versions.list_versions(store, note, name)
    _show_versions(call, versions, views.render.view("log", versions=versions))


def _show_versions(call: Call, versions: Sequence[Version], view: Any) -> None:
    rows = []
    for version in versions:
        # `agreement` is with the training labels. `measured` is the least optimistic agreement, which `view` shows too.
        agreement, least_optimistic = version.provenance.agreement, views.wording.recorded_agreement(version)
        row = {
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
            "verdict": version.outcome,
            "verdict_on_other_texts": version.evaluation.verdict.overall if version.evaluation else None,
            "measured": asdict(least_optimistic) if least_optimistic else None,
            "agreement": agreement.model_dump(mode="json") if agreement else None,
        }
        rows.append(row)
    call.show_rows(view, {"versions": rows}, rows)


@command("ResultFilesOptions", "StoreAndJsonOptions", section="Store")
@click.argument("before")
@click.argument("after")
def diff(call: Call, before: str, after: str) -> None:
    """Show what changed from version BEFORE to version AFTER."""
    from rubriclab.store.diff import compare

    with call.store("read") as store:
        difference = compare(store.load(before), store.load(after))
    call.show(difference, difference.as_json())


@command("StoreOption", section="Store")
@flag("--delete", config_may_set="never", help="Remove the tag instead.")
@flag("--force", config_may_set="never", help="Allow the tag `production` whatever the verdict.")
@click.argument("ref")
@click.argument("tag")
def tag(call: Call, ref: str, tag: str, *, delete: bool, force: bool) -> None:
    """Point TAG (such as production) to the version REF; tags can be moved.

    The tag `production` is refused, exit code 1, unless the verdicts of `rubriclab gate` and of learning are "better".
    """
    from rubriclab.ops.versions import tag as tag_version

    with call.store() as store:
        if delete:
            name = ref.partition("@")[0]
            store.untag(name, tag)
            click.echo(f"{name} has no tag {tag} any more")
        else:
            version = tag_version(store, ref, tag, note, force=force)
            click.echo(f"{version.ref} is {tag}")


@command("StoreOption", name="export", section="Store")
@output_option(default="-", help="The pack to write.  [default: standard output]")
@flag("--anonymous", help="Leave the names of raters and editors out.")
@click.argument("ref")
def export_pack(call: Call, ref: str, *, output: str, anonymous: bool) -> None:
    """Write the version REF as a pack: a file to review, keep in git and share."""
    with call.store("read") as store:
        write_text(output, ops.versions.export(store, ref, note, anonymous=anonymous))


@command("StoreAndJsonOptions", name="import", section="Store")
@option("name", "--as", metavar="NAME", config_may_set="never", help="Save under this name instead of the pack's.")
@click.argument("pack", type=FILE)
def import_(call: Call, pack: str, *, name: str | None) -> None:
    """Save the rubric of a PACK file (- for standard input) as a version, after checking its digests."""
    notes: list[str] = []
    version = ops.versions.import_(call.values["store"], pack, notes.append, name)
    message = version.ref if version.new else f"{version.ref} holds this rubric already"
    call.show(message, {**trust_row(version), "new": version.new, "digest": version.digest})
    if not call.as_json:
        for text in notes:
            note(text)


@command("StoreAndJsonOptions", section="Store")
@flag("--repair", config_may_set="never", help="Remove damaged cached answers; commands that need them ask again.")
def verify(call: Call, *, repair: bool) -> None:
    """Recompute every digest in the store; exit code 1 if any does not match."""
    with call.store("write" if repair else "read") as store:
        result = ops.versions.verify(store, repair=repair)
    row = {"store": result.store, "problems": [str(problem) for problem in result.problems]}
    call.show(result, {**row, "removed": list(result.removed)} if repair else row)
    n_damaged = sum(problem.answer is not None for problem in result.problems)
    if n_damaged and not call.as_json:
        note(f"damaged answers: {n_damaged}; `rubriclab verify --repair` removes them, so that prompts are sent again")
    if result.problems and repair and not call.as_json:
        note("the problems above cannot be repaired: learn or import the versions again, or use a copy of the store")
    if result.problems:
        call.end(1)


@command("StoreAndJsonOptions")
@flag("--evidence", config_may_set="always", help="Also show the origin of each criterion, and dropped criteria.")
@flag("--matrix", config_may_set="always", help="Show the ratings of the labelled texts by each candidate criterion.")
@output_option(help="Write the matrix with all reasons to this file, a row for each text and criterion.")
@click.argument("rubric")
def show(call: Call, rubric: str, *, evidence: bool, matrix: bool, output: str | None) -> None:
    """Show RUBRIC (NAME, NAME@NUMBER or NAME@TAG): its criteria with levels, weights, evidence and agreement."""
    if output and not matrix:
        raise SettingsError("--output goes with --matrix.", "Give both, or neither.")
    with call.store("read") as store:
        version = store.load(rubric)
        if output:
            check_rows_file(output)
        record = ops.versions.training_record(store, version.ref) if matrix else None
    if record:
        if output:
            write_rows(output, views.rubrics.matrix_rows(record))
        if call.as_json or not output:
            row = {"rubric": version.ref, **record.model_dump(mode="json")}
            call.show(views.rubrics.matrix_view(version, record), row)
    elif call.as_json:
        from rubriclab.store.packs import format_pack

        click.echo(format_pack(version), nl=False)
    else:
        call.show(views.rubrics.evidence_view(version) if evidence else views.rubrics.version_view(version), None)


@command("StoreOption")
@output_option("--html", default="-", help="The page to write.  [default: standard output]")
@click.argument("rubric")
def report(call: Call, rubric: str, *, output: str) -> None:
    """Write an HTML report on RUBRIC: verdict, agreement, criteria, disagreements, raters and provenance.

    It is one file without external resources, and shows the texts and labels that RUBRIC was learned from.
    """
    with call.store("read") as store:
        check_folder_exists(output)
        version = store.load(rubric)
        page = with_complete_commands(views.rubrics.training_view(version, store.training(version.ref))).page()
    write_text(output, page)


@command("versions.DisagreementsOptions", "RowsCsvOption", "StoreAndJsonOptions", section="Examine a rubric")
@click.argument("rubric")
def disagreements(call: Call, rubric: str) -> None:
    """Show the labelled texts whose cross-validated scores by RUBRIC lie furthest from their labels.

    Each text has its label, the raters' scores, its source, and the score and reason of every criterion.
    """
    options = call.options(ops.versions.DisagreementsOptions)
    with call.store("read") as store:
        version = store.load(rubric)
        result = ops.versions.disagreements(version, ops.versions.training_record(store, version.ref), options)
    call.show_rows(result, {"rubric": result.version.ref, "texts": result.to_rows()}, result.to_rows())


@command("ResultFilesOptions", "StoreAndJsonOptions", section="Examine a rubric")
@click.argument("ref")
def gate(call: Call, ref: str) -> None:
    """Report whether the version REF agrees better with people than the same judge asked directly.

    An evaluation on other texts decides if it included the judge asked directly, or if the verdict of learning does not
    rest on that judge; otherwise the verdict of learning decides. An edited version that was never compared with that
    judge is inconclusive at best. Exit codes: 0 better, 1 worse or no real gain, 3 inconclusive.
    """
    with call.store("read") as store:
        result = ops.versions.gate(store, ref)
    evaluation, validation = result.version.deciding_evaluation, result.validation
    # `verdict_agreements` has the agreement of decisions (pass or fail) with people's decisions.
    fields = {"level", "n", "groups", "folds", "evaluators", "verdicts", "verdict_agreements"}
    figures = validation.model_dump(mode="json", include=fields) if validation else {}
    if evaluation:
        figures = {"evaluation": evaluation.model_dump(mode="json", exclude={"points"}), "learning": figures or None}
    outcomes = {"counts": result.deciding_step, "outcomes": result.outcomes}  # `counts`: the step whose verdict decides
    call.show(result, {"rubric": result.version.ref, "outcome": result.outcome, **outcomes, **figures})
    call.end(EXIT_CODES[result.outcome])
