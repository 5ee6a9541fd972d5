"""Papers: PDF and text files, their pages and parts, and the quotations that stand in them."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from paper_samples import write_paper
from pdf_files import RIGHT, column, pdf

from rubriclab.errors import LiteratureError
from rubriclab.methods.sources import load_findings
from rubriclab.models.text import Example
from rubriclab.ops.literature import Paper, PaperPage, benchmark_notes, clean, find_quotation, page_runs, read_paper

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
    assert (paper.name, paper.has_page_numbers, [page.number for page in paper.pages]) == ("paper.txt", True, [1, 2, 3])
    assert "marked down summaries whose sentences" in paper.pages[1].text
    plain = read_paper(write(tmp_path, b"One \x07text.", "plain.txt"))
    assert (plain.has_page_numbers, plain.pages) == (False, (PaperPage(1, "One text."),))


def test_pages_have_the_numbers_that_a_reader_of_the_file_shows(tmp_path: Path) -> None:
    pages = [column([f"This is page {n} of the paper, with a whole sentence."]) for n in (1, 2, 3)]
    paper = read_paper(write(tmp_path, pdf(pages[0], (), *pages[1:])))
    assert ([page.number for page in paper.pages], paper.has_page_numbers) == ([1, 3, 4], True)


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


def test_parts_hold_whole_pages_and_cut_only_those_that_are_longer() -> None:
    pages = tuple(PaperPage(number, f"{number}" * 40) for number in (1, 2, 3))
    long = PaperPage(4, " ".join(f"Sentence {n} is short." for n in range(30)))
    found = list(page_runs(Paper("p", (*pages, long, PaperPage(5, "x" * 1050)), True), 200))
    assert all(sum(len(page.text) for page in part) <= 200 for part in found)
    assert found[0] == list(pages)
    for page in (*pages, long):
        assert "".join(each.text for part in found for each in part if each.number == page.number) == page.text


ORIGINAL = "Raters penalised inconsistent summaries in 45.2% of the cases and did not reward length (p < 0.05)"
PAGES = (
    PaperPage(1, "1 Introduction"),
    PaperPage(4, f"Our results: {ORIGINAL}. Longer texts were signicantly less coher\nent to the twelve experts,"),
    PaperPage(5, "who had judged them before. The value was -0.31 for all of the aspects."),
)


@pytest.mark.parametrize(
    "quotation",
    [
        ORIGINAL,
        f"“{ORIGINAL}.”",
        ORIGINAL.replace(" ", "\n  "),
        ORIGINAL.replace("inconsistent", "incon-\nsistent"),
        "penalised inconsistent summaries in 45.2 % of the cases",
        "Longer texts were signicantly less coher ent to the twelve experts",
        "Longer texts were significantly less coherent to the twelve experts",
    ],
)
def test_a_quotation_is_found_whatever_its_spaces_hyphens_case_and_quotation_marks(quotation: str) -> None:
    found = find_quotation(quotation, PAGES, 4)
    assert found is not None
    assert found.number == 4
    assert found.text in " ".join(PAGES[1].text.split()).replace(" < ", "<")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inconsistent", "consistent"),
        ("did not reward", "did reward"),
        ("45.2%", "45.3%"),
        ("45.2%", "45 2%"),
        ("Raters penalised inconsistent summaries", "Inconsistent raters penalised summaries"),
        ("not reward", "notreward"),
        ("did not reward length (p < 0.05)", "liked short sentences"),
    ],
)
def test_an_altered_quotation_is_refused(old: str, new: str) -> None:
    assert old in ORIGINAL
    assert find_quotation(ORIGINAL.replace(old, new), PAGES, 4) is None


@pytest.mark.parametrize(
    ("there", "altered"),
    [
        ("≥ 0.7", "≤ 0.7"),
        ("< 0.05", "0.05"),
        ("± 0.2", "0.2"),
        ("− 0.31", "0.31"),
        ("1-5", "15"),
        ("1,234", "1.234"),
        ("3½", "31/2"),
        ("45%", "45"),
        ("no table", "notable"),
        ("the higher", "the lower"),
    ],
)
def test_another_sign_number_or_opposite_is_refused_and_the_one_of_the_paper_found(there: str, altered: str) -> None:
    pages = (PaperPage(1, f"We saw that most raters gave {there} to the texts of our study."),)
    for before, after in (("that most raters gave ", " to the texts"), ("", " to the texts of our study")):
        assert find_quotation(f"{before}{altered}{after}", pages) is None
        assert find_quotation(f"{before}{there}{after}", pages) is not None
    assert find_quotation(f"saw that most raters gave {altered}", pages) is None
    assert find_quotation(f"saw that most raters gave {there}", pages) is not None


@pytest.mark.parametrize(
    ("there", "copied"),
    [
        ("− 0.31", "-0.31"),
        ("1–\n5", "1-5"),
        ("p ∼ 0.05", "p ~ 0.05"),
        ("e\ufb03cient", "efficient"),
        ("signi\ufb01-\ncant", "significant"),
        ("summa\u00ad\nries", "summaries"),
        ("well-\nknown", "well-known"),
        ("the\nraters’ own", "the raters' own"),
        ("“good”", '"good"'),
        ("nai\u0308ve", "naïve"),
    ],
)
def test_layout_and_extraction_do_not_count(there: str, copied: str) -> None:
    pages = (PaperPage(1, clean(f"We saw that most raters gave {there} to the texts of our study.")),)
    found = find_quotation(f"that most raters gave {copied} to the texts", pages)
    assert found is not None
    assert find_quotation(found.text, pages) == found


def test_the_page_is_that_where_the_quotation_stands_and_a_few_words_prove_nothing() -> None:
    twice = (*PAGES, PaperPage(7, PAGES[2].text))
    pages = [find_quotation("The value was -0.31 for all", twice, named) for named in (None, 1, 5, 7, 9)]
    assert [each.number for each in pages if each] == [5, 5, 5, 7, 5]
    assert [find_quotation(words, PAGES) for words in ("did not reward length", "… — …")] == [None, None]


def test_a_file_that_names_a_public_set_is_named_if_findings_are_about_its_raters() -> None:
    findings, text = load_findings("summarization"), Example(id="t1", output="Words.", group="t1")
    (note,) = benchmark_notes("data/SummEval_dev.jsonl", [text], findings)
    assert note.endswith("`literature_without=summeval`")
    assert benchmark_notes("labelled.jsonl", [text], findings) == []
