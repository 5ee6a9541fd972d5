"""Other sides and finer points: what is asked for, and what becomes of it."""

from collections import Counter
from typing import Any

import pytest
from checkeval_scripts import Scripted, assignment, checklist, of_kind, pool_ids, scripted, stated, wording

from rubriclab.errors import JudgeError, JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval.learn import QuestionPool, augment
from rubriclab.methods.checkeval.score import CheckEvalSettings
from rubriclab.methods.prompting import SAMPLES
from rubriclab.methods.questions import question_of

TWO = checklist((1, 2))


async def run(given=TWO, generator: FakeJudge | None = None, **chosen: Any) -> tuple[QuestionPool, FakeJudge]:
    generator = generator or scripted()
    return await augment(given, assignment(), generator, CheckEvalSettings(**chosen)), generator


async def test_one_call_per_sub_dimension_and_one_per_seed():
    _, generator = await run()
    assert [p.fields["sub_dimension"]["name"] for p in of_kind(generator, "diversify")] == ["Side 1", "Side 2"]
    assert sorted(p.fields["question"]["id"] for p in of_kind(generator, "elaborate")) == ["a1", "b1", "b2"]
    assert len(generator.prompts) == 5


async def test_every_question_keeps_its_id_parent_origin_and_polarity():
    given = checklist((1, 1))
    fault = {**given.model_dump(), "sub_dimensions": [s.model_dump() for s in given.sub_dimensions]}
    fault["sub_dimensions"][1]["questions"][0]["better"] = "no"
    pool, _ = await run(type(given).model_validate(fault), diversified=1)
    told = [(q.id, q.trait, question_of(q).origin, question_of(q).seed, question_of(q).better) for q in pool.questions]
    assert told == [
        ("a1", "Side 1", "seed", None, "yes"),
        ("side-1-d1", "Side 1", "diversified", "a1", "yes"),
        ("a1-e1", "Side 1", "elaborated", "a1", "yes"),
        ("a1-e2", "Side 1", "elaborated", "a1", "yes"),
        ("a1-e3", "Side 1", "elaborated", "a1", "yes"),
        ("b1", "Side 2", "seed", None, "no"),
        ("side-2-d1", "Side 2", "diversified", "b1", "yes"),
        ("b1-e1", "Side 2", "elaborated", "b1", "yes"),
        ("b1-e2", "Side 2", "elaborated", "b1", "yes"),
        ("b1-e3", "Side 2", "elaborated", "b1", "yes"),
    ]
    origins = {question_of(q).origin: q.evidence.origin for q in pool.questions}
    assert origins == {"seed": "written by hand", "diversified": "seed questions", "elaborated": "seed questions"}


async def test_a_new_question_s_parent_is_the_seed_it_names():
    def named(prompt):
        ids = [each["id"] for each in prompt.fields["questions"]]
        return {"reasoning": "", "questions": [{"seed": seed, **stated(wording(f"new {seed}"))} for seed in ids]}

    pool, _ = await run(generator=scripted(diversify=named), elaborated_most=0)
    parents = {q.id: question_of(q).seed for q in pool.questions if question_of(q).seed}
    assert parents == {"side-1-d1": "a1", "side-2-d1": "b1", "side-2-d2": "b2"}


async def test_ids_stay_apart_whatever_the_seeds_and_sub_dimensions_are_called():
    given = checklist((2, 1, 1)).model_dump()
    for sub, name in zip(given["sub_dimensions"], ("Order!", "order", "次序"), strict=True):
        sub["name"] = name
    given["sub_dimensions"][0]["questions"][1]["id"] = "a1-e1"
    pool, _ = await run(checklist().model_validate(given))
    ids = pool_ids(pool)
    assert max(Counter(ids).values()) == 1
    assert [name for name in ids if name.startswith("a1-e")] == [
        "a1",
        "a1-e1",
        "a1-e2",
        "a1-e3",
        "a1-e4",
        "a1-e1-e1",
        "a1-e1-e2",
        "a1-e1-e3",
    ][1:]
    assert {"order-d1", "order-d4", "sub-dimension-d1"} <= set(ids)


async def test_more_than_asked_for_is_cut():
    def many(prompt):
        count = 9
        new = [{"seed": "a1", **stated(wording(f"d{n}"))} for n in range(count)]
        return {"reasoning": "", "questions": new}

    pool, _ = await run(checklist((1,)), scripted(diversify=many, elaborate=many), diversified=2, elaborated_most=4)
    assert Counter(question_of(q).origin for q in pool.questions) == {"seed": 1, "diversified": 2, "elaborated": 4}


@pytest.mark.parametrize(
    ("chosen", "kinds"),
    [({"diversified": 0}, {"elaborate"}), ({"elaborated_most": 0}, {"diversify"})],
)
async def test_either_way_can_be_left_out(chosen: dict[str, int], kinds: set[str]):
    pool, generator = await run(**chosen)  # type: ignore[arg-type]
    assert {p.name.removeprefix("checkeval/") for p in generator.prompts} == kinds
    assert len({question_of(q).origin for q in pool.questions}) == 2


async def test_unusable_replies_are_asked_for_again_as_other_samples():
    script = Scripted()

    def late(prompt):
        return script(prompt) if prompt.sample == SAMPLES - 1 else "no questions today"

    pool, generator = await run(generator=FakeJudge(late))
    assert pool == (await run())[0]
    assert Counter(p.sample for p in of_kind(generator, "diversify")) == {0: 2, 1: 2, 2: 2}


async def test_too_few_finer_questions_are_taken_when_asking_again_brings_no_more():
    pool, generator = await run(
        checklist((1,)),
        scripted(elaborate=lambda _: {"reasoning": "", "questions": [stated("Only one?")]}),
        diversified=0,
    )
    assert pool_ids(pool) == ["a1", "a1-e1"]
    assert pool.failures == ()
    assert len(generator.prompts) == 2


async def test_a_request_in_vain_is_told_and_costs_no_other_question():
    def failing(prompt):
        return "no" if prompt.fields["question"]["id"] == "b1" else Scripted()(prompt)

    pool, _ = await run(generator=scripted(elaborate=failing))
    assert [name for name in pool_ids(pool) if name.startswith("b")] == ["b1", "b2", "b2-e1", "b2-e2", "b2-e3"]
    (failure,) = pool.failures
    assert failure.startswith("finer points of b1: unusable reply")


async def test_a_provider_that_is_down_is_not_asked_for_samples():
    def down(_):
        raise JudgeUnavailable("The provider is down.")

    pool, generator = await run(generator=scripted(diversify=down))
    assert len(of_kind(generator, "diversify")) == 2
    assert pool.failures == tuple(f"other sides of 'Side {n}': The provider is down." for n in (1, 2))


async def test_nothing_but_failures_is_an_error_that_says_what_to_do():
    with pytest.raises(JudgeError, match=r"No question could be made from the seeds: .*another generator"):
        await run(generator=FakeJudge(lambda _: "no"))
