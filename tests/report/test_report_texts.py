from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from report_samples import examples, scores_of, version

from rubriclab.report.texts import (
    JudgedText,
    criterion_scores,
    furthest_apart,
    human_scores,
    judged_texts,
    places,
    rubric_scores,
)

NUMBERS = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=30)


def judged(values: list[float | None]) -> list[JudgedText]:
    """Return the sample's first texts, scored by the rubric with `values`; people gave them 1, 2, 3, 4, 1, 2 …"""
    texts = examples()[: len(values)]
    news = version()
    return judged_texts(texts, scores_of(news, texts, lambda number, _: values[number]), news.ref, "coherence")


def test_a_place_is_the_share_of_others_below_with_equals_counted_half() -> None:
    assert places(np.array([10.0, 20.0, 20.0, 30.0, 40.0])).tolist() == [0, 37.5, 37.5, 75, 100]
    assert places(np.array([7.0])).tolist() == [50]
    assert places(np.array([])).tolist() == []


@settings(deadline=None, max_examples=100)
@given(NUMBERS)
def test_places_follow_the_order_of_the_scores_and_average_to_the_middle(values: list[float]) -> None:
    found = places(np.array(values))
    assert found.mean() == pytest.approx(50)
    for i, first in enumerate(values):
        for j, second in enumerate(values):
            assert (first < second) == (found[i] < found[j])


@settings(deadline=None, max_examples=50)
@given(NUMBERS)
def test_places_do_not_change_with_a_stricter_scale(values: list[float]) -> None:
    assert places(np.array(values)).tolist() == places(np.array(values) * 0.25 - 9).tolist()


def test_texts_furthest_apart_come_first_on_either_side() -> None:
    over, under = furthest_apart(judged([4, 2, 3, 1, 1, 2]))
    assert [text.judged.example.id for text in over] == ["0-0"]
    assert [text.judged.example.id for text in under] == ["0-3"]
    assert over[0].gap == pytest.approx(90)
    assert under[0].gap == pytest.approx(-90)


def test_a_rubric_that_ranks_as_people_do_disagrees_with_no_text() -> None:
    assert furthest_apart(judged([2, 2.1, 2.2, 2.3, 2, 2.1])) == ([], [])


def test_at_most_five_texts_are_named_and_ties_go_by_id() -> None:
    over, under = furthest_apart(judged([4, 3, 2, 1] * 6))
    assert [text.judged.example.id for text in over] == ["0-0", "1-0", "2-0", "3-0", "4-0"]
    assert [text.judged.example.id for text in under] == ["0-3", "1-3", "2-3", "3-3", "4-3"]


def test_unscored_texts_are_no_disagreement() -> None:
    over, under = furthest_apart(judged([None, 2, 3, 4]))
    assert over == under == []


def test_scores_come_as_numbers_with_gaps() -> None:
    texts = judged([None, 2.5])
    assert human_scores(texts).tolist() == [1, 2]
    np.testing.assert_array_equal(rubric_scores(texts), [np.nan, 2.5])
    np.testing.assert_array_equal(criterion_scores(texts, "h01"), [np.nan, 2.5])
    np.testing.assert_array_equal(criterion_scores(texts, "unknown"), [np.nan, np.nan])


def test_scores_of_all_texts_or_of_the_labelled_ones_are_taken() -> None:
    news, texts = version(), examples()
    del texts[2].scores["coherence"]  # type: ignore[attr-defined]
    rated = [text for text in texts if text.scores]
    whole = judged_texts(texts, scores_of(news, texts, lambda *_: 3.0), "news@1", "coherence")
    part = judged_texts(texts, scores_of(news, rated, lambda *_: 3.0), "news@1", "coherence")
    assert whole == part
    assert [text.example for text in part] == rated


@pytest.mark.parametrize("wrong", [slice(0, 5), slice(None, None, -1)])
def test_scores_of_other_texts_are_refused_by_name(wrong: slice) -> None:
    news, texts = version(), examples()
    scores = scores_of(news, texts, lambda *_: 3.0)[wrong]
    with pytest.raises(ValueError, match=r"scored\['news@1'\]: expected one score for each of the 24 examples"):
        judged_texts(texts, scores, "news@1", "coherence")
