"""Rewriting by the offline judge (DCR, section 3): it cannot write, so it takes sentences out of what is shown.

A failing sentence gives way to the sentence of the source, context or reference that has most of its words, or to
nothing where none is near or the text has it already. Where a fault names no sentence, each sentence is tried in the
same way, and the change is made after which the text measures best by what the faults ask for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.judges.embedded.backing import roots
from rubriclab.judges.embedded.rating import rating
from rubriclab.sentences import split_sentences

# The share of words that two sentences have to have in common for one to stand in for the other; fewer than so many
# common words are chance.
NEAR = 0.15
NEAR_WORDS = 2

# A sentence of which another one has this share of the words would only repeat it.
REPEATED = 0.7

# A change is worth making that brings the text on by this share of the scale.
WORTH = 0.01

_MARK = re.compile(r"(?<=\w)([.,;:!?])(?=\s|$)")
_DETACHED = re.compile(r"\s+([.,;:!?])(?=\s|$)")


@dataclass(frozen=True, slots=True)
class _Edit:
    """What could be done with one sentence: an empty text removes it."""

    sentence: int
    text: str
    reasoning: str

    def to_reply(self) -> dict[str, Any]:
        return {"sentence": self.sentence, "reasoning": self.reasoning, "text": self.text}


def rewrite(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry for each failing sentence, and at most one more where faults name none."""
    sentences = {each["id"]: each["text"] for each in fields["sentences"]}
    edits: list[_Edit] = []
    for number in fields["failing"]:
        edit = _mended(number, sentences, fields)
        if edit.text != sentences[number] and (edit.text or len(sentences) > 1):
            sentences = _with(sentences, edit)
            edits.append(edit)
    if fields["free"] and not edits and (best := _best(sentences, fields)):
        edits.append(best)
    return {"sentences": [edit.to_reply() for edit in edits]}


def _mended(number: int, sentences: Mapping[int, str], fields: Mapping[str, Any]) -> _Edit:
    """Return the sentence's replacement; in later samples of the same prompt another near one, by lot."""
    kept = [text for other, text in sentences.items() if other != number]
    near = [each for each in _near(sentences[number], _material(fields)) if not _is_told(each, kept)]
    if not near:
        return _Edit(number, "", "Measured, not read: no sentence beside it is near that the text does not have yet.")
    sample = fields["sample"]
    chosen = random.Random(sample).choice(near) if sample else near[0]
    styled = _styled(chosen, " ".join(sentences.values()))
    return _Edit(number, styled, "Measured, not read: this sentence, shown beside it, has most of its words.")


def _with(sentences: Mapping[int, str], edit: _Edit) -> dict[int, str]:
    changed = {**sentences, edit.sentence: edit.text}
    return {number: text for number, text in changed.items() if text}


def _material(fields: Mapping[str, Any]) -> list[str]:
    """Return the sentences that facts can be taken from: not those of a dialogue, which have been said."""
    names = ("context", "reference") if fields["words"]["task"] == "dialogue" else ("source", "context", "reference")
    return [sentence for name in names for sentence in split_sentences(fields[name] or "")]


def _near(sentence: str, material: Sequence[str]) -> list[str]:
    """Return the sentences that have enough words in common with this one, the nearest first."""
    own = roots(sentence).keys()
    found = []
    for place, other in enumerate(material):
        common = len(own & roots(other).keys())
        if common >= NEAR_WORDS and common / len(own | roots(other).keys()) >= NEAR:
            found.append((-common / len(own | roots(other).keys()), place, other))
    return [other for _, _, other in sorted(found)]


def _is_told(sentence: str, kept: Sequence[str]) -> bool:
    own = roots(sentence).keys()
    return not own or any(len(own & roots(other).keys()) / len(own) >= REPEATED for other in kept)


def _best(sentences: Mapping[int, str], fields: Mapping[str, Any]) -> _Edit | None:
    """Return the change after which the text measures best, if any brings it on."""
    before = _measured(sentences, fields)
    gains = [(_measured(_with(sentences, edit), fields) - before, edit) for edit in _possible(sentences, fields)]
    scale = fields["scale"]
    gain, best = max(gains, key=lambda each: (each[0], -each[1].sentence), default=(0.0, None))
    return best if gain >= WORTH * (scale["high"] - scale["low"]) else None


def _possible(sentences: Mapping[int, str], fields: Mapping[str, Any]) -> Iterator[_Edit]:
    for number in sentences:
        edit = _mended(number, sentences, fields)
        if edit.text:
            yield edit
        if len(sentences) > 1:
            yield _Edit(number, "", "Measured, not read: the text comes out better without it.")


def _measured(sentences: Mapping[int, str], fields: Mapping[str, Any]) -> float:
    """Return the mean score of a text by what its faults ask for."""
    about = {**fields, "output": " ".join(sentences.values())}
    scores = [
        rating(about, {"trait": fault["criterion"], "statement": fault["asks"], "levels": ()})[0]
        for fault in fields["faults"]
        if not fault["sentences"]
    ]
    return sum(scores) / len(scores)


def _styled(sentence: str, text: str) -> str:
    """Return a sentence on one line in the way the text is written: in lower case, with marks set apart, or neither."""
    line = " ".join(sentence.split())
    if _DETACHED.search(text) and not _MARK.search(text):
        line = _MARK.sub(r" \1", line)
    elif _MARK.search(text) and not _DETACHED.search(text):
        line = _DETACHED.sub(r"\1", line)
    if not any(character.isupper() for character in text):
        return line.lower()
    return line[:1].upper() + line[1:]
