"""Commands on versions: list, log, diff, tag, export, import, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.options import json_option, option, store_option
from rubriclab.cli.places import FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rubriclab.store import Problem, Version

# What scores the texts that count: only what the gate has let through is called so.
PRODUCTION = "production"


@click.command("list")
@store_option
@json_option
def list_names(*, store: str | None, as_json: bool) -> None:
    """List the rubrics in the store, the newest version of each."""
    from rubriclab.errors import NoStore
    from rubriclab.store import open_store

    newest: list[Version] = []
    try:
        with open_store(store, access="read") as opened:
            newest = [opened.load(name) for name in opened.names()]
            nothing = f"No rubric is stored in {opened.place} yet; `rubriclab learn` makes one."
    except NoStore as none:
        nothing = str(none)
    if not newest and not as_json:
        click.echo(nothing, err=True)
        return
    _print_versions(newest, as_json=as_json, view="names_view")


@click.command()
@click.argument("name")
@store_option
@json_option
def log(name: str, *, store: str | None, as_json: bool) -> None:
    """List all versions of NAME, the newest first."""
    from rubriclab.store import open_store

    with open_store(store, access="read") as opened:
        versions = opened.log(name)
    _print_versions(versions, as_json=as_json, view="log_view")


@click.command()
@click.argument("before")
@click.argument("after")
@store_option
@json_option
def diff(before: str, after: str, *, store: str | None, as_json: bool) -> None:
    """Show what changed from version BEFORE to version AFTER."""
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.store import compare, open_store

    with open_store(store, access="read") as opened:
        difference = compare(opened.load(before), opened.load(after))
    if as_json:
        print_json(difference.as_json())
        return
    from rubriclab.report.difference import difference_view

    print_view(difference_view(difference))


@click.command()
@click.argument("ref")
@click.argument("tag")
@option("--delete", is_flag=True, help="Remove the tag instead.")
@option("--force", is_flag=True, help="Tag it production whatever the gate says.")
@store_option
def tag(ref: str, tag: str, *, delete: bool, force: bool, store: str | None) -> None:
    """Point TAG (as in production) to the version REF; a tag moves, versions never change.

    The tag production is for what agrees better with people than what costs nothing: a version whose gate says
    otherwise, or cannot tell, is refused with exit code 1.
    """
    from rubriclab.store import open_store

    with open_store(store, create=False) as opened:
        if delete:
            name = ref.partition("@")[0]
            opened.untag(name, tag)
            click.echo(f"{name} has no tag {tag} any more")
        elif tag != PRODUCTION or _may_go_on(opened.load(ref), force=force):
            click.echo(f"{opened.tag(ref, tag).ref} is {tag}")
        else:
            click.get_current_context().exit(1)


@click.command("export")
@click.argument("ref")
@option("--output", "-o", default="-", type=FILE, metavar="PATH", help="The pack to write.  [default: standard output]")
@store_option
def export_pack(ref: str, *, output: str, store: str | None) -> None:
    """Write the version REF as a pack: a file to review, keep in git and share."""
    from rubriclab.errors import PackError
    from rubriclab.store import open_store, write_pack

    with open_store(store, access="read") as opened:
        text = write_pack(opened.load(ref))
    if output == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise PackError(f"{output} cannot be written: {error.strerror}.") from None


@click.command("import")
@click.argument("pack")
@option("--as", "name", metavar="NAME", help="The name to keep it under.  [default: the pack's own]")
@store_option
@json_option
def import_(pack: str, *, name: str | None, store: str | None, as_json: bool) -> None:
    """Keep the rubric of a PACK file (- for standard input) as a version, after checking its digests."""
    from rubriclab.cli.printing import print_json
    from rubriclab.documents import Unreadable, read_file, read_stdin, text_of
    from rubriclab.errors import PackError
    from rubriclab.store import import_pack, open_store, read_pack

    try:
        text = text_of(read_stdin() if pack == "-" else read_file(Path(pack)))
    except Unreadable as error:
        raise PackError(f"{pack} cannot be read: {error}.") from None
    checked = read_pack(text, pack)
    with open_store(store) as opened:
        version = import_pack(opened, checked, name)
    if as_json:
        from rubriclab.cli.trust import trust_row

        print_json({**trust_row(version), "new": version.new, "digest": version.digest})
    else:
        click.echo(version.ref if version.new else f"{version.ref} holds it already")
        _say_judges(version)


def _say_judges(version: Version) -> None:
    """Say whom an imported version names, and when they are asked."""
    from rubriclab.cli.session import note
    from rubriclab.cli.trust import named_judges

    named = named_judges(version)
    if not named:
        note(f"{version.ref} names the offline judge only, which sends nothing")
    elif version.trusted:
        note(f"{version.ref} names {named}, which may be asked")
    else:
        note(
            f"{version.ref} names {named}; asked only if you name it (--judge), or after: rubriclab trust {version.ref}"
        )


@click.command()
@option("--repair", is_flag=True, help="Remove damaged answers, and only those: they are asked again when needed.")
@store_option
@json_option
def verify(*, repair: bool, store: str | None, as_json: bool) -> None:
    """Derive every digest in the store again; exit code 1 if anything is not as it was written."""
    from rubriclab.cli.printing import print_json
    from rubriclab.report.wording import count
    from rubriclab.store import open_store

    with open_store(store, create=False, access="write" if repair else "read") as opened:
        removed = opened.repair() if repair else ()
        problems = opened.verify()
        place, names = opened.place, opened.names()
    if as_json:
        found: dict[str, Any] = {"store": place, "problems": [str(problem) for problem in problems]}
        print_json({**found, "removed": list(removed)} if repair else found)
    else:
        _print_problems(
            problems, removed, f"{place}: {count(len(names), 'rubric')}, everything as it was written", repair
        )
    if problems:
        click.get_current_context().exit(1)


def _print_problems(problems: Sequence[Problem], removed: Sequence[str], sound: str, repair: bool) -> None:
    """Print what was removed and what does not match, and say on standard error what can be done about it."""
    from rubriclab.cli.printing import print_view
    from rubriclab.cli.session import note

    for digest in removed:
        click.echo(f"removed the damaged answer {digest}: it is asked again when it is needed")
    if not problems:
        click.echo(sound)
        return
    from rubriclab.report.lists import problems_view

    print_view(problems_view(problems))
    answers = sum(problem.answer is not None for problem in problems)
    if answers:
        note(f"damaged answers: {answers}; `rubriclab verify --repair` removes them, so that they are asked again")
    if repair:
        note("what is left cannot be repaired: save it again (learn, import), or restore the store from a copy")


def _may_go_on(version: Version, *, force: bool) -> bool:
    """Return whether a version may be tagged production, and say on standard error what speaks against it."""
    from rubriclab.cli.session import note
    from rubriclab.report.verdicts import headline

    validation = version.provenance.validation
    if validation is None:
        note(f"{version.ref} never went through the gate: nothing shows it to be better than what costs nothing")
        return True
    if validation.outcome == "better":
        return True
    if force:
        note(f"forced, whatever the gate says of {version.ref}: {headline(validation)}")
        return True
    click.echo(
        f"{version.ref} stays without the tag {PRODUCTION}. {headline(validation)} "
        "Give --force to tag it all the same.",
        err=True,
    )
    return False


def _print_versions(versions: Any, *, as_json: bool, view: str) -> None:
    from rubriclab.cli.printing import print_json, print_view

    if as_json:
        print_json({"versions": [_row(version) for version in versions]})
        return
    from rubriclab.report import lists

    print_view(getattr(lists, view)(versions))


def _row(version: Any) -> dict[str, Any]:
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
        "imported": version.imported,
        "confirmed": version.confirmed,
        "agreement": agreement.model_dump(mode="json") if agreement else None,
    }


COMMANDS = (list_names, log, diff, tag, export_pack, import_, verify)
