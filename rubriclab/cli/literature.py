"""`rubriclab literature`: findings about raters, taken from papers, that learning can start from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import (
    STORED,
    dry_run_option,
    json_option,
    judge_options,
    option,
    store_option,
    together,
)
from rubriclab.cli.places import FILE, JUDGE

if TYPE_CHECKING:
    from rubriclab.papers.findings import ProposedFinding
    from rubriclab.services.literature_add import LiteratureAdded, Proposals
    from rubriclab.services.literature_files import FindingList

QUESTION = "Keep it? y: yes, n: no, a: this and all others, q: no, and none of the others"
folder_option = option(
    "--folder",
    section=STORED,
    type=FILE,
    metavar="PATH",
    help="The folder of findings files, or one such file.  [default: your own literature folder]",
)
place_options = together(
    option("--task", help="Only findings for this kind of text."),
    folder_option,
)
included_option = option("--included", is_flag=True, help="The findings that ship with rubriclab, instead of your own.")


@click.group("literature")
def literature() -> None:
    """Take papers apart into findings about what raters reward, and keep them for learning.

    `learn --literature PATH` proposes criteria from the findings in PATH.
    """


@command("add")
@click.argument("paper")
@click.argument("bibliography", required=False, metavar="[ENTRY.bib]")
@option("--task", required=True, help="The kind of text: summarization, story, dialogue, or your own word.")
@option(
    "--aspect",
    multiple=True,
    help="Look for findings on this aspect; may be given several times.  [default: all aspects of the task]",
)
@option("--definition", help="What the aspect means, for one without an included definition.")
@option("--source", metavar="KEY", help="The paper's key, if ENTRY.bib has several; or one in your references.bib.")
@option(
    "--benchmark",
    metavar="SET",
    multiple=True,
    help="The whole paper is about the raters of this public data set; may be given several times.",
)
@option("--pages", metavar="FIRST-LAST", help="The pages to read.  [default: all]")
@option(
    "--part-tokens",
    type=click.IntRange(500, 500_000),
    metavar="N",
    help="The most tokens of the paper in one prompt.  [default: 8000]",
)
@option("--generator", type=JUDGE, metavar="JUDGE", help="The model that reads the paper.  [default: the judge]")
@option(
    "--yes",
    from_found="never",
    is_flag=True,
    help="Keep every finding whose quotation is in the paper, without asking.",
)
@judge_options
@folder_option
@store_option
@dry_run_option
@json_option
def add(paper: str, bibliography: str | None, *, yes: bool, dry_run: bool, as_json: bool, **values: Any) -> None:
    """Have a language model read PAPER and write findings, and keep those that you accept.

    PAPER is a PDF or a text file. ENTRY.bib says how it is cited, as doi.org and citation managers write it; without
    it, the model reads that off the first pages. Every finding has a quotation and its page; a finding whose quotation
    is not in the paper is dropped. Findings about the raters of a public data set carry its name, so that
    `learn --literature-without` can leave them out. Long papers are read in parts.
    """
    from rubriclab.cli.printing import effort_row, print_dry_run, print_json, print_view
    from rubriclab.cli.workspace import options_of, workspace_of
    from rubriclab.services import literature_add as service
    from rubriclab.services.literature_request import LiteratureAddOptions, generator_of
    from rubriclab.services.running import finish

    options = options_of(LiteratureAddOptions, values)
    with workspace_of(values) as workspace:
        if dry_run:
            print_dry_run(service.literature_add_at_most(workspace, paper, bibliography, options), as_json=as_json)
            return
        generator_of(options)
        if not yes:
            _check_can_ask(as_json=as_json)
        proposals = finish(lambda: service.propose(workspace, paper, bibliography, options))
        added = service.keep_findings(proposals, proposals.reading.found if yes else _accepted(proposals))
    if as_json:
        print_json({**added.to_row(), **effort_row(added.effort)})
    else:
        print_view(added)
    _note_failures(added)


@command("list")
@place_options
@option("--aspect", help="Only findings that bear on this aspect.")
@included_option
@json_option
def list_(*, as_json: bool, **values: Any) -> None:
    """List the findings that you keep, or those that ship."""
    from rubriclab.cli.workspace import options_of
    from rubriclab.services import literature_files as service

    _print(service.list_findings(options_of(service.LiteratureListOptions, values)), as_json=as_json)


@command("show")
@click.argument("finding", metavar="ID")
@place_options
@included_option
@json_option
def show(finding: str, *, as_json: bool, **values: Any) -> None:
    """Show a finding with its quotation, page and paper."""
    from rubriclab.cli.workspace import options_of
    from rubriclab.services import literature_files as service

    _print(service.show_finding(finding, options_of(service.LiteratureShowOptions, values)), as_json=as_json)


@command("remove")
@click.argument("findings", nargs=-1, required=True, metavar="ID...")
@place_options
@json_option
def remove(findings: tuple[str, ...], *, as_json: bool, **values: Any) -> None:
    """Remove findings from their file, and print them; their papers stay in references.bib."""
    from rubriclab.cli.workspace import options_of
    from rubriclab.services import literature_files as service

    _print(service.remove(findings, options_of(service.LiteratureOptions, values)), as_json=as_json)


@command("check")
@click.argument("paper")
@option("--source", metavar="KEY", help="The paper's key in references.bib.  [default: found by the name of the file]")
@place_options
@json_option
def check(paper: str, *, as_json: bool, **values: Any) -> None:
    """Check the quotations of findings against PAPER; exit code 1 if one is not there."""
    from rubriclab.cli.printing import print_json, print_view
    from rubriclab.cli.workspace import options_of
    from rubriclab.services import literature_check as service

    checked = service.check(paper, options_of(service.LiteratureCheckOptions, values))
    print_json(checked.to_row()) if as_json else print_view(checked)
    if not checked.passed:
        click.get_current_context().exit(1)


def _check_can_ask(*, as_json: bool) -> None:
    """Return if somebody can be asked which findings to keep.

    Raises:
        SettingsError: if not; nothing has been paid for.
    """
    from rubriclab.errors import SettingsError

    if as_json or not sys.stdin.isatty():
        why = "--json prints one document" if as_json else "Standard input is no terminal"
        raise SettingsError(
            f"{why}, so nobody can be asked which findings to keep.",
            "Give --yes to keep every finding whose quotation is in the paper.",
        )


def _accepted(proposals: Proposals) -> Iterator[ProposedFinding]:
    """Ask about each finding, and yield those that are accepted; whoever interrupts declines the rest."""
    from rubriclab.cli.printing import note, print_view
    from rubriclab.report.literature import proposed_view

    found = proposals.reading.found
    note(f"Paper: {proposals.reference.citation}")
    for number, each in enumerate(found, 1):
        print_view(proposed_view(proposals.entry(each), number, len(found)), err=True)
        try:
            answer = click.prompt(QUESTION, type=click.Choice("ynaq"), show_choices=False, err=True)
        except click.Abort:
            note("")
            answer = "q"
        if answer == "q":
            break
        if answer == "a":
            yield from found[number - 1 :]
            break
        if answer == "y":
            yield each


def _note_failures(added: LiteratureAdded) -> None:
    from rubriclab.cli.printing import note

    if added.unread:
        note("The same command with --retry-failed asks again for the parts that were not read.")


def _print(found: FindingList, *, as_json: bool) -> None:
    from rubriclab.cli.printing import print_json, print_view

    print_json(found.to_row()) if as_json else print_view(found)


for member in (add, list_, show, remove, check):
    literature.add_command(member)
