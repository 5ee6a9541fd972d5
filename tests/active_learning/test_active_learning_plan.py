"""A plan: the same in whatever order the pool comes, with reasons a person can follow."""

from __future__ import annotations

import random

import numpy as np
from planning_samples import rated, trained

from rubriclab.active_learning import PoolText, plan
from rubriclab.active_learning.selection import select_texts
from rubriclab.active_learning.training_data import refit_settings
from rubriclab.report.planning import advised, basis, plan_row, why

RUBRIC, PROVENANCE, RECORD = trained()
POOL = [rated(number) for number in range(20)]


def test_the_order_of_the_pool_changes_nothing() -> None:
    shuffled = random.Random(0).sample(POOL, len(POOL))
    first, second = (plan(RUBRIC, PROVENANCE, RECORD, pool, 6, threshold=0.01) for pool in (POOL, shuffled))
    assert first == second
    assert [each.rank for each in first.texts] == [1, 2, 3, 4, 5, 6]
    assert len({each.example.id for each in first.texts}) == 6


def test_every_text_of_the_pool_can_be_planned_with_the_agreement_expected_by_then() -> None:
    found = plan(RUBRIC, PROVENANCE, RECORD, POOL, 50, threshold=0.01)
    assert len(found.texts) == found.pool == 20
    expected = [each.agreement or 0 for each in found.texts]
    assert expected == sorted(expected)
    assert expected[0] > 0


def test_the_reason_names_a_criterion_with_the_score_that_the_text_has() -> None:
    by_id = {each.example.id: each for each in POOL}
    for each in plan(RUBRIC, PROVENANCE, RECORD, POOL, 8, threshold=0.01).texts:
        assert each.unusual is not None
        assert by_id[each.example.id].ratings[each.unusual.criterion.id] == each.unusual.rating
        assert plan_row(each)["why"] == why(each)


def test_groups_without_labels_come_first_whole_and_farthest_from_what_is_labelled() -> None:
    pool = np.array([[0.0, 0], [9, 9], [2, 2], [3, 3], [4, 0], [1, 1]])
    groups = ["known", "known", "near", "near", "far", "near"]
    labelled, labelled_groups = np.array([[0.0, 0], [0.2, 0]]), ["known", "known"]
    rows = select_texts(pool, groups, labelled, labelled_groups, np.array([0.9, 0.1]))
    assert rows == [4, 3, 2, 5, 1, 0]
    assert select_texts(pool, groups, labelled, labelled_groups, np.array([0.1, 0.9])) == [3, 2, 5, 4, 1, 0]


def test_a_group_like_one_just_selected_waits() -> None:
    pool = np.array([[5.0], [5.1], [-3.0]])
    rows = select_texts(pool, ["a", "b", "c"], np.array([[0.0]]), ["known"], np.array([1.0]))
    assert rows == [1, 2, 0]


def test_a_question_is_told_as_it_was_answered() -> None:
    flat = [PoolText(each.example, {**each.ratings, "links": 3.0, "direct": 3.0}) for each in POOL]
    reasons = [why(each) for each in plan(RUBRIC, PROVENANCE, RECORD, flat, 20, threshold=0.01).texts]
    asked = [reason for reason in reasons if "Is it easy to follow?" in reason]
    assert asked
    assert all(" yes here, as for " in reason or " no here, as for " in reason for reason in asked)


def test_a_missing_score_is_no_reason() -> None:
    pool = [PoolText(each.example, {**each.ratings, "links": None}) for each in POOL]
    found = plan(RUBRIC, PROVENANCE, RECORD, pool, 5, threshold=0.01)
    assert all(each.unusual is None or each.unusual.criterion.id != "links" for each in found.texts)


def test_advice_says_how_many_labels_and_how_sure_that_is() -> None:
    eager = plan(RUBRIC, PROVENANCE, RECORD, POOL, 1, threshold=0.0001)
    modest = plan(RUBRIC, PROVENANCE, RECORD, POOL, 1, threshold=0.2)
    assert eager.advice is not None
    assert modest.advice is not None
    assert (eager.advice.more.value or 0) > 0 == modest.advice.more.value
    assert (eager.advice.then.value or 0) > (eager.advice.now.value or 0)
    assert "worth it: by the learning curve they raise held-out Pearson" in advised(eager)
    assert "further labels add less than 0.0001 per 10 labels" in advised(eager)
    assert advised(modest).startswith("To raise the agreement, more labels are not worth it: ")
    assert "With 30 labels this estimate is uncertain: " in advised(eager)
    assert "20 texts" in basis(modest)
    assert set(eager.advice.to_row()) == {"labels", "threshold_per_10", "more", "now", "then"}


def test_where_nothing_is_known_of_agreement_it_is_said_so() -> None:
    two = tuple(text.model_copy(update={"group": f"g{n % 2}"}) for n, text in enumerate(RECORD.texts))
    two_groups = RECORD.model_copy(update={"texts": two})
    found = plan(RUBRIC, PROVENANCE, two_groups, POOL, 3, threshold=0.01)
    assert found.advice is None
    assert all(each.agreement is None for each in found.texts)
    assert advised(found).startswith("The labels do not show how many more would raise the agreement")


def test_weights_are_fitted_again_as_they_were_trained_on_a_linear_map() -> None:
    trained = PROVENANCE.model_copy(update={"settings": {"joint": {"folds": 7, "calibration": "isotonic"}}})
    again = refit_settings(trained)
    assert (again.folds, again.calibration) == (7, "linear")
