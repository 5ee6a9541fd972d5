"""Which words and which sentences changed."""

import re

import pytest
from hypothesis import given, strategies as st

from rubriclab.learning.rewriting import sentences_changed, word_diff

WORDS = st.lists(st.sampled_from(["the", "ferry", "ends", "in", "May", "never", "a"]), max_size=12)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("The ferry ends in May.", "The ferry ends in June.", "The ferry ends in [-May.-]{+June.+}"),
        ("The ferry ends in May.", "", "[-The ferry ends in May.-]"),
        ("It ends.", "It never ends.", "It {+never+} ends."),
        ("It  is\nso.", "It is so.", "It is so."),
    ],
)
def test_words_taken_out_and_put_in_are_marked(before, after, shown):
    assert word_diff(before, after) == shown


@given(WORDS, WORDS)
def test_both_sentences_can_be_read_off(before, after):
    shown = word_diff(" ".join(before), " ".join(after))
    old = re.sub(r"\{\+.*?\+\}", "", re.sub(r"\[-(.*?)-\]", r"\1", shown)).split()
    new = re.sub(r"\[-.*?-\]", "", re.sub(r"\{\+(.*?)\+\}", r"\1", shown)).split()
    assert (old, new) == (before, after)


def test_a_sentence_of_very_many_equal_words_takes_no_time():
    assert word_diff("a " * 20_000, "a " * 10_000 + "b").endswith("{+b+}")


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("One here. Two here. Three here.", "One here. Two here. Three here.", 0),
        ("One here. Two here. Three here.", "One here. Two and a half. Three here.", 1),
        ("One here. Two here. Three here.", "Three here.", 2),
        ("One here. Two here.", "One here. One and a half here. Two here.", 0),
        ("One here. Two here.", "Two here. One here.", 1),
    ],
)
def test_sentences_that_are_no_longer_there_are_counted(before, after, changed):
    assert sentences_changed(before, after) == changed
