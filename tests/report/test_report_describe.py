from __future__ import annotations

import pytest
from kinds_samples import QUESTIONS, overall, question
from report_samples import criterion

from rubriclab.learning.scoring import CriterionScore
from rubriclab.models.rubric import Criterion, Evidence
from rubriclab.report import wording


def test_a_rubric_says_what_it_consists_of() -> None:
    assert wording.contents([criterion()]) == "1 criterion"
    assert wording.contents([criterion("h1"), criterion("h2")]) == "2 criteria"
    assert wording.contents(QUESTIONS) == "4 questions in 2 sub-dimensions"
    assert wording.contents([question("a")]) == "1 question in 1 sub-dimension"
    assert wording.contents([overall("Why.")]) == "1 score of the whole aspect"
    assert wording.contents([overall("Why."), criterion()]) == "1 graded criterion and 1 score of the whole aspect"


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
    assert wording.answers(found) == said


def test_a_criterion_that_was_never_rated_has_no_figure() -> None:
    assert wording.training_correlation(Evidence(origin="literature"), "Pearson") == "not rated on the training texts"
    assert wording.evaluator_agreement(overall("Why.", evidence=Evidence(origin="definition")), "Pearson") == ""


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
    assert wording.answered(CriterionScore("a", score, "", applies), asked) == said
