"""What the offline judge writes into a criterion is what it reads out of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypoeval_scripts import assignment
from hypothesis import assume, given, settings, strategies as st

from rubriclab.data import Assignment, find_aspect, task_words
from rubriclab.judges.embedded.wording import (
    AMOUNTS,
    BY_NAME,
    TYPICAL,
    FeatureScore,
    directions,
    fallback_text,
    feature_scores,
    findings_about,
    is_share,
    level_text,
    spoken_of,
    usual_share,
)
from rubriclab.text_features import CATALOGUE, TextFeature

FEATURES = st.sampled_from(CATALOGUE)
ANCHORS = st.sampled_from([(0, 1), (1, 2, 3), (1, 2, 3, 4, 5), (0, 0.25, 0.5, 0.75, 1), (0, 25, 50, 75, 100)])
Line = tuple[TextFeature, tuple[float, ...], list[float]]


@st.composite
def lines(draw: st.DrawFn) -> Line:
    """Draw a feature, anchors, and the feature's values at them: a straight line through a possible value."""
    feature, anchors = draw(FEATURES), draw(ANCHORS)
    most = 1.0 if is_share(feature) else 60.0
    middle = draw(st.floats(0, most))
    step = draw(st.floats(0.02, 2)) * most * draw(st.sampled_from([1, -1])) / (anchors[-1] - anchors[0])
    centre = draw(st.floats(anchors[0], anchors[-1]))
    return feature, anchors, [middle + (anchor - centre) * step for anchor in anchors]


def criterion(
    *columns: tuple[TextFeature, list[float]], anchors: tuple[float, ...], statement: str = "Words."
) -> dict[str, Any]:
    texts = ["; ".join(level_text(feature, values[i]) for feature, values in columns) for i in range(len(anchors))]
    levels = [{"score": score, "description": text} for score, text in zip(anchors, texts, strict=True)]
    return {"trait": "a trait", "statement": statement, "levels": levels}


@settings(deadline=None, max_examples=60)
@given(line=lines(), data=st.data())
def test_a_criterion_is_read_back_to_its_feature_and_never_against_its_direction(
    line: Line, data: st.DataObject
) -> None:
    feature, anchors, values = line
    written = criterion((feature, values), anchors=anchors)
    assume(len({level["description"] for level in written["levels"]}) > 1)
    (reading,) = feature_scores(written)
    assert (reading.feature, reading.usual) == (feature.name, False)
    most = 1.0 if is_share(feature) else 200.0
    points = sorted(data.draw(st.lists(st.floats(0, most), min_size=2, max_size=12)))
    scores = [reading.score(value, anchors[0], anchors[-1]) for value in points]
    rising = values[-1] > values[0]
    for before, after in itertools.pairwise(scores):
        assert before is not None
        assert after is not None
        assert anchors[0] <= before <= anchors[-1]
        assert (after >= before - 1e-9) if rising else (after <= before + 1e-9)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), anchors=ANCHORS)
def test_a_criterion_on_several_features_is_read_back_to_all_of_them(
    data: st.DataObject, anchors: tuple[float, ...]
) -> None:
    features = data.draw(st.lists(FEATURES, min_size=2, max_size=4, unique_by=lambda feature: feature.name))
    columns = [(feature, [0.1 + 0.1 * place for place in range(len(anchors))]) for feature in features]
    found = feature_scores(criterion(*columns, anchors=anchors))
    assert {reading.feature for reading in found} == {feature.name for feature in features}


def test_values_out_of_range_are_read_as_the_nearest_possible_ones() -> None:
    (words,) = feature_scores(criterion((BY_NAME["words"], [-20, 0, 20, 40, 60]), anchors=(1, 2, 3, 4, 5)))
    assert [words.score(value, 1, 5) for value in (0, 10, 50, 60, 80)] == [2, 2.5, 4.5, 5, 5]
    (share,) = feature_scores(criterion((BY_NAME["copied_share"], [3, 2, -1, -2, -3]), anchors=(1, 2, 3, 4, 5)))
    assert [share.score(value, 1, 5) for value in (0, 0.5, 1)] == [3, 2.5, 2]


def test_levels_in_any_order_are_read_alike() -> None:
    written = criterion((BY_NAME["words"], [10, 20, 30]), anchors=(1, 2, 3))
    assert feature_scores({**written, "levels": written["levels"][::-1]}) == feature_scores(written)


@pytest.mark.parametrize("score", [3.4, 0.0, -1.5, 12345678.0, 1e-7, 4])
def test_the_score_where_nothing_can_be_measured_is_read_from_the_statement(score: float) -> None:
    written = criterion((BY_NAME["words"], [10, 20]), anchors=(1, 2), statement=f"It counts. {fallback_text(score)}")
    (reading,) = feature_scores(written)
    assert reading.otherwise == pytest.approx(score, rel=1e-3)
    assert reading.score(math.nan, 1, 5) == reading.otherwise
    (without,) = feature_scores({**written, "statement": "It counts."})
    assert without.score(math.nan, 1, 2) is None


@pytest.mark.parametrize("feature", CATALOGUE, ids=lambda feature: feature.name)
def test_levels_without_numbers_are_read_as_shares_of_the_usual_range(feature: TextFeature) -> None:
    levels = [{"score": i, "description": f"{feature.title}: {amount}"} for i, amount in enumerate(AMOUNTS, start=1)]
    (reading,) = feature_scores({"statement": "Words.", "levels": levels})
    assert (reading.feature, reading.usual) == (feature.name, True)
    assert [reading.score(share, 1, 5) for share in (0, 0.25, 0.5, 0.75, 1)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "description",
    ["The summary is coherent.", "number of words", "a number of words: about right", "some: about 43", ""],
)
def test_a_person_s_levels_are_not_mistaken_for_its_own(description: str) -> None:
    levels = [{"score": score, "description": f"{description} {score}"} for score in (1, 2, 3)]
    assert feature_scores({"statement": "Length matters.", "levels": levels}) == ()


def test_one_level_with_a_number_is_no_line() -> None:
    levels = [{"score": 1, "description": "number of words: about 10"}, {"score": 2, "description": "Better."}]
    assert feature_scores({"statement": "x", "levels": levels}) == ()


def test_between_levels_that_lie_on_no_straight_line_the_nearest_two_decide() -> None:
    reading = FeatureScore("words", ((0.0, 1.0), (10.0, 2.0), (12.0, 5.0)))
    assert [reading.score(value, 1, 5) for value in (5, 10, 11, 12, 20)] == [1.5, 2, 3.5, 5, 5]


def test_titles_are_unique() -> None:
    assert len({feature.title for feature in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize(
    ("text", "name", "spoken"),
    [
        ("Sentences repeat what was said.", "repeated_words", True),
        ("Nothing is redundant.", "repeated_bigrams", True),
        ("It covers the key points.", "source_words_covered", True),
        ("An incoherent text.", "linked_sentences", False),
        ("It is coherent.", "linked_sentences", True),
        ("Numbers and dates are right.", "unsupported_numbers", True),
        ("", "words", False),
    ],
)
def test_keywords_are_beginnings_of_words(text: str, name: str, spoken: bool) -> None:
    assert (name in spoken_of(text)) is spoken


def fields(task: str, aspect: str) -> dict[str, Any]:
    return Assignment(task_words(task), find_aspect(task, aspect), assignment().scale).fields()


@settings(deadline=None, max_examples=60)
@given(feature=FEATURES, values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_a_share_of_the_usual_range_lies_between_0_and_1_and_grows(feature: TextFeature, values: list[float]) -> None:
    low = -700.0 if feature.name == "length_to_source" else -1e6  # a logarithm of words never goes that far
    shares = [usual_share(feature.name, max(value, low), "summarization") for value in sorted(values)]
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares)


@pytest.mark.parametrize("name", TYPICAL)
def test_a_typical_count_is_half_way(name: str) -> None:
    assert not is_share(BY_NAME[name])
    assert usual_share(name, TYPICAL[name], "summarization") == 0.5


def test_a_share_is_its_own_share_and_an_undefined_value_has_none() -> None:
    assert usual_share("copied_share", 0.3, "story") == 0.3
    assert math.isnan(usual_share("copied_share", math.nan, "story"))


def test_stories_are_longer_than_summaries_and_replies_shorter() -> None:
    story, summary, reply = (usual_share("words", 60, task) for task in ("story", "summarization", "dialogue"))
    assert story < summary < reply
    assert usual_share("longest_copy", 4.5, "story") == usual_share("longest_copy", 4.5, "dialogue")


@pytest.mark.parametrize(
    ("task", "aspect", "rising", "falling"),
    [
        ("summarization", "coherence", "linked_sentences", "repeated_bigrams"),
        ("summarization", "fluency", "ends_complete", "stumbles"),
        ("summarization", "consistency", "words_from_source", "unsupported_numbers"),
        ("dialogue", "engagingness", "question_marks", "stock_phrases"),
    ],
)
def test_directions_are_general_knowledge_of_an_aspect(task: str, aspect: str, rising: str, falling: str) -> None:
    usual = directions(fields(task, aspect))
    assert usual[rising] > 0 > usual[falling]
    assert set(usual) == set(BY_NAME)
    assert all(-1 <= value <= 1 for value in usual.values())


def test_an_unknown_aspect_has_the_directions_of_most_aspects() -> None:
    unknown = {**fields("summarization", "coherence"), "aspect": {"name": "zest", "definition": "How zesty it is."}}
    assert directions(unknown)["repeated_bigrams"] < 0


def test_findings_are_counted_for_every_feature_they_speak_of() -> None:
    counts = findings_about(["Raters punish repetition.", "Repeated content is disliked.", "Xyzzy."])
    assert counts["repeated_bigrams"] == 2
    assert all(count <= 2 for count in counts.values())
    assert findings_about([]) == {}
