"""`rubriclab lint`: whether checklists can be used, before any call is made."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import json_option
from rubriclab.cli.places import FILE

if TYPE_CHECKING:
    from rubriclab.services.lint import LintResult


@command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@json_option
def lint(files: tuple[str, ...], *, as_json: bool) -> None:
    """Check the form of checklist files (- for standard input) and find duplicate questions.

    Exit code 1 if a question is repeated, 2 if a file is no checklist. Whether a question asks one thing that can be
    seen in the text is judged by a language model while learning.
    """
    from rubriclab.cli.printing import print_json
    from rubriclab.services import lint as service

    results = {file: service.lint(file) for file in files}
    if as_json:
        rows = [{"file": file, **_row(result)} for file, result in results.items()]
        print_json(rows if len(files) > 1 else _row(results[files[0]]))
    else:
        for file, result in results.items():
            if len(files) > 1:
                click.echo(f"{file}:")
            for line in result.lines():
                click.echo(line)
    if any(result.duplicates for result in results.values()):
        click.get_current_context().exit(1)


def _row(result: LintResult) -> dict[str, Any]:
    duplicates = [dataclasses.asdict(each) for each in result.duplicates]
    return {"questions": len(result.checklist.questions), "duplicates": duplicates}
