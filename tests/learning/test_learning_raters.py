"""What is known of the raters, from the examples' annotations."""

import numpy as np
import pytest

from rubriclab.learning.gate import raters, ratings
from rubriclab.models.text import Example, Scale, labelled
from rubriclab.stats.reliability import ceiling, krippendorff_alpha

SCALE = Scale(low=1, high=5, whole=True)


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


def test_agreement_and_ceiling_are_of_named_raters():
    table = rated()
    table[1, ::4] = np.nan
    found = raters(examples(table, ["anna", "ben", "cem"]), "coherence", SCALE)
    groups = np.repeat(np.arange(15), 3)
    assert found.alpha.value == pytest.approx(krippendorff_alpha(table, "interval", groups).value, abs=1e-5)
    assert found.ceiling == pytest.approx(ceiling(table, groups), abs=1e-5)


def test_equally_long_lists_are_of_the_same_raters_in_the_same_places():
    found = examples(rated())
    assert ratings(found, "coherence").names == ("1", "2", "3")
    assert raters(found, "coherence", SCALE) == raters(examples(rated(), ["1", "2", "3"]), "coherence", SCALE)


def test_lists_of_several_lengths_are_of_nobody_in_particular():
    table = rated()
    table[2, 5] = np.nan
    assert ratings(examples(table), "coherence").names == ()
    assert raters(examples(table), "coherence", SCALE).ceiling is not None


def test_scores_of_nobody_in_particular_are_left_out_where_others_are_named():
    named = examples([[1.0, 2], [2, 3]], ["anna", "ben"])
    unnamed = Example("x", "X", "g9", annotations={"coherence": (5.0, 5.0)})
    found = ratings([*named, unnamed], "coherence")
    assert found.names == ("anna", "ben")
    assert np.isnan(found.table[:, 2]).all()


@pytest.mark.parametrize("table", [[[1.0, 2, 3]], [[1, np.nan, 3], [np.nan, 2, np.nan]]])
def test_fewer_than_two_raters_of_a_text_say_nothing(table):
    assert raters(examples(table, ["anna", "ben"][: len(table)]), "coherence", SCALE) is None


def test_examples_without_annotations_say_nothing():
    plain = [Example("a", "A", "g", scores={"coherence": 3})]
    assert raters(plain, "coherence", SCALE) is None


def test_errors_of_raters_are_from_the_mean_of_the_others():
    table = rated()
    table[1, ::4] = np.nan
    found = raters(examples(table, ["anna", "ben", "cem"]), "coherence", SCALE).errors
    errors = [
        score - np.delete(column, place)[~np.isnan(np.delete(column, place))].mean()
        for column in table.T
        for place, score in enumerate(column)
        if not np.isnan(score)
    ]
    assert found.absolute.value == pytest.approx(np.abs(errors).mean(), abs=1e-5)
    assert found.absolute.low < found.absolute.value < found.absolute.high
    assert found.near == pytest.approx(np.mean(np.abs(errors) <= 1), abs=1e-5)


def test_verdicts_of_raters_have_no_error_in_points():
    verdicts = Scale(low=0, high=1, whole=True, names=("fail", "pass"))
    found = raters(examples(np.round(rated() > 3), ["anna", "ben", "cem"]), "coherence", verdicts)
    assert found.errors is None
