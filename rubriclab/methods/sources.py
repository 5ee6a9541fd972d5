"""What learning starts from besides labels: checklists, and findings.

A checklist is a JSON file with yes/no questions that people wrote on each sub-dimension (component) of an aspect
(CheckEval, sections 3.1 and 3.2). Checklists ship in three folders of `stores/`. The questions in `checklists/` are
about whole texts, those in `units/` about the units of a text, such as its sentences (SEAL, table 2), and those in
`comparisons/` compare the sentences of a text with another text (DCR, section 3).

A finding says what raters reward or penalize, according to a publication. A findings file is a JSON list of findings.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from rubriclab.base_options import faults, first_fault
from rubriclab.data.write import name_in_errors, replacing
from rubriclab.errors import ChecklistError, LiteratureError
from rubriclab.models.base import FrozenModel, Unreadable, content_path, decode_text, parse_json, read_file
from rubriclab.models.text import Material, Units, Words


class SeedQuestion(FrozenModel):
    """A yes/no question that a person wrote.

    Attributes:
        id: unique in its checklist.
        better: the answer in favor of the text: "no" if the question is about a defect. CheckEval's are all "yes".
        support: the material that must support a fact for the answer to be yes, in a checklist about facts (SEAL).
    """

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    text: Words
    better: Literal["yes", "no"] = "yes"
    support: Material | None = None

    def fields(self) -> dict[str, str]:
        return {"id": self.id, "text": self.text, "better": self.better}


class SubDimension(FrozenModel):
    """One component of an aspect, with the questions about it."""

    name: Words
    definition: Words
    questions: tuple[SeedQuestion, ...] = Field(min_length=1)


class Checklist(FrozenModel):
    """An aspect of a task, divided into sub-dimensions.

    Attributes:
        others: definitions of aspects that the questions should not be about; if empty, the shipped ones of the task.
        units: the units of a text that the questions are about; `None` if they are about whole texts.
    """

    format: Literal["rubriclab-checklist/1"]
    task: Words
    aspect: Words
    definition: Words
    sub_dimensions: tuple[SubDimension, ...] = Field(min_length=1)
    others: Mapping[Words, Words] = Field(default_factory=dict)
    units: Units | None = None

    @property
    def questions(self) -> tuple[SeedQuestion, ...]:
        return tuple(question for sub in self.sub_dimensions for question in sub.questions)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Checklist:
        ids, sub_names = [question.id for question in self.questions], [sub.name for sub in self.sub_dimensions]
        for kind, names in (("question id", ids), ("sub-dimension", sub_names)):
            if repeated_names := [name for name, n_uses in Counter(names).items() if n_uses > 1]:
                raise ValueError(f"the {kind} {repeated_names[0]!r} is given twice")
        if self.aspect in self.others:
            raise ValueError(f"{self.aspect!r} is this checklist's own aspect and cannot be one of the others")
        return self

    @model_validator(mode="after")
    def _materials_fit_units_and_questions(self) -> Checklist:
        kind = self.units.kind if self.units else None
        materials = self.units.beside if self.units else ()
        if repeated_materials := [name for name, n_uses in Counter(materials).items() if n_uses > 1]:
            raise ValueError(f"units.beside names the {repeated_materials[0]} twice")
        if kind == "triple" and not {"source", "reference"} <= set(materials):
            raise ValueError('a triple is a text with its source and reference: "beside" must name both')
        for question in self.questions:
            if question.support is None:
                continue
            demand = f"the question {question.id!r} asks for support"
            if kind != "fact":
                raise ValueError(f'{demand}, which only facts have: remove "support", or give units of the kind "fact"')
            if question.support not in materials:
                raise ValueError(f'{demand} by the {question.support}: name "{question.support}" in "beside" too')
            if question.better == "no":
                raise ValueError(f'{demand}: the answer "yes" means support, so "better" can only be "yes"')
        return self


_CHECKLIST_EXAMPLE = (
    'A checklist is {"format": "rubriclab-checklist/1", "task": ..., "aspect": ..., "definition": ..., '
    '"sub_dimensions": [{"name": ..., "definition": ..., "questions": [{"id": ..., "text": ...}, ...]}, ...]}.'
)


def parse_checklist(content: bytes, where: str) -> Checklist:
    """Return the checklist that `content` holds as JSON; errors refer to it by the name `where`.

    Questions without an id get the ids `s01`, `s02` ... in their order; ids that other questions have are skipped.
    """
    try:
        raw = parse_json(decode_text(content))
    except Unreadable as error:
        raise ChecklistError(f"{where} is no checklist: {error}.", "A checklist is one JSON object.") from None
    if not isinstance(raw, dict):
        raise ChecklistError(f"{where}: expected a JSON object, found {type(raw).__name__}.", _CHECKLIST_EXAMPLE)
    # Parts that do not have the form of a checklist are skipped here; the validation below reports them.
    questions: list[dict[str, Any]] = []
    subs = raw.get("sub_dimensions")
    for sub in subs if isinstance(subs, list) else ():
        sub_questions = sub.get("questions") if isinstance(sub, dict) else None
        if isinstance(sub_questions, list):
            questions += (question for question in sub_questions if isinstance(question, dict))
    taken_ids = [question["id"] for question in questions if "id" in question]
    new_ids = (f"s{number:02}" for number in count(1))
    for question in questions:
        if "id" not in question:
            question["id"] = next(new_id for new_id in new_ids if new_id not in taken_ids)
    try:
        return Checklist.model_validate(raw)
    except ValidationError as error:
        has_wrong_names = any(fault["type"] in ("missing", "extra_forbidden") for fault in error.errors())
        raise ChecklistError(f"{where}: {faults(error)}.", _CHECKLIST_EXAMPLE if has_wrong_names else None) from None


def read_checklist(file: Path) -> Checklist:
    """Return the checklist in a file; raises ChecklistError if it cannot be read or used."""
    try:
        content = read_file(file)
    except Unreadable as error:
        raise ChecklistError(f"{file} cannot be read: {error}.", "Give the path of a checklist file.") from None
    return parse_checklist(content, str(file))


Folder = Literal["checklists", "units", "comparisons"]


def shipped_checklists(folder: Folder = "checklists") -> tuple[tuple[str, str], ...]:
    """Return task and aspect of every checklist that ships in `folder`, sorted."""
    files = content_path("stores", folder).glob("*/*.json")
    return tuple(sorted((file.parent.name, file.stem) for file in files))


def load_checklist(task: str, aspect: str, path: Path | None = None, folder: Folder = "checklists") -> Checklist:
    """Return the checklist in the file `path`, or else the one in `folder` that ships for this task and aspect.

    Raises ChecklistError if there is none, if the file cannot be used, or if it is for another task or aspect.
    """
    shipped = shipped_checklists(folder)
    if path is None and (task, aspect) not in shipped:
        aspects_of_task = [shipped_aspect for shipped_task, shipped_aspect in shipped if shipped_task == task]
        alternatives = f"The aspects of {task} with checklists are: {', '.join(aspects_of_task)}."
        if not aspects_of_task:
            tasks = ", ".join(dict.fromkeys(shipped_task for shipped_task, _ in shipped))
            alternatives = f"The tasks with checklists are: {tasks}."
        hint = f"Write one and give it with `checklist=FILE`; `rubriclab lint FILE` checks it. {_CHECKLIST_EXAMPLE}"
        if folder != "checklists":
            hint += ' It also has "units": {"kind": "sentence", "beside": ["source"]}.'
        raise ChecklistError(f"No checklist ships for {task}/{aspect}. {alternatives}", hint)
    path = path or content_path("stores", folder, task, f"{aspect}.json")
    checklist = read_checklist(path)
    if (checklist.task, checklist.aspect) != (task, aspect):
        hint = "Give a file for this task and aspect, or correct the fields `task` and `aspect` in the file."
        raise ChecklistError(f"{path} is for {checklist.task}/{checklist.aspect}, not for {task}/{aspect}.", hint)
    if folder == "checklists" and checklist.units:
        hint = "Remove `units` from the file, or use the file with a method that judges units: seal or dcr."
        raise ChecklistError(f"{path} asks about each {checklist.units.kind}, not about whole texts.", hint)
    return checklist


def find_checklist(
    folder: Folder | None, task: str, aspect: str, path: Path | None = None, *, is_required: bool = True
) -> Checklist | None:
    """Do as `load_checklist`, but return `None` without a folder, or if there is no checklist and none is required."""
    is_optional = path is None and not is_required
    if folder is None or (is_optional and (task, aspect) not in shipped_checklists(folder)):
        return None
    return load_checklist(task, aspect, path, folder)


_FINDINGS_HINT = 'A findings file is a JSON list: [{"id": ..., "aspects": [...], "claim": ..., "citation": ...}, ...].'


class Finding(FrozenModel):
    """What raters reward or penalize, according to one publication. Without `aspects`, it is about every aspect.

    `benchmarks` are the public data sets whose raters it is about. A rubric that learned from it cannot be tested on
    them. `quotation` is the passage in the paper's `file` that supports the claim.
    """

    id: Words
    aspects: tuple[Words, ...]
    claim: Words
    citation: Words
    benchmarks: tuple[Words, ...] = ()
    quotation: Words | None = None
    page: int | None = Field(default=None, ge=1)
    file: Words | None = None

    def bears_on(self, aspect: str | None) -> bool:
        return aspect is None or not self.aspects or aspect in self.aspects

    def to_row(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


def load_findings(
    task: str, aspect: str | None = None, path: Path | None = None, *, excluded: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return the findings for a task that bear on `aspect`, in the order of their file.

    Findings about the raters of a data set in `excluded` are left out. `path` is a file, or a folder with
    `<task>.json`; by default the shipped findings. Raises LiteratureError for a file or entry that cannot be used.
    """
    location = path or content_path("literature")
    file = location / f"{task}.json" if location.is_dir() else location
    if path is None and not file.is_file():
        return ()
    findings = (finding for finding in read_findings(file) if finding.bears_on(aspect))
    return tuple(finding for finding in findings if set(excluded).isdisjoint(finding.benchmarks))


def read_findings(file: Path) -> tuple[Finding, ...]:
    try:
        entries = parse_json(decode_text(read_file(file)))
    except Unreadable as error:
        raise LiteratureError(f"The findings file {file} cannot be read: {error}.", _FINDINGS_HINT) from None
    if not isinstance(entries, list):
        raise LiteratureError(f"{file}: expected a JSON list, found {type(entries).__name__}.", _FINDINGS_HINT)
    findings: dict[str, Finding] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            finding = Finding.model_validate(entry)
        except ValidationError as error:
            raise LiteratureError(f"{file}, entry {number}: {first_fault(error)}.", _FINDINGS_HINT) from None
        if finding.id in findings:
            raise LiteratureError(f"{file}: the id {finding.id!r} is given twice.", "Give each finding its own id.")
        findings[finding.id] = finding
    return tuple(findings.values())


@contextmanager
def changing_findings(file: Path) -> Iterator[dict[str, Finding]]:
    """Yield a mapping of the findings in a file by id, empty for a new file; then write the changed mapping back."""
    with name_in_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as draft:
            findings = {finding.id: finding for finding in read_findings(file)} if file.exists() else {}
            yield findings
            content = json.dumps([finding.to_row() for finding in findings.values()], ensure_ascii=False, indent=2)
            draft.write_text(content + "\n", "utf-8")


# What does not belong to the name of a data set: citations and common words.
_ADDITION = re.compile(r"\([^()]*\d{4}[a-z]?\)|\[[\d,\s]+\]|\b(?:the|benchmark|corpus|data ?set)\b", re.IGNORECASE)


def benchmark_name(name: str, known_names: Collection[str] = ()) -> str:
    """Return a data set's name without citations: as `known_names` spell it, or else in lower case with underscores."""
    words = re.findall(r"[^\W_]+", _ADDITION.sub(" ", name).casefold())
    for known_name in known_names:
        if re.sub(r"[\W_]", "", known_name.casefold()) == "".join(words):
            return known_name
    return "_".join(words)
