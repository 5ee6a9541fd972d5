"""What is known of the raters, from the examples' annotations."""

import numpy as np
import pytest

from rubriclab.data import Aspect, Assignment, Example, Scale, labelled, task_words
from rubriclab.learning.raters import raters, ratings
from rubriclab.stats.intraclass import ceiling, intraclass
from rubriclab.stats.reliability import krippendorff_alpha

ASSIGNMENT = Assignment(
    task_words("summarization"),
    Aspect(name="coherence", definition="It hangs together."),
    Scale(low=1, high=5, whole=True),
)


def examples(table, names=None):
    """Return the texts with the ratings in the columns of a table, three rivals a group."""
    found = []
    for number, column in enumerate(np.asarray(table, dtype=float).T):
        given = ~np.isnan(column)
        known = {"coherence": tuple(np.array(names)[given].tolist())} if names else {}
        annotations = {"coherence": tuple(column[given].tolist())}
        found.append(
            Example(f"t{number:02}", f"Text {number}.", f"g{number // 3}", annotations=annotations, raters=known)
        )
    return labelled(found, "coherence")


def rated(texts=45, raters=3, seed=0):
    rng = np.random.default_rng(seed)
    worth = rng.normal(3, 1, size=texts)
    return worth + rng.normal(size=(raters, texts)) * 0.5 - np.array([[0.6], [0], [0]])


def test_named_raters_are_told_apart():
    table = rated()
    table[1, ::4] = np.nan
    found = raters(examples(table, ["anna", "ben", "cem"]), ASSIGNMENT)
    assert [each.name for each in found.raters] == ["anna", "ben", "cem"]
    assert [each.n for each in found.raters] == [45, 33, 45]
    assert found.raters[0].severity.low > 0.3
    groups = np.repeat(np.arange(15), 3)
    assert found.icc.value == pytest.approx(intraclass(table, groups).value, abs=1e-5)
    assert found.icc.low < found.icc.value < found.icc_mean
    assert found.alpha.value == pytest.approx(krippendorff_alpha(table, "interval", groups).value, abs=1e-5)
    assert found.ceiling == pytest.approx(ceiling(table, groups), abs=1e-5)


def test_equally_long_lists_are_of_the_same_raters_in_the_same_places():
    table = rated()
    found = raters(examples(table), ASSIGNMENT)
    assert [each.name for each in found.raters] == ["1", "2", "3"]
    assert found == raters(examples(table, ["1", "2", "3"]), ASSIGNMENT)


def test_lists_of_several_lengths_are_of_nobody_in_particular():
    table = rated()
    table[2, 5] = np.nan
    found = raters(examples(table), ASSIGNMENT)
    assert found.raters == ()
    assert found.icc.value == pytest.approx(intraclass(table, raters_known=False).value, abs=1e-5)
    assert found.ceiling is not None


def test_scores_of_nobody_in_particular_are_left_out_where_others_are_named():
    named = examples([[1.0, 2], [2, 3]], ["anna", "ben"])
    unnamed = Example("x", "X", "g9", annotations={"coherence": (5.0, 5.0)})
    found = ratings([*named, unnamed], "coherence")
    assert found.names == ("anna", "ben")
    assert np.isnan(found.table[:, 2]).all()


def test_more_than_ten_places_stay_in_their_order():
    assert ratings(examples(np.ones((11, 2))), "coherence").names[-2:] == ("10", "11")


@pytest.mark.parametrize("table", [[[1.0, 2, 3]], [[1, np.nan, 3], [np.nan, 2, np.nan]]])
def test_fewer_than_two_raters_of_a_text_say_nothing(table):
    assert raters(examples(table, ["anna", "ben"][: len(table)]), ASSIGNMENT) is None


def test_examples_without_annotations_say_nothing():
    plain = [Example("a", "A", "g", scores={"coherence": 3})]
    assert raters(plain, ASSIGNMENT) is None
