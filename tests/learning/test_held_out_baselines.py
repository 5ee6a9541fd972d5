"""Baselines that are fitted: each fold by the labels of the others."""

from __future__ import annotations

import numpy as np
import pytest
from gate_tables import follow, measures
from sklearn.cross_decomposition import PLSRegression

from rubriclab.learning.baselines import FEATURE_NAMES, held_out_baselines
from rubriclab.text_features import CATALOGUE, WORD_COUNT

N = 24
FOLD = np.arange(N) % 4
LABELS = np.random.default_rng(0).normal(size=N)
SURFACE_VALUES = measures(0, N, markup=follow(np.random.default_rng(1), -LABELS, 0.95))


def test_feature_names_are_the_whole_catalogue() -> None:
    assert tuple(entry.name for entry in CATALOGUE) == FEATURE_NAMES


def test_the_baselines_are_these() -> None:
    baselines = held_out_baselines(SURFACE_VALUES, LABELS, FOLD)
    assert list(baselines) == ["constant", "word count", "best text feature", "all text features"]
    assert not baselines["constant"].any()
    np.testing.assert_array_equal(baselines["word count"], SURFACE_VALUES[:, FEATURE_NAMES.index(WORD_COUNT)])


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


@pytest.mark.parametrize("fold", [np.zeros(N, dtype=int), FOLD])
def test_where_nothing_can_be_fitted_baselines_are_constant(fold: np.ndarray) -> None:
    labels = LABELS if not fold.any() else np.ones(N)
    baselines = held_out_baselines(SURFACE_VALUES, labels, fold)
    assert not baselines["best text feature"].any()
    assert not baselines["all text features"].any()
