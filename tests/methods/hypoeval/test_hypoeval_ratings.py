"""The table of ratings: nothing is asked twice, and a failed rating stays missing."""

from collections import Counter

import numpy as np
import pytest
from hypoeval_scripts import assignment, criterion, examples, of_kind, rating, scripted

from rubriclab.errors import JudgeUnavailable
from rubriclab.methods.hypoeval.score import NEVER_ASKED, RatingTable
from rubriclab.methods.method import CriterionRating

TEXTS = examples(4)
THREE = [criterion(name) for name in "abc"]


def questions(judge) -> Counter:
    return Counter(
        (c["id"], p.fields["output"]) for p in judge.prompts for c in p.fields["criteria"] if p.repair is None
    )


@pytest.mark.parametrize("how", ["separately", "together", "concatenated"])
async def test_overlapping_wishes_are_asked_once(how):
    judge = scripted()
    table = RatingTable(assignment(), judge, how)
    await table.fill(THREE[:2], TEXTS[:3])
    await table.fill(THREE, TEXTS)
    await table.fill(THREE, TEXTS[::-1])
    assert set(questions(judge).values()) == {1}
    assert len(questions(judge)) == 12


async def test_learning_asks_for_each_criterion_where_scoring_will_ask_for_one_overall_score():
    judge = scripted()
    await RatingTable(assignment(), judge, "concatenated").fill(THREE, TEXTS)
    assert len(judge.prompts) == 12
    assert all(len(p.fields["criteria"]) == 1 for p in of_kind(judge, "rate"))


def fails_on_b(prompt):
    if prompt.fields["criteria"][0]["id"] == "b":
        raise JudgeUnavailable("busy")
    return rating(4)


async def test_a_failed_rating_is_missing_counted_and_not_asked_again():
    judge = scripted(rate=fails_on_b)
    table = RatingTable(assignment(), judge, "separately")
    for _ in range(2):
        await table.fill(THREE[:2], TEXTS)
    assert len(judge.prompts) == 8
    assert table.get("a", "t00").score == 4
    assert table.get("b", "t00") == CriterionRating("b", None, table.get("b", "t00").reason)
    assert "busy" in table.get("b", "t00").reason
    assert [[rated.score for rated in table.of(name).values()] for name in "abc"] == [[4] * 4, [None] * 4, []]


async def test_the_matrix_has_nan_for_failed_and_for_unasked_ratings():
    table = RatingTable(assignment(), scripted(rate=fails_on_b), "separately")
    await table.fill(THREE[:2], TEXTS[:2])
    matrix = table.matrix(["c", "a", "b"], [text.id for text in TEXTS[:3]])
    nan = np.nan
    np.testing.assert_array_equal(matrix, [[nan, 4, nan], [nan, 4, nan], [nan, nan, nan]])


async def test_rows_tell_why_a_score_is_missing():
    table = RatingTable(assignment(), scripted(rate=fails_on_b), "separately")
    await table.fill(THREE[:2], TEXTS[:1])
    ((failed, unasked, rated),) = table.rows(["b", "c", "a"], ["t00"])
    assert (rated.criterion, rated.score, bool(rated.reason)) == ("a", 4, True)
    assert (failed.criterion, failed.score) == ("b", None)
    assert "busy" in failed.reason
    assert unasked == CriterionRating("c", None, NEVER_ASKED)
