"""The single facts that a text states, by sentence (SEAL, table 2: "monadic facts").

A request depends only on the text and its name, so the answer cache has one entry for a source of many outputs.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError, ValidationInfo, field_validator

from rubriclab.data.aspect import TaskWords, Words
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.prompting import chunks
from rubriclab.methods.replies import Whole, is_salvage, keep_usable, why_missing
from rubriclab.prompts import Prompt
from rubriclab.segmentation import Material
from rubriclab.sentences import split_sentences

# Sentences in one call, and preceding sentences shown as context for pronouns.
PORTION = 20
BEFORE = 3

# Most facts extracted from one sentence.
MOST_FACTS = 6

TOKENS_PER_FACT = 32

_WHOLE: TypeAdapter[int] = TypeAdapter(Whole)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, and the index of the sentence that states it, from 0."""

    text: str
    sentence: int


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a text in order, and the sentences whose facts could not be obtained, each with the reason."""

    found: tuple[Fact, ...]
    lost: Mapping[int, str]


class Stated(BaseModel):
    """The facts of one sentence; none if it states nothing."""

    sentence: Whole
    facts: list[Words]


def _asked(fields: Mapping[str, Any]) -> list[int]:
    return [sentence["id"] for sentence in fields["sentences"]]


def _sentence_of(item: Mapping[str, Any], _info: ValidationInfo) -> int | None:
    try:
        return _WHOLE.validate_python(item.get("sentence"))
    except ValidationError:
        return None


_USABLE = keep_usable(_asked, _sentence_of, position=lambda number: number)


class FactList(BaseModel):
    """One entry for each sentence asked about, no more and no fewer, each with at most so many facts."""

    sentences: Annotated[list[Stated], _USABLE]

    @field_validator("sentences")
    @classmethod
    def _covering(cls, entries: list[Stated], info: ValidationInfo) -> list[Stated]:
        if not info.context:
            return entries
        most = info.context["most"]
        if is_salvage(info):
            return [entry.model_copy(update={"facts": entry.facts[:most]}) for entry in entries]
        _one_each([entry.sentence for entry in entries], _asked(info.context))
        _few_enough(entries, most)
        return entries


async def extract_facts(text: str, what: Literal["output"] | Material, words: TaskWords, judge: Judge) -> Facts:
    """Return the facts that `text` states, at most `MOST_FACTS` of each sentence.

    A text that states nothing has its first sentence as its only fact.

    Args:
        what: the example's field that the text is from.
    """
    prompts = fact_prompts(text, what, words)
    answers = await asyncio.gather(*(ask(judge, prompt, salvage=FactList) for prompt in prompts))
    stated_facts: dict[Fact, None] = {}
    lost: dict[int, str] = {}
    for prompt, answer in zip(prompts, answers, strict=True):
        stated = {each.sentence: each.facts for each in answer.value.sentences} if answer.value else {}
        stated_facts |= {Fact(fact, number - 1): None for number, facts in stated.items() for fact in facts}
        asked = [each["id"] for each in prompt.fields["sentences"]]
        if without := [number for number in asked if number not in stated]:
            lost |= dict.fromkeys((number - 1 for number in without), why_missing(prompt, answer, "facts"))
    if prompts and not stated_facts and not lost:
        stated_facts = {Fact(split_sentences(text)[0], 0): None}
    return Facts(tuple(sorted(stated_facts, key=lambda fact: fact.sentence)), lost)


def fact_prompts(text: str, what: Literal["output"] | Material, words: TaskWords) -> list[Prompt[FactList]]:
    """Return the prompts for the facts of a text, chunk by chunk."""
    sentences = split_sentences(text)
    prompts = []
    for places in chunks(range(len(sentences)), PORTION):
        fields = {
            "words": words.model_dump(),
            "what": what,
            "label": words.called(what),
            "before": " ".join(sentences[max(0, places[0] - BEFORE) : places[0]]),
            "sentences": [{"id": place + 1, "text": sentences[place]} for place in places],
            "most": MOST_FACTS,
        }
        longest = 256 + TOKENS_PER_FACT * MOST_FACTS * len(places)
        prompts.append(Prompt("seal/facts", fields, FactList, max_tokens=longest))
    return prompts


def _one_each(got: Sequence[int], expected: Sequence[int]) -> None:
    expected_counts, got_counts = Counter(expected), Counter(got)
    faults = {"missing": expected_counts - got_counts, "too many": got_counts - expected_counts}
    if any(faults.values()):
        problems = "; ".join(f"{fault}: {_listed(numbers)}" for fault, numbers in faults.items() if numbers)
        raise ValueError(f"one entry was expected for each of sentences {expected[0]} to {expected[-1]}; {problems}")


def _few_enough(entries: Sequence[Stated], most: int) -> None:
    for each in entries:
        if len(each.facts) > most:
            got = f"{len(each.facts)} of sentence {each.sentence}"
            raise ValueError(f"at most {most} facts are wanted of one sentence; got {got}")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in itertools.islice(numbers, PORTION))
