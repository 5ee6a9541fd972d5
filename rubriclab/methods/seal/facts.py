"""The single facts that a text states, sentence by sentence (SEAL, table 2: "monadic facts").

Asking for them takes nothing but the text and what it is called, so that an answer cache asks once about a source that
many outputs share.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ValidationError, ValidationInfo, field_validator, model_validator

from rubriclab.data.aspect import TaskWords, Words
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.replies import Whole
from rubriclab.methods.seal.portions import portions
from rubriclab.prompts import Prompt
from rubriclab.sentences import split_sentences
from rubriclab.units import Material

# Sentences asked about in one call, and those shown before them for the sake of pronouns.
PORTION = 20
BEFORE = 3

TOKENS_PER_FACT = 32


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact in words, and the place of the sentence that states it, from 0."""

    text: str
    sentence: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text states, in its order, and the sentences whose facts could not be had, each with the reason."""

    found: tuple[Fact, ...]
    lost: Mapping[int, str]


class NamedFact(BaseModel):
    """A fact, and the number of the sentence that states it."""

    sentence: Whole
    fact: Words

    @field_validator("sentence")
    @classmethod
    def _asked(cls, sentence: int, info: ValidationInfo) -> int:
        ids = [each["id"] for each in info.context["sentences"]] if info.context else [sentence]
        if sentence not in ids:
            raise ValueError(f"the sentences are {ids[0]} to {ids[-1]}; got {sentence}")
        return sentence


class FactList(BaseModel):
    """The facts of some sentences, at most so many of each."""

    facts: list[NamedFact]

    @model_validator(mode="after")
    def _some(self, info: ValidationInfo) -> Self:
        if not self.facts:
            raise ValueError("expected at least one fact, got none")
        most = _most(info)
        sentence, count = Counter(each.sentence for each in self.facts).most_common(1)[0]
        if count > most:
            raise ValueError(f"at most {most} facts are wanted of one sentence; got {count} of sentence {sentence}")
        return self


class SoundFacts(FactList):
    """The facts that can be used: of sentences that were asked about, and no more of one than wanted."""

    @field_validator("facts", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[NamedFact]:
        kept: dict[int, list[NamedFact]] = {}
        for item in items if isinstance(items, list) else ():
            if fact := _read(item, info):
                kept.setdefault(fact.sentence, []).append(fact)
        return [fact for facts in kept.values() for fact in facts[: _most(info)]]


async def facts_of(
    text: str, what: Literal["output"] | Material, words: TaskWords, judge: Judge, *, most: int
) -> Facts:
    """Return the facts that `text` states, at most `most` of each sentence; `what` is the example's field it is."""
    prompts = fact_prompts(text, what, words, most)
    answers = await asyncio.gather(*(ask(judge, prompt, salvage=SoundFacts) for prompt in prompts))
    found: dict[Fact, None] = {}
    lost: dict[int, str] = {}
    for prompt, answer in zip(prompts, answers, strict=True):
        if answer.value is None:
            lost |= {each["id"] - 1: answer.missing or "" for each in prompt.fields["sentences"]}
        else:
            found |= {Fact(each.fact, each.sentence - 1): None for each in answer.value.facts}
    return Facts(tuple(sorted(found, key=lambda fact: fact.sentence)), lost)


def fact_prompts(text: str, what: Literal["output"] | Material, words: TaskWords, most: int) -> list[Prompt[FactList]]:
    """Return the prompts that ask for the facts of a text, some of its sentences after the other."""
    sentences = split_sentences(text)
    prompts = []
    for places in portions(range(len(sentences)), PORTION):
        fields = {
            "words": words.model_dump(),
            "what": what,
            "label": words.called(what),
            "before": " ".join(sentences[max(0, places[0] - BEFORE) : places[0]]),
            "sentences": [{"id": place + 1, "text": sentences[place]} for place in places],
            "most": most,
        }
        longest = 256 + TOKENS_PER_FACT * most * len(places)
        prompts.append(Prompt("seal/facts", fields, FactList, max_tokens=longest))
    return prompts


def _read(item: Any, info: ValidationInfo) -> NamedFact | None:
    try:
        return NamedFact.model_validate(item, context=info.context)
    except ValidationError:
        return None


def _most(info: ValidationInfo) -> int:
    return int(info.context["most"]) if info.context else 0
