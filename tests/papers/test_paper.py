"""PDF and text files of papers: pages, parts, and what is refused with its reason."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from paper_samples import write_paper
from pdf_files import RIGHT, column, pdf

from rubriclab.errors import LiteratureError
from rubriclab.ops.literature import (
    Paper,
    PaperPage,
    find_quotation,
    parts,
    read_paper,
)

LEFT_LINES = ("The raters of this study penalised inconsis-", "tent summaries in 45.2% of the cases and they")
RIGHT_LINES = ("rewarded texts that kept to one thread through-", "out, while length alone had no effect at all.")
ACROSS = "tent summaries in 45.2% of the cases and they rewarded texts that kept to one thread throughout"
TWO_COLUMNS = column(LEFT_LINES) + column(RIGHT_LINES, RIGHT)
WHOLE = pdf(TWO_COLUMNS)


def write(folder: Path, content: bytes, name: str = "paper.pdf") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_form_feeds_divide_a_text_file_into_pages(tmp_path: Path) -> None:
    paper = read_paper(write_paper(tmp_path))
    assert (paper.name, paper.paged, [page.number for page in paper.pages]) == ("paper.txt", True, [1, 2, 3])
    assert "marked down summaries whose sentences" in paper.pages[1].text


def test_a_text_file_without_form_feeds_has_no_pages(tmp_path: Path) -> None:
    paper = read_paper(write(tmp_path, b"One \x07text.", "plain.txt"))
    assert (paper.paged, paper.pages) == (False, (PaperPage(1, "One text."),))


def test_pages_have_the_numbers_that_a_reader_of_the_file_shows(tmp_path: Path) -> None:
    pages = [column([f"This is page {n} of the paper, with a whole sentence."]) for n in (1, 2, 3)]
    paper = read_paper(write(tmp_path, pdf(pages[0], (), *pages[1:])))
    assert ([page.number for page in paper.pages], paper.paged) == ([1, 3, 4], True)


def test_a_quotation_that_runs_through_lines_and_columns_is_found(tmp_path: Path) -> None:
    paper = read_paper(write(tmp_path, WHOLE))
    assert find_quotation(f"penalised inconsis{ACROSS}", paper.pages) is not None
    assert find_quotation(f"penalised consis{ACROSS}", paper.pages) is None


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_file_that_only_restricts_copying_is_read(algorithm: str, tmp_path: Path) -> None:
    paper = read_paper(write(tmp_path, pdf(TWO_COLUMNS, password="", algorithm=algorithm)))
    assert "inconsistent" in paper.pages[0].text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pdf(TWO_COLUMNS, password="secret"), "protected by a password"),
        (pdf((), (), ()), "no readable text"),
        (pdf(column(["%&/()=?!$;:" * 8] * 4)), "no readable text"),
        (WHOLE[:300], "cannot be read"),
        (WHOLE[: len(WHOLE) // 2], "cannot be read"),
        (b"%PDF-1.7\nand nothing else", "cannot be read"),
        (b"", "holds no text"),
        (b" \f \f", "holds no text"),
        ("Übung".encode("latin-1"), "not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(LiteratureError) as caught:
        read_paper(write(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path / "paper.pdf"))
    assert said in str(caught.value)


def test_damaged_files_are_read_or_refused_and_never_fail_otherwise(tmp_path: Path) -> None:
    draw = random.Random(7)
    refused = 0
    for _ in range(40):
        damaged = bytearray(WHOLE)
        for _ in range(20):
            damaged[draw.randrange(10, len(damaged))] = draw.randrange(256)
        refused += 1
        with suppress(LiteratureError):
            read_paper(write(tmp_path, bytes(damaged)))
            refused -= 1
    assert refused > 0


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(LiteratureError, match=r"pip install 'rubriclab\[literature\]'"):
        read_paper(write(tmp_path, WHOLE))


def test_parts_hold_whole_pages_and_cut_only_those_that_are_longer() -> None:
    pages = tuple(PaperPage(number, f"{number}" * 40) for number in (1, 2, 3))
    long = PaperPage(4, " ".join(f"Sentence {n} is short." for n in range(30)))
    found = list(parts(Paper("p", (*pages, long, PaperPage(5, "x" * 1050)), True), 200))
    assert all(sum(len(page.text) for page in part) <= 200 for part in found)
    assert found[0] == list(pages)
    for page in (*pages, long):
        assert "".join(each.text for part in found for each in part if each.number == page.number) == page.text
