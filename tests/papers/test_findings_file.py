"""Findings files grow and shrink, and what people wrote in them stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubriclab.errors import LiteratureError
from rubriclab.literature import FindingEntry, Quotation, load_findings
from rubriclab.papers.bibliography import reference_of
from rubriclab.papers.findings_file import add_findings, add_reference, new_id, remove_findings

BY_HAND: dict[str, Any] = {"id": "a-1", "aspects": [], "claim": "Readers like order.", "source": "lin2004rouge"}
BIB = """% written by hand
@article{lin2004rouge, author = {Lin, C.}, title = {ROUGE}, year = {2004}, journal = {ACL}, note = {mine}}
"""
NEW = FindingEntry(
    id="berg-1",
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
    add_reference(file, reference_of("berg", ["Berg, Per"], "Laughing", 2020, "TACL"))
    add_findings(file, [NEW])
    first, second = load_findings("poem", path=file)
    assert (first.claim, first.quotation) == ("Readers like order.", None)
    assert (second.citation, second.quotation) == ("Berg (2020), Laughing, TACL", NEW.quotation)
    assert (file.parent / "references.bib").read_text("utf-8").startswith(BIB.rstrip())
    remove_findings(file, {"berg-1"})
    assert json.loads(file.read_text("utf-8")) == [BY_HAND]
    assert sorted(path.name for path in file.parent.iterdir()) == ["poem.json", "references.bib"]


def test_ids_are_new_and_a_taken_one_is_refused(file: Path) -> None:
    add_reference(file, reference_of("berg", ["Berg, Per"], "Laughing", 2020, "TACL"))
    add_findings(file, [NEW])
    assert new_id(file, "berg") == "berg-2"
    with pytest.raises(LiteratureError, match="the id 'berg-1' is taken"):
        add_findings(file, [NEW])


def test_a_file_that_cannot_be_used_stays_as_it_is(file: Path) -> None:
    file.write_text("[broken", "utf-8")
    with pytest.raises(LiteratureError, match="it is not JSON"):
        add_findings(file, [NEW])
    assert file.read_text("utf-8") == "[broken"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(LiteratureError, match="cannot be written: "):
        add_reference(tmp_path / "file" / "poem.json", reference_of("berg", ["Berg"], "L", 2020, "T"))
