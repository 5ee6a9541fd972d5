"""`rubriclab lint`: what is wrong with the questions of a checklist, before a call is paid for."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from rubriclab.cli.options import json_option

if TYPE_CHECKING:
    from rubriclab.checklist import Checklist
    from rubriclab.methods.checkeval.lint import LintFinding


@click.command()
@click.argument("file")
@json_option
def lint(file: str, *, as_json: bool) -> None:
    """Check the questions of a checklist FILE (- for standard input); exit code 1 if any is faulty.

    It reports questions that ask two things, are vague, cannot be answered by a judge, count the wrong answer as
    better, or repeat another question. The rules look at words alone; they change nothing.
    """
    from rubriclab.cli.printing import print_json
    from rubriclab.services import lint as service

    result = service.lint(file)
    if as_json:
        faults = [dataclasses.asdict(fault) for fault in result.findings]
        print_json({"questions": len(result.checklist.questions), "faults": faults})
    else:
        _print(result.checklist, result.findings)
    if result.findings:
        click.get_current_context().exit(1)


def _print(checklist: Checklist, faults: tuple[LintFinding, ...]) -> None:
    texts = {question.id: question.text for question in checklist.questions}
    for fault in faults:
        place = fault.question or f"sub-dimension {fault.sub_dimension!r}"
        click.echo(f"{place}: {fault.kind}: {fault.message}")
        if fault.question:
            click.echo(f"    {texts[fault.question]}")
    click.echo(f"{_count(len(texts), 'question')}, {_count(len(faults), 'fault')}")


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
