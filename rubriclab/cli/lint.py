"""`rubriclab lint`: what is wrong with the questions of a checklist, before a call is paid for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
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

    Found are questions that ask two things, that are vague, that a judge cannot answer, that count the wrong answer as
    better, or that repeat another one. The rules go by words alone and advise: they change nothing.
    """
    from rubriclab.cli.printing import print_json
    from rubriclab.methods.checkeval.lint import lint as faults_of

    checklist = _checklist(file)
    faults = faults_of(checklist)
    if as_json:
        print_json({"questions": len(checklist.questions), "faults": [dataclasses.asdict(fault) for fault in faults]})
    else:
        _print(checklist, faults)
    if faults:
        click.get_current_context().exit(1)


def _checklist(file: str) -> Checklist:
    from rubriclab.checklist import parse_checklist, read_checklist
    from rubriclab.documents import Unreadable, read_stdin
    from rubriclab.errors import ChecklistError

    if file != "-":
        return read_checklist(Path(file))
    try:
        return parse_checklist(read_stdin(), "standard input")
    except Unreadable as error:
        raise ChecklistError(f"Standard input is no checklist: {error}.") from None


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
