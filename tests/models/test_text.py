"""Aspects that ship, aspects that users define, and the words of a task."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from rubriclab.errors import SettingsError, UserError
from rubriclab.models.text import (
    Assignment,
    Example,
    Scale,
    data_digest,
    find_aspect,
    infer_scale,
    parse_scale,
    with_label,
)


@pytest.mark.parametrize(
    ("task", "name", "definition", "message"),
    [
        ("summarization", "clarity", None, r'consistency, fluency, informativeness.*`definition="TEXT"`'),
        ("recipe", "clarity", None, "dialogue, factuality, paraphrase, story, summarization"),
        ("story", "clarity", "  ", "needs a name and a definition"),
        ("story", " ", "Is it clear?", "needs a name and a definition"),
    ],
)
def test_an_aspect_without_a_definition_or_name_is_refused(
    task: str, name: str, definition: str | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        find_aspect(task, name, definition)


def test_a_text_is_shown_without_anything_that_humans_or_others_said_of_it():
    example = Example(
        id="an id",
        output="A story.",
        group="a group",
        source="A prompt.",
        context="A context.",
        reference="A reference.",
        system="a system",
        scores={"surprise": 4},
        annotations={"surprise": (4.0,)},
    )
    assert Assignment.text_fields(example) == {"source": "A prompt.", "context": "A context.", "output": "A story."}


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


def test_the_labelled_have_a_score_for_the_aspect_or_the_mean_of_single_raters():
    other, zero = replace(ONE, id="b", scores={"fluency": 1}), replace(ONE, id="c", scores={"coherence": 0})
    assert with_label([zero, other, ONE], "coherence") == (zero, ONE)
    both = Example("a", "A", "g", scores={"coherence": 3}, annotations={"coherence": (1.0, 2.0)})
    alone = Example("b", "B", "g", annotations={"coherence": (1.0, 2.0, 4.5), "fluency": ()})
    assert [each.scores["coherence"] for each in with_label([both, alone], "coherence")] == [3, 2.5]
    assert with_label([both, alone], "fluency") == ()
    assert alone.scores == {}


LABELS = st.floats(-1000, 1000).map(lambda label: round(label, 3))


@pytest.mark.parametrize(
    ("scale", "anchors"),
    [
        (Scale(low=1, high=5, whole=True), (1, 2, 3, 4, 5)),
        (Scale(low=1, high=5, whole=False), (1, 2, 3, 4, 5)),
        (Scale(low=0, high=1, whole=True), (0, 1)),
        (Scale(low=0, high=1, whole=False), (0, 0.25, 0.5, 0.75, 1)),
        (Scale(low=1, high=7, whole=True), (1, 2, 3, 4, 5, 6, 7)),
        (Scale(low=1, high=8, whole=True), (1, 2.75, 4.5, 6.25, 8)),
        (Scale(low=1, high=10, whole=False), (1, 3.25, 5.5, 7.75, 10)),
        (Scale(low=0.1, high=0.9, whole=False), (0.1, 0.3, 0.5, 0.7, 0.9)),
        (Scale(low=-2, high=2, whole=True), (-2, -1, 0, 1, 2)),
    ],
    ids=lambda value: value.describe() if isinstance(value, Scale) else "",
)
def test_anchors(scale: Scale, anchors: tuple[float, ...]):
    assert scale.anchors() == anchors


@pytest.mark.parametrize(
    ("low", "high", "fault"),
    [
        *((low, high, "the lower first") for low, high in ((5, 1), (3, 3), (math.nan, 5), (1, math.inf))),
        *((low, high, "whole ends") for low, high in ((0.2, 0.8), (0.5, 4.5), (1, 4.5))),
    ],
)
def test_a_scale_needs_two_finite_numbers_lower_first_and_a_whole_one_whole_ends(low: float, high: float, fault: str):
    with pytest.raises(ValidationError, match=fault):
        Scale(low=low, high=high, whole=True)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("1:5", [1, 2, 5], Scale(low=1, high=5, whole=True)),
        ("1:5", [1, 2.5], Scale(low=1, high=5, whole=False)),
        ("1:5", [], Scale(low=1, high=5, whole=False)),
        ("1:5:whole", [1.5], Scale(low=1, high=5, whole=True)),
        ("0:1:any", [0, 1], Scale(low=0, high=1, whole=False)),
        ("-2.5:2.5", [0, 1], Scale(low=-2.5, high=2.5, whole=False)),
        ("0:100", [50], Scale(low=0, high=100, whole=True)),
    ],
)
def test_scales_are_read_as_users_write_them(text: str, labels: list[float], expected: Scale):
    assert parse_scale(text, labels) == expected


@pytest.mark.parametrize(
    "text", ["", "5", "1-5", "1:", ":5", "3:3", "1:5:most", "1:5:whole:any", "a:1", "a:b", "nan:5", "0.2:0.8:whole"]
)
def test_anything_else_is_refused_and_the_form_is_told(text: str):
    with pytest.raises(SettingsError, match="1:5:whole or 0:1:any") as caught:
        parse_scale(text, [1, 2])
    assert repr(text) in caught.value.message


@given(labels=st.lists(LABELS, min_size=1), annotations=st.lists(LABELS))
def test_the_scale_of_labels_holds_them_all_and_is_no_wider_than_whole_ends_need(labels, annotations):
    scale = infer_scale(labels, annotations)
    values = [*labels, *annotations]
    assert all(scale.contains(value) for value in values)
    assert (scale.low, scale.high) == (int(scale.low), int(scale.high))
    assert scale.low >= min(values) - 1
    assert scale.high <= max(values) + 1 or scale.width == 1
    # A probability lies between the two levels of verdicts.
    assert bool(scale.names) == (set(annotations or labels) <= {0, 1} and all(0 <= label <= 1 for label in labels))
    assert scale.whole == (all(label == int(label) for label in labels) and not scale.has_two_levels)
