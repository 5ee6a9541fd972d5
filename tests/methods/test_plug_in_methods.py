"""Methods of other packages: what they do against the interface is an error that names the package."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypoeval_scripts import examples, training_input
from pydantic import BaseModel

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, PlugInError, RubriclabError
from rubriclab.judges import FakeJudge
from rubriclab.judges.plug_ins import PlugIn
from rubriclab.methods.method import CriterionRating, Learned, Method, TrainingInput, silent
from rubriclab.methods.plug_ins import checked
from rubriclab.report.describe import contents
from rubriclab.rubric import Criterion, Evidence, Part

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
    used = checked(method(found), PLUG_IN)
    return asyncio.run(used.score(TEXTS[0], PART, given().assignment, JUDGE))


def learn(result: Any, **fields: Any) -> Learned:
    used = checked(method(result=result, **fields), PLUG_IN)
    run = used.learn(given(), Settings(), judge=JUDGE, generator=JUDGE, seed=1, on_progress=silent)
    return asyncio.run(run)


def message(run: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(PlugInError) as caught:
        run(*arguments, **options)
    assert caught.value.message.startswith("The method 'toy' of the package toy 1.0 ")
    return caught.value.message.removeprefix("The method 'toy' of the package toy 1.0 ")


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ((7, ratings(3, 3)), "the score 7, expected a score from 1 to 5."),
        ((3, ratings(0, 3)), "the rating 0 by the trait 'length', expected a score from 1 to 5."),
        ((3, ratings(3)), "ratings by 'length', expected one rating by each criterion of the part: 'length', 'order'."),
        (3.0, "no valid score: result: expected a list, got 3.0."),
        (("high", ratings(3, 3)), "no valid score: result[0]: expected a number, got the text 'high'."),
        ((float("inf"), ratings(3, 3)), "no valid score: result[0]: expected a finite number, got Infinity."),
    ],
)
def test_a_score_off_the_scale_or_without_its_ratings_names_the_text(found: Any, fault: str) -> None:
    assert message(score, found) == f"gave the text {TEXTS[0].id!r} {fault}"


def test_scores_of_numpy_become_plain_numbers() -> None:
    value, rated = score((np.float32(2.5), [CriterionRating("order", np.float64(3), "r"), *ratings(None)]))
    assert (value, rated[0].score, rated[1].score) == (2.5, 3.0, None)
    assert {type(value), type(rated[0].score)} == {float}


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (None, "learned None, expected a Learned."),
        (learned(part="toy"), "learned what cannot be used: Learned.part: expected a Part, got 'toy'."),
        (
            learned(part=PART.model_copy(update={"method": "other"})),
            "Learned.part.method: expected 'toy', got 'other'.",
        ),
        (
            learned(part=PART.model_copy(update={"criteria": (trait("length", kind="score"), trait("order"))})),
            "Learned.part.criteria: 'length' has the kind 'score', expected 'trait' (Method.criterion_kind).",
        ),
        (
            learned(part=PART.model_copy(update={"criteria": (trait("length"), trait("length"))})),
            "every criterion, kept or dropped, needs an id of its own.",
        ),
        (learned(examples=("x", *learned().examples[1:])), "Learned.examples: expected the id of a training text"),
        (learned(candidates=("length", "width")), "Learned.candidates: expected the id of a criterion of the part"),
        (
            learned(ratings=learned().ratings[1:]),
            "Learned.ratings: expected 6 rows, one for each of `examples`, got 5.",
        ),
        (learned(ratings=(ratings(9, 1), *learned().ratings[1:])), "has the rating 9 by the trait 'length'"),
        (learned(ratings=(ratings(3), *learned().ratings[1:])), "expected the candidates 'length', 'order' for"),
        (learned(ratings=3), "Learned.ratings: expected a list, got 3."),
        (learned(scores=np.ones(2)), "Learned.scores: expected the shape (6,), one score for each of `examples`"),
        (learned(reselected=np.full(6, 5.5)), "Learned.reselected: expected a score from 1 to 5 or NaN, got 5.5."),
        (learned(scores=["a"] * 6), "Learned.scores: expected numbers, got ['a', "),
        (learned(notes="one note"), "Learned.notes: expected a list, got the text 'one note'."),
    ],
)
def test_a_malformed_result_of_learning_says_which_field_is_wrong(result: Any, fault: str) -> None:
    assert fault in message(learn, result)


@pytest.mark.parametrize("run", [score, learn])
def test_an_exception_of_a_method_names_it_and_has_its_traceback_logged(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "rubriclab"):
        assert message(run, KeyError("words")) == "raised KeyError: 'words'."
    assert "tests/methods/test_plug_in_methods.py" in caplog.text


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (JudgeRefused("no key."), JudgeRefused),
        (ExceptionGroup("tasks", [JudgeRefused("no key.")]), JudgeRefused),
        (ConnectionResetError("reset"), JudgeUnavailable),
    ],
)
def test_errors_of_judges_and_servers_stay_the_provider_s(raised: Exception, error: type[RubriclabError]) -> None:
    with pytest.raises(error):
        learn(raised)


def test_a_method_without_any_score_has_learned_nothing() -> None:
    nothing = learned(ratings=tuple(ratings(None, None) for _ in TEXTS), scores=np.full(6, np.nan))
    with pytest.raises(JudgeError, match="no usable score for any training text: because"):
        learn(nothing)


def test_each_criterion_gets_its_agreement_with_the_labels() -> None:
    part = learn(learned()).part
    labels = np.array([given().labels[text.id] for text in TEXTS])
    expected = np.corrcoef(np.linspace(1, 5, 6), labels)[0, 1]
    evidence = [criterion.evidence for criterion in part.criteria]
    assert [each.pearson for each in evidence] == pytest.approx([expected, -expected], abs=1e-6)
    assert [(each.judged, each.missing) for each in evidence] == [(6, 0)] * 2


def test_agreement_that_the_method_gives_itself_is_kept() -> None:
    own = trait("length", evidence=Evidence(origin="definition", pearson=0.25, judged=4))
    part = learn(learned(part=PART.model_copy(update={"criteria": (own, trait("order"))}))).part
    assert (part.criteria[0].evidence.pearson, part.criteria[0].evidence.judged) == (0.25, 4)


def test_traits_are_not_called_scores_of_the_whole_aspect() -> None:
    assert contents(PART.criteria) == "2 rated traits"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"name": "other"}, "expected a Method of that name"),
        ({"settings": dict}, "cannot be used: settings: expected a pydantic model"),
        ({"joint_settings": {"step": "long"}}, "presets valid values: step: expected a number"),
        ({"criterion_kind": "traits"}, "criterion_kind: expected one of 'hypothesis', 'question', 'score', 'trait'"),
        ({"prompts": "toy/rate"}, "prompts: expected a tuple of names such as ('toy/rate',), got 'toy/rate'."),
        ({"templates": Path("nowhere")}, "templates: expected the Path of a folder, got 'nowhere'."),
    ],
)
def test_a_method_that_cannot_be_used_says_which_field_is_wrong(fields: dict[str, Any], fault: str) -> None:
    assert fault in message(lambda: checked(method(**fields), PLUG_IN))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "No such file or directory"),
        ("How good is it?", "expected turns that begin with a line '=== system' or '=== user'"),
        ("=== system\nRate.\n", "expected turns that begin with"),
        ("=== user\nRate {{ output.\n", "line 2: "),
        ('=== user\n{% include "shared/nothing.md" %}\n', "includes 'shared/nothing.md'"),
    ],
)
def test_a_missing_or_faulty_template_is_named(tmp_path: Path, text: str | None, fault: str) -> None:
    if text is not None:
        (tmp_path / "rate.md").write_text(text, "utf-8")
    said = message(lambda: checked(method(prompts=("toy/rate",), templates=tmp_path), PLUG_IN))
    assert said.startswith(f"cannot be used: the template 'toy/rate': {tmp_path / 'rate.md'}: ")
    assert fault in said


def test_a_kind_that_no_shared_call_can_ask_about_is_refused_there() -> None:
    joining = checked(method(shares_call=lambda _: True), PLUG_IN).shares_call
    assert message(joining, {}) == "shares calls, which criteria of the kind 'trait' cannot."
