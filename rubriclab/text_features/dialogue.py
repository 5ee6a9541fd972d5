"""Traits of a reply: use of given facts, tie to the last turn, questions, stock phrases."""

from __future__ import annotations

import math
import re

from rubriclab.text_features.definition import NEEDS_CONTEXT, NEEDS_SOURCE, Measure
from rubriclab.text_features.fragments import copied_fragments
from rubriclab.text_features.lexicon import STOCK_REPLIES
from rubriclab.text_features.text import Text, share

_FACT = ("fact", "knowledge", "ground", "context", "informati", "condition", "use", "evidence")

MEASURES = (
    Measure(
        "words_from_context",
        "share of content words that stand in the given context",
        "share of content words",
        "knowledge overlap after Dinan et al. (2019, ICLR), precision",
        _FACT,
        NEEDS_CONTEXT,
        better_high=("faithfulness", "coverage", "engagement"),
    ),
    Measure(
        "context_covered",
        "share of the context's distinct content words that return",
        "share of distinct content words of the context",
        "knowledge overlap after Dinan et al. (2019, ICLR), recall",
        _FACT,
        NEEDS_CONTEXT,
        better_high=("faithfulness", "coverage", "engagement"),
    ),
    Measure(
        "longest_context_copy",
        "longest run of words copied from the context",
        "words",
        "fragments of Grusky et al. (2018, NAACL)",
        (*_FACT, "copy", "copied", "verbatim"),
        NEEDS_CONTEXT,
        better_high=("faithfulness",),
    ),
    Measure(
        "last_turn_overlap",
        "share of content words that take up the last line of the source",
        "share of content words",
        "elementary",
        ("respon", "reply", "previous", "last", "turn", "conversation", "answer", "relevan", "on-topic", "history"),
        NEEDS_SOURCE,
        better_high=("coherence",),
        tasks=("dialogue",),
    ),
    Measure(
        "question_marks",
        "questions",
        "question marks per sentence",
        "elementary",
        ("question", "ask", "inquir", "curio", "interact", "invit"),
        better_high=("engagement",),
        tasks=("dialogue",),
    ),
    Measure(
        "stock_phrases",
        "share of the text made of phrases that fit anywhere",
        'share of words inside phrases such as "i don\'t know"',
        "generic replies of Li et al. (2016, NAACL); own list",
        ("generic", "dull", "bland", "vague", "stock", "cliche", "boring", "specific", "interest", "safe"),
        better_low=("engagement", "coverage"),
        tasks=("dialogue",),
    ),
)

_STOCK = re.compile(rf"(?<=\s)(?:{'|'.join(map(re.escape, sorted(STOCK_REPLIES, key=len, reverse=True)))})(?=\s)")


def measure_dialogue(text: Text, source: Text | None, context: Text | None) -> dict[str, float]:
    """Values of this module's measures; nan for what needs an absent or empty context or source."""
    words = len(text.words)
    return {
        **_use_of_context(text, context),
        "last_turn_overlap": _last_turn_overlap(text, source),
        "question_marks": share(text.raw.count("?") + text.raw.count("？"), len(text.sentences)),
        "stock_phrases": share(sum(phrase.count(" ") + 1 for phrase in _STOCK.findall(text.padded)), words),
    }


def _use_of_context(text: Text, context: Text | None) -> dict[str, float]:
    if context is None or not context.words:
        return {entry.name: math.nan for entry in MEASURES if entry.needs == NEEDS_CONTEXT}
    common = text.content_counts.keys() & context.content_counts.keys()
    return {
        "words_from_context": share(sum(text.content_counts[word] for word in common), len(text.content)),
        "context_covered": share(len(common), len(context.content_counts)),
        "longest_context_copy": float(max(copied_fragments(text, context), default=0)),
    }


def _last_turn_overlap(text: Text, source: Text | None) -> float:
    if source is None or not source.last_line_content:
        return math.nan
    return share(sum(word in source.last_line_content for word in text.content), len(text.content))
