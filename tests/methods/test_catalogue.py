"""Methods of other packages: what they do against the interface is an error that names the package."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel
from scripted_judge import examples, training_input

from rubriclab.errors import JudgeError, JudgeRefused, PlugInError
from rubriclab.judges.judge import FakeJudge
from rubriclab.judges.plug_ins import PlugIn
from rubriclab.methods.catalogue import guard_plug_in
from rubriclab.methods.method import CriterionRating, Learned, Method, TrainingInput, ignore_progress
from rubriclab.models.rubric import Criterion, Evidence, Part

PLUG_IN = PlugIn("method", "toy", "the package toy 1.0")
TEXTS = examples(6)
JUDGE = FakeJudge(lambda _prompt: "")


class Settings(BaseModel):
    """Hyperparameters of the toy."""

    step: float = 0.5


def trait(name: str, **fields: Any) -> Criterion:
    evidence = Evidence(origin="definition")
    own: dict[str, Any] = {"id": name, "kind": "trait", "trait": name, "statement": "Much.", "evidence": evidence}
    return Criterion(**own | fields)


PART = Part(method="toy", settings={}, criteria=(trait("length"), trait("order")))


def ratings(*scores: float | None) -> tuple[CriterionRating, ...]:
    return tuple(CriterionRating(each.id, score, "because") for each, score in zip(PART.criteria, scores, strict=False))


def learned(**changes: Any) -> Learned:
    ids = tuple(text.id for text in TEXTS)
    scores = np.linspace(1, 5, len(ids))
    rows = tuple(ratings(float(score), 6 - float(score)) for score in scores)
    return replace(Learned(PART, ids, ("length", "order"), rows, scores, scores, optimistic=False), **changes)


def method(found: Any = None, result: Any = None, **fields: Any) -> Method:
    """Return a method that gives `found` for a text and `result` as learned; exceptions are raised."""

    async def score(*_arguments: Any) -> Any:
        if isinstance(found, BaseException):
            raise found
        return found

    async def learn(*_arguments: Any, **_options: Any) -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    own: dict[str, Any] = {
        "name": "toy",
        "settings": Settings,
        "presets": {},
        "prompts": (),
        "learn": learn,
        "score": score,
        "criterion_kind": "trait",
    }
    return Method(**own | fields)


def given() -> TrainingInput:
    return training_input(TEXTS)


def score(found: Any) -> Any:
    used = guard_plug_in(method(found), PLUG_IN)
    return asyncio.run(used.score(TEXTS[0], PART, given().assignment, JUDGE))


def learn(result: Any, **fields: Any) -> Learned:
    used = guard_plug_in(method(result=result, **fields), PLUG_IN)
    run = used.learn(given(), Settings(), judge=JUDGE, generator=JUDGE, seed=1, on_progress=ignore_progress)
    return asyncio.run(run)


def message(run: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(PlugInError) as caught:
        run(*arguments, **options)
    assert caught.value.message.startswith("The method 'toy' of the package toy 1.0 ")
    return caught.value.message.removeprefix("The method 'toy' of the package toy 1.0 ")


def test_scores_of_numpy_become_plain_numbers() -> None:
    value, rated = score((np.float32(2.5), [CriterionRating("order", np.float64(3), "r"), *ratings(None)]))
    assert (value, rated[0].score, rated[1].score) == (2.5, 3.0, None)
    assert {type(value), type(rated[0].score)} == {float}


@pytest.mark.parametrize("found", [3.0, ("high", ratings(3, 3)), (float("inf"), ratings(3, 3))])
def test_what_is_no_score_is_an_error_of_the_package(found: Any) -> None:
    assert message(score, found).startswith("raised ValidationError: ")


@pytest.mark.parametrize("run", [score, learn])
def test_an_exception_of_a_method_names_it_and_one_of_a_judge_stays_the_provider_s(run: Any) -> None:
    assert message(run, KeyError("words")) == "raised KeyError: 'words'."
    with pytest.raises(JudgeRefused):
        run(JudgeRefused("no key."))


def test_a_method_without_any_score_has_learned_nothing() -> None:
    nothing = learned(ratings=tuple(ratings(None, None) for _ in TEXTS), scores=np.full(6, np.nan))
    with pytest.raises(JudgeError, match="no usable score for any training text: because"):
        learn(nothing)


def test_a_method_of_another_name_cannot_be_used() -> None:
    assert "expected a Method of that name" in message(lambda: guard_plug_in(method(name="other"), PLUG_IN))
