"""Checklists by the offline judge: questions about measures, and answers read off them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypoeval_scripts import assignment

from rubriclab.checklist import Checklist, load_checklist, shipped_checklists
from rubriclab.data import Assignment, Example, Scale, find_aspect, read, task_words
from rubriclab.judges.ask import ask
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.embedded.questions import POINTS, asks_for_fault
from rubriclab.methods.checkeval.answer import answer_prompts
from rubriclab.methods.checkeval.augment import diversify_prompt, elaborate_prompt
from rubriclab.methods.checkeval.settings import CheckEvalScoringSettings, CheckEvalSettings
from rubriclab.methods.deduplication import group_prompt
from rubriclab.methods.questions import make_question

SAMPLE = Path(__file__).resolve().parents[3] / "experiments" / "sample" / "heldout.jsonl"
JUDGE = EmbeddedJudge()
COHERENCE = load_checklist("summarization", "coherence")
SUB = COHERENCE.sub_dimensions[0]
WORDS = 'Is "number of words" at or above 50 % of its usual range?'
FEWER = 'Is "number of words" at or below 50 % of its usual range?'


def assigned(checklist: Checklist) -> Assignment:
    aspect = find_aspect(checklist.task, checklist.aspect)
    return Assignment(task_words(checklist.task), aspect, Scale(low=1, high=5, whole=True))


async def answered(output: str, *texts: str, source: str | None = None) -> list[Any]:
    """Return the offline judge's answers to questions about a text."""
    made = [make_question(f"q{place}", text, SUB) for place, text in enumerate(texts)]
    text = Example(id="t", output=output, group="g", source=source)
    (prompt,) = answer_prompts(text, made, {SUB.name: SUB.definition}, assignment(), CheckEvalScoringSettings())
    answer = await ask(JUDGE, prompt)
    assert answer.value is not None
    return list(answer.value.answers)


@pytest.mark.parametrize(("task", "aspect"), shipped_checklists())
@pytest.mark.parametrize("self_contained", [True, False])
async def test_every_shipped_checklist_can_be_made_more_of_without_a_repair(
    task: str, aspect: str, self_contained: bool
) -> None:
    checklist = load_checklist(task, aspect)
    given, settings = assigned(checklist), CheckEvalSettings(self_contained=self_contained)
    for sub in checklist.sub_dimensions:
        for prompt in (
            diversify_prompt(sub, given, settings),
            *(elaborate_prompt(sub, seed, given, settings) for seed in sub.questions),
        ):
            reply = await JUDGE.reply(prompt)
            made = prompt.reply.model_validate(json.loads(reply.text), context=prompt.fields).questions
            texts = [getattr(question, "text", question) for question in made]
            assert 1 <= len(texts) <= 10
            assert len(set(texts)) == len(texts)


async def test_its_own_question_is_answered_by_the_measure_that_it_names() -> None:
    short, long = "One two three.", "word " * 200
    assert [a.answer for a in await answered(short, WORDS, FEWER)] == ["no", "yes"]
    assert [a.answer for a in await answered(long, WORDS, FEWER)] == ["yes", "no"]


async def test_finer_points_of_a_measure_are_passed_one_after_the_other() -> None:
    texts = [f'Is "number of words" at or above {point} % of its usual range?' for point in POINTS]
    counts = [
        sum(a.answer == "yes" for a in await answered("word " * length, *texts)) for length in (5, 20, 60, 120, 400)
    ]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == len(POINTS)


async def test_a_measure_that_is_undefined_here_is_not_applicable_and_no_no() -> None:
    question = 'Is "share of content words that stand in the source" at or above 50 % of its usual range?'
    (without,) = await answered("The cat sat on the mat.", question)
    (beside,) = await answered("The cat sat on the mat.", question, source="A cat sat on a mat in the sun.")
    assert (without.answer, beside.answer) == ("n/a", "yes")


async def test_every_reason_says_that_it_was_measured() -> None:
    own, other = await answered("A short summary of few words.", WORDS, SUB.questions[0].text)
    assert own.reason.startswith("Measured, not read: number of words, ")
    assert other.reason.startswith("Measured, not read: ")


async def test_only_the_same_cut_of_the_same_measure_is_redundant() -> None:
    wordings = (("a", WORDS), ("b", FEWER), ("c", f"{WORDS} "))
    made = [make_question(name, text, SUB, "x", origin="diversified") for name, text in wordings]
    answer = await ask(JUDGE, group_prompt(made, "question", assignment()))
    assert [set(group.members) for group in answer.value.groups] == [{"a", "c"}]


async def test_answers_differ_between_texts_of_the_sample() -> None:
    rows = [row for row in read(SAMPLE) if hasattr(row, "output")][:30]
    texts = [question.text for question in load_checklist("summarization", "consistency").questions]
    seen = {tuple(a.answer for a in await answered(row.output, *texts, source=row.source)) for row in rows}
    assert len(seen) > 1


async def test_the_good_answer_to_a_question_about_a_fault_is_no() -> None:
    sign, fault = "Is the summary free of repeated sentences?", "Does the summary repeat a sentence?"
    once, again = "The cat sat on a mat. A dog barked.", "The cat sat on a mat. " * 4
    assert [a.answer for a in await answered(once, sign, fault)] == ["yes", "no"]
    assert [a.answer for a in await answered(again, sign, fault)] == ["no", "yes"]


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("Does the reply contain spelling mistakes?", True),
        ("Does a sentence contradict an earlier one?", True),
        ("Is any sentence unfinished?", True),
        ("Is the plan incoherent?", True),
        ("Is the letter free of spelling mistakes?", False),
        ("Does the guide avoid jargon?", False),
        ("Does no sentence contradict another?", False),
        ("Does the recipe state the oven temperature?", False),
    ],
)
def test_a_question_asks_for_a_fault_if_it_names_one_and_denies_nothing(question: str, fault: bool) -> None:
    assert asks_for_fault(question) is fault
