"""Findings files that grow and shrink: entries are added to the JSON list and to `references.bib` beside it."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rubriclab.documents import Unreadable, parse_json, read_file, text_of
from rubriclab.errors import LiteratureError
from rubriclab.literature import REFERENCES, FindingEntry, Reference, load_findings, load_references
from rubriclab.papers.bibliography import entry_of, is_same_work

HEADING = "% Publications that the findings rest on. Flat entries only: every value in one pair of braces.\n"


def references_beside(file: Path) -> dict[str, Reference]:
    """Return the publications beside a findings file by their keys; none if there is no `references.bib` yet.

    Raises:
        LiteratureError: if it cannot be used.
    """
    bib = file.parent / REFERENCES
    return load_references(bib) if bib.exists() else {}


def entries_of(file: Path) -> list[dict[str, Any]]:
    """Return the entries of a findings file as they stand in it; none if there is no such file yet.

    Raises:
        LiteratureError: if it cannot be used.
    """
    if not file.exists():
        return []
    load_findings("", path=file)
    try:
        entries: list[dict[str, Any]] = parse_json(text_of(read_file(file)))
    except Unreadable as error:
        raise LiteratureError(f"{file} cannot be read: {error}.") from None
    return entries


def add_reference(file: Path, reference: Reference) -> None:
    """Add a publication to the references beside a findings file, unless it is there.

    Raises:
        LiteratureError: if its key names another publication, or the file cannot be used or written.
    """
    known = references_beside(file)
    if reference.key in known:
        check_same_work(file, known[reference.key], reference)
        return
    bib = file.parent / REFERENCES
    before = text_of(read_file(bib)) if bib.exists() else HEADING
    _write(bib, f"{before.rstrip()}\n\n{entry_of(reference)}")


def reference_kept(file: Path, reference: Reference) -> Reference:
    """Return the publication as the references beside a findings file have it, under whichever key, or else as given.

    Raises:
        LiteratureError: if the references cannot be used.
    """
    known = references_beside(file)
    ordered = [known[reference.key]] if reference.key in known else []
    same = (each for each in [*ordered, *known.values()] if is_same_work(each, reference))
    return next(same, reference)


def check_same_work(file: Path, known: Reference, reference: Reference) -> None:
    """Return if two entries with one key are about the same publication.

    Raises:
        LiteratureError: if not.
    """
    if not is_same_work(known, reference):
        raise LiteratureError(
            f"{file.parent / REFERENCES} has the key {reference.key!r} for another publication: {known.citation}.",
            "Give the new entry another key.",
        )


def add_findings(file: Path, added: Sequence[FindingEntry]) -> None:
    """Add findings at the end of a findings file, whose folder and references exist.

    Raises:
        LiteratureError: if the file cannot be used or written, or an id is taken.
    """
    entries = entries_of(file)
    taken = {entry["id"] for entry in entries} & {finding.id for finding in added}
    if taken:
        raise LiteratureError(f"{file}: the id {min(taken)!r} is taken;", "each finding needs its own.")
    _write_entries(file, entries + [_row(finding) for finding in added])


def remove_findings(file: Path, ids: Collection[str]) -> None:
    """Remove findings from a file; the publications stay in the references.

    Raises:
        LiteratureError: if the file cannot be used or written.
    """
    _write_entries(file, [entry for entry in entries_of(file) if entry["id"] not in ids])


def new_id(file: Path, key: str) -> str:
    """Return an id for a finding of a publication that is not in the file, such as `lin2004rouge-1`."""
    taken = {entry["id"] for entry in entries_of(file)}
    names = (f"{key}-{number}" for number in itertools.count(1))
    return next(name for name in names if name not in taken)


def _row(finding: FindingEntry) -> dict[str, Any]:
    row = finding.model_dump(mode="json", exclude_none=True)
    return {name: value for name, value in row.items() if name != "benchmarks" or value}


def _write_entries(file: Path, entries: Sequence[dict[str, Any]]) -> None:
    _write(file, json.dumps(list(entries), ensure_ascii=False, indent=2) + "\n")


def _write(file: Path, text: str) -> None:
    """Write a file whole: whoever reads it meanwhile finds the former content."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, "utf-8")
        os.replace(new, file)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise LiteratureError(f"{file} cannot be written: {error.strerror or error}.") from None
