"""Raters' reasons: shown to generators as data and cited as evidence, and never shown to a judge."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from scripted_judge import ASPECT, assignment, examples, findings, scripted

from rubriclab.judges.replies import Reply, parse_reply
from rubriclab.learning.scoring import ratings_of_text
from rubriclab.methods.checkeval.learn import MAX_TEXTS_WITH_REASONS, choose_texts_with_reasons
from rubriclab.methods.checkeval.score import PlainElaboration, QuestionVerdict, WrittenSeeds
from rubriclab.methods.holistic import Steps
from rubriclab.methods.hypoeval.learn import learn
from rubriclab.methods.hypoeval.proposal_prompts import ProposalContext, proposal_reply, propose_prompt
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.prompting import MAX_REPLY_REASON_LENGTH, numbered_reasons
from rubriclab.methods.questions import Groups
from rubriclab.methods.seal.learn import SubDimensionProposal
from rubriclab.methods.seeval import Refined, refine_prompt
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH
from rubriclab.models.text import Example
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt


def explained(text: Example, **by_rater: str) -> Example:
    return replace(text, reasons={ASPECT: by_rater})


def with_reasons(texts: tuple[Example, ...]) -> tuple[Example, ...]:
    return tuple(explained(text, anna=f"WHY-{text.id}") for text in texts)


def everything(prompt: Prompt[Any]) -> str:
    return "\n".join(message["content"] for message in render(prompt))


def reasons_in(prompt: Prompt[Any]) -> set[str]:
    return set(re.findall(r"WHY-(\w+)", everything(prompt)))


TEXTS = examples(3)
GIVEN = (explained(TEXTS[0], ben="No ending.", anna="Wanders."), replace(TEXTS[1], reasons={ASPECT: "Good."}), TEXTS[2])


def test_reasons_are_numbered_text_by_text_and_by_rater_with_the_rater_s_own_score() -> None:
    scored = replace(GIVEN[0], annotations={ASPECT: (2.0, 4.0)}, raters={ASPECT: ("ben", "anna")})
    found = numbered_reasons((scored, *GIVEN[1:]), ASPECT)
    told = [(each.number, each.example_id, each.rater, each.text, each.score) for each in found]
    assert told == [
        (1, "t00", "anna", "Wanders.", 4.0),
        (2, "t00", "ben", "No ending.", 2.0),
        (3, "t01", "", "Good.", None),
    ]


def prompts_of(texts: tuple[Example, ...]) -> list[Prompt[Any]]:
    return [
        propose_prompt(2, ProposalContext(texts, findings()), assignment()),
        refine_prompt("I look at order.", [(text, 3.0) for text in texts], assignment()),
    ]


@pytest.mark.parametrize("kind", range(2))
def test_without_reasons_neither_prompt_nor_reply_mentions_any(kind: int) -> None:
    plain = prompts_of(TEXTS)[kind]
    assert "Reason" not in everything(plain)
    assert '"reasons"' not in everything(plain)
    other = prompts_of(tuple(replace(text, reasons={"fluency": "Smooth."}) for text in TEXTS))[kind]
    assert render(other) == render(plain)
    assert other.reply is plain.reply


def test_questions_are_made_from_few_texts_of_at_most_half_of_the_groups_chosen_without_labels() -> None:
    texts = with_reasons(examples(30, groups=10))
    chosen = choose_texts_with_reasons(texts, ASPECT)
    relabelled = tuple(replace(text, scores={ASPECT: 6 - text.scores[ASPECT]}) for text in reversed(texts))
    assert len(chosen) == MAX_TEXTS_WITH_REASONS
    assert len({text.group for text in chosen}) <= 5
    assert [text.id for text in choose_texts_with_reasons(relabelled, ASPECT)] == [text.id for text in chosen]
    assert choose_texts_with_reasons(examples(30), ASPECT) == ()


SMALL: dict[str, Any] = {"initial_examples": 3, "initial_hypotheses": 2, "wrong_bank": 3, "k": 2, "bank_size": 5}


@pytest.mark.parametrize(
    ("procedure", "shown_in"), [("improved", {"hypoeval/propose"}), ("paper", {"hypoeval/propose", "hypoeval/refine"})]
)
async def test_hypoeval_shows_reasons_with_their_texts_only_and_never_to_the_judge(
    procedure: Any, shown_in: set[str]
) -> None:
    texts, judge, generator = with_reasons(examples(12)), scripted(), scripted()
    training_input = TrainingInput(texts, assignment(), findings())
    settings = HypoEvalSettings(**SMALL, procedure=procedure)
    learned = await learn(training_input, settings, judge=judge, generator=generator, seed=1)
    assert {prompt.name for prompt in generator.prompts if reasons_in(prompt)} == shown_in
    for prompt in generator.prompts:
        shown = set(map(int, re.findall(r"Summary number (\d+)", everything(prompt))))
        assert {int(name.removeprefix("t")) for name in reasons_in(prompt)} == shown
    assert not any(reasons_in(prompt) for prompt in judge.prompts)
    judge.prompts.clear()
    await ratings_of_text(texts[0], (learned.part,), "by method", assignment(), judge)
    assert judge.prompts
    assert not any(reasons_in(prompt) for prompt in judge.prompts)


HYPOTHESIS = {"trait": "t", "statement": "s", "levels": {"1": "Low."}}
PROPOSAL = proposal_reply((1.0,), citing=False)
SEEDS = {"name": "n", "definition": "d", "questions": ["Is it?"]}
SIDE = {"name": "n", "definition": "d", "question": "Is it?"}
GROUP = {"reason": "r", "relation": "same", "members": ["a", "b"], "best": "a"}
VERDICT = {"reasoning": "r", "absent": "n/a", "broken": "no", "yes_means": "better", "about": "a", "style": "fine"}


def listed(name: str, entry: dict[str, Any], field: str, around: Any = lambda words: words) -> Any:
    """Return what makes a reply with words in a field of the only entry of a list."""
    return lambda words: {"reasoning": "", name: [entry | {field: around(words)}]}


# A reply with a place for words, and the most characters that may stand there.
CASES: list[tuple[type[BaseModel], Any, int]] = [
    (PROPOSAL, listed("hypotheses", HYPOTHESIS, "trait"), MAX_NAME_LENGTH),
    (PROPOSAL, listed("hypotheses", HYPOTHESIS, "statement"), MAX_WORDING_LENGTH),
    (PROPOSAL, listed("hypotheses", HYPOTHESIS, "levels", lambda words: {"1": words}), MAX_WORDING_LENGTH),
    (PlainElaboration, listed("questions", {}, "text"), MAX_WORDING_LENGTH),
    (WrittenSeeds, listed("sub_dimensions", SEEDS, "name"), MAX_NAME_LENGTH),
    (SubDimensionProposal, listed("sub_dimensions", SIDE, "name"), MAX_NAME_LENGTH),
    (Refined, lambda words: {"reasoning": "", "explanation": words}, MAX_WORDING_LENGTH),
    (Steps, lambda words: {"steps": [words]}, MAX_WORDING_LENGTH - len("1. ")),
    (Groups, lambda words: {"groups": [GROUP | {"reason": words}]}, MAX_REPLY_REASON_LENGTH),
    (QuestionVerdict, lambda words: VERDICT | {"reasoning": words}, MAX_REPLY_REASON_LENGTH),
]


@pytest.mark.parametrize(("form", "reply", "most"), CASES)
def test_words_that_could_not_be_stored_make_a_reply_unusable(form: type[BaseModel], reply: Any, most: int) -> None:
    prompt: Prompt[Any] = Prompt("deduplication", {}, form, max_tokens=1)
    for length in (most, most + 1):
        value, complaint = parse_reply(Reply(json.dumps(reply("x" * length)), "m"), prompt)
        assert (value is None) == (length > most), complaint
    assert "characters were expected" in complaint
