"""Text files of papers: pages, parts and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper_samples import PAGES, write_paper

from rubriclab.errors import LiteratureError
from rubriclab.papers.paper import Paper, PaperPage, parts, read_paper


def test_form_feeds_divide_a_text_file_into_pages(tmp_path: Path) -> None:
    paper = read_paper(write_paper(tmp_path))
    assert (paper.name, paper.paged, [page.number for page in paper.pages]) == ("paper.txt", True, [1, 2, 3])
    assert "marked down summaries whose sentences" in paper.pages[1].text


def test_a_text_file_without_form_feeds_has_no_pages(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("One text.", "utf-8")
    paper = read_paper(tmp_path / "plain.txt")
    assert (paper.paged, paper.pages) == (False, (PaperPage(1, "One text."),))


def test_chosen_pages_keep_their_numbers_and_blank_ones_are_counted(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("one\f \ftwo\fthree\f", "utf-8")
    paper = read_paper(tmp_path / "p.txt", (2, 3))
    assert (paper.pages, paper.blank) == ((PaperPage(3, "two"),), 1)


@pytest.mark.parametrize(
    ("content", "pages", "said"),
    [
        (b"", None, "holds no text. Give a file with the text of the paper."),
        (b" \f \f", None, "holds no text"),
        (b"\x00\x01binary", None, "cannot be read: it is neither a PDF nor text. A paper is a PDF, or a text file"),
        ("Übung".encode("latin-1"), None, "it is not UTF-8 text"),
        (b"one\ftwo", (2, 5), "has 2 pages; got the pages 2-5. Name pages from 1 to 2."),
        (b"x\f" * 501, None, "has 501 pages; at most 500 are read."),
        (b"x" * 3_000_001, None, "has more than 3,000,000 characters."),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    content: bytes, pages: tuple[int, int] | None, said: str, tmp_path: Path
) -> None:
    (tmp_path / "p.txt").write_bytes(content)
    with pytest.raises(LiteratureError) as caught:
        read_paper(tmp_path / "p.txt", pages)
    assert str(caught.value).startswith(str(tmp_path / "p.txt"))
    assert said in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.pdf"):
        with pytest.raises(LiteratureError, match="cannot be read"):
            read_paper(path)


def test_parts_hold_whole_pages_and_cut_only_those_that_are_longer() -> None:
    pages = tuple(PaperPage(number, f"{number}" * 40) for number in (1, 2, 3))
    long = PaperPage(4, "\n\n".join(f"Sentence {n} is short." for n in range(30)))
    found = parts(Paper("p", (*pages, long), True), 200)
    assert all(sum(len(page.text) for page in part) <= 200 for part in found)
    assert [page.number for part in found for page in part] == sorted(page.number for part in found for page in part)
    rejoined = "\n\n".join(page.text for part in found for page in part if page.number == 4)
    assert rejoined == long.text
    assert parts(Paper("p", (PaperPage(1, PAGES[0]),), True), 10_000) == ((PaperPage(1, PAGES[0]),),)


def test_a_page_without_any_space_is_cut_where_the_part_ends() -> None:
    found = parts(Paper("p", (PaperPage(1, "x" * 1050),), True), 500)
    assert "".join(page.text for part in found for page in part) == "x" * 1050
    assert all(len(page.text) <= 500 for part in found for page in part)
