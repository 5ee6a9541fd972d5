"""Comparisons by the offline judge: verdicts with reasons that it can sort, and reasons of others too."""

from __future__ import annotations

from typing import Any

import pytest
from hypoeval_scripts import assignment

from rubriclab.data import Assignment, Example, Scale, find_aspect, task_words
from rubriclab.judges.ask import ask
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.embedded.comparing import LISTED
from rubriclab.methods.dcr.evaluate import comparisons, convert_prompt, evaluate_prompts
from rubriclab.methods.dcr.settings import DCRScoringSettings
from rubriclab.segmentation import Material

JUDGE = EmbeddedJudge()
SOURCE = "The council will close the Harrow bridge on 3 November. Repairs would cost 1.4 million crowns."
RIGHT, WRONG, ELSEWHERE = (
    "The bridge closes on 3 November.",
    "Repairs would cost 6.8 million crowns.",
    "Seagulls drink salty water.",
)


async def compared(output: str, other: str = SOURCE, given: Assignment | None = None, **chosen: Any) -> list[Any]:
    """Return what the offline judge says of each sentence, held against the source or the background facts."""
    material: Material = "source" if given is None else "context"
    text = Example(id="t", output=output, group="g", source=other, context=other)
    settings, own = DCRScoringSettings(**chosen), given or assignment()
    found = comparisons(text, material, own, settings)
    assert not isinstance(found, str)
    answers = [await ask(JUDGE, p) for each in found for p in evaluate_prompts(each, ["Is it so?"], own, settings)]
    return [entry for answer in answers if answer.value is not None for entry in answer.value.sentences]


async def marks(*reasons: str) -> list[int]:
    answer = await ask(JUDGE, convert_prompt(dict(enumerate(reasons, 1))))
    assert answer.value is not None
    assert all(entry.thought for entry in answer.value.marks)
    return [entry.mark for entry in answer.value.marks]


async def test_each_sentence_gets_a_verdict_with_a_reason_that_says_it_was_measured() -> None:
    found = await compared(" ".join((RIGHT, WRONG, ELSEWHERE)), verdict="with the reason")
    assert [entry.consistent for entry in found] == ["yes", "no", "no"]
    assert all("Measured, not read: " in entry.reason for entry in found)
    assert 'does not have "6.8"' in found[1].reason
    assert 'and not "Seagulls", "drink", "salty", "water"' in found[2].reason


async def test_its_reasons_are_marked_as_it_meant_them() -> None:
    # Words of the text that are quoted in a reason are no finding.
    trap = "The wrong false error contradicts nothing inconsistent with unsupported mistakes."
    found = await compared(" ".join((RIGHT, WRONG, ELSEWHERE, trap)))
    assert await marks(*(entry.reason for entry in found)) == [1, -1, -1, -1]
    assert found[3].reason.count('"') == 2 * LISTED


async def test_a_text_as_a_whole_is_consistent_if_all_of_its_sentences_are() -> None:
    whole: dict[str, Any] = {"level": "paragraph", "verdict": "with the reason"}
    assert [entry.consistent for entry in await compared(f"{RIGHT} {RIGHT}", **whole)] == ["yes"]
    assert [entry.consistent for entry in await compared(f"{RIGHT} {WRONG}", **whole)] == ["no"]


async def test_in_a_conversation_questions_and_talk_about_oneself_claim_nothing() -> None:
    scale = Scale(low=0, high=1, whole=True)
    dialogue = Assignment(task_words("dialogue"), find_aspect("dialogue", "groundedness"), scale)
    texts = "I love old stone arches. Do you like seagulls? Dogs bark in Dunlow. The Harrow bridge will close."
    found = await compared(texts, given=dialogue, verdict="with the reason")
    assert [entry.consistent for entry in found] == ["yes", "yes", "no", "yes"]


@pytest.mark.parametrize(
    "reason",
    [
        "This sentence is consistent with the article, which reports that he will run.",
        "Both speak of the same question in other words.",
        "Nothing in it contradicts the source.",
        "No inconsistency was found.",
        "It isn't inconsistent with the source.",
        "The statement is accurate and free of errors.",
        "It is consistent: the article does not mention the day, but the month is right.",
        "The evidence confirms the date.",
        "A tidy piece of writing.",
    ],
)
async def test_a_reason_that_finds_no_fault_is_marked_plus_one(reason: str) -> None:
    assert await marks(reason) == [1]


@pytest.mark.parametrize(
    "reason",
    [
        "This sentence is not consistent with the article, although it mentions the right person.",
        "The answer is wrong about the year, which contradicts the evidence.",
        "It adds a detail that is not in the source.",
        "The source does not mention a dentist.",
        "The source never says so.",
        "The claim is unsupported.",
        "It isn't supported by the text.",
        "The reference asks about Canada, not Japan.",
        "It is only partially consistent with the source.",
        "The first half is consistent with the source, but the second half is inconsistent with it.",
        "It is consistent in its topic, but it contradicts the source on the year.",
        "The names are right; however, the document fails to mention the mayor.",
        "The two cities have been swapped.",
        "IT IS INCORRECT.",
    ],
)
async def test_a_reason_that_finds_fault_is_marked_minus_one(reason: str) -> None:
    assert await marks(reason) == [-1]


async def test_reasons_are_marked_each_by_itself() -> None:
    assert await marks("The first is wrong.", "It agrees.", "It is wrong.") == [-1, 1, -1]
