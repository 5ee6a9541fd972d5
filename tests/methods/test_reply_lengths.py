"""What a rubric keeps of a reply is no longer than can be stored: a longer one is refused where it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypoeval_scripts import assignment, proposal, scripted
from pydantic import BaseModel

from rubriclab.judges.judge import Reply, read
from rubriclab.methods.checkeval.score import PlainElaboration, QuestionVerdict, WrittenSeeds
from rubriclab.methods.holistic import Steps
from rubriclab.methods.hypoeval.learn import HypothesisProposal, ProposalContext, propose
from rubriclab.methods.prompting import LONGEST_REASON
from rubriclab.methods.questions import Groups
from rubriclab.methods.seal.learn import SubDimensionProposal
from rubriclab.methods.seeval import Explanation, Refined
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH
from rubriclab.prompts.prompt import Prompt

LEVELS = [{"score": 1, "description": "Low."}]
HYPOTHESIS = {"trait": "t", "statement": "s", "levels": LEVELS}
SEEDS = {"name": "n", "definition": "d", "questions": ["Is it?"]}
SIDE = {"name": "n", "definition": "d", "question": "Is it?"}
GROUP = {"reason": "r", "relation": "same", "members": ["a", "b"], "best": "a"}
VERDICT = {"reasoning": "r", "absent": "n/a", "broken": "no", "yes_means": "better", "about": "a", "style": "fine"}


def listed(name: str, entry: dict[str, Any], field: str, around: Any = lambda words: words) -> Any:
    """Return what makes a reply with words in a field of the only entry of a list."""
    return lambda words: {"reasoning": "", name: [entry | {field: around(words)}]}


# A reply with a place for words, and the most characters that may stand there.
CASES: list[tuple[type[BaseModel], Any, int]] = [
    (HypothesisProposal, listed("hypotheses", HYPOTHESIS, "trait"), MAX_NAME_LENGTH),
    (HypothesisProposal, listed("hypotheses", HYPOTHESIS, "statement"), MAX_WORDING_LENGTH),
    (
        HypothesisProposal,
        listed("hypotheses", HYPOTHESIS, "levels", lambda words: [{"score": 1, "description": words}]),
        MAX_WORDING_LENGTH,
    ),
    (PlainElaboration, listed("questions", {}, "text"), MAX_WORDING_LENGTH),
    (WrittenSeeds, listed("sub_dimensions", SEEDS, "name"), MAX_NAME_LENGTH),
    (WrittenSeeds, listed("sub_dimensions", SEEDS, "definition"), MAX_WORDING_LENGTH),
    (WrittenSeeds, listed("sub_dimensions", SEEDS, "questions", lambda words: [words]), MAX_WORDING_LENGTH),
    (SubDimensionProposal, listed("sub_dimensions", SIDE, "name"), MAX_NAME_LENGTH),
    (SubDimensionProposal, listed("sub_dimensions", SIDE, "definition"), MAX_WORDING_LENGTH),
    (SubDimensionProposal, listed("sub_dimensions", SIDE, "question"), MAX_WORDING_LENGTH),
    (Explanation, lambda words: {"explanation": words}, MAX_WORDING_LENGTH),
    (Refined, lambda words: {"reasoning": "", "explanation": words}, MAX_WORDING_LENGTH),
    (Steps, lambda words: {"steps": [words]}, MAX_WORDING_LENGTH - len("1. ")),
    (Groups, lambda words: {"groups": [GROUP | {"reason": words}]}, LONGEST_REASON),
    (QuestionVerdict, lambda words: VERDICT | {"reasoning": words}, LONGEST_REASON),
]


@pytest.mark.parametrize(("form", "reply", "most"), CASES)
def test_words_that_could_not_be_stored_make_a_reply_unusable(form: type[BaseModel], reply: Any, most: int) -> None:
    prompt: Prompt[Any] = Prompt("deduplication", {}, form, max_tokens=1)
    for length in (most, most + 1):
        value, complaint = read(Reply(json.dumps(reply("x" * length)), "m"), prompt)
        assert (value is None) == (length > most), complaint
    assert "characters were expected" in complaint


@pytest.mark.parametrize("form", sorted({form for form, *_ in CASES}, key=lambda form: form.__name__))  # type: ignore[attr-defined]
def test_providers_are_sent_no_lengths_of_texts_in_a_schema(form: type[BaseModel]) -> None:
    assert "maxLength" not in json.dumps(form.model_json_schema())


async def test_a_hypothesis_that_is_too_long_is_asked_for_once_more() -> None:
    long = proposal("x" * (MAX_NAME_LENGTH + 1))
    generator = scripted(propose=lambda prompt: proposal("a") if prompt.repair else long)
    proposed, failure = await propose(1, ProposalContext(), assignment(), generator)
    assert ([found.trait for found in proposed], failure) == (["a"], None)
