"""A judge of verdicts says that a text cannot be assessed: no score, and no failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypoeval_scripts import assignment, example
from single_call_scripts import DIRECT, HYPOTHESES, jointly

from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.scoring import CANNOT_ASSESS, Score, score_text
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.single_call import judge_all
from rubriclab.models.aggregation import Aggregation, Calibration, Term
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Scale
from rubriclab.prompts.render import render

VERDICTS = Scale(low=0, high=1, whole=False, names=("fail", "pass"))
PARTS = (HYPOTHESES, DIRECT)
TEXT = example(1, 1.0)


def judge(*not_assessed: str, said: str = "n/a") -> FakeJudge:
    def answers(reply: dict[str, Any]) -> dict[str, Any]:
        return {name: {"reason": "It shows.", "score": said if name in not_assessed else 0.8} for name in reply}

    return jointly(answers)


def rubric(parts: tuple[Part, ...] = PARTS) -> Rubric:
    names = [criterion.id for part in parts for criterion in part.criteria]
    share = {"weight": 1 / len(names), "center": 0.5, "spread": 0.2, "low": 0.0, "high": 1.0, "selected": 1.0}
    aggregation = Aggregation(
        ask="in one call",
        terms=tuple(Term(criterion=name, **share) for name in names),
        calibration=Calibration(kind="logistic", x=(0.0, 1.0), y=(0.0, 1.0)),
    )
    shown = assignment(VERDICTS)
    return Rubric(task="summarization", aspect=shown.aspect, scale=VERDICTS, parts=parts, aggregation=aggregation)


def scored(asked: FakeJudge) -> Score:
    return asyncio.run(score_text(rubric(), TEXT, asked, "ok@1"))


def rated(asked: FakeJudge, scale: Scale) -> dict[str, CriterionRating]:
    ratings = asyncio.run(judge_all(TEXT, PARTS, assignment(scale), asked))
    return {rating.criterion: rating for rating in ratings}


@pytest.mark.parametrize("said", ["n/a", "N/A.", "cannot assess"])
def test_a_criterion_that_cannot_be_assessed_counts_as_average(said: str) -> None:
    score = scored(judge("h1", said=said))
    assert score.score is not None
    assert score.verdict == "pass"
    assert score.answers_missing == 0
    first = score.criteria[0]
    assert (first.id, first.score, first.applies) == ("h1", None, False)


def test_a_text_whose_whole_cannot_be_assessed_has_no_score_and_no_verdict() -> None:
    score = scored(judge("direct"))
    assert (score.score, score.verdict, score.unscored) == (None, None, CANNOT_ASSESS)
    assert score.answers_missing == 0


def test_only_the_judge_of_verdicts_is_told_and_only_its_reply_may_say_so() -> None:
    graded, asked = Scale(low=1, high=5, whole=True), judge()
    rated(asked, VERDICTS)
    assert "n/a if nothing here lets you tell" in render(asked.prompts[0])[1]["content"]
    rated(asked, graded)
    assert "n/a" not in render(asked.prompts[-1])[1]["content"]
    assert not rated(judge("h1", "h2", "direct"), graded)["h1"].reason.startswith("It shows")


def test_the_judge_asked_directly_may_say_so_too() -> None:
    asked = FakeJudge(lambda _prompt: {"reasoning": "It is empty.", "score": "n/a"})
    score, ratings = asyncio.run(METHODS["direct"].score(TEXT, DIRECT, assignment(VERDICTS), asked))
    assert score is None
    assert ratings == (CriterionRating("direct", None, "It is empty.", applies=False),)
    assert len(asked.prompts) == 1
    assert "n/a if nothing here lets you tell" in render(asked.prompts[0])[1]["content"]
