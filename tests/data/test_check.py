"""What can be learned from, and the answer to everything that cannot."""

import math

import pytest

from rubriclab.data.check import Training, training_examples
from rubriclab.data.readers import from_rows
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.text import Example, Scale


def rows(count=12, **changed):
    return [
        {"id": f"t{i}", "group": f"g{i % 3}", "output": f"Text {i}.", "scores": {"coherence": 1 + i % 4}, **changed}
        for i in range(count)
    ]


def learnable(some, aspect="coherence", scale=None):
    return training_examples(from_rows(some, "labels"), aspect, scale)


def stopped(some, aspect="coherence", scale=None):
    with pytest.raises(DataError) as error:
        learnable(some, aspect, scale)
    return error.value


def test_good_rows_come_back_in_order_with_the_scale_and_where_it_is_from():
    training = learnable(rows())
    assert isinstance(training, Training)
    assert [example.id for example in training.examples] == [f"t{i}" for i in range(12)]
    assert training.scale == Scale(low=1, high=4, whole=True)
    assert training.notes == ("scale 1 to 4 taken from the labels; give the scale if the raters used another",)


def test_a_given_scale_is_taken_without_a_note():
    assert learnable(rows(), scale="1:5") == Training(learnable(rows()).examples, Scale(low=1, high=5, whole=True), ())
    half = Scale(low=0, high=10, whole=False)
    assert learnable(rows(), scale=half).scale == half


def test_single_annotations_widen_a_scale_that_is_taken_from_the_data():
    some = rows()
    some[0]["annotations"] = {"coherence": [0, 2], "fluency": [9]}
    assert learnable(some).scale == Scale(low=0, high=4, whole=True)


def test_rows_without_the_label_are_set_aside_and_counted():
    training = learnable([*rows(), {"output": "No label.", "group": "g0"}])
    assert len(training.examples) == 12
    assert "rows without a score for 'coherence' are left out: 1 of 13" in training.notes


def test_all_faults_are_named_together_in_the_order_of_their_lines():
    some = rows(14)
    some[1]["scores"] = {"coherence": 9}
    some[3]["scores"] = {"coherence": "4"}
    some[5]["id"] = "t2"
    some[7]["annotations"] = {"coherence": [1, 0]}
    faults = stopped(some, scale="1:4").faults
    assert [fault.split(": got")[0] for fault in faults] == [
        "labels:2: field 'scores.coherence'",
        "labels:4: field 'scores.coherence'",
        "labels:6: field 'id'",
        "labels:8: field 'annotations.coherence'",
    ]
    assert "got 9, expected a score from 1 to 4" in faults[0]
    assert "got 't2', which line 3 also has" in faults[2]


def test_many_faults_are_all_kept_and_the_first_twenty_shown():
    error = stopped(rows(30, output=""))
    assert len(error.faults) == 30
    assert "labels:20: " in str(error)
    assert "labels:21: " not in str(error)
    assert "and 10 more" in str(error)


def test_one_text_in_two_rows_is_told_apart_from_one_id_for_two_texts():
    assert "one row with their mean" not in stopped([*rows(), {**rows()[0], "output": "Another."}]).faults[0]
    assert "one row with their mean" in stopped([*rows(), rows()[0]]).faults[0]
    nameless = {"output": "Rated by two.", "scores": {"coherence": 2}}
    assert "one row with their mean" in stopped([*rows(), nameless, {**nameless, "scores": {"coherence": 3}}]).faults[0]


def test_an_aspect_that_nobody_rated_is_answered_with_those_that_somebody_did():
    error = stopped(rows(), aspect="fluency")
    assert "'coherence' (12)" in str(error)
    assert "`mapping=scores.fluency=COLUMN`" in str(error)
    assert "no scores at all" in str(stopped(rows(scores=None)))


@pytest.mark.parametrize("count", [1, 9])
def test_fewer_than_ten_labels_are_too_few(count):
    assert f": {count} of {count}; learning needs at least 10." in str(stopped(rows(count)))
    assert len(learnable(rows(10)).examples) == 10


def test_constant_labels_teach_nothing():
    assert "All 12 scores for 'coherence' are 4" in str(stopped(rows(scores={"coherence": 4})))


def test_texts_without_rivals_are_said():
    assert any("every text is a group of its own" in note for note in learnable(rows(group=None)).notes)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"output": " "}, "output"),
        ({"scores": {"coherence": math.nan}}, "scores.coherence"),
        ({"scores": {"coherence": math.inf}}, "scores.coherence"),
        ({"annotations": {"coherence": (math.nan,)}}, "annotations.coherence"),
    ],
)
@pytest.mark.parametrize("scale", [None, "1:5"])
def test_examples_made_by_hand_are_held_to_the_same(changed, field, scale):
    good = [Example(id=str(i), output="A", group="g", scores={"coherence": i % 3}) for i in range(11)]
    bad = Example(**{"id": "bad", "output": "B", "group": "g", "scores": {"coherence": 2.0}, **changed})
    with pytest.raises(DataError) as error:
        training_examples([*good, bad], "coherence", scale)
    assert f"rows:12: field '{field}'" in error.value.faults[-1]


# Methods that need no labels


def unneeded(some, scale=None):
    return training_examples(from_rows(some, "labels"), "coherence", scale, labels_needed=False)


def test_labels_that_are_too_few_or_all_the_same_are_left_out_where_none_are_needed():
    few = unneeded(rows(5), "1:5")
    same = unneeded(rows(scores={"coherence": 3}), "1:5")
    for found, why in (
        (few, "rows with a score for 'coherence': 5, and learning from labels needs at least 10"),
        (same, "scores for 'coherence' are 3"),
    ):
        assert found.examples == ()
        assert (found.scale.low, found.scale.high) == (1, 5)
        assert why in found.notes[0]


def test_without_labels_or_a_scale_nothing_can_be_made():
    with pytest.raises(SettingsError, match="`scale=LOW:HIGH`"):
        unneeded(rows(scores={}))


def test_labels_that_are_means_of_annotations_are_counted():
    some = rows(scores=None)
    for number, row in enumerate(some):
        row["annotations"] = {"coherence": {"anna": 1 + number % 4, "ben": 2}}
    training = learnable(some)
    assert training.examples[3].scores["coherence"] == 3.0
    assert "labels that are means of annotations, since the text has no score for 'coherence': 12" in training.notes
