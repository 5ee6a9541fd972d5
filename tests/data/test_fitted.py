"""Labels out of comparisons: for whom, on which scale, and what is said of it."""

from itertools import combinations

import pytest

from rubriclab.data import training_examples
from rubriclab.data.readers import from_rows
from rubriclab.errors import DataError
from rubriclab.models.text import data_digest

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
    rows = [
        {**row, "annotations": {"coherence": {"anna": 1 + number % 4, "ben": 2}}} for number, row in enumerate(texts())
    ]
    training = learned(rows)
    assert labels(training)["a3"] == 3.0
    assert "labels that are means of annotations, since the text has no score for 'coherence': 16" in training.notes
