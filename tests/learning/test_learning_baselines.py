"""Baselines: text features, which understand no text."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from rubriclab.data import Example
from rubriclab.learning import best_feature, feature_values
from rubriclab.text_features import CATALOGUE, WORD_COUNT, extract_features


def text(number: int, output: str, score: float, **fields) -> Example:
    return Example(id=str(number), output=output, group="g", scores={"quality": score}, **fields)


LONGER_IS_BETTER = [text(i, "A plain word. " * (i + 1), float(i)) for i in range(8)]
LONGER_IS_WORSE = [text(i, "A plain word. " * (i + 1), float(-i)) for i in range(8)]


def test_values_are_the_catalogue_s_in_the_order_asked_for():
    names = [WORD_COUNT, "commas", "copied_share"]
    values = feature_values(LONGER_IS_BETTER, names)
    assert values.shape == (8, 3)
    for row, example in zip(values, LONGER_IS_BETTER, strict=True):
        found = extract_features(example.output)
        np.testing.assert_array_equal(row, [found[name] for name in names])
    assert np.isnan(values[:, 2]).all()


def test_no_texts_and_no_measures_have_a_shape():
    assert feature_values([], [WORD_COUNT]).shape == (0, 1)


@pytest.mark.parametrize(("examples", "sign"), [(LONGER_IS_BETTER, 1), (LONGER_IS_WORSE, -1)])
def test_the_best_measure_is_the_one_that_correlates_most_in_either_direction(examples, sign):
    baseline = best_feature(examples, "quality")
    labels = [example.scores["quality"] for example in examples]
    found = {}
    for entry in CATALOGUE:
        column = feature_values(examples, [entry.name])[:, 0]
        if not np.isnan(column).any() and np.ptp(column) > 0:
            found[entry.name] = pearsonr(column, labels).statistic
    assert baseline is not None
    assert baseline.pearson == pytest.approx(found[baseline.feature], abs=1e-6)
    assert abs(baseline.pearson) == pytest.approx(max(map(abs, found.values())), abs=1e-6)
    assert baseline.sign == (1 if baseline.pearson > 0 else -1) == sign * np.sign(found[baseline.feature]) * sign


def test_a_measure_undefined_for_one_text_does_not_compete():
    # How much of the source returns gives the scores exactly, and 0 for the last text, which has no source, would too.
    source = "alpha bravo charlie delta echo foxtrot golf"
    shuffled = (3, 1, 5, 2, 4, 6)
    examples = [
        text(place, " ".join(source.split()[:many]) + " pad" * (7 - many), float(many), source=source)
        for place, many in enumerate(shuffled)
    ]
    assert next(e for e in CATALOGUE if e.name == best_feature(examples, "quality").feature).needs
    examples.append(text(9, "pad pad pad pad pad pad pad", 0.0))
    baseline = best_feature(examples, "quality")
    assert baseline is None or not next(e for e in CATALOGUE if e.name == baseline.feature).needs


def test_no_baseline_where_nothing_tracks_the_scores():
    assert best_feature([text(i, "The same words.", float(i)) for i in range(8)], "quality") is None
    assert best_feature([text(i, "A word. " * i, 3.0) for i in range(1, 9)], "quality") is None


def test_the_order_of_the_texts_does_not_matter():
    assert best_feature(LONGER_IS_BETTER[::-1], "quality") == best_feature(LONGER_IS_BETTER, "quality")


def test_the_correlation_is_a_number_that_json_holds():
    baseline = best_feature(LONGER_IS_BETTER, "quality")
    assert baseline is not None
    assert math.isfinite(baseline.pearson)
