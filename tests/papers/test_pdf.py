"""PDF files of papers: pages, columns, passwords, and what is refused with its reason."""

from __future__ import annotations

import logging
import random
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from pdf_files import RIGHT, column, pdf

from rubriclab.errors import LiteratureError
from rubriclab.papers.paper import read_paper
from rubriclab.papers.quotation import find_quotation

LEFT_LINES = ("The raters of this study penalised inconsis-", "tent summaries in 45.2% of the cases and they")
RIGHT_LINES = ("rewarded texts that kept to one thread through-", "out, while length alone had no effect at all.")
ACROSS = "tent summaries in 45.2% of the cases and they rewarded texts that kept to one thread throughout"
TWO_COLUMNS = column(LEFT_LINES) + column(RIGHT_LINES, RIGHT)


def write(folder: Path, content: bytes) -> Path:
    (folder / "paper.pdf").write_bytes(content)
    return folder / "paper.pdf"


def test_pages_have_the_numbers_that_a_reader_of_the_file_shows(tmp_path: Path) -> None:
    pages = [column([f"This is page {n} of the paper, with a whole sentence."]) for n in (1, 2, 3)]
    paper = read_paper(write(tmp_path, pdf(pages[0], (), *pages[1:])))
    assert [page.number for page in paper.pages] == [1, 3, 4]
    assert (paper.paged, paper.blank) == (True, 1)
    assert [page.number for page in read_paper(tmp_path / "paper.pdf", (3, 4)).pages] == [3, 4]


def test_a_quotation_that_runs_through_lines_and_columns_is_found(tmp_path: Path) -> None:
    paper = read_paper(write(tmp_path, pdf(TWO_COLUMNS)))
    assert find_quotation(f"inconsis{ACROSS}", paper.pages) is not None
    assert find_quotation(f"The raters of this study penalised consis{ACROSS}", paper.pages) is None


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_file_that_only_restricts_copying_is_read(algorithm: str, tmp_path: Path) -> None:
    paper = read_paper(write(tmp_path, pdf(TWO_COLUMNS, password="", algorithm=algorithm)))
    assert LEFT_LINES[1] in paper.pages[0].text or "inconsistent" in paper.pages[0].text


WHOLE = pdf(TWO_COLUMNS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pdf(TWO_COLUMNS, password="secret"), "is protected by a password. Save a copy without one"),
        (pdf((), (), ()), "has no text on its pages, as if they were scanned. Add a text layer"),
        (pdf(column(["%&/()=?!$;:" * 8] * 4)), "does not say which characters its fonts show"),
        (WHOLE[:300], "cannot be read as a PDF: "),
        (WHOLE[: len(WHOLE) // 2], "cannot be read as a PDF: "),
        (b"%PDF-1.7\nand nothing else", "cannot be read as a PDF: "),
        (pdf(*[column([LEFT_LINES[0]])] * 501), "has 501 pages; at most 500 are read. Name the pages of the paper"),
    ],
    ids=["password", "scanned", "unreadable fonts", "cut off", "half", "no objects", "huge"],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(LiteratureError) as caught:
        read_paper(write(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path / "paper.pdf"))
    assert said in str(caught.value)


def test_some_pages_of_a_huge_file_are_read(tmp_path: Path) -> None:
    paper = read_paper(write(tmp_path, pdf(*[column([LEFT_LINES[0]])] * 501)), (500, 501))
    assert [page.number for page in paper.pages] == [500, 501]


@pytest.mark.parametrize("pages", [(2, 3), (1, 2), (600, 1200)])
def test_pages_that_the_file_does_not_have_are_named(pages: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(
        LiteratureError, match=rf"has 1 page; got the pages {pages[0]}-{pages[1]}\. Name pages from 1 to"
    ):
        read_paper(write(tmp_path, WHOLE), pages)


def test_damaged_files_are_read_or_refused_and_never_fail_otherwise(tmp_path: Path) -> None:
    draw = random.Random(7)
    for _ in range(60):
        damaged = bytearray(WHOLE)
        for _ in range(20):
            damaged[draw.randrange(10, len(damaged))] = draw.randrange(256)
        with suppress(LiteratureError):
            read_paper(write(tmp_path, bytes(damaged)))
    assert logging.getLogger("pypdf").level == logging.NOTSET


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(LiteratureError, match=r"needs pypdf; install it with: pip install 'rubriclab\[literature\]'"):
        read_paper(write(tmp_path, WHOLE))
