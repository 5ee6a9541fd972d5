"""New sub-dimensions: from what, how many, and what becomes of replies that cannot be used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypoeval_scripts import examples
from seal_scripts import ASPECT, assignment, of_kind, pack, scripted

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.prompting import SAMPLES
from rubriclab.methods.questions import question_of
from rubriclab.methods.seal.learn import propose, shown
from rubriclab.methods.seal.score import SealSettings

TEXTS = examples(24)
PACK = pack("sentence pair", beside=("source", "reference"))


def training_input(texts: Any = TEXTS, given: Any = PACK) -> TrainingInput:
    return TrainingInput(tuple(texts), assignment(), checklist=given)


async def test_as_many_are_asked_for_as_the_setting_says_each_with_an_id_of_its_own():
    judge = scripted()
    questions, dimensions, failure = await propose(
        training_input(given=pack(sizes=(3,))), SealSettings(proposed=3), judge
    )
    assert [question.id for question in questions] == ["p1", "p2", "p3"]
    assert list(dimensions) == [question.trait for question in questions]
    assert {question_of(question).origin for question in questions} == {"proposed"}
    assert failure is None
    assert len(judge.prompts) == 1


async def test_they_are_made_from_texts_of_every_score_and_say_so():
    judge = scripted()
    questions, _, _ = await propose(training_input(), SealSettings(), judge)
    texts = judge.prompts[0].fields["texts"]
    scores = [each["score"] for each in texts]
    labels = sorted(text.scores[ASPECT] for text in TEXTS)
    assert (len(scores), scores, scores[0], scores[-1]) == (6, sorted(scores), labels[0], labels[-1])
    evidence = questions[0].evidence
    assert (evidence.origin, len(evidence.examples)) == ("labels", 6)
    assert {text.output for text in TEXTS if text.id in evidence.examples} == {each["output"] for each in texts}


async def test_without_labels_the_definition_is_all_there_is():
    judge = scripted()
    questions, _, _ = await propose(training_input(()), SealSettings(), judge)
    assert judge.prompts[0].fields["texts"] == []
    assert (questions[0].evidence.origin, questions[0].evidence.examples) == ("definition", ())


async def test_what_is_known_and_what_units_are_shown_beside_is_told():
    judge = scripted()
    texts = [replace(text, reference="Ref.") for text in TEXTS]
    await propose(training_input(texts), SealSettings(), judge)
    fields = judge.prompts[0].fields
    assert (fields["kind"], fields["beside"]) == ("sentence pair", ["source text", "reference summary"])
    assert [each["name"] for each in fields["known"]] == ["Side 1", "Side 2", "Side 2"]
    assert fields["texts"][0]["reference"] == "Ref."
    await propose(training_input(given=None), SealSettings(), judge)
    assert (judge.prompts[-1].fields["kind"], judge.prompts[-1].fields["known"]) == ("response", [])


@pytest.mark.parametrize("count", [0, 1, 2, 5, 24])
def test_shown_texts_are_spread_over_the_ranking_whatever_their_order(count: int):
    found = shown(training_input(TEXTS[:count]))
    assert len({text.id for text in found}) == min(count, 6)
    assert shown(training_input(reversed(TEXTS[:count]))) == found


def side(name: str, question: str | None = None) -> dict[str, str]:
    return {"name": name, "definition": "d", "question": question or f"Is it {name}?"}


KNOWN = PACK.questions[0].text


@pytest.mark.parametrize(
    ("sides", "kept"),
    [
        ([side("New"), side("new"), side("Newer")], ["New", "Newer"]),
        ([side("Side 1"), side("New")], ["New"]),
        ([side("New", KNOWN.upper()), side("Newer")], ["Newer"]),
        ([side(f"New {n}") for n in range(9)], ["New 0", "New 1"]),
        ([side("Side 1")], None),
        ([], None),
        ([{"name": " ", "definition": "d", "question": "q"}], None),
    ],
)
async def test_only_new_ones_are_taken_and_no_more_than_asked_for(sides: Any, kept: Any):
    judge = FakeJudge(lambda _: {"reasoning": "So.", "sub_dimensions": sides})
    questions, _, failure = await propose(training_input(), SealSettings(proposed=2), judge)
    assert [question.trait for question in questions] == (kept or [])
    assert (failure is None) == bool(kept)
    assert len(of_kind(judge, "propose")) == (1 if kept else SAMPLES)
