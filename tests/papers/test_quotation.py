"""Quotations are found as they stand in a paper, whatever extraction did to them, and altered ones are refused."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given, strategies as st

from rubriclab.papers.paper import PaperPage, cleaned
from rubriclab.papers.quotation import find_quotation, word_count

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
    ],
)
def test_an_altered_quotation_is_refused(old: str, new: str) -> None:
    assert old in ORIGINAL
    assert find_quotation(ORIGINAL.replace(old, new), PAGES, 4) is None


@pytest.mark.parametrize(
    ("there", "altered"),
    [
        ("≥ 0.7", "≤ 0.7"),
        ("≥ 0.7", "> 0.7"),
        ("≥ 0.7", "0.7"),
        ("≠ 0", "0"),
        ("≠ 0", "= 0"),
        ("!= 0", "= 0"),
        ("± 0.2", "0.2"),
        ("± 0.2", "+ 0.2"),
        ("~ 12", "12"),
        ("≈ 12", "= 12"),
        ("– 0.31", "0.31"),
        ("− 0.31", "0.31"),
        ("- 0.31", "0.31"),
        ("–0.31", "0.31"),
        ("-.31", ".31"),
        ("-.31", "-31"),
        (".31", "31"),
        (".31", "0.31"),
        ("-$5", "$5"),
        ("$5", "5"),
        ("$5", "€5"),
        ("1-5", "15"),
        ("1-5", "1 5"),
        ("1–5", "15"),
        ("1–5", "1, -5"),
        ("3/4", "34"),
        ("3/4", "3 4"),
        ("3:1", "31"),
        ("3*4", "34"),
        ("1,234", "1.234"),
        ("1,234", "1234"),
        ("1 234", "1234"),
        ("in 2 019", "in 2019"),
        ("10²", "102"),
        ("3½", "31/2"),
        ("45%", "45"),
        ("45‰", "45%"),
        ("20°", "20"),
        ("GPT-4", "GPT4"),
        ("a − b", "a b"),
        ("0·31", "0 31"),
        ("0·31", "031"),
        ("1’000", "1 000"),
        ("✓ first ✗ last", "✗ first ✓ last"),
        ("✓ first ✗ last", "first last"),
        ("★★★☆☆", "★☆☆☆☆"),
        ("★★★☆☆", "★★★☆"),
        ("●●○", "●○○"),
        ("▲ 5", "▼ 5"),
        ("▲ 5", "5"),
        ("👍 and 👎", "👎 and 👍"),
        ("→ more", "⇐ more"),
        ("😀", "😡"),
        ("Tables 3 4", "Tables 34"),
        ("Table\n3", "Table3"),
        ("3\n4", "34"),
        ("well-known", "wellknown"),
        ("well known", "wellknown"),
        ("no table", "notable"),
        ("inter-annotator", "intra-annotator"),
        ("through", "thorough"),
        ("moves", "motives"),
        ("für", "fur"),
        ("की", "का"),
    ],
)
def test_another_sign_number_or_boundary_is_refused_and_the_one_of_the_paper_found(there: str, altered: str) -> None:
    pages = (PaperPage(1, f"We saw that most raters gave {there} to the texts of our study."),)
    for before, after in (("that most raters gave ", " to the texts"), ("", " to the texts of our study")):
        assert find_quotation(f"{before}{altered}{after}", pages) is None
        assert find_quotation(f"{before}{there}{after}", pages) is not None
    assert find_quotation(f"saw that most raters gave {altered}", pages) is None
    assert find_quotation(f"saw that most raters gave {there}", pages) is not None


@pytest.mark.parametrize(
    ("there", "copied"),
    [
        ("−0.31", "-0.31"),
        ("– 0.31", "-0.31"),
        ("1–5", "1-5"),
        ("1–\n5", "1–5"),
        ("p<0.05", "p < 0.05"),
        ("p ∼ 0.05", "p ~ 0.05"),
        ("p ⩽ 0.05", "p≤0.05"),
        ("p \u0338= 0", "p ≠ 0"),
        ("p =\u0338 0", "p ≠ 0"),
        ("45.2 %", "45.2%"),
        ("e\ufb03cient", "efficient"),
        ("ecient", "efficient"),
        ("e cient", "efficient"),
        ("signi\ufb01-\ncant", "significant"),
        ("ndings", "findings"),
        ("summa-\nries", "summaries"),
        ("summa\u00ad\nries", "summaries"),
        ("summa- ries", "summaries"),
        ("summa\nries", "summaries"),
        ("summa\u00adries", "summaries"),
        ("well-\nknown", "well-known"),
        ("Inter-\nAnnotator", "Inter-Annotator"),
        ("the\nraters’ own", "the raters' own"),
        ("“good”", '"good"'),
        ("1’000", "1'000"),
        ("✓\ufe0f", "✓"),
        ("👍\U0001f3fd", "👍"),
        ("★ ★ ★", "★★★"),
        ("this:\n● form", "this: form"),
        ("this:\n● form", "this: ▪ form"),
        ("Turk®", "Turk"),
        ("4 │ 5", "4 5"),
        ("``good''", "“good”"),
        ("inter- and\nintra-rater", "inter- and intra-rater"),
        ("nai\u0308ve", "naïve"),
        ("Strasse", "STRASSE"),
    ],
)
def test_layout_and_extraction_do_not_count_and_the_words_of_the_paper_are_kept(there: str, copied: str) -> None:
    pages = (PaperPage(1, cleaned(f"We saw that most raters gave {there} to the texts of our study.")),)
    found = find_quotation(f"that most raters gave {copied} to the texts", pages)
    assert found is not None
    assert found.text in " ".join(pages[0].text.split())
    assert find_quotation(found.text, pages) == found


@pytest.mark.parametrize(
    ("there", "joined"),
    [
        ("in\nconsistent", "inconsistent"),
        ("a\ntypical", "atypical"),
        ("un\nclear", "unclear"),
        ("non\nexpert", "nonexpert"),
        ("could not\nice", "could notice"),
        ("care\nless", "careless"),
        ("now\nhere", "nowhere"),
        ("no\ntable", "notable"),
        ("a\nair", "affair"),
    ],
)
def test_a_line_end_without_a_hyphen_joins_no_common_words_and_no_parts_of_an_opposite(there: str, joined: str) -> None:
    for pages in (
        (PaperPage(1, f"We saw that most raters gave {there} to the texts of our study."),),
        tuple(
            PaperPage(n, part) for n, part in enumerate(f"We saw that most raters gave {there} to us".split("\n"), 1)
        ),
    ):
        assert find_quotation(f"saw that most raters gave {joined} to", pages) is None
        assert find_quotation(f"saw that most raters gave {there} to", pages) is not None
    hyphenated = (PaperPage(1, cleaned(f"We saw that most raters gave {there} to us".replace("\n", "-\n"))),)
    assert find_quotation(f"saw that most raters gave {joined} to us", hyphenated) is not None


@pytest.mark.parametrize("elsewhere", ["Their sum was high.", "“Ries” is a family name.", "There are no ries."])
def test_a_line_end_without_a_hyphen_joins_no_words_that_the_paper_has_elsewhere(elsewhere: str) -> None:
    line = "We saw that most raters gave high points to sum\nries that had many facts."
    quotation = "most raters gave high points to sumries that had"
    pages = (PaperPage(1, line), PaperPage(2, "Sum-\nming up the\nries-like ones."))
    assert find_quotation(quotation, pages) is not None
    assert find_quotation(quotation, (*pages, PaperPage(3, elsewhere))) is None


def test_a_quotation_may_not_begin_or_end_within_a_word_or_number() -> None:
    assert find_quotation("consistent summaries in 45.2% of the cases", PAGES) is None
    assert find_quotation("summaries in 45.2% of the case", PAGES) is None
    assert find_quotation("Raters penalised inconsistent summaries in 45", PAGES) is None
    assert find_quotation("Raters penalised inconsistent summaries in 45.2", PAGES) is None
    assert find_quotation("Raters penalised inconsistent summaries in 45.2%", PAGES) is not None
    assert find_quotation("of the cases and did not reward length (p", PAGES) is not None
    assert find_quotation("% of the cases and did not reward", PAGES) is None
    assert find_quotation("The value was -0.31 for all of", PAGES) is not None
    assert find_quotation("The value was 0.31 for all of", PAGES) is None
    assert find_quotation("0.31 for all of the aspects", PAGES) is None
    assert find_quotation("-0.31 for all of the aspects", PAGES) is not None


def test_a_quotation_may_begin_or_end_beside_a_symbol_but_not_within_several() -> None:
    pages = (PaperPage(1, "On average ★★★☆☆ raters liked the texts of group ✓ and not those of ✗ others."),)
    assert find_quotation("raters liked the texts of group", pages) is not None
    assert find_quotation("★★★☆☆ raters liked the texts of group ✓", pages) is not None
    assert find_quotation("☆☆ raters liked the texts of group", pages) is None
    assert find_quotation("raters liked the texts of group ✗", pages) is None


def test_ligatures_that_extraction_lost_are_tolerated_and_the_wording_of_the_page_is_kept() -> None:
    found = find_quotation("Longer texts were significantly less coherent to the twelve experts", PAGES, 4)
    assert found is not None
    assert found.text == "Longer texts were signicantly less coher ent to the twelve experts"
    assert find_quotation("Longer texts were significantly more coherent to the twelve experts", PAGES, 4) is None
    assert find_quotation("Longer texts were significantly less coherent to the eleven experts", PAGES, 4) is None


def test_the_page_is_that_where_the_quotation_stands_not_the_one_that_was_named() -> None:
    found = find_quotation("The value was -0.31 for all", PAGES, 1)
    assert found is not None
    assert found.page == 5
    twice = (*PAGES, PaperPage(7, PAGES[2].text))
    pages = [find_quotation("The value was -0.31 for all", twice, named) for named in (None, 5, 7, 9)]
    assert [each.page for each in pages if each] == [5, 5, 7, 5]


def test_a_quotation_can_run_on_to_the_next_page_and_the_words_of_both_pages_are_kept() -> None:
    found = find_quotation("COHERENT to the twelve experts who had judged them before", PAGES, 5)
    assert found is not None
    assert (found.page, found.text) == (4, "coher ent to the twelve experts, who had judged them before")
    split = (PaperPage(1, "All of the twenty raters liked consis-"), PaperPage(2, "tent texts with ≥ 3 facts."))
    found = find_quotation("twenty raters liked consistent texts with ≥ 3 facts", split)
    assert found is not None
    assert (found.page, found.text) == (1, "twenty raters liked consis- tent texts with ≥ 3 facts")
    assert find_quotation("twenty raters liked consistent texts with ≤ 3 facts", split) is None
    assert find_quotation("twenty raters liked inconsistent texts with ≥ 3 facts", split) is None


def test_a_few_words_prove_nothing() -> None:
    assert word_count("did not reward length") == 4
    assert find_quotation("did not reward length", PAGES) is None
    assert find_quotation("… — …", PAGES) is None
    assert find_quotation(ORIGINAL, ()) is None


def test_writing_without_spaces_between_words_is_quoted_within_a_sentence() -> None:
    pages = (PaperPage(1, "我们发现评分者不喜欢前后矛\n盾的摘要,并且不奖励长度。 盾的摘要。"),)
    found = find_quotation("评分者不喜欢前后矛盾的摘要", pages)
    assert found is not None
    assert find_quotation("评分者喜欢前后矛盾的摘要", pages) is None
    assert find_quotation("不喜欢", pages) is None


# A passage with every kind of thing that must agree.
PASSAGE = (
    "Our 12 raters gave −0.31 points, not 3/4, to 45.2% of the 1,200 sum-\nmaries (p ≥ .05); most of\nthem judged 1–5 "
    "“dif\ufb01cult” texts as well formed ± 2 and \u00adnever as the best, r ≠ 0.7 was below $3 for GPT-4 ~ 80 × 2"
)
PAPER = (PaperPage(1, "Results."), PaperPage(2, f"Here they are. {PASSAGE}. That was all."))
SIGNS = "<>=≤≥≠±~×+%$−"
DIGITS = [match.start() for match in re.finditer(r"\d", PASSAGE)]
SIGN_PLACES = [match.start() for match in re.finditer(r"[−/.,%≥±≠~×$–](?=\s?[.\d])|%", PASSAGE)]


def test_the_passage_itself_is_found() -> None:
    found = find_quotation(PASSAGE, PAPER)
    assert found is not None
    assert (found.page, found.text) == (2, " ".join(PASSAGE.split()))


@given(st.sampled_from(DIGITS), st.sampled_from("0123456789"))
def test_another_digit_is_refused(place: int, digit: str) -> None:
    assume(PASSAGE[place] != digit)
    assert find_quotation(PASSAGE[:place] + digit + PASSAGE[place + 1 :], PAPER) is None


@given(st.sampled_from(DIGITS), st.sampled_from(["", "1", " ", "."]), st.booleans())
def test_a_digit_more_or_less_and_a_divided_number_are_refused(place: int, put: str, instead: bool) -> None:
    assume(put == "1" or instead or PASSAGE[place - 1].isdigit())
    assume((put or instead) and not (instead and PASSAGE[place] == put))
    assert find_quotation(PASSAGE[:place] + put + PASSAGE[place + instead :], PAPER) is None


@given(st.sampled_from(SIGN_PLACES), st.sampled_from(["", " ", *SIGNS]))
def test_another_sign_or_none_is_refused(place: int, sign: str) -> None:
    assume(PASSAGE[place] != sign and not (PASSAGE[place] in "–−" and sign in "–−"))
    assert find_quotation(PASSAGE[:place] + sign + PASSAGE[place + 1 :], PAPER) is None


@given(st.sampled_from(DIGITS), st.sampled_from(SIGNS))
def test_a_sign_more_is_refused(place: int, sign: str) -> None:
    # Two dashes in a row are how some papers write one.
    assume(not (PASSAGE[place - 1] in "-–−" and sign == "−"))
    assert find_quotation(PASSAGE[:place] + sign + PASSAGE[place:], PAPER) is None


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


@given(st.data())
def test_line_ends_soft_hyphens_ligatures_and_curly_quotation_marks_do_not_count(data: st.DataObject) -> None:
    plain = "The efficient raters' final verdict on 'difficult' first drafts was 4.5 of 5 points, not 3-4, as in 2019"
    laid_out = plain
    for old, new in (("ffi", "\ufb03"), ("fi", "\ufb01"), ("'", "’")):
        laid_out = laid_out.replace(old, new) if data.draw(st.booleans()) else laid_out
    spaces = [match.start() for match in re.finditer(" ", laid_out)]
    inside = [match.end() for match in re.finditer(r"[a-z](?=[a-z])", laid_out)]
    put = dict.fromkeys(data.draw(st.lists(st.sampled_from(spaces))), "\n")
    splits = st.sampled_from(["-\n", "\u00ad", "\u00ad\n", "\u2010\n  ", "- "])
    put |= data.draw(st.dictionaries(st.sampled_from(inside), splits, max_size=6))
    text = "".join(put.get(place, "") + ("" if put.get(place) == "\n" else each) for place, each in enumerate(laid_out))
    for pages in ((PaperPage(1, f"So. {text}. End."),), (PaperPage(1, cleaned(f"So. {text}. End.")),)):
        found = find_quotation(plain, pages)
        assert found is not None, pages[0].text
        assert find_quotation(found.text, pages) == found


def test_a_long_paper_and_a_hostile_quotation_take_little_time() -> None:
    pages = tuple(PaperPage(number, f"{'fi fifi fififi ' * 150} {number}") for number in range(1, 41))
    began = time.process_time()
    for quotation in ("fi " * 900, "fifififififi " * 200, f"{'f' * 2000} and four words more", f"{'a b ' * 700}c"):
        find_quotation(f"{quotation} x", pages)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(("preferred", "found_on"), [(None, 1), (200, 200), (201, 1)])
def test_a_quotation_that_stands_in_very_many_places_takes_little_time(preferred: int | None, found_on: int) -> None:
    pages = tuple(PaperPage(number, "a\n" * 2000) for number in range(1, 201))
    began = time.process_time()
    found = find_quotation("a " * 60, pages, preferred)
    assert time.process_time() - began < 3
    assert found is not None
    assert (found.page, found.text) == (found_on, " ".join("a" * 60))


def test_punctuation_around_a_quotation_is_part_of_the_passage_only_if_the_quotation_has_it_too() -> None:
    pages = (PaperPage(1, "So. (The raters did not like length.) They said so."),)
    for quotation in ("(The raters did not like length.)", "The raters did not like length"):
        found = find_quotation(quotation, pages)
        assert found is not None
        assert found.text == quotation
