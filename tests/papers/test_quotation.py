"""Quotations are found as they stand in a paper, whatever extraction did to them, and altered ones are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, strategies as st

from rubriclab.papers.paper import PaperPage, cleaned
from rubriclab.papers.quotation import find_quotation

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
        ("inconsistent", "in consistent"),
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
        ("\u0338= 0", "= 0"),
        ("± 0.2", "0.2"),
        ("≈ 12", "= 12"),
        ("− 0.31", "0.31"),
        ("-.31", ".31"),
        (".31", "31"),
        ("$5", "€5"),
        ("1-5", "15"),
        ("1–5", "1 5"),
        ("3/4", "34"),
        ("1,234", "1.234"),
        ("1 234", "1234"),
        ("10²", "102"),
        ("3½", "31/2"),
        ("45%", "45"),
        ("GPT-4", "GPT-3"),
        ("✓ first ✗ last", "✗ first ✓ last"),
        ("★★★☆☆", "★☆☆☆☆"),
        ("👍 and 👎", "👎 and 👍"),
        ("no table", "notable"),
        ("in\nconsistent", "inconsistent"),
        ("inter-annotator", "intra-annotator"),
        ("the higher", "the lower"),
        ("all of their points", "some of their points"),
        ("की", "का"),
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
        ("p \u0338= 0", "p ≠ 0"),
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


def test_writing_without_spaces_between_words_is_compared_sign_by_sign() -> None:
    pages = (PaperPage(1, "我们发现评分者不喜欢前后矛\n盾的摘要,并且不奖励长度。 盾的摘要。"),)
    assert find_quotation("评分者不喜欢前后矛盾的摘要", pages) is not None
    assert find_quotation("评分者喜欢前后矛盾的摘要", pages) is None
    assert find_quotation("不喜欢", pages) is None


# A passage with every kind of thing that must agree.
PASSAGE = (
    "Our 12 raters gave −0.31 points, not 3/4, to 45.2% of the 1,200 sum-\nmaries (p ≥ .05); most of\nthem judged 1–5 "
    "“dif\ufb01cult” texts as well formed ± 2 and \u00adnever as the best, r ≠ 0.7 was below $3 for GPT-4 ~ 80 × 2"
)
PAPER = (PaperPage(1, "Results."), PaperPage(2, cleaned(f"Here they are. {PASSAGE}. That was all.")))
DIGITS = [match.start() for match in re.finditer(r"\d", PASSAGE)]
SIGN_PLACES = [match.start() for match in re.finditer(r"[−/.,≥±≠~×$](?=\s?[.\d])|%", PASSAGE)]


@given(st.sampled_from(DIGITS), st.sampled_from(["", *"0123456789"]))
def test_another_digit_or_none_is_refused(place: int, digit: str) -> None:
    assume(PASSAGE[place] != digit)
    assert find_quotation(PASSAGE, PAPER) is not None
    assert find_quotation(PASSAGE[:place] + digit + PASSAGE[place + 1 :], PAPER) is None


@given(st.sampled_from(SIGN_PLACES), st.sampled_from(["", " ", *"<>=≤≥≠±~×+%$−"]))
def test_another_sign_or_none_is_refused(place: int, sign: str) -> None:
    assume(PASSAGE[place] != sign)
    assert find_quotation(PASSAGE[:place] + sign + PASSAGE[place + 1 :], PAPER) is None


@given(st.data())
def test_another_order_of_words_and_a_word_more_or_less_are_refused(data: st.DataObject) -> None:
    words = PASSAGE.replace("-\n", "").split()
    assert find_quotation(" ".join(words), PAPER) is not None
    one, other = data.draw(st.lists(st.sampled_from(range(len(words))), min_size=2, max_size=2, unique=True))
    assume(words[one] != words[other])
    swapped = list(words)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    assert find_quotation(" ".join(swapped), PAPER) is None
    inside = data.draw(st.integers(1, len(words) - 2))
    assert find_quotation(" ".join(words[:inside] + words[inside + 1 :]), PAPER) is None
    assert find_quotation(" ".join([*words[:inside], "not", *words[inside:]]), PAPER) is None
