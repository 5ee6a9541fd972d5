"""`rubriclab report`: how a rubric was trained and how far it can be trusted, as one HTML file."""

from __future__ import annotations

import click

from rubriclab.cli.options import option, store_option
from rubriclab.cli.places import FILE


@click.command()
@click.argument("rubric")
@option("--output", "-o", default="-", type=FILE, metavar="PATH", help="The page to write.  [default: standard output]")
@store_option
def report(rubric: str, *, output: str, store: str | None) -> None:
    """Write a page on how RUBRIC was trained: verdict, agreement, criteria, disagreements, raters and provenance.

    It is one file that needs no network. It shows texts and labels, if the store has those that RUBRIC learned from.
    """
    from rubriclab.cli.files import check_place, writing
    from rubriclab.cli.session import note
    from rubriclab.report.training import training_report
    from rubriclab.store import open_store

    with open_store(store, access="read") as opened:
        version = opened.load(rubric)
        check_place(output, opened.place, "The report", "-o")
        record = opened.training(version.ref)
    page = training_report(version, record)
    with writing(output) as write:
        write(page.encode())
    if output != "-":
        note(f"report written to {output}")
