"""What can be learned from, and the answer to everything that cannot."""

import math
from itertools import combinations

import pytest

from rubriclab.data.check import Training, training_examples
from rubriclab.data.readers import from_rows
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.text import Example, Scale, data_digest


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


WORTH = {f"{group}{text}": (ord(group) + 3 * text) % 7 for group in "abcd" for text in range(4)}


def texts(scored=()):
    return [
        {
            "id": name,
            "group": name[0],
            "output": f"Text {name}.",
            "scores": {"coherence": worth} if name in scored else None,
        }
        for name, worth in WORTH.items()
    ]


def preferences(aspect=None, groups="abcd"):
    for one, other in combinations(WORTH, 2):
        if one[0] == other[0] and one[0] in groups:
            better, worse = sorted((one, other), key=WORTH.__getitem__, reverse=True)
            yield {"preferred": better, "over": worse, "tie": WORTH[one] == WORTH[other], "aspect": aspect}


def learned(*rows, aspect="coherence", scale=None, **options):
    return training_examples(from_rows([row for part in rows for row in part], "labels"), aspect, scale, **options)


def faults(*rows, **options):
    with pytest.raises(DataError) as error:
        learned(*rows, **options)
    return error.value.faults


def labels(training):
    return {example.id: example.scores["coherence"] for example in training.examples}


def test_comparisons_alone_order_the_texts_of_each_group_around_the_middle_of_0_to_1():
    training = learned(texts(), preferences())
    assert (training.scale.low, training.scale.high, training.scale.whole) == (0, 1, False)
    found = labels(training)
    for group in "abcd":
        own = [name for name in WORTH if name[0] == group]
        assert sorted(own, key=found.__getitem__) == sorted(own, key=WORTH.__getitem__)
        assert sum(found[name] for name in own) / 4 == pytest.approx(0.5, abs=1e-6)
    assert training.notes == (
        "16 labels are fitted to 24 comparisons, by a Bradley-Terry model",
        "4 groups with comparisons alone: only the order within a group is known there, and each group is centered at "
        "the middle of the scale",
        "scale 0 to 1 by default, since there are only comparisons; give another scale if you prefer",
    )


def test_a_given_scale_is_what_they_are_fitted_to():
    training = learned(texts(), preferences(), scale="1:5")
    found = labels(training)
    assert training.scale.low == 1
    assert sum(found.values()) / len(found) == pytest.approx(3, abs=1e-6)
    assert 1 < min(found.values()) < 2.5
    assert 3.5 < max(found.values()) < 5


def test_a_ranking_says_what_its_preferences_say():
    ranked = [
        {"ranking": sorted((name for name in WORTH if name[0] == group), key=WORTH.__getitem__, reverse=True)}
        for group in "abcd"
    ]
    assert learned(texts(), ranked).examples == learned(texts(), preferences()).examples


def test_scores_stay_and_texts_without_one_are_placed_among_them():
    scored = {name for name in WORTH if int(name[1]) % 4 != 2}
    training = learned(texts(scored), preferences())
    found = labels(training)
    assert all(found[name] == WORTH[name] for name in scored)
    assert training.notes[0] == "4 labels are fitted to 24 comparisons beside 12 scores, by a Bradley-Terry model"
    assert (training.scale.low, training.scale.high) == (0, 6)
    for group in "abcd":
        above = sum(WORTH[f"{group}{other}"] < WORTH[f"{group}2"] for other in (0, 1, 3))
        lower, upper = found[f"{group}2"], [WORTH[f"{group}{other}"] for other in (0, 1, 3)]
        if above == 0:
            assert lower < sum(upper) / 3
        if above == 3:
            assert lower > sum(upper) / 3


def test_the_order_of_the_rows_changes_nothing():
    there, back = (learned(order(texts()), order([*preferences()])) for order in (list, lambda rows: rows[::-1]))
    assert data_digest(there.examples, "coherence") == data_digest(back.examples, "coherence")


def test_comparisons_in_other_aspects_are_left_out_and_counted():
    training = learned(texts(WORTH), preferences("fluency"))
    assert labels(training) == {name: float(worth) for name, worth in WORTH.items()}
    assert "comparisons of aspects other than 'coherence' are left out: 24 of 24" in training.notes
    with pytest.raises(DataError, match="None of the 16 rows has a score for 'coherence'"):
        learned(texts(), preferences("fluency"))


def test_comparisons_of_scored_texts_alone_are_said_to_be_left_out():
    notes = learned(texts(WORTH), preferences()).notes
    assert "24 comparisons ignored: every text in them has a score for 'coherence'" in notes


def test_texts_that_cannot_be_compared_are_faults_with_their_lines():
    wrong = [{"preferred": "a0", "over": "zz"}, {"preferred": "a0", "over": "b0"}, {"ranking": ["a0", "nobody", "b1"]}]
    found = faults(texts(), preferences(), wrong)
    assert found == (
        "labels:41: got a comparison with 'zz', expected the id of a text in the same rows",
        "labels:42: got a comparison of 'a0' (group 'a') with 'b0' (group 'b'), expected two texts of one group",
        "labels:43: got a comparison with 'nobody', expected the id of a text in the same rows",
    )


def test_a_faulty_text_is_named_once_not_in_each_of_its_comparisons():
    rows = texts()
    rows[0]["output"] = None
    assert len(faults(rows, preferences())) == 1


def test_where_there_are_several_aspects_each_comparison_names_its_own():
    (first, *_) = found = faults(
        texts(), preferences("coherence", "a"), preferences(None, "b"), preferences("fluency", "c")
    )
    assert "field 'aspect': got nothing, expected the aspect of the comparison" in first
    assert len(found) == 6


def test_too_few_compared_texts_are_too_few_labels():
    with pytest.raises(DataError, match="8 of 16; learning needs"):
        learned(texts(), preferences(groups="ab"))
    training = learned(texts(), preferences(groups="ab"), labels_needed=False)
    assert training.examples == ()


def test_labels_that_are_means_of_annotations_are_counted():
    some = rows(scores=None)
    for number, row in enumerate(some):
        row["annotations"] = {"coherence": {"anna": 1 + number % 4, "ben": 2}}
    training = learnable(some)
    assert training.examples[3].scores["coherence"] == 3.0
    assert "labels that are means of annotations, since the text has no score for 'coherence': 12" in training.notes
