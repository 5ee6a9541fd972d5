"""Text features as baselines fitted to other folds."""

from __future__ import annotations

import numpy as np
import pytest
from rating_matrices import follow, measures
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression

from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values, held_out_baselines
from rubriclab.models.text import Example
from rubriclab.models.text_features import CATALOGUE


def text(number: int, output: str, score: float, **fields) -> Example:
    return Example(id=str(number), output=output, group="g", scores={"quality": score}, **fields)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_measure_is_the_one_that_correlates_most_in_either_direction(sign):
    examples = [text(i, "A plain word. " * (i + 1), float(sign * i)) for i in range(8)]
    baseline = best_feature(examples, "quality")
    labels = [example.scores["quality"] for example in examples]
    found = {}
    for entry in CATALOGUE:
        column = feature_values(examples, [entry.name])[:, 0]
        if not np.isnan(column).any() and np.ptp(column) > 0:
            found[entry.name] = pearsonr(column, labels).statistic
    assert baseline.pearson == pytest.approx(found[baseline.feature], abs=1e-6)
    assert abs(baseline.pearson) == pytest.approx(max(map(abs, found.values())), abs=1e-6)
    assert baseline.sign == (1 if baseline.pearson > 0 else -1) == np.sign(found[baseline.feature])


N = 24
FOLD = np.arange(N) % 4
LABELS = np.random.default_rng(0).normal(size=N)
SURFACE_VALUES = measures(0, N, markup=follow(np.random.default_rng(1), -LABELS, 0.95))


def test_the_best_measure_is_read_in_its_direction() -> None:
    best = held_out_baselines(SURFACE_VALUES, LABELS, FOLD)["best text feature"]
    for fold in range(4):
        own = fold == FOLD
        markup = SURFACE_VALUES[own, FEATURE_NAMES.index("markup")]
        assert np.corrcoef(best[own], markup)[0, 1] == pytest.approx(-1)


def test_all_measures_are_one_component_of_partial_least_squares() -> None:
    found = held_out_baselines(SURFACE_VALUES, LABELS, FOLD)["all text features"]
    for fold in range(4):
        own = fold == FOLD
        oracle = PLSRegression(n_components=1).fit(SURFACE_VALUES[~own], LABELS[~own])
        expected = oracle.predict(SURFACE_VALUES[own]).ravel() - LABELS[~own].mean()
        np.testing.assert_allclose(found[own], expected, atol=1e-9)


def test_a_fold_s_labels_have_no_part_in_its_scores() -> None:
    other = LABELS.copy()
    other[FOLD == 2] = np.random.default_rng(9).normal(size=6)
    before, after = (held_out_baselines(SURFACE_VALUES, labels, FOLD) for labels in (LABELS, other))
    for name in before:
        np.testing.assert_array_equal(before[name][FOLD == 2], after[name][FOLD == 2])


def test_a_measure_that_some_text_lacks_is_not_the_best_but_one_of_all() -> None:
    lacking = SURFACE_VALUES.copy()
    lacking[3, FEATURE_NAMES.index("markup")] = np.nan
    baselines = held_out_baselines(lacking, LABELS, FOLD)
    assert abs(np.corrcoef(baselines["best text feature"], LABELS)[0, 1]) < 0.9
    assert all(np.isfinite(values).all() for values in baselines.values())
