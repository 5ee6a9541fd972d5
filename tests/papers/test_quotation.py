"""Quotations are found as they stand in a paper, whatever extraction did to them, and altered ones are refused."""

from __future__ import annotations

import pytest

from rubriclab.ops.literature import PaperPage, cleaned, find_quotation

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
        ORIGINAL.upper(),
        f"“{ORIGINAL}.”",
        ORIGINAL.replace(" ", "\n  "),
        ORIGINAL.replace("inconsistent", "incon-\nsistent"),
        ORIGINAL.replace("cases", "ca\u00adses"),
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
        ("did not reward", "did indeed not reward"),
        ("45.2%", "45.3%"),
        ("45.2%", "452%"),
        ("45.2%", "45 2%"),
        ("45.2%", "45,2%"),
        ("45.2%", "-45.2%"),
        ("< 0.05", "> 0.05"),
        ("< 0.05", "≤ 0.05"),
        ("< 0.05", "0.05"),
        ("penalised", "preferred"),
        ("length", "brevity"),
        ("summaries in", "summaries … in most"),
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
        ("≥ 0.7", "0.7"),
        ("≠ 0", "= 0"),
        ("± 0.2", "0.2"),
        ("≈ 12", "= 12"),
        ("− 0.31", "0.31"),
        ("-.31", ".31"),
        ("1-5", "15"),
        ("3/4", "34"),
        ("1,234", "1.234"),
        ("1 234", "1234"),
        ("10²", "102"),
        ("3½", "31/2"),
        ("45%", "45"),
        ("GPT-4", "GPT-3"),
        ("no table", "notable"),
        ("the higher", "the lower"),
        ("all of their points", "some of their points"),
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
        ("p<0.05", "p < 0.05"),
        ("p ∼ 0.05", "p ~ 0.05"),
        ("e\ufb03cient", "efficient"),
        ("signi\ufb01-\ncant", "significant"),
        ("ndings", "findings"),
        ("summa\u00ad\nries", "summaries"),
        ("summa- ries", "summaries"),
        ("summa\nries", "summaries"),
        ("well-\nknown", "well-known"),
        ("the\nraters’ own", "the raters' own"),
        ("“good”", '"good"'),
        ("this:\n• form", "this: form"),
        ("nai\u0308ve", "naïve"),
        ("İstanbul", "İstanbul"),
    ],
)
def test_layout_and_extraction_do_not_count(there: str, copied: str) -> None:
    pages = (PaperPage(1, cleaned(f"We saw that most raters gave {there} to the texts of our study.")),)
    found = find_quotation(f"that most raters gave {copied} to the texts", pages)
    assert found is not None
    assert find_quotation(found.text, pages) == found


def test_the_page_is_that_where_the_quotation_stands_not_the_one_that_was_named() -> None:
    twice = (*PAGES, PaperPage(7, PAGES[2].text))
    pages = [find_quotation("The value was -0.31 for all", twice, named) for named in (None, 1, 5, 7, 9)]
    assert [each.number for each in pages if each] == [5, 5, 5, 7, 5]


def test_a_few_words_prove_nothing() -> None:
    assert find_quotation("did not reward length", PAGES) is None
    assert find_quotation("… — …", PAGES) is None
    assert find_quotation(ORIGINAL, ()) is None
