"""A plan: the same in whatever order the pool comes, with reasons a person can follow."""

from __future__ import annotations

import numpy as np
from planning_samples import rated, trained

from rubriclab.ops.label import PoolText, make_plan as plan, plan_row, select_texts
from rubriclab.report.planning import why

RUBRIC, RECORD = trained()
POOL = [rated(number) for number in range(20)]


def test_every_text_of_the_pool_can_be_planned() -> None:
    found = plan(RUBRIC, RECORD, POOL, 50)
    assert len(found.texts) == found.pool == 20


def test_the_reason_names_a_criterion_with_the_score_that_the_text_has() -> None:
    by_id = {each.example.id: each for each in POOL}
    for each in plan(RUBRIC, RECORD, POOL, 8).texts:
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
    reasons = [why(each) for each in plan(RUBRIC, RECORD, flat, 20).texts]
    asked = [reason for reason in reasons if "Is it easy to follow?" in reason]
    assert asked
    assert all(" yes here, as for " in reason or " no here, as for " in reason for reason in asked)


def test_a_missing_score_is_no_reason() -> None:
    pool = [PoolText(each.example, {**each.ratings, "links": None}) for each in POOL]
    found = plan(RUBRIC, RECORD, pool, 5)
    assert all(each.unusual is None or each.unusual.criterion.id != "links" for each in found.texts)
