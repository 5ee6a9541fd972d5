"""Reply forms: what is checked against the question, and what is kept of a reply that failed."""

from typing import Any

import pytest
from checkeval_scripts import ASPECT, stated, verdict
from hypothesis import assume, given, strategies as st
from pydantic import ValidationError

from rubriclab.methods.checkeval.score import (
    AnswerEntry,
    Diversification,
    Elaboration,
    FinerQuestion,
    QuestionVerdict,
    of_questions,
)
from rubriclab.prompts.prompt import SALVAGE


def asked(name: str) -> dict[str, str]:
    return {"id": name, "text": f"Is it {name}?"}


ASKED = {"sub_dimensions": [{"questions": [asked("a1"), asked("a2")]}, {"questions": [asked("b1")]}]}
SALVAGED = {**ASKED, SALVAGE: True}
FILTER = {"questions": [asked("a1"), asked("a2")], "aspect": {"name": ASPECT}, "others": [{"name": "Fluency"}]}


ANSWERS, VERDICTS = of_questions(ASKED, AnswerEntry), of_questions(FILTER, QuestionVerdict)


def answer(given: Any) -> dict[str, Any]:
    return {"reason": "r", "answer": given}


@pytest.mark.parametrize("form", [ANSWERS, VERDICTS, Diversification, Elaboration])
def test_reasons_are_asked_for_before_verdicts(form):
    schema = form.model_json_schema()
    inner = [each for each in schema.get("$defs", {}).values() if "properties" in each]
    for fields in (list(each["properties"]) for each in (schema, *inner)):
        reasons = [place for place, name in enumerate(fields) if name in {"reason", "reasoning"}]
        told = [
            place for place, name in enumerate(fields) if name in {"answer", "yes_means", "about", "style", "questions"}
        ]
        assert not reasons or not told or max(reasons) < min(told)


def test_one_answer_for_each_question_is_demanded_in_the_order_given():
    assert ANSWERS.model_json_schema()["required"] == ["a1", "a2", "b1"]
    with pytest.raises(ValidationError, match="b1"):
        ANSWERS.model_validate({name: answer("yes") for name in ("a1", "a2")}, context=ASKED)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a1", "a2", "b1", "c1", "[a1]", "x", ""]), st.sampled_from(["yes", "no", "n/a", "?", ""])
        )
    )
)
def test_a_sound_answer_is_one_that_nothing_in_the_reply_contradicts(given):
    said = {name: {a for n, a in given if n.strip("[]") == name} for name in ("a1", "a2", "b1")}
    # An entry is read by its place if none has an id.
    assume(any(said.values()) or len(given) != len(said))
    listed = {"answers": [{"question": name, **answer(told)} for name, told in given]}
    try:
        found = ANSWERS.model_validate(listed, context=SALVAGED).entries
    except ValidationError:
        found = {}
    expected = {
        name: next(iter(all_)) for name, all_ in said.items() if len(all_) == 1 and all_ <= {"yes", "no", "n/a"}
    }
    assert {name: each.answer for name, each in found.items()} == expected


def test_fewer_finer_questions_than_asked_for_are_refused_and_kept_if_nothing_else_comes():
    given, context = {"reasoning": "r", "questions": [stated("One?"), stated(" Two? ")]}, {"fewest": 3}
    with pytest.raises(ValidationError, match="expected at least 3 of them, got 2"):
        Elaboration.model_validate(given, context=context)
    assert Elaboration.model_validate(given, context={**context, SALVAGE: True}).questions == [
        FinerQuestion(text=text, absent="no", broken="no") for text in ("One?", "Two?")
    ]
    with pytest.raises(ValidationError, match="expected at least 1"):
        Elaboration.model_validate({"reasoning": "r", "questions": []}, context={**context, SALVAGE: True})


def test_a_new_question_goes_back_to_one_of_the_seeds_shown():
    context = {"questions": [{"id": "a1"}]}
    for seed in ("a1", "[a1]", "A1."):
        given = {"reasoning": "r", "questions": [{"seed": seed, **stated("Is it?")}]}
        assert Diversification.model_validate(given, context=context).questions[0].seed == "a1"
    given = {"reasoning": "r", "questions": [{"seed": "b1", **stated("Is it?")}]}
    with pytest.raises(ValidationError, match="one of a1 was expected; got 'b1'"):
        Diversification.model_validate(given, context=context)
    with pytest.raises(ValidationError, match="at least 1"):
        Diversification.model_validate({"reasoning": "r", "questions": []}, context=context)


def test_a_verdict_s_words_may_be_decorated():
    given = verdict(yes_means="**Worse**", about="fluency.", style="Several things")
    found = QuestionVerdict.model_validate(given, context=FILTER)
    assert (found.yes_means, found.about, found.style) == ("worse", "Fluency", "several things")


def test_a_question_may_be_about_nothing_that_is_named():
    assert QuestionVerdict.model_validate(verdict(about="Something else"), context=FILTER).about == "something else"


def test_verdicts_are_demanded_for_all_and_kept_where_they_are_sound():
    given = {"a1": verdict(), "a2": verdict(style="ugly")}
    with pytest.raises(ValidationError, match="style"):
        VERDICTS.model_validate(given, context=FILTER)
    assert list(VERDICTS.model_validate(given, context={**FILTER, SALVAGE: True}).entries) == ["a1"]
    twice = {"a1": verdict(), "[a1]": verdict(yes_means="worse"), "a2": verdict()}
    assert list(VERDICTS.model_validate(twice, context={**FILTER, SALVAGE: True}).entries) == ["a2"]


def test_a_question_that_nonsense_earns_is_sent_back_and_kept_only_to_be_dropped():
    given = {"reasoning": "r", "questions": [stated("Is it surprising?", broken="yes")]}
    with pytest.raises(ValidationError, match="a text that is empty or makes no sense would earn"):
        Elaboration.model_validate(given, context={"fewest": 1})
    assert len(Elaboration.model_validate(given, context={"fewest": 1, SALVAGE: True}).questions) == 1
