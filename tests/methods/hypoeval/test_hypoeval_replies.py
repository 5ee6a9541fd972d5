"""Reply forms: what is checked against the question, and that reasoning comes first."""

from typing import Any

import pytest
from hypoeval_scripts import assignment, hypothesis, rating
from pydantic import BaseModel, ValidationError

from rubriclab.methods.hypoeval.learn import Hypothesis, HypothesisProposal
from rubriclab.methods.prompting import Rating
from rubriclab.models.text import Scale

CONTEXT = assignment().fields()
SCALES = [Scale(low=0, high=1, whole=True), Scale(low=1, high=3, whole=True), Scale(low=1, high=5, whole=False)]


@pytest.mark.parametrize("model", [HypothesisProposal, Rating])
def test_reasoning_stands_before_every_verdict(model: type[BaseModel]):
    assert next(iter(model.model_fields)) == "reasoning"


@pytest.mark.parametrize("scale", [*SCALES, Scale(low=0.1, high=0.9, whole=False), Scale(low=0, high=100, whole=True)])
def test_a_hypothesis_has_a_level_for_exactly_the_scale_s_anchors(scale: Scale):
    context = assignment(scale).fields()
    told = hypothesis("a", scale.anchors())
    assert Hypothesis.model_validate(told, context=context)
    for levels in (told["levels"][1:], [*told["levels"], told["levels"][0]], []):
        with pytest.raises(ValidationError, match="levels needed for"):
            Hypothesis.model_validate({**told, "levels": levels}, context=context)


def test_levels_in_any_order_are_held_lowest_first():
    told = hypothesis("a")
    told["levels"].reverse()
    levels = Hypothesis.model_validate(told, context=CONTEXT).ordered_levels()
    assert [level.score for level in levels] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("field", ["trait", "statement"])
def test_a_hypothesis_without_words_is_refused(field: str):
    with pytest.raises(ValidationError, match="need words"):
        Hypothesis.model_validate({**hypothesis("a"), field: "  "}, context=CONTEXT)


def test_a_level_without_words_is_refused():
    told = hypothesis("a")
    told["levels"][2]["description"] = "\n"
    with pytest.raises(ValidationError, match="need words"):
        Hypothesis.model_validate(told, context=CONTEXT)


@pytest.mark.parametrize("score", [0, 6, 3.5, "four", True, False, None, float("nan"), float("inf"), [4], {"x": 4}, ""])
def test_anything_else_is_no_score(score: Any):
    with pytest.raises(ValidationError):
        Rating.model_validate(rating(score), context=CONTEXT)


def test_a_truth_value_is_no_number_anywhere():
    told = hypothesis("a", (0, 1))
    told["levels"][1]["score"] = True
    with pytest.raises(ValidationError, match="a number was expected"):
        Hypothesis.model_validate(told, context=assignment(SCALES[0]).fields())
