"""What the offline judge writes into a criterion is what it reads out of it."""

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rubriclab.data import Example, read
from rubriclab.judges.embedded.traits import (
    AMOUNTS,
    BY_NAME,
    Reading,
    fallback_text,
    is_share,
    level_text,
    possible,
    readings,
    spoken_of,
)
from rubriclab.text_features import CATALOGUE, Measure, measure

SAMPLE = Path(__file__).resolve().parents[3] / "experiments" / "sample" / "labelled.jsonl"
MEASURES = st.sampled_from(CATALOGUE)
ANCHORS = st.sampled_from([(0, 1), (1, 2, 3), (1, 2, 3, 4, 5), (0, 0.25, 0.5, 0.75, 1), (0, 25, 50, 75, 100)])


@st.composite
def lines(draw) -> tuple[Measure, tuple[float, ...], list[float]]:
    """Draw a measure, anchors, and the measure's values at them: a straight line through a possible value."""
    entry, anchors = draw(MEASURES), draw(ANCHORS)
    most = 1.0 if is_share(entry) else 60.0
    middle = draw(st.floats(0, most))
    step = draw(st.floats(0.02, 2)) * most * draw(st.sampled_from([1, -1])) / (anchors[-1] - anchors[0])
    centre = draw(st.floats(anchors[0], anchors[-1]))
    return entry, anchors, [middle + (anchor - centre) * step for anchor in anchors]


def criterion(*columns: tuple[Measure, list[float]], anchors: tuple[float, ...], statement: str = "Words.") -> dict:
    texts = ["; ".join(level_text(entry, values[i]) for entry, values in columns) for i in range(len(anchors))]
    levels = [{"score": score, "description": text} for score, text in zip(anchors, texts, strict=True)]
    return {"trait": "a trait", "statement": statement, "levels": levels}


@settings(deadline=None, max_examples=60)
@given(line=lines())
def test_a_criterion_is_read_back_to_the_measure_it_was_written_for(line):
    entry, anchors, values = line
    written = criterion((entry, values), anchors=anchors)
    assume(len({level["description"] for level in written["levels"]}) > 1)
    assert [(reading.measure, reading.usual) for reading in readings(written)] == [(entry.name, False)]


@settings(deadline=None, max_examples=60)
@given(data=st.data(), anchors=ANCHORS)
def test_a_criterion_on_several_measures_is_read_back_to_all_of_them(data, anchors):
    entries = data.draw(st.lists(MEASURES, min_size=2, max_size=4, unique_by=lambda entry: entry.name))
    columns = [(entry, [0.1 + 0.1 * place for place in range(len(anchors))]) for entry in entries]
    found = readings(criterion(*columns, anchors=anchors))
    assert {reading.measure for reading in found} == {entry.name for entry in entries}


@settings(deadline=None, max_examples=60)
@given(line=lines(), data=st.data())
def test_more_of_a_rising_measure_never_lowers_the_rating_and_more_of_a_falling_one_never_lifts_it(line, data):
    entry, anchors, values = line
    written = criterion((entry, values), anchors=anchors)
    assume(len({level["description"] for level in written["levels"]}) > 1)
    (reading,) = readings(written)
    most = 1.0 if is_share(entry) else 200.0
    found = sorted(data.draw(st.lists(st.floats(0, most), min_size=2, max_size=12)))
    scores = [reading.score(value, anchors[0], anchors[-1]) for value in found]
    assert all(anchors[0] <= score <= anchors[-1] for score in scores)
    rising = values[-1] > values[0]
    for before, after in itertools.pairwise(scores):
        assert (after >= before - 1e-9) if rising else (after <= before + 1e-9)


@settings(deadline=None, max_examples=60)
@given(line=lines())
def test_where_levels_have_numbers_a_text_at_one_of_them_gets_its_score(line):
    entry, anchors, values = line
    assume(sum(possible(entry, value) for value in values) > 1)
    spread = abs(values[1] - values[0])
    assume(spread > 0.05 * max(map(abs, values)))  # numbers are written with a few digits
    (reading,) = readings(criterion((entry, values), anchors=anchors))
    width = anchors[-1] - anchors[0]
    for anchor, value in zip(anchors, values, strict=True):
        if possible(entry, value):
            assert reading.score(value, anchors[0], anchors[-1]) == pytest.approx(anchor, abs=0.15 * width)


def test_a_straight_line_goes_on_beyond_the_levels_that_have_numbers():
    words = BY_NAME["words"]
    (reading,) = readings(criterion((words, [-20, 0, 20, 40, 60]), anchors=(1, 2, 3, 4, 5)))
    assert [reading.score(value, 1, 5) for value in (0, 10, 50, 60, 80)] == [2, 2.5, 4.5, 5, 5]


@pytest.mark.parametrize(
    ("values", "at", "scores"),
    [
        # Only one level has a number; the level beside it stands for none, or for all.
        ([-3, -2, -1, -0.1, 0.8], (0, 0.4, 0.8), (4, 4.5, 5)),
        ([0.2, 1.2, 2.2, 3.2, 4.2], (0.2, 0.6, 1), (1, 1.5, 2)),
        # No level has one: from all of it down to none of it.
        ([3, 2, -1, -2, -3], (0, 0.5, 1), (3, 2.5, 2)),
    ],
)
def test_with_fewer_than_two_numbers_none_and_all_are_read_as_numbers(values, at, scores):
    share = BY_NAME["copied_share"]
    (reading,) = readings(criterion((share, values), anchors=(1, 2, 3, 4, 5)))
    assert [reading.score(value, 1, 5) for value in at] == pytest.approx(scores)


def test_levels_in_any_order_are_read_alike():
    written = criterion((BY_NAME["words"], [10, 20, 30]), anchors=(1, 2, 3))
    turned = {**written, "levels": written["levels"][::-1]}
    assert readings(turned) == readings(written)


@pytest.mark.parametrize("score", [3.4, 0.0, -1.5, 12345678.0, 1e-7, 4])
def test_what_a_text_gets_where_nothing_can_be_measured_is_read_from_the_statement(score):
    written = criterion((BY_NAME["words"], [10, 20]), anchors=(1, 2), statement=f"It counts. {fallback_text(score)}")
    (reading,) = readings(written)
    assert reading.otherwise == pytest.approx(score, rel=1e-3)
    assert reading.score(math.nan, 1, 5) == reading.otherwise


def test_without_such_a_statement_an_undefined_measure_has_no_score():
    (reading,) = readings(criterion((BY_NAME["words"], [10, 20]), anchors=(1, 2)))
    assert reading.score(math.nan, 1, 2) is None


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_levels_without_numbers_are_read_as_shares_of_what_is_usual(entry: Measure):
    levels = [{"score": i, "description": f"{entry.title}: {amount}"} for i, amount in enumerate(AMOUNTS, start=1)]
    (reading,) = readings({"statement": "Words.", "levels": levels})
    assert (reading.measure, reading.usual) == (entry.name, True)
    assert [reading.score(share, 1, 5) for share in (0, 0.25, 0.5, 0.75, 1)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "description",
    [
        "The summary is coherent.",
        "number of words",
        "a number of words: about right",
        "number of words: 43",
        "some: about 43",
        "",
        "all of it",
        "more than usual",
    ],
)
def test_a_person_s_levels_are_not_mistaken_for_its_own(description: str):
    levels = [{"score": score, "description": f"{description} {score}"} for score in (1, 2, 3)]
    assert readings({"statement": "Length matters.", "levels": levels}) == ()


def test_one_level_with_a_number_is_no_line():
    levels = [{"score": 1, "description": "number of words: about 10"}, {"score": 2, "description": "Better."}]
    assert readings({"statement": "x", "levels": levels}) == ()


@pytest.mark.parametrize("turned", [False, True])
def test_between_levels_that_lie_on_no_straight_line_the_nearest_two_decide(turned):
    points = ((0.0, 1.0), (10.0, 2.0), (12.0, 5.0))
    reading = Reading("words", points[::-1] if turned else points)
    assert [reading.score(value, 1, 5) for value in (5, 10, 11, 12, 20)] == [1.5, 2, 3.5, 5, 5]


def test_a_flat_line_gives_the_middle_of_its_scores():
    assert Reading("words", ((5.0, 1.0), (5.0, 4.0))).score(17, 1, 5) == 2.5


def test_titles_tell_measures_apart():
    assert len({entry.title for entry in CATALOGUE}) == len(CATALOGUE)


@pytest.fixture(scope="module")
def sample() -> list[Example]:
    return [row for row in read(SAMPLE) if isinstance(row, Example)]


def test_every_value_found_in_real_texts_is_one_that_a_level_can_name(sample):
    for example in sample:
        for name, value in measure(example.output, example.source, example.source).items():
            assert math.isnan(value) or possible(BY_NAME[name], value), (example.id, name, value)


@pytest.mark.parametrize(
    ("text", "name", "spoken"),
    [
        ("Sentences repeat what was said.", "repeated_sentences", True),
        ("Nothing is redundant.", "repeated_bigrams", True),
        ("It covers the key points.", "source_words_covered", True),
        ("An incoherent text.", "neighbour_overlap", False),
        ("It is coherent.", "neighbour_overlap", True),
        ("Numbers and dates are right.", "unsupported_numbers", True),
        ("", "words", False),
    ],
)
def test_keywords_are_beginnings_of_words(text: str, name: str, spoken: bool):
    assert (name in spoken_of(text)) is spoken


@settings(deadline=None, max_examples=60)
@given(text=st.text())
def test_any_text_can_be_asked_what_it_speaks_of(text: str):
    found = spoken_of(text)
    assert set(found) <= set(BY_NAME)
    assert all(0 < hits <= len(BY_NAME[name].keywords) for name, hits in found.items())
