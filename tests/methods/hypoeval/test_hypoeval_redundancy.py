"""Redundancy: by wording where it is plain, by one question where it is not; the preferred one stays."""

import pytest
from hypoeval_scripts import assignment, criterion, of_kind, scripted, words

from rubriclab.errors import JudgeUnavailable
from rubriclab.methods.hypoeval.redundancy import redundant, similarity
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.rubric import Criterion

DOUBTFUL = HypoEvalSettings()
EVERY = HypoEvalSettings(redundancy="every_pair")


def same_as(wanted: dict[str, str]):
    """Answer that a candidate repeats the one named for it, where that one is shown."""

    def script(prompt):
        name = wanted.get(prompt.fields["candidate"]["id"], "none")
        shown = [other["id"] for other in prompt.fields["others"]]
        return {"reasoning": "Compared.", "same_as": name if name in shown else "none"}

    return scripted(redundant=script)


def alike(name: str, shared: int, own: int) -> Criterion:
    """Return a criterion that shares words with others made so."""
    return criterion(name).model_copy(update={"statement": f"{words('shared', shared)} {words(name, own)}"})


def pairs(judge) -> list[tuple[str, str]]:
    return [(p.fields["candidate"]["id"], other["id"]) for p in judge.asked for other in p.fields["others"]]


async def test_unlike_wordings_are_not_asked_about():
    judge = scripted()
    assert await redundant([criterion(name) for name in "abcdef"], assignment(), judge, DOUBTFUL) == {}
    assert judge.asked == []


async def test_equal_wordings_are_the_same_without_asking_and_the_preferred_one_stays():
    judge = scripted()
    copy = criterion("a").model_copy(update={"id": "z"})
    out = await redundant([criterion("b"), copy, criterion("a")], assignment(), judge, DOUBTFUL)
    assert out == {"a": "worded like z (100 of 100 in common)"}
    assert judge.asked == []


async def test_doubtful_pairs_are_asked_about_in_one_question_for_each_candidate():
    doubtful = [alike(name, 20, 6) for name in "abcd"]
    for first in doubtful:
        for second in doubtful:
            assert first is second or 60 <= similarity(first, second) < 92
    judge = scripted()
    assert await redundant([*doubtful, criterion("e")], assignment(), judge, DOUBTFUL) == {}
    assert [p.fields["candidate"]["id"] for p in judge.asked] == ["b", "c", "d"]
    assert pairs(judge) == [("b", "a"), ("c", "a"), ("c", "b"), ("d", "a"), ("d", "b"), ("d", "c")]


async def test_what_the_judge_calls_the_same_leaves_with_the_judge_s_reason():
    judge = same_as({"c": "a"})
    out = await redundant([alike(name, 20, 6) for name in "abcd"], assignment(), judge, DOUBTFUL)
    assert out == {"c": "says what a says: Compared."}


async def test_a_hypothesis_that_is_out_is_not_compared_with_any_more():
    judge = same_as({"b": "a", "d": "b"})
    out = await redundant([alike(name, 20, 6) for name in "abcd"], assignment(), judge, DOUBTFUL)
    assert list(out) == ["b"]
    assert ("c", "b") not in pairs(judge)
    assert ("d", "b") not in pairs(judge)


async def test_every_pair_means_every_pair():
    judge = scripted()
    names = [f"h{i:02d}" for i in range(1, 21)]
    assert await redundant([criterion(name) for name in names], assignment(), judge, EVERY) == {}
    # 190 pairs in a bank of 20: 380 questions for the published code's two banks.
    assert len(judge.asked) == 190
    assert all(len(p.fields["others"]) == 1 for p in judge.asked)
    assert len(set(pairs(judge))) == 190


async def test_among_every_pair_are_those_of_equal_wording():
    judge = scripted()
    copy = criterion("a").model_copy(update={"id": "z"})
    assert await redundant([criterion("a"), copy], assignment(), judge, EVERY) == {}
    assert pairs(judge) == [("z", "a")]


async def test_of_a_redundant_pair_the_later_goes_also_by_pairs():
    judge = same_as({"a": "c", "c": "a"})
    out = await redundant([criterion(name) for name in "cba"], assignment(), judge, EVERY)
    assert list(out) == ["a"]


async def test_off_asks_and_drops_nothing():
    judge = scripted()
    twins = [criterion("a"), criterion("a").model_copy(update={"id": "b"})]
    assert await redundant(twins, assignment(), judge, HypoEvalSettings(redundancy="off")) == {}
    assert judge.asked == []


def busy(_):
    raise JudgeUnavailable("busy")


@pytest.mark.parametrize(
    "script", [busy, lambda _: "none", lambda _: {"reasoning": "x", "same_as": "h99"}], ids=["busy", "prose", "unknown"]
)
async def test_a_failed_question_drops_nobody(script):
    judge = scripted(redundant=script)
    assert await redundant([alike(name, 20, 6) for name in "abc"], assignment(), judge, DOUBTFUL) == {}
    assert of_kind(judge, "redundant")


async def test_the_bounds_of_doubt_are_settings():
    twins = [alike(name, 20, 6) for name in "ab"]
    judge = scripted()
    assert list(await redundant(twins, assignment(), judge, HypoEvalSettings(same_above=60))) == ["b"]
    assert await redundant(twins, assignment(), judge, HypoEvalSettings(different_below=91)) == {}
    assert judge.asked == []


def test_similarity_is_symmetric_and_100_for_the_same_words():
    a, b = alike("a", 10, 10), alike("b", 10, 10)
    assert similarity(a, b) == similarity(b, a)
    assert similarity(a, a) == 100
    assert 0 <= similarity(criterion("x"), criterion("y")) < 60


def test_levels_alone_do_not_make_two_statements_the_same():
    a = criterion("a")
    b = criterion("b").model_copy(update={"levels": a.levels})
    assert similarity(a, b) < 92
