"""Each way to use a rubric: as a rubric, and as scores of texts that it was not fitted to."""

from __future__ import annotations

import numpy as np
import pytest
from planning_samples import rubric
from target_samples import KEPT, on, place

from rubriclab.learning.adaptation import aggregate_scores, mean_aggregation, recalibrate_rubric, reuse_rubric
from rubriclab.models.aggregation import combine
from rubriclab.models.text import Scale

SHARES = Scale(low=0, high=1, whole=False)


def as_home(values: np.ndarray) -> np.ndarray:
    """What the rubric of `planning_samples` says: the mean of standardized scores, around 3."""
    return np.clip(3 + (values - 3).mean(axis=1), 1, 5)


def shifted(values: np.ndarray) -> np.ndarray:
    return np.clip(as_home(values) + 1.5, 1, 5)


def error(scores: np.ndarray, at: object) -> float:
    labels = at.table.labels  # type: ignore[attr-defined]
    return float(np.square(scores - labels).mean() / labels.var())


def test_recalibrating_mends_a_level_that_is_wrong_and_keeps_the_order() -> None:
    at = place(shifted)
    before, after = reuse_rubric(at), recalibrate_rubric(at)
    assert error(before.scores, at) > 1
    assert error(after.scores, at) < 0.3
    assert np.corrcoef([np.argsort(np.argsort(each.ranking_scores)) for each in (after, before)])[0, 1] > 0.999
    terms = after.rubric.aggregation.terms
    assert [term.weight for term in terms] == [term.weight for term in at.rubric.aggregation.terms]


def test_no_label_has_a_part_in_its_own_texts_scores() -> None:
    at = place(shifted)
    moved = list(at.rated.examples)
    own = moved[0]
    moved[0] = type(own)(own.id, own.output, own.group, scores={"coherence": 1 if own.scores["coherence"] > 3 else 5})
    other = on(at.rubric, tuple(moved), at.table.values)
    group = [n for n, each in enumerate(at.rated.examples) if each.group == own.group]
    assert recalibrate_rubric(at).scores[group].tolist() == recalibrate_rubric(other).scores[group].tolist()
    assert recalibrate_rubric(at).scores.tolist() != recalibrate_rubric(other).scores.tolist()


def test_labels_of_another_scale_are_moved_end_to_end_and_so_are_the_scores() -> None:
    here, there = place(shifted), place(shifted, onto=SHARES)
    assert np.allclose(here.table.labels, there.table.labels)
    for act in (reuse_rubric, recalibrate_rubric):
        same, moved = act(here), act(there)
        assert np.allclose(same.scores, moved.scores)
        assert moved.rubric.score_scale == SHARES
        answers = there.rated.ratings(3)
        own = combine(moved.rubric.aggregation, answers, moved.rubric.scale)
        before = combine(same.rubric.aggregation, answers, same.rubric.scale)
        assert own.score == pytest.approx((before.score - 1) / 4, abs=1e-5)
        assert sum(own.contributions.values()) == pytest.approx(sum(before.contributions.values()) / 4, abs=1e-5)
        assert (own.low is None) == (before.low is None)


def test_two_levels_of_a_target_are_told_apart_by_a_threshold_on_their_scale() -> None:
    levels = Scale(low=0, high=1, whole=False, names=("fail", "pass"))
    at = place(lambda values: np.where(as_home(values) > 2.2, 5.0, 1.0), onto=levels, noise=0)
    made = recalibrate_rubric(at).rubric
    scores = [combine(made.aggregation, at.rated.ratings(row), made.scale).score for row in range(40)]
    labels = [each.scores["coherence"] for each in at.rated.examples]
    assert [made.verdict(score) for score in scores] == [levels.names[int(label)] for label in labels]


def test_a_rubric_without_weights_gets_those_that_its_own_mean_amounts_to() -> None:
    bare = rubric(*KEPT).model_copy(update={"aggregation": None})
    at = place(as_home, of=bare)
    made = bare.model_copy(update={"aggregation": mean_aggregation(at)})
    points = np.column_stack([at.table.values[:, 0], 1 + 4 * at.table.values[:, 1], at.table.values[:, 2]])
    assert np.allclose(aggregate_scores(made, at.rated), points.mean(axis=1), atol=1e-4)


def test_a_text_with_too_little_rated_has_no_score_by_any_action() -> None:
    at = place(as_home)
    values = at.table.values
    values[5, :] = np.nan
    values[6, [0, 2]] = np.nan
    at = on(at.rubric, at.rated.examples, values)
    for tried in (reuse_rubric(at), recalibrate_rubric(at)):
        assert np.isnan(tried.scores[5])
        assert np.isnan(aggregate_scores(tried.rubric, at.rated)[5])
    assert np.isnan(reuse_rubric(at).scores[6])


def test_a_rubric_that_rates_all_texts_alike_is_calibrated_to_one_score() -> None:
    at = place(as_home)
    flat = on(at.rubric, at.rated.examples, np.tile(at.table.values[0], (40, 1)))
    assert np.ptp(aggregate_scores(recalibrate_rubric(flat).rubric, flat.rated)) == pytest.approx(0)
    contrary = recalibrate_rubric(place(lambda values: 6 - as_home(values)))
    assert np.ptp(contrary.ranking_scores) == 0
