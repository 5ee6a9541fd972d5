"""Quotations are found as they stand in a paper, whatever extraction did to them, and altered ones are refused."""

from __future__ import annotations

import pytest

from rubriclab.papers.paper import PaperPage, cleaned
from rubriclab.papers.quotation import find_quotation, word_count

ORIGINAL = "Raters penalised inconsistent summaries in 45.2% of the cases and did not reward length (p < 0.05)"
PAGES = (
    PaperPage(1, "1 Introduction"),
    PaperPage(4, f"Our results: {ORIGINAL}. Longer texts were signicantly less coher ent to the twelve experts,"),
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
    ],
)
def test_a_quotation_is_found_whatever_its_spaces_hyphens_case_and_quotation_marks(quotation: str) -> None:
    found = find_quotation(quotation, PAGES, 4)
    assert found is not None
    assert found.page == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inconsistent", "consistent"),
        ("did not reward", "did reward"),
        ("did not reward", "did indeed not reward"),
        ("45.2%", "45.3%"),
        ("45.2%", "452%"),
        ("< 0.05", "> 0.05"),
        ("penalised", "preferred"),
        ("length", "brevity"),
        ("summaries in", "summaries … in most"),
        ("Raters penalised inconsistent summaries", "Inconsistent raters penalised summaries"),
    ],
)
def test_an_altered_quotation_is_refused(old: str, new: str) -> None:
    assert old in ORIGINAL
    assert find_quotation(ORIGINAL.replace(old, new), PAGES, 4) is None


def test_a_quotation_may_not_begin_or_end_within_a_word() -> None:
    assert find_quotation("consistent summaries in 45.2% of the cases", PAGES) is None
    assert find_quotation("summaries in 45.2% of the case", PAGES) is None
    assert find_quotation("Raters penalised inconsistent summaries in 45", PAGES) is None
    assert find_quotation("Raters penalised inconsistent summaries in 45.2", PAGES) is None
    assert find_quotation("Raters penalised inconsistent summaries in 45.2%", PAGES) is not None
    assert find_quotation("The value was -0.31 for all of", PAGES) is not None
    assert find_quotation("The value was 0.31 for all of", PAGES) is None


def test_letters_that_extraction_lost_are_tolerated_and_the_wording_of_the_page_is_kept() -> None:
    found = find_quotation("Longer texts were significantly less coherent to the twelve experts", PAGES, 4)
    assert found is not None
    assert found.text == "Longer texts were signicantly less coher ent to the twelve experts"
    assert find_quotation("Longer texts were significantly more coherent to the twelve experts", PAGES, 4) is None
    assert find_quotation("Longer texts were significantly less coherent to the eleven experts", PAGES, 4) is None


def test_the_page_is_that_where_the_quotation_stands_not_the_one_that_was_named() -> None:
    found = find_quotation("The value was -0.31 for all", PAGES, 1)
    assert found is not None
    assert found.page == 5


def test_a_quotation_can_run_on_to_the_next_page() -> None:
    found = find_quotation("coher ent to the twelve experts, who had judged them before", PAGES, 5)
    assert found is not None
    assert found.page == 4


def test_ligatures_and_composed_letters_are_the_letters_that_they_show() -> None:
    pages = (PaperPage(1, cleaned("The ﬁrst raters were eﬀective judges of naı\u0308ve texts\u200b.")),)
    assert find_quotation("the first raters were effective judges of", pages) is not None


def test_a_few_words_prove_nothing() -> None:
    assert word_count("did not reward length") == 4
    assert find_quotation("did not reward length", PAGES) is None
    assert find_quotation("… — …", PAGES) is None
