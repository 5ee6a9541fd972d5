"""What the model leaves of the pooled questions, and why the others go."""

from collections import Counter
from typing import Any

import pytest
from checkeval_scripts import (
    assignment,
    checklist,
    of_kind,
    question,
    scripted,
    seeds,
    verdict,
    verdicts,
    wording,
)

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval.learn import (
    FilterResult,
    by_preference,
    filter_questions,
    other_aspects,
)
from rubriclab.methods.checkeval.score import CheckEvalSettings
from rubriclab.methods.questions import question_of
from rubriclab.methods.sources import Checklist
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import (
    Assignment,
    Scale,
    find_aspect,
    task_words,
)

TWO = checklist((1, 2))
POOL = (
    *seeds(checklist((1,))),
    question("d1", seed="a1", origin="diversified"),
    question("a1-e1", seed="a1"),
    question("a1-e2", seed="a1"),
    *seeds(TWO)[1:],
    question("b1-e1", trait="Side 2", seed="b1"),
    question("b2-e1", trait="Side 2", seed="b2"),
)


async def run(
    pool: tuple[Criterion, ...] = POOL, given_: Checklist = TWO, generator: FakeJudge | None = None, **chosen: Any
) -> tuple[FilterResult, FakeJudge]:
    generator = generator or scripted()
    return await filter_questions(pool, given_, assignment(), generator, CheckEvalSettings(**chosen)), generator


def faulting(**faults: dict[str, str]) -> FakeJudge:
    return scripted(filter=lambda prompt: verdicts(prompt, **faults))


def ids(found: FilterResult) -> list[str]:
    return [each.id for each in found.kept]


def reasons(found: FilterResult) -> dict[str, str]:
    return {each.criterion.id: each.reason for each in found.dropped}


# What is asked


async def test_the_other_aspects_are_those_of_the_checklist_or_else_the_task_s():
    named = checklist((1, 2), others={"rhythm": "How it sounds."})
    assert [other.name for other in other_aspects(named, assignment())] == ["rhythm"]
    shipped = other_aspects(TWO, assignment())
    assert [other.name for other in shipped] == ["consistency", "fluency", "informativeness", "relevance"]
    _, generator = await run(given_=named)
    assert of_kind(generator, "filter")[0].fields["others"] == [{"name": "rhythm", "definition": "How it sounds."}]


def test_quality_as_a_whole_is_no_rival_of_its_sides():
    scale = Scale(low=1, high=5, whole=False)
    dialogue = Assignment(task_words("dialogue"), find_aspect("dialogue", "naturalness"), scale)
    overall = Assignment(task_words("dialogue"), find_aspect("dialogue", "overall"), scale)
    unknown = Assignment(task_words("poem"), find_aspect("poem", "rhyme", "How it rhymes."), scale)
    assert "overall" not in {other.name for other in other_aspects(TWO, dialogue)}
    assert {"coherence", "engagingness"} <= {other.name for other in other_aspects(TWO, dialogue)}
    assert other_aspects(TWO, overall) == ()
    assert other_aspects(TWO, unknown) == ()


# What leaves


async def test_without_a_fault_everything_stays():
    found, _ = await run()
    assert (ids(found), found.dropped, found.notes) == ([each.id for each in POOL], (), ())
    assert {(question_of(each).absent, question_of(each).broken) for each in found.kept} == {("n/a", "no")}


async def test_a_generated_question_that_nonsense_earns_is_dropped_with_the_reason():
    earned = question("n1", seed="a1", broken="yes")
    found, generator = await run((*POOL, earned), generator=faulting(d1={"broken": "yes"}, a1={"broken": "yes"}))
    told = reasons(found)
    assert set(told) == {"n1", "d1"}
    assert all("would earn its good answer, yes" in told[name] for name in ("n1", "d1"))
    shown = [each["id"] for p in of_kind(generator, "filter") for each in p.fields["questions"]]
    assert "n1" not in shown


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"yes_means": "neither"}, 'neither "yes" nor "no" speaks for a text: Fits.'),
        ({"about": "fluency"}, "it is about fluency: Fits."),
        ({"about": "something else"}, "it is about something else: Fits."),
        ({"style": "exaggerated"}, "its wording is exaggerated: Fits."),
        ({"style": "trifling"}, "it asks for something trifling: Fits."),
        ({"style": "several things"}, "it asks several things at once: Fits."),
    ],
)
@pytest.mark.parametrize("name", ["a1-e1", "b2"])
async def test_a_fault_takes_a_question_out_with_its_reason(fault: dict[str, str], reason: str, name: str):
    found, _ = await run(generator=faulting(**{name.replace("-", "_"): fault}))
    assert reasons(found) == {name: reason}
    assert ids(found) == [each.id for each in POOL if each.id != name]


async def test_a_question_about_a_fault_is_kept_and_counts_the_other_way_round():
    found, _ = await run(generator=faulting(d1={"yes_means": "worse", "broken": "yes"}))
    assert found.dropped == ()
    assert {each.id: question_of(each).better for each in found.kept if question_of(each).better == "no"} == {
        "d1": "no"
    }


# The paper's filter


def removing(*removed: tuple[str, str]) -> FakeJudge:
    entries = [{"id": name, "reason": "Seen.", "fault": fault} for name, fault in removed]
    return scripted(filter_dimension=lambda _: {"removed": entries})


async def test_the_paper_s_filter_is_one_call_with_all_questions_of_the_aspect():
    found, generator = await run(removed := POOL, generator=removing(), procedure="paper")
    (asked,) = generator.prompts
    assert [each["id"] for sub in asked.fields["sub_dimensions"] for each in sub["questions"]] == [
        q.id for q in removed
    ]
    assert (found.kept, found.dropped, found.notes) == (POOL, (), ())


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("alignment", '"yes" does not speak for a text: Seen.'),
        ("dimension", "it is about something else: Seen."),
        ("redundancy", "it repeats another question: Seen."),
        ("style", "its wording is exaggerated, or it asks for something trifling: Seen."),
    ],
)
async def test_the_paper_s_filter_drops_what_the_model_removes_and_nothing_else(fault: str, reason: str):
    found, _ = await run(generator=removing(("d1", fault), ("a1-e1", fault)), procedure="paper")
    assert reasons(found) == {"d1": reason, "a1-e1": reason}


async def test_the_paper_keeps_no_question_about_a_fault():
    pool = (*POOL, question("n1", seed="a1", better="no"))
    found, generator = await run(pool, generator=removing(), procedure="paper")
    assert reasons(found) == {"n1": '"no" is its good answer'}
    assert "n1" not in str(generator.prompts[0].fields)


async def test_without_a_usable_reply_the_paper_s_filter_keeps_what_it_was_shown():
    found, _ = await run(generator=scripted(filter_dimension=lambda _: "?"), procedure="paper")
    assert found.kept == POOL
    assert "the filter gave no usable reply" in found.notes[0]


async def test_a_seed_whose_polarity_the_model_denies_is_taken_out_and_never_turned_round():
    pool = (question("a1"), question("a2", better="no"), question("a3", better="no"), question("a4"))
    faults = {"a1": {"yes_means": "worse"}, "a2": {"yes_means": "worse"}}
    found, _ = await run(pool, checklist((4,)), faulting(**faults))
    assert reasons(found) == {
        "a1": '"yes" is given as its good answer, but "yes" means worse: Fits.',
        "a3": '"no" is given as its good answer, but "yes" means better: Fits.',
    }
    assert [(each.id, question_of(each).better) for each in found.kept] == [("a2", "no"), ("a4", "yes")]


async def test_a_question_without_a_verdict_stays():
    def partly(prompt):
        return {"a1": verdict(style="trifling"), "d1": verdict(style="dull")}

    found, generator = await run(generator=scripted(filter=partly))
    assert reasons(found) == {"a1": "it asks for something trifling: Fits."}
    assert Counter(p.repair is None for p in generator.prompts) == {True: 3, False: 2}


@pytest.mark.parametrize("said", ["no", '{"verdicts": []}', JudgeUnavailable("down.")])
async def test_without_any_usable_reply_everything_stays(said: Any):
    def script(_):
        if isinstance(said, Exception):
            raise said
        return said

    found, _ = await run(generator=scripted(filter=script, group=script))
    unjudged, unasked = found.notes
    assert unjudged == f"the filter gave no usable verdict on {len(POOL)} of {len(POOL)} questions; they stay"
    assert unasked.startswith("questions that repeat others in other words are kept: ")
    assert found == FilterResult(POOL, (), found.notes)


async def test_where_the_model_would_take_out_everything_the_seeds_stay_and_it_is_said():
    every = scripted(filter=lambda p: {q["id"]: verdict(about="fluency") for q in p.fields["questions"]})
    found, _ = await run(generator=every)
    assert ids(found) == ["a1", "b1", "b2"]
    assert found.notes == ("the filter would take out every question: the seeds stay",)
    assert len(found.dropped) == len(POOL) - 3


# Redundancy within the pool


async def test_redundancy_is_looked_for_across_sub_dimensions_and_the_seed_stays():
    pool = tuple(each.model_copy(update={"statement": wording("b1")}) if each.id == "a1-e1" else each for each in POOL)
    found, generator = await run(pool)
    assert reasons(found) == {"a1-e1": "worded like b1"}
    (prompt,) = of_kind(generator, "group")
    assert "a1-e1" not in [entry["id"] for entry in prompt.fields["entries"]]


# Settings


async def test_without_the_model_s_filter_nothing_is_asked_and_nothing_leaves():
    twins = (*POOL, POOL[1].model_copy(update={"id": "twin"}))
    found, generator = await run(twins, filter="off")
    assert found == FilterResult(twins, ())
    assert generator.prompts == []


@pytest.mark.parametrize("chosen", ["model", "off"])
@pytest.mark.parametrize("most", [1, 3, 4, 5, 6, 100])
async def test_no_more_questions_stay_than_allowed(chosen: str, most: int):
    found, _ = await run(filter=chosen, most=most)
    assert len(found.kept) == min(most, len(POOL))
    assert ids(found) == [each.id for each in POOL if each.id in ids(found)]
    if most < len(POOL):
        assert set(reasons(found).values()) == {f"no place among the {most} questions allowed"}
    assert (most < 3) or {"a1", "b1", "b2"} <= set(ids(found))


# Preference


def test_sub_dimensions_and_seeds_take_turns():
    order = [each.id for each in by_preference(POOL)]
    assert order == ["a1", "b1", "b2", "d1", "b1-e1", "a1-e1", "b2-e1", "a1-e2"]
