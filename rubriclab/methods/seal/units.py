"""A text taken apart into what can be judged by itself (SEAL, section 3.3, equations 1 and 2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import BaseModel, Field, ValidationInfo, model_validator

from rubriclab.data.aspect import TaskWords, Words
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.price import BYTES_PER_TOKEN
from rubriclab.methods.seal.facts import Facts, facts_of
from rubriclab.methods.seal.settings import SealScoringSettings
from rubriclab.prompts import Prompt
from rubriclab.segmentation import UnitKind
from rubriclab.sentences import sentence_spans, split_sentences


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as the judge sees it.

    Attributes:
        text: its words, as they stand in the text.
        places: the places, from 0, of the sentences by rule that it shares characters with.
    """

    text: str
    places: tuple[int, ...]


class SplitText(BaseModel):
    """A text's sentences, which together hold its words in their order."""

    sentences: list[Words] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context and _bare("".join(self.sentences)) != _bare(info.context["text"]):
            raise ValueError("the sentences together must be the text, word for word and with nothing left out")
        return self


async def sentences_by_judge(text: str, words: TaskWords, judge: Judge) -> tuple[Sentence, ...] | str:
    """Return the text's sentences, or why they could not be had."""
    answer = await ask(judge, split_prompt(text, words))
    if answer.value is None:
        return f"the judge did not split the text into sentences: {answer.missing}"
    return _located(text, answer.value.sentences)


def split_prompt(text: str, words: TaskWords) -> Prompt[SplitText]:
    """Return the prompt that asks for the sentences of a text."""
    longest = 256 + 2 * len(text.encode()) // BYTES_PER_TOKEN
    return Prompt("seal/split", {"words": words.model_dump(), "text": text}, SplitText, max_tokens=longest)


def _located(text: str, sentences: list[str]) -> tuple[Sentence, ...]:
    """Return the sentences as they stand in the text, which they make up but for white space."""
    visible = [at for at, character in enumerate(text) if not character.isspace()]
    by_rule, found, first = sentence_spans(text), list[Sentence](), 0
    for sentence in sentences:
        last = first + len(_bare(sentence))
        start, end = visible[first], visible[last - 1] + 1
        places = tuple(n for n, (a, b) in enumerate(by_rule) if a < end and start < b)
        found.append(Sentence(text[start:end], places))
        first = last
    return tuple(found)


def _bare(text: str) -> str:
    return "".join(text.split())


# What a text is asked about as: by the units that were meant, or whole, being too short for them.
Kind = UnitKind | Literal["whole"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a text.

    Attributes:
        text: its words; of a pair those of its first sentence.
        sentences: the places of the sentences that it stands in, from 0; empty for the whole text, which is no
            sentence's in particular.
        second: the words of a pair's second sentence.
        lost: why there is nothing to ask about: a sentence whose facts could not be had.
    """

    id: str
    text: str
    sentences: tuple[int, ...] = ()
    second: str | None = None
    lost: str | None = None

    @property
    def words(self) -> str:
        """All its words."""
        return self.text if self.second is None else f"{self.text} {self.second}"


@dataclass(frozen=True, slots=True)
class Taken:
    """A text's units and their kind, in the text's order."""

    kind: Kind
    units: tuple[Unit, ...]


async def take_apart(text: str, kind: UnitKind, words: TaskWords, judge: Judge, settings: SealScoringSettings) -> Taken:
    """Return the text's units of a kind; the whole text as one where it has too few of them.

    Only facts are asked of the judge, and sentences where the settings say so. A sentence whose facts could not be had
    is a unit of its own, and lost; so is a text that the judge was to split and did not.
    """
    if kind == "fact" and settings.decompose:
        return fact_units(text, await facts_of(text, "output", words, judge, most=settings.most_facts), settings)
    if not split_by_judge(kind, settings):
        return cut(text, kind, settings)
    sentences = await sentences_by_judge(text, words, judge)
    if isinstance(sentences, str):
        return Taken(kind, (Unit("u1", text, lost=sentences),))
    return _cut(text, kind, sentences, settings)


def split_by_judge(kind: UnitKind, settings: SealScoringSettings) -> bool:
    """Return whether the judge splits the text into sentences."""
    return kind in ("sentence", "sentence pair") and settings.decompose and settings.sentences == "judge"


def cut(text: str, kind: UnitKind, settings: SealScoringSettings) -> Taken:
    """Return the text's units of a kind that takes no judge, or the whole text."""
    if kind in ("response", "triple"):
        return Taken(kind, (Unit("u1", text),))
    if not settings.decompose or kind == "fact":
        return whole(text)
    sentences = tuple(Sentence(each, (place,)) for place, each in enumerate(split_sentences(text)))
    return _cut(text, kind, sentences, settings)


def _cut(text: str, kind: UnitKind, sentences: Sequence[Sentence], settings: SealScoringSettings) -> Taken:
    """Return sentences, or pairs of them, as units; the whole text, where they are too few."""
    if len(sentences) < settings.whole_below_sentences:
        return whole(text)
    if kind == "sentence":
        return Taken(kind, tuple(Unit(f"u{n}", each.text, each.places) for n, each in enumerate(sentences, 1)))
    pairs = enumerate(itertools.pairwise(sentences), 1)
    return Taken(kind, tuple(Unit(f"u{n}", a.text, _both(a, b), b.text) for n, (a, b) in pairs))


def _both(first: Sentence, second: Sentence) -> tuple[int, ...]:
    return tuple(sorted({*first.places, *second.places}))


def fact_units(text: str, facts: Facts, settings: SealScoringSettings) -> Taken:
    """Return a text's facts as units; the whole text, where all of them are known and are too few."""
    if not facts.lost and len(facts.found) < settings.whole_below_facts:
        return whole(text)
    sentences = split_sentences(text)
    pieces = [Unit("", fact.text, (fact.sentence,)) for fact in facts.found]
    pieces += [Unit("", sentences[place], (place,), lost=why) for place, why in facts.lost.items()]
    ordered = enumerate(sorted(pieces, key=lambda unit: unit.sentences), 1)
    return Taken("fact", tuple(replace(unit, id=f"u{n}") for n, unit in ordered))


def whole(text: str) -> Taken:
    """Return the text as one unit."""
    return Taken("whole", (Unit("u1", text),))
