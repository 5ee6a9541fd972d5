"""Text features as baselines fitted to other folds, and rubrics without any label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from commands import HELDOUT
from rating_matrices import follow, measures
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression

from rubriclab.data.readers import read
from rubriclab.errors import DataError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.baselines import (
    FEATURE_NAMES,
    MIN_TEXTS,
    SPREAD,
    best_feature,
    feature_values,
    held_out_baselines,
    text_feature_rubric,
)
from rubriclab.learning.scoring import score_text
from rubriclab.models.text import Assignment, Example, find_aspect, parse_scale, task_words
from rubriclab.models.text_features import CATALOGUE
from rubriclab.stats.correlation import spearman


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


ASSIGNMENT = Assignment(task_words("summarization"), find_aspect("summarization", "coherence"), parse_scale("1:5"))
TEXTS = [row for row in read(str(HELDOUT)) if isinstance(row, Example)][:40]


async def test_scores_by_measures_have_the_middle_of_the_scale_as_mean_and_agree_with_labels_that_were_not_read() -> (
    None
):
    rubric = text_feature_rubric(ASSIGNMENT, [replace(text, scores={}) for text in TEXTS])
    scores = [await score_text(rubric, text, EmbeddedJudge(), "unvalidated") for text in TEXTS]
    found = np.array([score.score for score in scores])
    assert found.mean() == pytest.approx(3.0, abs=0.1)
    assert found.std() == pytest.approx(SPREAD * 4, abs=0.15)
    assert found.min() >= 1
    assert found.max() <= 5
    assert spearman(found, np.array([text.scores["coherence"] for text in TEXTS])) > 0.3


def test_texts_that_are_too_few_or_all_the_same_are_refused() -> None:
    with pytest.raises(DataError, match=f"got {MIN_TEXTS - 1} usable, expected at least {MIN_TEXTS}"):
        text_feature_rubric(ASSIGNMENT, TEXTS[: MIN_TEXTS - 1])
    with pytest.raises(DataError, match="No text feature that is known to matter for 'coherence' varies"):
        text_feature_rubric(ASSIGNMENT, [TEXTS[0]] * MIN_TEXTS)
