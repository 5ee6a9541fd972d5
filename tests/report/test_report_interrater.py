"""Agreement of judges in words, and which figures are shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from report_samples import words_of
from view_samples import BINNED, UNDEFINED, agreed, around, figures, interrater

from rubriclab.interrater import JudgePair, JudgeScores, ScoreAgreement
from rubriclab.report.interrater import interrater_view, sentences
from rubriclab.stats import Interval


def said(**fields: Any) -> str:
    return " ".join(sentences(interrater(**fields)))


def test_questions_asked_part_by_part_say_so() -> None:
    shown = words_of(interrater_view("news@2", interrater(criteria=(agreed("q1", "part-by-part", 0.5),), pooled=())))
    assert "Questions asked part by part shares of parts with the good answer; alpha: interval" in shown
    assert "q1 linked sentences 0.50 0.51 0.52 0" in shown


def test_kinds_of_criteria_that_a_rubric_lacks_are_not_mentioned() -> None:
    shown = words_of(interrater_view("news@2", interrater(criteria=(agreed("h1", "graded", 0.5),), pooled=())))
    assert "Yes/no" not in shown
    assert "pooled" not in shown
    assert "n/a" not in shown


def test_alpha_is_placed_by_krippendorff_s_convention_and_named_as_his() -> None:
    for value, width, lies in (
        (0.5, 0.1, "lies below 0.667."),
        (0.7, 0.02, "lies between 0.667 and 0.800."),
        (0.9, 0.1, "lies above 0.800."),
        (0.7, 0.2, "ranges from below 0.667 to above 0.800."),
        (0.65, 0.1, "ranges from below 0.667 to between 0.667 and 0.800."),
    ):
        alpha = Interval(value, value - width, value + width)
        scores = dataclasses.replace(interrater().scores, unbinned={"alpha_interval": alpha, "alpha_ordinal": alpha})
        assert (
            f"Krippendorff (2004) considers data reliable from 0.800 and allows tentative conclusions from 0.667; the "
            f"interval of the first figure {lies}" in said(scores=scores)
        )


def test_severity_the_extremes_and_what_is_missing_are_said() -> None:
    words = said()
    assert "alpha of the scores is 0.71 [0.61, 0.81] unbinned (interval) and 0.53 [0.43, 0.63] in 5 bins" in words
    assert "Mean scores range from 3.10 (A) to 3.90 (B)" in words
    assert "Spearman's correlation (0.70) does not." in words
    assert "Of the 3 yes/no criteria, the judges agree most on q2 (alpha 0.62) and least on q1 (0.32)." in words
    assert "Alpha is undefined for 1 of the 3 yes/no criteria" in words
    assert "graded criteria" not in words
    assert words.endswith("1 score and 2 answers are missing; the figures rest on the others.")


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.4, 0.401)])
def test_criteria_that_look_equally_agreed_on_have_no_extremes(values: tuple[float, ...]) -> None:
    equal = tuple(agreed(f"q{place}", "yes/no", value) for place, value in enumerate(values))
    assert "agree most" not in said(criteria=equal)
    assert "agree most" in said(criteria=(*equal, agreed("q9", "yes/no", 0.1)))


def test_of_several_pairs_the_mean_correlation_is_said() -> None:
    judges = (*interrater().judges, JudgeScores("third", 60, 0, 2.5, 0.3))
    pairs = tuple(
        JudgePair(first, second, 59, around(value), around(0.1))
        for first, second, value in (
            ("embedded", "openai/mine", 0.2),
            ("embedded", "third", 0.6),
            ("openai/mine", "third", None),
        )
    )
    assert "from 2.50 (C) to 3.90 (B)" in said(judges=judges, pairs=pairs)
    assert "(0.40, mean over 2 pairs)" in said(judges=judges, pairs=pairs)


def test_an_undefined_alpha_is_explained() -> None:
    none = figures(BINNED, None)
    words = said(
        scores=ScoreAgreement(0, 60, none, none),
        judges=(JudgeScores("a", 60, 0, 3, 1), JudgeScores("b", 0, 60, None, None)),
        pairs=(JudgePair("a", "b", 0, UNDEFINED, UNDEFINED),),
    )
    assert "alpha of the scores is undefined: fewer than two texts have two scores, or all scores are equal" in words
    assert "Mean scores" not in words


@pytest.mark.parametrize("judges", [2, 26, 28])
def test_any_number_of_judges_has_names_for_the_table_of_pairs(judges: int) -> None:
    many = tuple(JudgeScores(f"j{number}", 60, 0, 3.0, 1.0) for number in range(judges))
    last = JudgePair("j0", many[-1].judge, 60, around(0.5), around(0.1))
    shown = words_of(interrater_view("news@2", interrater(judges=many, pairs=(last,))))
    assert f"A, {'BZ'[judges > 2] if judges <= 26 else judges} 60 0.50" in shown
