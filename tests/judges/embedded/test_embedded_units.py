"""Units by the offline judge: facts, verdicts, support and proposals in the forms that SEAL asks for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.checklist import Checklist, load_checklist, shipped_checklists
from rubriclab.data import Assignment, Example, Scale, find_aspect, task_words
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.embedded.proposing import propose_sub_dimensions
from rubriclab.judges.embedded.questions import own_question
from rubriclab.judges.embedded.units import LEAST_WEIGHT, verify
from rubriclab.methods.method import CriterionRating, TrainingInput
from rubriclab.methods.seal import SEAL, SealSettings
from rubriclab.methods.seal.learn import pack_questions
from rubriclab.methods.seal.propose import SubDimensionProposal, propose_prompt
from rubriclab.methods.seal.units import fact_prompts
from rubriclab.prompts import Prompt
from rubriclab.rubric import Part
from rubriclab.text_features import CATALOGUE

JUDGE = EmbeddedJudge()
TEXT = Example(
    id="t",
    group="g",
    source="The council will close the Harrow bridge on 3 November. Two of its 14 cables are rusty. Repairs would cost "
    "1.4 million crowns, and the council asked three firms to make an offer. Buses may cross until then.",
    context="Bridges were built of iron in 1880.",
    reference="The Harrow bridge will be closed on 3 November because its cables are rusty.",
    output="The Harrow bridge will close on 3 November, because two of its 14 cables are rusty. The council asked "
    "three firms to make an offer for repairs. Repairs would cost 1.4 million crowns, but they began in the year 1776. "
    "Buses may cross until then.",
)


class Watched(EmbeddedJudge):
    """The offline judge, which remembers what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Any:
        self.prompts.append(prompt)
        return await super().reply(prompt)


def assigned(pack: Checklist) -> Assignment:
    aspect = find_aspect(pack.task, pack.aspect)
    return Assignment(task_words(pack.task), aspect, Scale(low=1, high=5, whole=True))


async def scored(
    task: str, aspect: str, text: Example = TEXT, judge: EmbeddedJudge = JUDGE, **chosen: Any
) -> tuple[float | None, dict[str, CriterionRating]]:
    """Return the text's score by the pack that ships, and its ratings by the questions' ids."""
    pack = load_checklist(task, aspect, folder="units")
    questions, dimensions = pack_questions(pack)
    settings = SealSettings(**chosen).model_dump(mode="json")
    part = Part(method="seal", settings=settings, criteria=questions, dimensions=dimensions, units=pack.units)
    score, rated = await SEAL.score(text, part, assigned(pack), judge)
    return score, {each.criterion: each for each in rated}


def values(rated: CriterionRating) -> list[float | None]:
    return [unit.value for unit in rated.units]


@pytest.mark.parametrize(("task", "aspect"), shipped_checklists("units"))
@pytest.mark.parametrize("chosen", [{}, {"verify": False}, {"most_per_call": 1, "weights": "judge"}], ids=str)
async def test_every_shipped_pack_is_answered_without_a_repair(task: str, aspect: str, chosen: dict[str, Any]) -> None:
    judge = Watched()
    for output in (TEXT.output, "Short.", "the the of . i do n't know , ( yes"):
        score, rated = await scored(task, aspect, replace(TEXT, output=output), judge, **chosen)
        assert score is not None
        assert 1 <= score <= 5
        assert all("Measured, not read" in unit.reason for each in rated.values() for unit in each.units)
    assert not [prompt.name for prompt in judge.prompts if prompt.repair]


# Facts


def test_facts_are_clauses() -> None:
    (prompt,) = fact_prompts(TEXT.output, "output", task_words("summarization"))
    found = _reply(prompt)["sentences"]
    assert [each["sentence"] for each in found] == [1, 2, 3, 4]
    assert sum(len(each["facts"]) for each in found) == 6
    assert found[0]["facts"][0] == "The Harrow bridge will close on 3 November"


def test_a_sentence_without_content_words_states_nothing() -> None:
    (prompt,) = fact_prompts("It is so.", "output", task_words("summarization"))
    assert _reply(prompt)["sentences"] == [{"sentence": 1, "facts": []}]


def _reply(prompt: Prompt[Any]) -> dict[str, Any]:
    from rubriclab.judges.embedded.judge import ANSWERS

    answer = ANSWERS[prompt.name]({**prompt.fields, "sample": 0, "exact": False})
    prompt.reply.model_validate(answer, context=prompt.fields)
    return answer


# Verdicts


async def test_a_fact_is_supported_by_facts_of_the_source_that_have_its_words_and_its_numbers() -> None:
    _, rated = await scored("summarization", "consistency")
    (asked,) = rated.values()
    wrong = [unit for unit in asked.units if unit.value == 0]
    assert [unit.unit for unit in wrong] == ["but they began in the year 1776."]
    assert "1776" in wrong[0].reason
    assert all(1 <= len(unit.support) <= 3 for unit in asked.units if unit.value == 1)


async def test_a_sentence_s_form_is_looked_at_sentence_by_sentence() -> None:
    text = replace(TEXT, output="The bridge is closed. He went to to the bank. Buses cross of .")
    _, rated = await scored("summarization", "fluency", text)
    assert values(rated["errors"]) == [1, 0, 0]


async def test_neighbours_that_share_words_go_on_from_each_other() -> None:
    told = "The bridge is rusty. The rusty bridge will close. Onions cook slowly. Kings played chess."
    _, rated = await scored("summarization", "coherence", replace(TEXT, output=told))
    assert values(rated["continuity"]) == [1, 0, 0]


async def test_an_answer_beside_its_evidence_is_held_against_its_words_and_numbers() -> None:
    _, rated = await scored("factuality", "consistency")
    assert values(rated["values-kept"]) == [0]
    assert '"1776" is not in what is shown beside it' in rated["values-kept"].reason
    sound = replace(TEXT, output=TEXT.output.replace(", but they began in the year 1776", ""))
    assert (await scored("factuality", "consistency", sound))[0] == 5


async def test_a_fact_that_was_told_already_is_found() -> None:
    text = replace(TEXT, output=f"{TEXT.output} Repairs would cost 1.4 million crowns.")
    _, rated = await scored("summarization", "relevance", text)
    again = ["stand in an earlier one" in unit.reason for unit in rated["core"].units]
    assert again == [False] * 6 + [True]
    assert values(rated["core"])[-1] == 0
    assert 1 in values(rated["core"])


# Weights


def test_weights_are_above_zero_and_follow_what_usually_moves_with_the_aspect() -> None:
    pack = load_checklist("dialogue", "groundedness", folder="units")
    telling, silent = own_question("context_covered", 50, rising=True), own_question("commas", 50, rising=True)
    names = [
        {"id": name, "name": name, "definition": "", "text": text} for name, text in (("a", telling), ("b", silent))
    ]
    fields = {
        **assigned(pack).fields(),
        **dict.fromkeys(("source", "context", "reference")),
        "kind": "response",
        "units": [{"id": "u1", "text": "Yes."}],
        "questions": names,
        "facts": [],
        "output": "Yes.",
    }
    first, second = verify({**fields, "weigh": True})["weights"]
    assert first["weight"] >= second["weight"] >= LEAST_WEIGHT > 0
    assert "weights" not in verify({**fields, "weigh": False})


# Proposals


@pytest.mark.parametrize("kind", ["sentence", "sentence pair", "fact", "response"])
@pytest.mark.parametrize("labelled", [0, 8])
def test_proposals_ask_for_measures_that_are_new_and_tell_units_apart(kind: Any, labelled: int) -> None:
    pack = load_checklist("summarization", "coherence", folder="units")
    texts = tuple(
        replace(TEXT, id=f"t{n}", output=f"{TEXT.output} {'It rains. ' * n}", scores={"coherence": 5.0 - n / 2})
        for n in range(labelled)
    )
    pack = pack.model_copy(update={"units": pack.units.model_copy(update={"kind": kind})}) if pack.units else pack
    settings = SealSettings(proposed=3)
    prompt = propose_prompt(TrainingInput(texts, assigned(pack), (), pack), texts, settings)
    found = SubDimensionProposal.model_validate(_reply(prompt), context=prompt.fields).sub_dimensions
    assert 1 <= len(found) <= 3
    titles = {entry.title: entry.name for entry in CATALOGUE}
    assert {each.name for each in found} <= titles.keys()
    assert all(f'"{each.name}"' in each.question for each in found)
    if kind == "sentence" and labelled:
        assert "sentences" not in {titles[each.name] for each in found}


def test_what_is_proposed_once_is_not_proposed_again() -> None:
    pack = load_checklist("summarization", "coherence", folder="units")
    fields = propose_prompt(TrainingInput((), assigned(pack), (), pack), (), SealSettings(proposed=2)).fields
    first = propose_sub_dimensions(fields)["sub_dimensions"]
    known = [{"name": each["name"], "question": each["question"]} for each in first]
    again = propose_sub_dimensions({**fields, "known": known})["sub_dimensions"]
    assert json.dumps(first) != json.dumps(again)
    assert not {each["question"] for each in first} & {each["question"] for each in again}
