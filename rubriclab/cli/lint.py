"""`rubriclab lint`: what is wrong with the questions of a checklist, before any call is made."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from rubriclab.cli.help import command
from rubriclab.cli.options import json_option

if TYPE_CHECKING:
    pass


@command()
@click.argument("file")
@json_option
def lint(file: str, *, as_json: bool) -> None:
    """Check the questions of a checklist FILE (- for standard input); exit code 1 if any is faulty.

    Reported are questions that ask two things, are vague, cannot be answered by a judge, count the wrong answer as
    better, or repeat another question. The rules consider only the wording. The file is not changed.
    """
    from rubriclab.cli.printing import print_json
    from rubriclab.services import lint as service

    result = service.lint(file)
    if as_json:
        faults = [dataclasses.asdict(fault) for fault in result.findings]
        print_json({"questions": len(result.checklist.questions), "faults": faults})
    else:
        for line in result.lines():
            click.echo(line)
    if result.findings:
        click.get_current_context().exit(1)
