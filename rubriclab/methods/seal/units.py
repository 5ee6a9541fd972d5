"""A text taken apart into what can be judged by itself (SEAL, section 3.3, equations 1 and 2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rubriclab.data.aspect import TaskWords
from rubriclab.judges.judge import Judge
from rubriclab.methods.seal.facts import Facts, facts_of
from rubriclab.methods.seal.settings import SealScoringSettings
from rubriclab.methods.seal.split import Sentence, sentences_by_judge
from rubriclab.segmentation import UnitKind
from rubriclab.sentences import split_sentences

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
