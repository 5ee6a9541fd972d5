"""Agreement of judges in words, and which figures are shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from report_samples import words_of
from view_samples import UNDEFINED, agreed, around, interrater

from rubriclab.ops.evaluate import JudgePair, JudgeScores, ScoreAgreement
from rubriclab.report.results import interrater_sentences, interrater_view
from rubriclab.stats.intervals import Interval


def said(**fields: Any) -> str:
    return " ".join(interrater_sentences(interrater(**fields)))


def test_kinds_of_criteria_that_a_rubric_lacks_are_not_mentioned() -> None:
    shown = words_of(interrater_view("news@2", interrater(criteria=(agreed("h1", "graded", 0.5),), pooled=())))
    assert "Yes/no" not in shown
    assert "pooled" not in shown


def test_alpha_is_placed_by_krippendorff_s_convention_and_named_as_his() -> None:
    for value, width, lies in (
        (0.5, 0.1, "lies below 0.667."),
        (0.7, 0.02, "lies between 0.667 and 0.800."),
        (0.9, 0.1, "lies above 0.800."),
        (0.7, 0.2, "ranges from below 0.667 to above 0.800."),
        (0.65, 0.1, "ranges from below 0.667 to between 0.667 and 0.800."),
    ):
        scores = dataclasses.replace(interrater().scores, alpha=Interval(value, value - width, value + width))
        assert (
            f"Krippendorff (2004) considers data reliable from 0.800 and allows tentative conclusions from 0.667; its "
            f"interval {lies}" in said(scores=scores)
        )


def test_an_undefined_alpha_is_explained() -> None:
    words = said(
        scores=ScoreAgreement(0, 60, UNDEFINED),
        judges=(JudgeScores("a", 60, 0, 3, 1), JudgeScores("b", 0, 60, None, None)),
        pairs=(JudgePair("a", "b", 0, UNDEFINED, UNDEFINED),),
    )
    assert "alpha of the scores is undefined: fewer than two texts have two scores, or all scores are equal" in words


@pytest.mark.parametrize("judges", [2, 26, 28])
def test_any_number_of_judges_has_names_for_the_table_of_pairs(judges: int) -> None:
    many = tuple(JudgeScores(f"j{number}", 60, 0, 3.0, 1.0) for number in range(judges))
    last = JudgePair("j0", many[-1].judge, 60, around(0.5), around(0.1))
    shown = words_of(interrater_view("news@2", interrater(judges=many, pairs=(last,))))
    assert f"A, {'BZ'[judges > 2] if judges <= 26 else judges} 60 0.50" in shown
