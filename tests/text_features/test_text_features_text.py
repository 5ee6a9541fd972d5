"""Sentences and words of cased, tokenised and damaged text."""

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.sentences import split_sentences
from rubriclab.text_features.text import Text, stem


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One sentence. Another one! A third?", 3),
        ("the u.s . said mr . obama would come .", 1),
        ("Dr. Smith met Mrs. Jones at 3.15 p.m. on Monday.", 1),
        ("He lives in the U.S. The weather is fine.", 2),
        ('"Come in." He sat down.', 2),
        ("they left . '' he stayed .", 2),
        ("Wait... what was that? Nothing.", 2),
        ("He paid no. 5 on Aug. 26 in full.", 1),
        ("A heading\n\nA paragraph", 2),
        ("a line that\ngoes on", 1),
        ("第一句。第二句！", 2),
        ("no end", 1),
        ("... !!! ''", 0),
    ],
)
def test_sentences_are_counted_as_a_reader_would(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@settings(deadline=None)
@given(st.text(alphabet="ab .!?\n'\"A1", max_size=200))
def test_splitting_sentences_loses_no_letter(text: str) -> None:
    kept = "".join(split_sentences(text))
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


def test_a_tokenised_output_has_the_words_of_its_cased_source() -> None:
    cased = Text("“Don't go,” said the U.S. Army's well-known spokesman, who'd seen 1,000 cars.")
    tokenised = Text("`` do n't go , '' said the u.s. army 's well - known spokesman , who 'd seen 1,000 cars .")
    assert tokenised.words == cased.words


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert Text("我爱你。").words == ("我", "爱", "你")


def test_names_are_the_capitalised_words_inside_sentences() -> None:
    assert Text("Yesterday Anna met Bob's dog. The dog liked Anna.").names == {"anna", "bob"}


def test_thousands_separators_do_not_distinguish_numbers() -> None:
    assert Text("It cost 3,000 then 3000.").numbers == ("3000", "3000")


@pytest.mark.parametrize(
    ("left", "right"), [("cities", "city"), ("boxes", "box"), ("bridge's", "bridges"), ("walked", "walking")]
)
def test_inflected_forms_share_a_stem(left: str, right: str) -> None:
    assert stem(left) == stem(right)


@pytest.mark.parametrize("word", ["glass", "bus", "this", "sing", "red"])
def test_stemming_leaves_short_and_doubtful_words_alone(word: str) -> None:
    assert stem(word) == word


def test_brackets_that_a_tokeniser_has_spelled_out_are_no_words() -> None:
    assert Text("they won 7-6 -LRB- 3 -rrb- again").words == ("they", "won", "7", "6", "3", "again")
