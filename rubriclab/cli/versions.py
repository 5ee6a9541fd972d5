"""Commands on versions: list, log, diff, tag, export, import, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.files import check_exports, write_csv
from rubriclab.cli.options import command, export_options, json_option, option, row_options, store_option
from rubriclab.cli.places import FILE, OUTPUT
from rubriclab.cli.printing import note, print_json, print_result, print_view, workspace_of
from rubriclab.errors import PackError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rubriclab.models.version import Version
    from rubriclab.ops.versions import VerifyResult


@command("list")
@store_option
@row_options
def list_names(*, store: str | None, as_json: bool, csv: str | None) -> None:
    """List the rubrics in the store, the newest version of each."""
    from rubriclab.ops.versions import list_versions
    from rubriclab.ops.workspace import Workspace

    with Workspace(store, notify=(lambda _text: None) if as_json else note) as workspace:
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
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise PackError(f"{output} cannot be written: {error.strerror}.") from None


@command("import")
@click.argument("pack", type=FILE)
@option(
    "--as", "name", from_found="never", metavar="NAME", help="The name to save it under.  [default: the pack's own]"
)
@store_option
@json_option
def import_(pack: str, *, name: str | None, store: str | None, as_json: bool) -> None:
    """Save the rubric of a PACK file (- for standard input) as a version, after checking its digests."""
    from rubriclab.cli.store import trust_row
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
