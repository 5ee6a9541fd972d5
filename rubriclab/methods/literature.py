"""Findings from publications about what human raters reward: one claim each, with its source.

A findings file is a JSON list of `{"id", "aspects", "claim", "citation"}`, with `"benchmarks"` if a finding comes from
the raters of public data sets, and `"quotation"`, `"page"` and `"file"` if the passage that supports it is recorded. No
method requires literature, and a task that ships without findings has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from rubriclab.errors import LiteratureError
from rubriclab.models.base import (
    Unreadable,
    content_path,
    parse_json,
    read_file,
    text_of,
)
from rubriclab.pydantic_errors import first_fault

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
# What may be written beside the name of a data set, such as a citation.
_NO_NAME = re.compile(r"\([^()]*\d{4}[a-z]?\)|\[[\d,\s]+\]|\b(?:the|benchmark|corpus|data ?set)\b", re.IGNORECASE)
_FINDINGS_EXAMPLE = 'A findings file is a JSON list: [{"id": ..., "aspects": [...], "claim": ..., "citation": ...}, ...].'


class Finding(BaseModel):
    """What one publication says that raters reward or penalise. No `aspects` means that it bears on all of them.

    `benchmarks` names the public data sets whose raters it tells about: a rubric that is tested on one of these must
    not have learned from it. `quotation` is the passage of the paper's `file` that supports it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Words
    aspects: tuple[Words, ...]
    claim: Words
    citation: Words
    benchmarks: tuple[Words, ...] = ()
    quotation: Words | None = None
    page: int | None = Field(default=None, ge=1)
    file: Words | None = None

    def bears_on(self, aspect: str | None) -> bool:
        """Return whether the finding says something about `aspect`; every finding does about None."""
        return aspect is None or not self.aspects or aspect in self.aspects

    def to_row(self) -> dict[str, Any]:
        """Return the finding as one JSON object, without what is not recorded."""
        return self.model_dump(mode="json", exclude_defaults=True)


def load_findings(
    task: str, aspect: str | None = None, path: Path | None = None, *, without: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return the findings for a task, in the order of their file; only those that bear on `aspect`, if it is given.

    Findings about the raters of a data set in `without` are left out. Without `path` these are the shipped ones, and
    none for a task that ships without. `path` is a findings file of the user's own, or a folder with a `<task>.json`.

    Raises:
        LiteratureError: if the file or one of its entries cannot be used; names the file and the entry.
    """
    folder = path or content_path("literature")
    file = folder / f"{task}.json" if folder.is_dir() else folder
    if path is None and not file.is_file():
        return ()
    findings = (each for each in read_findings(file) if each.bears_on(aspect))
    return tuple(each for each in findings if not {*without} & {*each.benchmarks})


def read_findings(file: Path) -> tuple[Finding, ...]:
    """Return all findings of a file.

    Raises:
        LiteratureError: if the file or one of its entries cannot be used; names the file and the entry.
    """
    try:
        entries = parse_json(text_of(read_file(file)))
    except Unreadable as error:
        raise LiteratureError(f"The findings file {file} cannot be read: {error}.", _FINDINGS_EXAMPLE) from None
    if not isinstance(entries, list):
        raise LiteratureError(f"{file} holds no list.", _FINDINGS_EXAMPLE)
    findings: dict[str, Finding] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            finding = Finding.model_validate(entry)
        except ValidationError as error:
            raise LiteratureError(f"{file}, entry {number}: {first_fault(error)}.", _FINDINGS_EXAMPLE) from None
        if findings.setdefault(finding.id, finding) is not finding:
            raise LiteratureError(f"{file}: the id {finding.id!r} is given twice;", "each finding needs its own.")
    return tuple(findings.values())


def write_findings(file: Path, findings: Sequence[Finding]) -> None:
    """Replace the content of a findings file, if it can be written."""
    new = file.with_suffix(".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps([each.to_row() for each in findings], ensure_ascii=False, indent=2) + "\n", "utf-8")
        new.replace(file)
    except OSError as error:
        raise LiteratureError(f"{file} cannot be written: {error.strerror or error}.") from None


def benchmark_name(name: str, known: Collection[str] = ()) -> str:
    """Return the name of a data set as findings carry it: a known spelling, or else `two_words` in lower case.

    A citation after the name is not part of it, nor are other words in "the SummEval data set (Fabbri et al., 2021)".
    """
    words = re.findall(r"[^\W_]+", _NO_NAME.sub(" ", name).casefold())
    same = (each for each in known if re.sub(r"[\W_]", "", each.casefold()) == "".join(words))
    return next(same, "_".join(words))
