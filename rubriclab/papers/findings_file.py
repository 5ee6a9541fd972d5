"""Adding findings to a JSON list and their publications to `references.bib` beside it, and removing findings.

Several processes may do so in one folder. Each creates a lock file there before it reads and writes, and waits while
another process's lock file exists. Unlike the locks of an operating system, this works on every system and on network
drives.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rubriclab.documents import Unreadable, parse_json, read_file, text_of
from rubriclab.errors import LiteratureError
from rubriclab.literature import REFERENCES, FindingEntry, Reference, load_findings, load_references
from rubriclab.papers.bibliography import entry_of, is_same_work
from rubriclab.papers.findings import is_same_claim
from rubriclab.store.leases import is_gone, this_process

LOCK = f".{REFERENCES}.lock"
# Seconds to wait for another process, which only reads and writes small files.
LONGEST_WAIT = 20.0
_PAUSE = 0.02
# Windows refuses access to a file while another process reads or removes it.
_TEMPORARY: tuple[type[OSError], ...] = (PermissionError,) if os.name == "nt" else ()
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
    """Add a finding to its file and its publication to the references, and return the finding with its new id.

    If the file already has the same claim from this publication, return the entry in the file.

    Raises:
        LiteratureError: if the publication's key names another one, or the files cannot be used or written.
    """
    with _write_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file):
        _add_reference(file, reference)
        entries = entries_of(file)
        same = next((each for each in entries if _has_claim_of(each, finding)), None)
        if same is not None:
            return FindingEntry.model_validate(same)
        named = finding.model_copy(update={"id": _new_id(entries, reference.key)})
        _write_entries(file, [*entries, _row(named)])
    return named


def reference_kept(file: Path, reference: Reference) -> Reference:
    """Return the publication as the references beside a findings file have it, even under another key, or as given.

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
    if not file.exists():
        return
    with _locked(file):
        _write_entries(file, [entry for entry in entries_of(file) if entry["id"] not in ids])


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold the lock on the folder of a findings file, which only one process at a time can hold.

    Raises:
        LiteratureError: if another process holds it for too long, or the folder cannot be written to.
    """
    lock, token = file.parent / LOCK, this_process()
    with _write_errors(file):
        try:
            if not _succeeds(lambda: _created(lock, token)):
                raise LiteratureError(
                    f"{file} cannot be written: {lock} has been there for {LONGEST_WAIT:.0f} seconds, as if another "
                    "command were writing.",
                    "If none is running, one was ended while it wrote; remove that file.",
                )
            yield
        finally:
            _succeeds(lambda: _removed(lock, token))


def _succeeds(attempt: Callable[[], bool]) -> bool:
    """Return whether an attempt, which is repeated for up to `LONGEST_WAIT` seconds, succeeds."""
    latest = time.monotonic() + LONGEST_WAIT
    while True:
        last = time.monotonic() > latest
        try:
            if attempt():
                return True
        except _TEMPORARY:
            if last:
                raise
        if last:
            return False
        time.sleep(_PAUSE)


def _created(lock: Path, token: str) -> bool:
    """Return whether the lock file could be created; if not, remove it if the process that created it has ended."""
    try:
        with lock.open("x", encoding="utf-8") as opened:
            opened.write(f"{token}\n")
    except FileExistsError:
        _remove_abandoned(lock)
        return False
    return True


def _remove_abandoned(lock: Path) -> None:
    """Remove a lock file whose process has ended.

    Only one process at a time does so. Otherwise, a slower one could remove the lock file that replaced it.
    """
    if not _is_abandoned(lock):
        return
    removing = lock.with_name(f"{lock.name}.removing")
    with suppress(FileExistsError):
        removing.touch(exist_ok=False)
        try:
            if _is_abandoned(lock):
                lock.unlink()
        finally:
            removing.unlink()


def _is_abandoned(lock: Path) -> bool:
    """Return whether the process that created a lock file has ended; `False` if it may not have written all of it."""
    content = _content(lock)
    return content.endswith("\n") and is_gone(content.strip())


def _removed(lock: Path, token: str) -> bool:
    """Return `True` once the lock file has been removed, or if it belongs to another process."""
    if _content(lock).strip() == token:
        lock.unlink()
    return True


def _content(lock: Path) -> str:
    """Return the content of a lock file; `""` if there is none."""
    try:
        return lock.read_text("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


@contextmanager
def _write_errors(file: Path) -> Iterator[None]:
    """Turn errors of the operating system into ones that say which file cannot be written."""
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


def _has_claim_of(entry: dict[str, Any], finding: FindingEntry) -> bool:
    return bool(entry["source"] == finding.source) and is_same_claim(finding.claim, [entry["claim"]])


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
    """Replace the content of a file at once, so that nobody reads a part of it; its mode and links to it remain."""
    target = file.resolve()
    new = target.with_name(f".{target.name}.{os.getpid()}")
    with _write_errors(file):
        try:
            new.write_text(text, "utf-8")
            if target.exists():
                shutil.copymode(target, new)
            os.replace(new, target)
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)
