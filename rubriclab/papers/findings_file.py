"""Findings files that grow and shrink: entries are added to the JSON list and to `references.bib` beside it.

Several processes may do so in one folder: each reads and writes the files while it alone has created a lock file there.
Unlike the locks of an operating system, this works on every system and on network drives.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rubriclab.documents import Unreadable, parse_json, read_file, text_of
from rubriclab.errors import LiteratureError
from rubriclab.literature import REFERENCES, FindingEntry, Reference, load_findings, load_references
from rubriclab.papers.bibliography import entry_of, is_same_work

LOCK = f".{REFERENCES}.lock"
# Seconds until another process, which only reads and writes small files, must have removed the lock file.
LONGEST_WAIT = 20.0
_PAUSE = 0.02
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


def add_finding(file: Path, reference: Reference, finding: FindingEntry) -> FindingEntry:
    """Return a finding under an id that is new in its file, once it stands there and its publication in the references.

    Raises:
        LiteratureError: if the publication's key names another one, or the files cannot be used or written.
    """
    with _alone(file):
        _add_reference(file, reference)
        entries = entries_of(file)
        named = finding.model_copy(update={"id": _new_id(entries, reference.key)})
        _write_entries(file, [*entries, _row(named)])
    return named


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


def remove_findings(file: Path, ids: Collection[str]) -> None:
    """Remove findings from a file; the publications stay in the references.

    Raises:
        LiteratureError: if the file cannot be used or written.
    """
    with _alone(file):
        _write_entries(file, [entry for entry in entries_of(file) if entry["id"] not in ids])


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Keep other processes from writing in the folder of a findings file while the block runs.

    Raises:
        LiteratureError: if another one does not end, or nothing can be written there.
    """
    lock = file.parent / LOCK
    with _faults_named(file):
        lock.parent.mkdir(parents=True, exist_ok=True)
        latest = time.monotonic() + LONGEST_WAIT
        while not _created(lock):
            if time.monotonic() > latest:
                raise LiteratureError(
                    f"{file} cannot be written: {lock} has been there for {LONGEST_WAIT:.0f} seconds, as if another "
                    "command were writing.",
                    "If none is running, one was ended while it wrote; remove that file.",
                )
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _created(lock: Path) -> bool:
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@contextmanager
def _faults_named(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LiteratureError(f"{file} cannot be written: {error.strerror or error}.") from None


def _add_reference(file: Path, reference: Reference) -> None:
    known = references_beside(file)
    if reference.key in known:
        check_same_work(file, known[reference.key], reference)
        return
    bib = file.parent / REFERENCES
    before = text_of(read_file(bib)) if bib.exists() else HEADING
    _write(bib, f"{before.rstrip()}\n\n{entry_of(reference)}")


def _new_id(entries: Sequence[dict[str, Any]], key: str) -> str:
    """Return an id for a finding of a publication that no entry has, such as `lin2004rouge-1`."""
    taken = {entry["id"] for entry in entries}
    return next(name for number in itertools.count(1) if (name := f"{key}-{number}") not in taken)


def _row(finding: FindingEntry) -> dict[str, Any]:
    row = finding.model_dump(mode="json", exclude_none=True)
    return {name: value for name, value in row.items() if name != "benchmarks" or value}


def _write_entries(file: Path, entries: Sequence[dict[str, Any]]) -> None:
    _write(file, json.dumps(list(entries), ensure_ascii=False, indent=2) + "\n")


def _write(file: Path, text: str) -> None:
    """Write a file whole: whoever reads it meanwhile finds the former content."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    with _faults_named(file):
        try:
            new.write_text(text, "utf-8")
            os.replace(new, file)
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)
