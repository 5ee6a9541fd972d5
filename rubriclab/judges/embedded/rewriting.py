"""Rewriting by the offline judge (DCR, section 3): it cannot write, so it takes sentences out of what is shown.

A failing sentence is replaced by the sentence of the source, context or reference that shares most of its words, or
removed where none is near or the text has it already. Where a fault names no sentence, the same is tried with each
sentence, and the change is made after which the text measures best by what the faults ask for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from rubriclab.judges.embedded.rating import rating
from rubriclab.judges.embedded.support import roots, shared
from rubriclab.sentences import split_sentences

# The least words in common, as a number and as a share of the words of both, for one sentence to replace another.
NEAR_WORDS = 2
NEAR = 0.15

# A sentence that shares this much of its words with another one would only repeat it.
REPEATED = 0.7

# The least gain that a change is made for, as a share of the scale.
WORTH = 0.01

_MARK = re.compile(r"(?<=\w)([.,;:!?])(?=\s|$)")
_DETACHED = re.compile(r"\s+([.,;:!?])(?=\s|$)")


def rewrite(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry for each failing sentence, and at most one more where faults name none; empty text removes."""
    sentences = {sentence["id"]: sentence["text"] for sentence in fields["sentences"]}
    edits: dict[int, str] = {}
    for number in fields["failing"]:
        text = _replacement(number, sentences, fields)
        if text != sentences[number] and (text or len(sentences) > 1):
            edits[number] = text
            sentences = _with(sentences, number, text)
    if fields["free"] and not edits:
        edits = _best_edit(sentences, fields)
    reasons = {True: "this sentence, shown beside it, has most of its words", False: "the text is better without it"}
    return {
        "sentences": [
            {"sentence": number, "reasoning": f"Measured, not read: {reasons[bool(text)]}.", "text": text}
            for number, text in edits.items()
        ]
    }


def _with(sentences: Mapping[int, str], number: int, text: str) -> dict[int, str]:
    return {place: kept for place, kept in {**sentences, number: text}.items() if kept}


def _replacement(number: int, sentences: Mapping[int, str], fields: Mapping[str, Any]) -> str:
    """Return the nearest sentence that is new to the text, or none; in later samples a randomly drawn near one."""
    # What has been said in a dialogue is no source of facts.
    names = ("context", "reference") if fields["words"]["task"] == "dialogue" else ("source", "context", "reference")
    material = [sentence for name in names for sentence in split_sentences(fields[name] or "")]
    others = [text for place, text in sentences.items() if place != number]
    near = [
        text
        for text in sorted(material, key=lambda text: -_likeness(sentences[number], text))
        if _likeness(sentences[number], text) >= NEAR and not any(shared(text, other) >= REPEATED for other in others)
    ]
    if not near:
        return ""
    chosen = random.Random(fields["sample"]).choice(near) if fields["sample"] else near[0]
    return _styled(chosen, " ".join(sentences.values()))


def _likeness(one: str, other: str) -> float:
    a, b = roots(one).keys(), roots(other).keys()
    return len(a & b) / len(a | b) if len(a & b) >= NEAR_WORDS else 0.0


def _best_edit(sentences: Mapping[int, str], fields: Mapping[str, Any]) -> dict[int, str]:
    """Return the change after which the text measures best, if any is worth making."""
    edits = [(number, _replacement(number, sentences, fields)) for number in sentences]
    edits += [(number, "") for number in sentences if len(sentences) > 1]
    scores = {edit: _score(_with(sentences, *edit), fields) for edit in edits if edit[1] or len(sentences) > 1}
    best = max(scores, key=lambda edit: (scores[edit], -edit[0]), default=None)
    least = _score(sentences, fields) + WORTH * (fields["scale"]["high"] - fields["scale"]["low"])
    return dict([best]) if best and scores[best] >= least else {}


def _score(sentences: Mapping[int, str], fields: Mapping[str, Any]) -> float:
    """Return the mean score of a text by what the faults of the whole text ask for."""
    about = {**fields, "output": " ".join(sentences.values())}
    return fmean(
        rating(about, {"trait": fault["criterion"], "statement": fault["asks"], "levels": ()})[0]
        for fault in fields["faults"]
        if not fault["sentences"]
    )


def _styled(sentence: str, text: str) -> str:
    """Return a sentence in the style of the text: in lower case, with marks set apart, or neither."""
    line = " ".join(sentence.split())
    if _DETACHED.search(text) and not _MARK.search(text):
        line = _MARK.sub(r" \1", line)
    elif _MARK.search(text) and not _DETACHED.search(text):
        line = _DETACHED.sub(r"\1", line)
    cased = any(character.isupper() for character in text)
    return line[:1].upper() + line[1:] if cased else line.lower()
