"""Long texts in parts."""

import itertools

import pytest
from hypothesis import given, strategies as st

from rubriclab.methods.checkeval.answer import _WORD, SLACK, split_into_parts

TEXTS = st.text(st.sampled_from("ab. !?\n'\"é「。」"), max_size=400)


@given(TEXTS, st.integers(0, 30))
def test_no_word_is_lost_moved_or_repeated(text: str, length: int):
    assert [word for part in split_into_parts(text, length) for word in part.split()] == text.split()


@given(TEXTS, st.integers(1, 30))
def test_every_part_of_a_long_text_has_words_and_none_is_much_too_long(text: str, length: int):
    found = split_into_parts(text, length)
    words = len(text.split())
    if words <= length:
        assert found == (text,)
        return
    equal = words / len(found)
    assert len(found) == -(-words // length)
    for part in found:
        assert part == part.strip()
        assert (1 - 2 * SLACK) * equal - 1 <= len(part.split()) <= (1 + 2 * SLACK) * equal + 1
        assert part in text


@given(st.text(st.sampled_from('a.(" \t\v\f\r\n\x1c\x1f\x00'), max_size=60), st.integers(1, 12))
def test_a_word_of_an_ascii_text_is_what_stands_between_spaces(text: str, length: int):
    assert (len(split_into_parts(text, length)) > 1) == (len(_WORD.findall(text)) > length)


@given(TEXTS)
def test_nothing_is_divided_unless_asked_for(text: str):
    assert split_into_parts(text, 0) == (text,)


def test_parts_end_where_paragraphs_do():
    paragraphs = [
        " ".join(f"{letter}{number}." for number in range(size))
        for letter, size in zip("abc", (9, 12, 10), strict=True)
    ]
    assert split_into_parts("\n\n".join(paragraphs), 11) == tuple(paragraphs)


def test_without_a_paragraph_nearby_parts_end_where_sentences_do():
    sentences = [f"{'word ' * size}end." for size in (3, 5, 4, 6, 3, 5)]
    found = split_into_parts(" ".join(sentences), 14)
    assert all(part.endswith("end.") for part in found)
    assert len(found) == 3


def test_an_abbreviation_ends_no_sentence():
    text = "One two three Mr. Smith came. Seven eight nine ten."
    assert split_into_parts(text, 6) == ("One two three Mr. Smith came.", "Seven eight nine ten.")


def test_a_text_without_any_end_is_cut_between_words():
    text = " ".join(f"w{number}" for number in range(100))
    assert [len(part.split()) for part in split_into_parts(text, 30)] == [25, 25, 25, 25]


@pytest.mark.parametrize("text", ["今天天气很好。我们去「公园」散步。" * 20, "きょうはいいてんきです。" * 20])
def test_where_words_are_not_spaced_each_character_counts(text: str):
    found = split_into_parts(text, 60)
    assert len(found) > 3
    assert "".join(found) == text
    assert all(part.endswith("。") for part in found)


def test_a_cut_leaves_brackets_with_what_they_enclose():
    found = split_into_parts("「天」（地）" * 30, 20)
    assert all(part[0] in "「（" and part[-1] in "」）" for part in found)


def test_words_of_both_kinds_count_together():
    assert len(split_into_parts("the GPT模型 works", 4)) == 2
    assert len(split_into_parts("the GPT模型 works", 5)) == 1


@pytest.mark.parametrize(("words", "length", "number"), [(30, 30, 1), (31, 30, 2), (60, 30, 2), (61, 30, 3), (5, 1, 5)])
def test_there_are_as_many_parts_as_it_takes(words: int, length: int, number: int):
    assert len(split_into_parts("word " * words, length)) == number


def test_a_long_text_takes_linear_time():
    text = "\n\n".join("A sentence of some seven words. " * 20 for _ in range(100))
    found = split_into_parts(text, 500)
    assert sum(len(part.split()) for part in found) == len(text.split())
    assert all(a[-1] == "." for a, _ in itertools.pairwise(found))
