"""Examples and the digest of what learning sees of them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.models.text import (
    Example,
    data_digest,
    labelled,
    text_digest,
)

WORDS = st.text(max_size=12)
EXAMPLES = st.builds(
    Example,
    id=st.sampled_from(["a", "b", "c", "d", "e"]),
    output=WORDS,
    group=st.sampled_from(["g1", "g2"]),
    source=st.none() | WORDS,
    scores=st.dictionaries(st.sampled_from(["coherence", "fluency"]), st.sampled_from([1, 2.0, 2.5])),
)
ONE = Example(id="a", output="A text.", group="g", source="A source.", context="A context.", scores={"coherence": 3})


@settings(deadline=None, max_examples=60)
@given(examples=st.lists(EXAMPLES, max_size=8), data=st.data())
def test_the_digest_does_not_depend_on_the_order_not_even_where_ids_repeat(examples, data):
    shuffled = data.draw(st.permutations(examples))
    assert data_digest(shuffled, "coherence") == data_digest(examples, "coherence")


@pytest.mark.parametrize(
    "change",
    [
        {"id": "b"},
        {"output": "Another text."},
        {"group": "h"},
        {"source": None},
        {"source": "Another source."},
        {"context": None},
        {"scores": {"coherence": 4}},
        {"scores": {}},
        {"reference": "A reference."},
    ],
    ids=str,
)
def test_what_learning_sees_counts(change):
    assert data_digest([replace(ONE, **change)], "coherence") != data_digest([ONE], "coherence")


@pytest.mark.parametrize(
    "change",
    [
        {"system": "A system."},
        {"annotations": {"coherence": (3.0,)}},
        {"scores": {"coherence": 3, "fluency": 1}},
        {"scores": {"coherence": 3.0}},
    ],
    ids=str,
)
def test_what_learning_does_not_see_does_not_count(change):
    assert data_digest([replace(ONE, **change)], "coherence") == data_digest([ONE], "coherence")


@pytest.mark.parametrize("change", [{"id": "b"}, {"group": "h"}, {"scores": {}}, {"system": "s"}], ids=str)
def test_a_text_is_known_again_whatever_it_is_called_and_however_it_was_scored(change):
    assert text_digest(replace(ONE, **change)) == text_digest(ONE)


@pytest.mark.parametrize("change", [{"output": "x"}, {"source": None}, {"context": "A source."}], ids=str)
def test_another_text_source_or_context_is_another_text(change):
    assert text_digest(replace(ONE, **change)) != text_digest(ONE)


def test_the_labelled_are_those_with_a_score_for_the_aspect_in_order():
    other = replace(ONE, id="b", scores={"fluency": 1})
    zero = replace(ONE, id="c", scores={"coherence": 0})
    assert labelled([zero, other, ONE], "coherence") == (zero, ONE)


def test_where_single_raters_are_known_alone_the_score_is_their_mean():
    both = Example("a", "A", "g", scores={"coherence": 3}, annotations={"coherence": (1.0, 2.0)})
    alone = Example("b", "B", "g", annotations={"coherence": (1.0, 2.0, 4.5), "fluency": ()})
    assert [each.scores["coherence"] for each in labelled([both, alone], "coherence")] == [3, 2.5]
    assert labelled([both, alone], "fluency") == ()
    assert alone.scores == {}
