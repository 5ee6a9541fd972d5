"""What the offline judge holds to be usual."""

import math

import pytest
from hypoeval_scripts import assignment
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.data import Assignment, find_aspect, task_words
from rubriclab.judges.embedded.knowledge import TYPICAL, directions, is_number, published, usual_share
from rubriclab.judges.embedded.traits import BY_NAME, is_share
from rubriclab.text_features import CATALOGUE


def fields(task: str, aspect: str) -> dict:
    return Assignment(task_words(task), find_aspect(task, aspect), assignment().scale).fields()


@settings(deadline=None, max_examples=60)
@given(entry=st.sampled_from(CATALOGUE), values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_a_share_of_what_is_usual_lies_between_0_and_1_and_grows_with_the_measure(entry, values):
    low = -700.0 if entry.name == "length_to_source" else -1e6  # a logarithm of words never goes that far
    shares = [usual_share(entry, max(value, low), "summarization") for value in sorted(values)]
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares)


@pytest.mark.parametrize("name", TYPICAL)
def test_a_typical_count_is_half_way(name: str):
    assert not is_share(BY_NAME[name])
    assert usual_share(BY_NAME[name], TYPICAL[name], "summarization") == 0.5


def test_a_share_is_its_own_share():
    assert usual_share(BY_NAME["copied_share"], 0.3, "story") == 0.3


@pytest.mark.parametrize(
    ("task", "aspect", "rising", "falling"),
    [
        ("summarization", "coherence", "neighbour_overlap", "repeated_sentences"),
        ("summarization", "fluency", "complete_sentences", "stumbles"),
        ("summarization", "relevance", "source_words_covered", "repeated_sentences"),
        ("summarization", "consistency", "words_from_source", "unsupported_names"),
        ("dialogue", "engagingness", "question_marks", "stock_phrases"),
        ("story", "empathy", "emotion_words", "repeated_sentences"),
    ],
)
def test_directions_are_what_is_generally_known_of_an_aspect(task, aspect, rising, falling):
    usual = directions(fields(task, aspect))
    assert usual[rising] > 0 > usual[falling]
    assert set(usual) == set(BY_NAME)
    assert all(-1 <= value <= 1 for value in usual.values())


def test_an_aspect_nobody_has_heard_of_has_directions_that_hold_for_most_aspects():
    unheard = {**fields("summarization", "coherence"), "aspect": {"name": "zest", "definition": "How zesty it is."}}
    assert directions(unheard)["repeated_sentences"] < 0


def test_findings_are_counted_for_every_measure_they_speak_of():
    counts = published(["Raters punish repetition.", "Repeated content is disliked.", "Xyzzy."])
    assert counts["repeated_sentences"] == 2
    assert all(count <= 2 for count in counts.values())
    assert published([]) == {}


def test_a_measure_without_a_value_is_no_number():
    assert is_number(0.0)
    assert not is_number(math.nan)


def test_what_is_usual_of_a_story_is_more_than_of_a_summary_and_of_a_reply_less():
    words = BY_NAME["words"]
    assert (
        usual_share(words, 60, "story") < usual_share(words, 60, "summarization") < usual_share(words, 60, "dialogue")
    )
    assert usual_share(BY_NAME["word_length"], 4.5, "story") == usual_share(BY_NAME["word_length"], 4.5, "dialogue")
