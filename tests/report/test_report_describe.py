from __future__ import annotations

import pytest
from kinds_samples import QUESTIONS, overall, question
from report_samples import criterion

from rubriclab.report import describe
from rubriclab.rubric import Criterion, Evidence
from rubriclab.scoring.score import CriterionScore


def test_a_rubric_says_what_it_consists_of() -> None:
    assert describe.contents([criterion()]) == "1 criterion"
    assert describe.contents([criterion("h1"), criterion("h2")]) == "2 criteria"
    assert describe.contents(QUESTIONS) == "4 questions in 2 sub-dimensions"
    assert describe.contents([question("a")]) == "1 question in 1 sub-dimension"
    assert describe.contents([overall("Why.")]) == "1 score of the whole aspect"
    assert describe.contents([overall("Why."), criterion()]) == "1 graded criterion and 1 score of the whole aspect"


def test_a_question_says_which_seed_it_was_made_from() -> None:
    remarks = [describe.remark(one, "") for one in QUESTIONS]
    assert remarks == ["seed", "diversified from s01", "seed", "elaborated from s02"]
    assert describe.remark(QUESTIONS[1], "", "weight 2") == "weight 2; diversified from s01"


@pytest.mark.parametrize(
    ("judged", "missing", "answers", "said"),
    [
        (30, 0, {"yes": 30}, "30 yes, 0 no"),
        (29, 1, {"n/a": 4, "no": 5, "yes": 20}, "20 yes, 5 no, 4 n/a, 1 missing"),
        # Where a text that cannot be asked about has no rating, it is still an answer and nothing that is missing.
        (25, 5, {"n/a": 4, "no": 5, "yes": 20}, "20 yes, 5 no, 4 n/a, 1 missing"),
        (0, 0, None, ""),
    ],
)
def test_answers_are_counted_with_those_that_are_missing(
    judged: int, missing: int, answers: dict[str, int] | None, said: str
) -> None:
    found = Evidence(origin="seed questions", judged=judged, missing=missing, answers=answers)
    assert describe.answers(found) == said


def test_a_questions_figures_leave_out_what_is_not_known() -> None:
    assert describe.question_figures(Evidence(origin="seed questions")) == ""
    assert describe.question_figures(Evidence(origin="seed questions", judged=3)) == "Pearson undefined"
    full = Evidence(origin="seed questions", judged=3, pearson=0.5, answers={"yes": 1, "no": 2}, heldout=-0.1)
    assert describe.question_figures(full) == "1 yes, 2 no; Pearson 0.50; held out -0.10"


def test_a_criterion_that_was_never_rated_has_no_figure() -> None:
    assert describe.training_pearson(Evidence(origin="literature")) == "not rated on the training texts"
    assert describe.evaluator_agreement(overall("Why.", evidence=Evidence(origin="definition"))) == ""


@pytest.mark.parametrize(
    ("asked", "score", "applies", "said"),
    [
        (question("a"), 1.0, True, "yes"),
        (question("a"), 0.0, True, "no"),
        (question("a", better="no"), 1.0, True, "no"),
        (question("a", better="no"), 0.0, True, "yes"),
        (question("a"), None, False, "n/a"),
        (question("a"), None, True, "none"),
        (question("a"), 0.5, True, "0.5"),
        (criterion(), 1.0, True, "1"),
        (criterion(), None, True, "none"),
        (None, 0.0, True, "0"),
    ],
)
def test_an_answer_is_shown_as_it_was_given(
    asked: Criterion | None, score: float | None, applies: bool, said: str
) -> None:
    assert describe.answered(CriterionScore("a", score, "", applies), asked) == said
