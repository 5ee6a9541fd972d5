"""Findings are added to files and removed from them, and what people wrote there stays."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from rubriclab.errors import LiteratureError
from rubriclab.literature import FindingEntry, Quotation, load_findings
from rubriclab.papers import findings_file
from rubriclab.papers.bibliography import reference_of
from rubriclab.papers.findings_file import LOCK, add_finding, remove_findings

BY_HAND: dict[str, Any] = {"id": "a-1", "aspects": [], "claim": "Readers like order.", "source": "lin2004rouge"}
BIB = """% written by hand
@article{lin2004rouge, author = {Lin, C.}, title = {ROUGE}, year = {2004}, journal = {ACL}, note = {mine}}
"""
BERG = reference_of("berg", ["Berg, Per"], "Laughing", 2020, "TACL")
NEW = FindingEntry(
    id="new",
    aspects=("wit",),
    claim="Readers laugh.",
    source="berg",
    quotation=Quotation(text="they laughed", page=3, file="b.pdf"),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A findings file with one entry, and its references."""
    (tmp_path / "references.bib").write_text(BIB, "utf-8")
    (tmp_path / "poem.json").write_text(json.dumps([BY_HAND]), "utf-8")
    return tmp_path / "poem.json"


def test_added_findings_are_read_as_the_others_and_removed_without_trace(file: Path) -> None:
    assert add_finding(file, BERG, NEW).id == "berg-1"
    first, second = load_findings("poem", path=file)
    assert (first.claim, first.quotation) == ("Readers like order.", None)
    assert (second.citation, second.quotation) == ("Berg (2020), Laughing, TACL", NEW.quotation)
    assert (file.parent / "references.bib").read_text("utf-8").startswith(BIB.rstrip())
    remove_findings(file, {"berg-1"})
    assert json.loads(file.read_text("utf-8")) == [BY_HAND]
    assert sorted(path.name for path in file.parent.iterdir()) == ["poem.json", "references.bib"]


def test_ids_are_new(file: Path) -> None:
    other = NEW.model_copy(update={"claim": "Readers cry."})
    assert [add_finding(file, BERG, each).id for each in (NEW, other)] == ["berg-1", "berg-2"]
    remove_findings(file, {"berg-1"})
    assert add_finding(file, BERG, NEW).id == "berg-1"


def test_a_claim_of_a_publication_is_kept_once(file: Path) -> None:
    first = add_finding(file, BERG, NEW)
    assert add_finding(file, BERG, NEW.model_copy(update={"claim": "readers laugh"})) == first
    lind = reference_of("lind", ["Lind, Ada"], "Smiling", 2021, "TACL")
    assert add_finding(file, lind, NEW.model_copy(update={"source": "lind"})).id == "lind-1"
    assert [each["id"] for each in json.loads(file.read_text("utf-8"))] == ["a-1", "berg-1", "lind-1"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other modes, and links need a privilege")
def test_links_and_modes_of_files_stay(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    targets = [path.rename(elsewhere / path.name) for path in (file, tmp_path / "references.bib")]
    for target in targets:
        target.chmod(0o640)
        (tmp_path / target.name).symlink_to(target)
    add_finding(file, BERG, NEW)
    assert [(tmp_path / target.name).is_symlink() for target in targets] == [True, True]
    assert [stat.S_IMODE(target.stat().st_mode) for target in targets] == [0o640, 0o640]
    assert len(json.loads(targets[0].read_text("utf-8"))) == 2
    assert "{berg," in targets[1].read_text("utf-8")
    assert sorted(path.name for path in elsewhere.iterdir()) == ["poem.json", "references.bib"]


def test_nothing_is_created_to_remove_findings_from_a_missing_file(tmp_path: Path) -> None:
    remove_findings(tmp_path / "found" / "poem.json", {"a-1"})
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_used_stays_as_it_is(file: Path) -> None:
    file.write_text("[broken", "utf-8")
    with pytest.raises(LiteratureError, match="it is not JSON"):
        add_finding(file, BERG, NEW)
    assert file.read_text("utf-8") == "[broken"
    assert not (file.parent / LOCK).exists()


ADD_TWENTY = """
import sys
from pathlib import Path
from rubriclab.literature import FindingEntry
from rubriclab.papers.bibliography import reference_of
from rubriclab.papers.findings_file import add_finding

key, claims = sys.argv[2:]
entry = FindingEntry(id="new", aspects=(), claim="Readers laugh.", source=key)
print(flush=True)
sys.stdin.read()
for number in range(20):
    claim = entry.model_copy(update={"claim": f"{claims} {number}"})
    add_finding(Path(sys.argv[1]), reference_of(key, ["Berg"], f"On {key}", 2020, "TACL"), claim)
"""


def test_nothing_is_lost_when_several_processes_add_findings_at_once(tmp_path: Path) -> None:
    file = tmp_path / "found" / "poem.json"
    sources = ("berg", "lind", "lind")
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD_TWENTY, str(file), key, f"Claim {n}"], stdin=PIPE, stdout=PIPE)
        for n, key in enumerate(sources)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    with ThreadPoolExecutor() as pool:
        list(pool.map(subprocess.Popen.communicate, processes))
    assert [process.returncode for process in processes] == [0, 0, 0]
    found = load_findings("poem", path=file)
    assert {each.claim for each in found} == {f"Claim {n} {number}" for n in range(3) for number in range(20)}
    assert {each.id for each in found} == {
        f"{key}-{n}" for key, last in (("berg", 20), ("lind", 40)) for n in range(1, last + 1)
    }
    assert sorted(path.name for path in file.parent.iterdir()) == ["poem.json", "references.bib"]


def test_a_lock_that_stays_is_named_and_nothing_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_file, "LONGEST_WAIT", 0.1)
    (file.parent / LOCK).touch()
    for change in (lambda: add_finding(file, BERG, NEW), lambda: remove_findings(file, {"a-1"})):
        with pytest.raises(
            LiteratureError, match=r"another command were writing\. If none is running, .* remove that file"
        ):
            change()
    assert json.loads(file.read_text("utf-8")) == [BY_HAND]
    assert (file.parent / LOCK).exists()


HOLD_LOCK = """
import sys
from pathlib import Path
from rubriclab.papers.findings_file import _locked

with _locked(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_removed_and_that_of_a_running_one_is_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_file, "LONGEST_WAIT", 0.2)
    with subprocess.Popen([sys.executable, "-c", HOLD_LOCK, str(file)], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(LiteratureError, match="another command were writing"):
            add_finding(file, BERG, NEW)
        process.kill()
        process.wait()
    assert (file.parent / LOCK).exists()
    assert add_finding(file, BERG, NEW).id == "berg-1"
    assert sorted(path.name for path in file.parent.iterdir()) == ["poem.json", "references.bib"]


def test_the_lock_of_a_process_on_another_machine_is_not_removed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_file, "LONGEST_WAIT", 0.1)
    (file.parent / LOCK).write_text(f"{'0' * 16}:1:1:{'0' * 8}\n", "utf-8")
    with pytest.raises(LiteratureError, match="another command were writing"):
        add_finding(file, BERG, NEW)


def test_a_lock_that_another_process_has_taken_over_is_not_removed(file: Path) -> None:
    with findings_file._locked(file):
        (file.parent / LOCK).write_text("another process\n", "utf-8")
    assert (file.parent / LOCK).read_text("utf-8") == "another process\n"


def test_access_that_windows_refuses_for_a_moment_is_tried_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = iter([PermissionError(), PermissionError()])
    opened = Path.open

    def open_later(path: Path, mode: str = "r", **options: Any) -> Any:
        if mode == "x" and (refusal := next(refusals, None)):
            raise refusal
        return opened(path, mode, **options)

    monkeypatch.setattr(findings_file, "_TEMPORARY", (PermissionError,))
    monkeypatch.setattr(Path, "open", open_later)
    assert add_finding(file, BERG, NEW).id == "berg-1"
    assert list(refusals) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(LiteratureError, match="cannot be written: "):
        add_finding(tmp_path / "file" / "poem.json", BERG, NEW)
