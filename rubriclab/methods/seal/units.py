"""Decomposition of a text into units (SEAL, section 3.3, equations 1 and 2): sentences, or the facts that they state.

A request for the facts of one text depends only on the text and its name, so the answer cache has one entry for a
source of many outputs. If the judge splits a text into sentences, it returns them in full. A reply that omits, adds or
changes a word is unusable: apart from white space, the sentences together must be the text.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, model_validator

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.price import BYTES_PER_TOKEN
from rubriclab.methods.prompting import chunks
from rubriclab.methods.replies import why_missing
from rubriclab.methods.seal.settings import SealScoringSettings
from rubriclab.models.text import (
    Material,
    Sentence,
    TaskWords,
    UnitKind,
    Words,
    locate_sentences,
    split_sentences,
)
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply
from rubriclab.prompts.prompt import is_salvage

# Sentences in one call, and preceding sentences shown as context for pronouns.
PORTION = 20
BEFORE = 3

# Most facts extracted from one sentence.
MOST_FACTS = 6

TOKENS_PER_FACT = 32


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


def _few_enough(facts: list[str], info: ValidationInfo) -> list[str]:
    most = info.context["most"] if info.context else len(facts)
    if len(facts) > most and not is_salvage(info):
        raise ValueError(f"at most {most} facts are wanted of one sentence; got {len(facts)}")
    return facts[:most]


# The facts of one sentence; none if it states nothing.
Stated = Annotated[list[Words], AfterValidator(_few_enough)]


# The example's field that a text is from.
TextField = Literal["output"] | Material


async def extract_facts(text: str, what: TextField, words: TaskWords, judge: Judge) -> Facts:
    """Return the facts that `text` states, at most `MOST_FACTS` of each sentence.

    A text that states nothing has its first sentence as its only fact.
    """
    sentences = split_sentences(text)
    prompts = [_facts_prompt({what: sentences}, words, places) for places in chunks(range(len(sentences)), PORTION)]
    portions = await asyncio.gather(*(_stated(prompt, judge) for prompt in prompts))
    return _facts(sentences, {number - 1: facts for portion in portions for number, facts in portion.items()})


async def extract_all_facts(
    output: str, beside: Mapping[Material, str], words: TaskWords, judge: Judge
) -> dict[TextField, Facts]:
    """Return the facts of an output and of the texts that it is compared with, all from one call (paper)."""
    sentences: dict[TextField, tuple[str, ...]] = {"output": split_sentences(output)}
    sentences.update({what: split_sentences(text) for what, text in beside.items()})
    prompt = _facts_prompt(sentences, words, range(sum(map(len, sentences.values()))))
    stated = iter((await _stated(prompt, judge)).values())
    return {
        what: _facts(some, dict(enumerate(itertools.islice(stated, len(some))))) for what, some in sentences.items()
    }


async def _stated(prompt: Prompt[KeyedReply], judge: Judge) -> dict[int, list[str] | str]:
    """Return the facts of each sentence in the prompt by its number, or why they could not be obtained."""
    answer = await ask(judge, prompt)
    stated = answer.value.entries if answer.value else {}
    asked = [each["id"] for each in prompt.fields["sentences"]]
    missing = why_missing(prompt, answer, "facts") if len(stated) < len(asked) else ""
    return {number: stated.get(f"sentence {number}", missing) for number in asked}


def _facts(sentences: Sequence[str], stated: Mapping[int, list[str] | str]) -> Facts:
    found = {Fact(fact, place): None for place, facts in stated.items() if isinstance(facts, list) for fact in facts}
    lost = {place: why for place, why in stated.items() if isinstance(why, str)}
    if sentences and not found and not lost:
        found = {Fact(sentences[0], 0): None}
    return Facts(tuple(sorted(found, key=lambda fact: fact.sentence)), lost)


def _facts_prompt(
    sentences: Mapping[TextField, Sequence[str]], words: TaskWords, places: Sequence[int]
) -> Prompt[KeyedReply]:
    """Return the prompt for the facts of some sentences of all texts together, numbered from 1."""
    every = [(what, sentence) for what, some in sentences.items() for sentence in some]
    fields = {
        "words": words.model_dump(),
        "before": " ".join(text for _, text in every[max(0, places[0] - BEFORE) : places[0]]),
        "sentences": [
            {"id": place + 1, "text": text, "what": what, "label": words.called(what)}
            for place, (what, text) in zip(places, (every[place] for place in places), strict=True)
        ],
        "most": MOST_FACTS,
    }
    numbers = [str(place + 1) for place in places]
    form = keyed_reply(tuple(AskedEntry(f"sentence {n}", Stated, names=(n,)) for n in numbers), of_text=True)
    return Prompt("seal/facts", fields, form, max_tokens=256 + TOKENS_PER_FACT * MOST_FACTS * len(places))


class SplitText(BaseModel):
    """A text's sentences, which together hold its words in their order."""

    sentences: list[Words] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context:
            locate_sentences(info.context["text"], self.sentences)
        return self


async def sentences_by_judge(text: str, words: TaskWords, judge: Judge) -> tuple[Sentence, ...] | str:
    """Return the text's sentences, or why they could not be obtained."""
    answer = await ask(judge, split_prompt(text, words))
    if answer.value is None:
        return f"the judge did not split the text into sentences: {answer.missing}"
    return locate_sentences(text, answer.value.sentences)


def split_prompt(text: str, words: TaskWords) -> Prompt[SplitText]:
    """Return the prompt for the sentences of a text."""
    longest = 256 + 2 * len(text.encode()) // BYTES_PER_TOKEN
    return Prompt("seal/split", {"words": words.model_dump(), "text": text}, SplitText, max_tokens=longest)


# The kind of the units of a text: that of the plan, or the whole text if it is too short.
Kind = UnitKind | Literal["whole"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a text.

    Attributes:
        text: its text; for a pair, that of the first sentence.
        sentences: indices of the sentences that contain it, from 0; empty for the whole text.
        second: the second sentence of a pair.
        lost: why the unit cannot be verified: the facts of a sentence could not be obtained.
    """

    id: str
    text: str
    sentences: tuple[int, ...] = ()
    second: str | None = None
    lost: str | None = None

    @property
    def words(self) -> str:
        """The text of the unit."""
        return self.text if self.second is None else f"{self.text} {self.second}"


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A text's units in order, and their kind."""

    kind: Kind
    units: tuple[Unit, ...]


async def decompose(
    text: str, kind: UnitKind, words: TaskWords, judge: Judge, settings: SealScoringSettings
) -> Decomposition:
    """Return the text's units of a kind; the whole text as one if it has too few of them.

    The judge extracts facts, and splits sentences if the settings say so. A sentence whose facts could not be obtained,
    or a text that could not be split, is a lost unit.
    """
    if kind == "fact" and settings.decompose:
        return fact_units(text, await extract_facts(text, "output", words, judge), settings)
    if not split_by_judge(kind, settings):
        return decompose_by_rule(text, kind, settings)
    sentences = await sentences_by_judge(text, words, judge)
    if isinstance(sentences, str):
        return Decomposition(kind, (Unit("u1", text, lost=sentences),))
    return _cut(text, kind, sentences, settings)


def split_by_judge(kind: UnitKind, settings: SealScoringSettings) -> bool:
    """Return whether the judge splits the text into sentences."""
    return kind in ("sentence", "sentence pair") and settings.decompose and settings.sentences == "judge"


def decompose_by_rule(text: str, kind: UnitKind, settings: SealScoringSettings) -> Decomposition:
    """Return the text's units of a kind that needs no judge, or the whole text."""
    if kind in ("response", "triple"):
        return Decomposition(kind, (Unit("u1", text),))
    if not settings.decompose or kind == "fact":
        return whole_text(text)
    sentences = tuple(Sentence(each, (place,)) for place, each in enumerate(split_sentences(text)))
    return _cut(text, kind, sentences, settings)


def _cut(text: str, kind: UnitKind, sentences: Sequence[Sentence], settings: SealScoringSettings) -> Decomposition:
    """Return sentences, or pairs of them, as units; the whole text if they are too few."""
    if len(sentences) < settings.whole_below_sentences:
        return whole_text(text)
    if kind == "sentence":
        return Decomposition(kind, tuple(Unit(f"u{n}", each.text, each.places) for n, each in enumerate(sentences, 1)))
    pairs = enumerate(itertools.pairwise(sentences), 1)
    return Decomposition(kind, tuple(Unit(f"u{n}", a.text, _both(a, b), b.text) for n, (a, b) in pairs))


def _both(first: Sentence, second: Sentence) -> tuple[int, ...]:
    return tuple(sorted({*first.places, *second.places}))


def fact_units(text: str, facts: Facts, settings: SealScoringSettings) -> Decomposition:
    """Return a text's facts as units; the whole text if all are known and are too few."""
    if not facts.lost and len(facts.found) < settings.whole_below_facts:
        return whole_text(text)
    sentences = split_sentences(text)
    pieces = [Unit("", fact.text, (fact.sentence,)) for fact in facts.found]
    pieces += [Unit("", sentences[place], (place,), lost=why) for place, why in facts.lost.items()]
    ordered = enumerate(sorted(pieces, key=lambda unit: unit.sentences), 1)
    return Decomposition("fact", tuple(replace(unit, id=f"u{n}") for n, unit in ordered))


def whole_text(text: str) -> Decomposition:
    """Return the text as one unit."""
    return Decomposition("whole", (Unit("u1", text),))
