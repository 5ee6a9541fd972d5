"""`rubriclab show`: a rubric as a person reads it."""

from __future__ import annotations

from typing import Any

import click

from rubriclab.cli.options import json_option, option, store_option


@click.command()
@click.argument("rubric")
@option("--evidence", is_flag=True, help="Also where each criterion came from, and what was dropped and why.")
@store_option
@json_option
def show(rubric: str, *, evidence: bool, store: str | None, as_json: bool) -> None:
    """Show RUBRIC (NAME, NAME@NUMBER or NAME@TAG): its criteria with levels, weights, evidence and agreement."""
    from rubriclab.cli.printing import print_view
    from rubriclab.store import open_store

    with open_store(store, create=False) as opened:
        version = opened.load(rubric)
    if as_json:
        from rubriclab.store import write_pack

        document: Any = write_pack(version)
        click.echo(document, nl=False)
        return
    from rubriclab.report.terminal import version_view

    print_view(version_view(version, evidence=evidence))
