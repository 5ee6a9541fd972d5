"""Ratings: one call each, one for all, or one overall; a failed one is missing with its reason."""

import pytest
from hypoeval_scripts import assignment, criterion, example, rating, scripted

from rubriclab.errors import JudgeRefused, JudgeUnavailable, PromptRejected
from rubriclab.methods.hypoeval.score import OVERALL, rate
from rubriclab.methods.method import CriterionRating

TEXT = example(1, 3, source="A source.")
THREE = [criterion(name) for name in "abc"]


async def test_separate_ratings_take_one_call_per_criterion_which_shows_that_criterion_alone():
    judge = scripted(rate=lambda p: rating("abc".index(p.fields["criteria"][0]["trait"]) + 1))
    found = await rate(TEXT, THREE, assignment(), judge, "separately")
    assert found == tuple(
        CriterionRating(name, score, "Because.") for name, score in zip("abc", (1, 2, 3), strict=True)
    )
    assert [[c["id"] for c in p.fields["criteria"]] for p in judge.prompts] == [["a"], ["b"], ["c"]]


async def test_ratings_together_take_one_call():
    replies = {name: {"reason": "Because.", "score": score} for name, score in (("c", 5), ("a", 1), ("b", 2))}
    judge = scripted(rate_together=lambda _: replies)
    found = await rate(TEXT, THREE, assignment(), judge, "together")
    assert [(r.criterion, r.score) for r in found] == [("a", 1), ("b", 2), ("c", 5)]
    assert len(judge.prompts) == 1


async def test_the_concatenated_rating_is_a_single_one_by_all_criteria():
    judge = scripted(rate=lambda _: rating(4))
    assert await rate(TEXT, THREE, assignment(), judge, "concatenated") == (CriterionRating(OVERALL, 4, "Because."),)
    (prompt,) = judge.prompts
    assert [c["id"] for c in prompt.fields["criteria"]] == ["a", "b", "c"]


async def test_the_judge_sees_the_text_and_never_its_label_system_or_reference():
    judge = scripted()
    labelled = example(1, 3, source="A source.", context="A context.", reference="A reference.", system="A system.")
    for how in ("separately", "together", "concatenated"):
        await rate(labelled, THREE, assignment(), judge, how)
    for prompt in judge.prompts:
        assert set(prompt.fields) == {"words", "aspect", "scale", "source", "context", "output", "criteria"}
        assert all(set(c) == {"id", "trait", "statement", "levels"} for c in prompt.fields["criteria"])
        assert "A reference." not in str(prompt.fields)
        assert "A system." not in str(prompt.fields)


@pytest.mark.parametrize("wrong", [0, 6, 4.5, -3, 1e9, "four", None, True, "", "[4]", [4], float("inf")])
async def test_a_score_that_the_scale_does_not_have_is_missing_and_no_number(wrong):
    judge = scripted(rate=lambda _: rating(wrong))
    (found,) = await rate(TEXT, THREE[:1], assignment(), judge, "separately")
    assert found.score is None
    assert "unusable reply, also after one repair" in found.reason
    assert len(judge.prompts) == 2


@pytest.mark.parametrize(
    ("ids", "rated"),
    [("ab", "ab"), ("abcd", "abc"), ("abb", "ab"), ("aabc", "abc"), ("xyz", "abc"), ("xy", ""), ("", "")],
)
async def test_of_ratings_together_only_the_criteria_without_a_clear_one_are_missing(ids, rated):
    entries = [{"criterion": name, "reason": "Because.", "score": 3} for name in ids]
    found = await rate(TEXT, THREE, assignment(), scripted(rate_together=lambda _: {"ratings": entries}), "together")
    assert "".join(each.criterion for each in found if each.score == 3) == rated
    assert all("also after one repair" in each.reason for each in found if each.score is None)


@pytest.mark.parametrize("error", [JudgeUnavailable("too many requests"), PromptRejected("too long")])
async def test_an_unavailable_judge_and_a_rejected_prompt_leave_one_rating_missing(error):
    def script(prompt):
        if prompt.fields["criteria"][0]["id"] == "b":
            raise error
        return rating(2)

    found = await rate(TEXT, THREE, assignment(), scripted(rate=script), "separately")
    assert [r.score for r in found] == [2, None, 2]
    assert found[1].reason == str(error)


async def test_a_refusal_ends_the_run():
    def script(_):
        raise JudgeRefused("wrong key")

    with pytest.raises(JudgeRefused):
        await rate(TEXT, THREE, assignment(), scripted(rate=script), "separately")
