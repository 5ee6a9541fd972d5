"""What there is to learn from: labelled texts, the aspect, findings, and each method's seed questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rubriclab.checklist import Checklist, seed_questions
from rubriclab.cli.session import note
from rubriclab.cli.texts import rows_of
from rubriclab.data import Assignment, find_aspect, task_words, training_examples
from rubriclab.data.aspect import shipped_aspects
from rubriclab.errors import ChecklistError
from rubriclab.literature import Finding, load_findings
from rubriclab.methods.method import Method, TrainingInput


def training_input_of(labelled: str, method: Method, settings: BaseModel, given: Mapping[str, Any]) -> TrainingInput:
    """Return what the options name for one method to learn from, and say what was made of the labelled texts.

    Raises:
        RubriclabError: if there is nothing to learn from, or not what the method needs.
    """
    if given["checklist"] and not method.checklists:
        note(f"--checklist is left out: {method.name} asks no questions of a checklist")
    return _lesson(labelled, _checklist(method, settings, given), given, labels_needed=method.needs_labels)


def training_inputs_of(
    labelled: str, methods: Sequence[tuple[Method, BaseModel]], given: Mapping[str, Any], *, all_needed: bool
) -> list[tuple[Method, TrainingInput]]:
    """Return what the options name for several methods, given with their settings, to learn from: all the same texts.

    Unless `all_needed`, a method without the questions that it starts from takes no part, which is said.

    Raises:
        RubriclabError: if there is nothing to learn from, or not what a method needs.
    """
    checklists: list[tuple[Method, Checklist | None]] = []
    for method, settings in methods:
        try:
            checklists.append((method, _checklist(method, settings, given)))
        except ChecklistError as error:
            if all_needed or given["checklist"]:
                raise
            note(f"{method.name} takes no part: {error}")
    known = next((checklist for _, checklist in checklists if checklist), None)
    training_input = _lesson(labelled, known, given, labels_needed=True)
    return [(method, replace(training_input, checklist=checklist)) for method, checklist in checklists]


def _checklist(method: Method, settings: BaseModel, given: Mapping[str, Any]) -> Checklist | None:
    file = Path(given["checklist"]) if given["checklist"] and method.checklists else None
    needed = method.needs_checklist(settings) or bool(file)
    return seed_questions(method.checklists, given["task"], given["aspect"], file, needed=needed)


def _lesson(
    labelled: str, checklist: Checklist | None, given: Mapping[str, Any], *, labels_needed: bool
) -> TrainingInput:
    task, own = given["task"], given["checklist"]
    if own and checklist:
        _say_faults(checklist, own)
    shipped = given["aspect"] in (aspect.name for aspect in shipped_aspects(task))
    definition = given["definition"] or (checklist.definition if checklist and (own or not shipped) else None)
    aspect = find_aspect(task, given["aspect"], definition)
    rows = rows_of(labelled, given)
    training = training_examples(rows, aspect.name, given["scale"], labels_needed=labels_needed)
    for line in training.notes:
        note(line)
    assignment = Assignment(task_words(task), aspect, training.scale)
    return TrainingInput(training.examples, assignment, _findings(task, aspect.name, given), checklist)


def _findings(task: str, aspect: str, given: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings that the options leave, and say where one of the benchmarks left out has none."""
    if given["no_literature"]:
        return ()
    path = Path(given["literature"]) if given["literature"] else None
    every, without = load_findings(task, None, path), given["literature_without"]
    for name in without:
        if not any(name in finding.benchmarks for finding in every):
            note(f"--literature-without {name} leaves nothing out: no finding for {task} is about the raters of {name}")
    return load_findings(task, aspect, path, without=without)


def _say_faults(checklist: Checklist, path: str) -> None:
    """Say before anything is paid for that a checklist of the user's own has faults."""
    from rubriclab.methods.checkeval.lint import lint

    if faults := lint(checklist):
        found = "1 fault was" if len(faults) == 1 else f"{len(faults)} faults were"
        note(f"{found} found in the questions of {path}; `rubriclab lint {path}` says which")
