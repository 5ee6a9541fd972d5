"""Aspects that ship, aspects that users define, and the words of a task."""

import math
from dataclasses import replace

import pytest
from hypothesis import example, given, strategies as st
from pydantic import ValidationError

from rubriclab.errors import SettingsError, UserError
from rubriclab.models.sentences import sentence_spans, split_sentences
from rubriclab.models.text import (
    Assignment,
    Example,
    Scale,
    data_digest,
    find_aspect,
    infer_scale,
    labelled,
    parse_scale,
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
    assert labelled([zero, other, ONE], "coherence") == (zero, ONE)
    both = Example("a", "A", "g", scores={"coherence": 3}, annotations={"coherence": (1.0, 2.0)})
    alone = Example("b", "B", "g", annotations={"coherence": (1.0, 2.0, 4.5), "fluency": ()})
    assert [each.scores["coherence"] for each in labelled([both, alone], "coherence")] == [3, 2.5]
    assert labelled([both, alone], "fluency") == ()
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
def test_a_scale_needs_two_finite_numbers_the_lower_first_and_a_whole_one_whole_ends(
    low: float, high: float, fault: str
):
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
    assert scale.whole == (all(label == int(label) for label in labels) and not scale.names)


QUARTER_MEGABYTE = 250_000
TOKENS = ["He", "she", "I", "mr", "Dr", "U.S", "u.s", "no", "5", "3.5", "p.m", "said", "com", "é", "他", "a", "'s", "-"]
MARKS = [".", "...", "…", "!", "?", "。", ",", ":", '"', "'", "''", "`", "“", "”", "(", ")", "-lrb-", "-rrb-", "*"]
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\xa0", "- ", "1. "]
PIECES = st.sampled_from([*TOKENS, *MARKS, *SPACES])
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


@pytest.mark.parametrize(
    "sentences",
    [
        ("The tide came in.", "Did nobody warn them?", "Run!", "All of them got wet…"),
        ("the tide came in .", "did nobody warn them ?", "they ran !"),
        ("He sailed to the U.S.", "The crew stayed."),
        ("he sailed to the u.s .", "the crew stayed ."),
        ("She works for Orme Inc.", "Her brother does not."),
        ("They chose plan B.", "Then it rained."),
        ("It was the harbour of the 1970s.", "Police closed it."),
        ("Nobody knew but I.", "Hale slept."),
        ("It opened in 1920.", "15 boats came."),
        ('"Come in."', "He sat down."),
        ("“Come in.”", "“Sit down.”", "He did."),
        ("`` come in . ''", "he sat down ."),
        ("The pier (which is old!) fell.", "Nobody cried."),
        ("The pier fell.", "(Nobody was there.)", "It was night."),
        ("The pier…", "Nobody saw it fall."),
        ("1. Close the pier.", "2. Mend it."),
        ("Où est le quai ?", "« Il est tombé. »", "M. Orme dort."),
        ("¿Dónde está el muelle?", "¡Se cayó!", "Nadie lo vio."),
        ("أين الرصيف؟", "لقد سقط."),
        ("घाट गिर गया।", "किसी ने नहीं देखा।"),
    ],
)
def test_marks_end_sentences(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Hale and Mrs. Orme met Prof. Lind at the pier.",
        "mr . hale met mrs . orme at the pier .",
        "J. R. Hale sold the boat to M. Lind.",
        "The harbour lies in the U.S. Virgin Islands, e.g. on St. Croix.",
        "the u.s . navy left , and so did the u.k . fleet .",
        "She came in at No. 5, on Aug. 26, see Fig. 3 and vol. 2.",
        "The ferry leaves at 7 p.m. Monday and at 9 a.m. on Tuesday.",
        "Hale & Co. and Orme Inc. own the pier, the cranes, etc. and pay for them.",
        "The pier is 3.5 miles long and cost $1.25 million.",
        "the pier cost 1 . 25 million , or 0 . 5 per cent .",
        "Write to pier@orme.com or read orme.co.uk and www.orme.com/a.b?c=d today.",
        '"Is the pier safe?" she asked.',
        "“Run!” the old man shouted, and they ran.",
        "The Orme pier is... well, gone.",
        "Two groups, Orme and Lind, have\n\n, calling it unsafe, closed the pier.",
    ],
)
def test_marks_amid_a_sentence_end_none(text):
    assert split_sentences(text) == (text,)


def test_headlines_paragraphs_turns_and_items_of_a_list_are_sentences():
    text = "Pier falls\nNobody hurt\n\nThe pier of Orme fell on Monday.\n\nmore soon"
    assert split_sentences(text) == ("Pier falls", "Nobody hurt", "The pier of Orme fell on Monday.", "more soon")
    text = "did you see the pier ?\nno , i was home\nit fell . how sad !"
    assert split_sentences(text) == ("did you see the pier ?", "no , i was home", "it fell .", "how sad !")
    text = "# To mend\n- the pier, i.e. all of it\n- the crane\n  and its arm\n* **Roof.** It leaks.\n1. Paint\n2. Tar."
    assert split_sentences(text) == (
        "# To mend",
        "- the pier, i.e. all of it",
        "- the crane\n  and its arm",
        "* **Roof.**",
        "It leaks.",
        "1. Paint",
        "2. Tar.",
    )


@given(TEXTS)
@example("a''.\n'' b")
@example("\n.a")
def test_spans_are_in_order_disjoint_stripped_and_leave_out_no_letter(text):
    spans = sentence_spans(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not any(character.isalnum() for character in text[at:start])
        at = end
    assert not any(character.isalnum() for character in text[at:])


@pytest.mark.parametrize(
    ("unit", "count"),
    [(".", 0), (". ", 0), ("' ", 0), ('"', 0), ("\n", 0), (" ", 0), ("x", 1), ("mr . ", 1), ("U.S. ", 1)],
)
def test_a_quarter_of_a_megabyte_of_anything_is_split_in_linear_time(unit, count):
    assert len(sentence_spans(unit * (QUARTER_MEGABYTE // len(unit)))) == count
