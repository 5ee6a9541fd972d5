"""Findings from publications about what human raters reward: one claim each, with its source.

A findings file is a JSON list of `{"id", "aspects", "claim", "source"}`, with `"benchmarks"` where a finding comes from
the raters of public sets, and `"quotation"` where the passage that supports it is recorded. Beside it lies
`references.bib` with one flat entry for every `source`. Literature is an aid for proposing criteria and never required:
a task that ships without findings simply has none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from rubriclab.documents import Unreadable, parse_json, read_file, text_of
from rubriclab.errors import LiteratureError
from rubriclab.pydantic_errors import first_fault
from rubriclab.shipped_files import content_path

REFERENCES = "references.bib"
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Reference(BaseModel):
    """A publication, as one entry of `references.bib` names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Words
    authors: tuple[Words, ...] = Field(min_length=1)
    title: Words
    year: int = Field(ge=1000, le=9999)
    venue: Words

    @property
    def citation(self) -> str:
        """Return the publication as a line of text, such as `Lin (2004), ROUGE: A Package ..., ACL Workshop`."""
        families = [author.split(",")[0].strip() for author in self.authors]
        names = f"{families[0]} et al." if len(families) > 2 else " and ".join(families)
        return f"{names} ({self.year}), {self.title}, {self.venue}"


class Quotation(BaseModel):
    """The passage of a paper that supports a finding.

    Attributes:
        text: the passage, as it stands in the paper.
        page: its page, counted from 1 as PDF readers do; `None` if the file has no pages.
        file: the name of the paper's file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Words
    page: int | None = Field(default=None, ge=1)
    file: Words


class FindingEntry(BaseModel):
    """A finding as its file holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Words
    aspects: tuple[Words, ...]
    claim: Words
    source: Words
    benchmarks: tuple[Words, ...] = ()
    quotation: Quotation | None = None


class Finding(FindingEntry):
    """What one publication says that raters reward or penalise. No `aspects` means that it bears on all of them.

    `source` is the publication's key, `citation` the publication as a line of text. `benchmarks` names the public sets
    whose own raters it tells about: a rubric that is tested on one of these must not have learned from it.
    """

    citation: str

    def bears_on(self, aspect: str | None) -> bool:
        """Return whether the finding says something about `aspect`; every finding does about None."""
        return aspect is None or not self.aspects or aspect in self.aspects


def load_findings(
    task: str, aspect: str | None = None, path: Path | None = None, *, without: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return the findings for a task, in the order of their file; only those that bear on `aspect`, if it is given.

    Findings about the raters of a public set named in `without` are left out.

    Without `path` these are the shipped ones, and none for a task that ships without. `path` is a findings file of the
    user's own, or a folder with a `<task>.json`; its references lie beside it.

    Raises:
        LiteratureError: if the file, one of its entries or its references cannot be used; names the file and the entry.
    """
    if path is None:
        file = content_path("literature", f"{task}.json")
        if not file.is_file():
            return ()
    else:
        file = findings_file(task, path)
        if not file.is_file():
            raise LiteratureError(
                f"There is no findings file {file}.", "Give a file, or a folder with TASK.json in it."
            )
    return tuple(
        finding for finding in _findings(file) if finding.bears_on(aspect) and not {*without} & {*finding.benchmarks}
    )


def findings_file(task: str, path: Path) -> Path:
    """Return the findings file that `path` names: itself, or for a folder the one of the task in it."""
    return path / f"{task}.json" if path.is_dir() else path


def load_references(file: Path) -> dict[str, Reference]:
    """Return the publications of a `.bib` file by their keys.

    Raises:
        LiteratureError: if the file cannot be read, or an entry is not flat, incomplete or given twice.
    """
    references: dict[str, Reference] = {}
    for key, fields in _bib_entries(file):
        if key in references:
            raise LiteratureError(f"{file}: the key {key!r} is given twice;", "each publication needs its own.")
        references[key] = _reference(file, key, fields)
    return references


def _findings(file: Path) -> tuple[Finding, ...]:
    references = load_references(file.parent / REFERENCES)
    entries = _json_list(file)
    findings = tuple(_finding(file, i, entry, references) for i, entry in enumerate(entries, start=1))
    twice = [name for name, count in Counter(finding.id for finding in findings).items() if count > 1]
    if twice:
        raise LiteratureError(f"{file}: the id {twice[0]!r} is given twice;", "each finding needs its own.")
    return findings


def _json_list(file: Path) -> list[Any]:
    try:
        entries = parse_json(_text(file))
    except Unreadable as error:
        raise LiteratureError(f"{file} cannot be used: {error}.", "A findings file is a JSON list.") from None
    if not isinstance(entries, list):
        raise LiteratureError(
            f"{file}: expected a JSON list of findings, found {_kind(entries)}.",
            'Write [{"id": ..., "aspects": [...], "claim": ..., "source": ...}, ...].',
        )
    return entries


def _finding(file: Path, number: int, raw: Any, references: dict[str, Reference]) -> Finding:
    if not isinstance(raw, dict):
        raise LiteratureError(f"{file}, entry {number}: expected an object, found {_kind(raw)}.")
    name = f"entry {number} ({raw['id']!r})" if raw.get("id") else f"entry {number}"
    try:
        entry = FindingEntry.model_validate(raw)
    except ValidationError as error:
        raise LiteratureError(f"{file}, {name}: {first_fault(error)}.") from None
    if entry.source not in references:
        raise LiteratureError(
            f"{file}, {name}: the source {entry.source!r} is not in {file.parent / REFERENCES};",
            "add the publication there, or correct the key.",
        )
    return Finding(**entry.model_dump(), citation=references[entry.source].citation)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _text(file: Path) -> str:
    try:
        return text_of(read_file(file))
    except Unreadable as error:
        hint = f"Findings and their {REFERENCES} lie in one folder."
        raise LiteratureError(f"{file} cannot be read: {error}.", hint) from None


# The subset of BibTeX that is read: flat entries whose every value stands in one pair of braces. Whatever a full BibTeX
# reader would have to guess about (nested braces, quoted values, strings, concatenation) is refused by name.
_HEAD = re.compile(r"@(?P<kind>[A-Za-z]+)\s*\{\s*(?P<key>[^\s,{}]+)\s*,")
_FIELD = re.compile(r"\s*(?P<name>[A-Za-z]+)\s*=\s*\{(?P<value>[^{}]*)\}\s*(?P<comma>,?)")
_TAIL = re.compile(r"\s*\}")
_BETWEEN = re.compile(r"(?:\s+|%[^\n]*)*")
_VENUES = ("journal", "booktitle", "publisher")


def _bib_entries(file: Path) -> list[tuple[str, dict[str, str]]]:
    text, entries = _text(file), []
    at = _skip(text, 0)
    while at < len(text):
        key, fields, end = _bib_entry(file, text, at)
        entries.append((key, fields))
        at = _skip(text, end)
    return entries


def _bib_entry(file: Path, text: str, start: int) -> tuple[str, dict[str, str], int]:
    head = _HEAD.match(text, start)
    if not head:
        raise _bib_fault(file, text, start, "expected an entry such as @article{key,")
    at, fields, more = head.end(), dict[str, str](), True
    while more and (field := _FIELD.match(text, at)):
        name = field["name"].lower()
        if name in fields:
            raise _bib_fault(file, text, field.start("name"), f"{head['key']!r} gives {name!r} twice")
        fields[name] = " ".join(field["value"].split())
        at, more = field.end(), bool(field["comma"])
    tail = _TAIL.match(text, at)
    if not tail:
        where = _skip(text, at)
        raise _bib_fault(file, text, where, f"entry {head['key']!r}: expected a field = {{value}}, or }}")
    return head["key"], fields, tail.end()


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _bib_fault(file: Path, text: str, at: int, message: str) -> LiteratureError:
    line = text.count("\n", 0, at) + 1
    found = text[at : at + 40].partition("\n")[0] or "the end of the file"
    return LiteratureError(
        f"{file}, line {line}: {message}; found {found!r}.",
        "Every value stands in one pair of braces, with no braces or quotes around or within.",
    )


def _reference(file: Path, key: str, fields: dict[str, str]) -> Reference:
    venue = next((fields[name] for name in _VENUES if fields.get(name)), None)
    try:
        return Reference.model_validate(
            {
                "key": key,
                "authors": tuple(a.strip() for a in fields.get("author", "").split(" and ") if a.strip()),
                "title": fields.get("title", ""),
                "year": fields.get("year", ""),
                "venue": venue or "",
            }
        )
    except ValidationError as error:
        wanted = f"author, title, year and one of {', '.join(_VENUES)}"
        raise LiteratureError(f"{file}, entry {key!r}: {first_fault(error)}.", f"It needs {wanted}.") from None
