"""Length, well-formedness and layout of a text; all elementary counts."""

from __future__ import annotations

import math
import re
from itertools import pairwise

from rubriclab.text_features.lexicon import ARTICLES, AUXILIARIES, CONJUNCTIONS, POSSESSIVES, PREPOSITIONS, word_set
from rubriclab.text_features.text import Text, share

WORD_COUNT = "words"
"""The feature that every learned rubric is compared with."""

_FINAL = re.compile(r"[.!?…。！？][\"'”’)\]»`\s]*\Z")
_PUNCTUATION = re.compile(r"(\s?)[.,;:!?](?=\s|\Z)")
_MARKUP = re.compile(r"^[ \t]{0,8}(?:#{1,6} |[-*•+] |\d{1,3}[.)] |>|\|)|\*\*|__|```|https?://|www\.|\]\(", re.MULTILINE)
_JOINT = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?](?=\s|\Z)")
_OPENERS_ONLY = ARTICLES | POSSESSIVES
_NEVER_AFTER_OPENER = (_OPENERS_ONLY | CONJUNCTIONS | AUXILIARIES | PREPOSITIONS) - word_set(
    "down inside like near outside past up can will may might must do being"
)
_NEVER_BEFORE_STOP = _OPENERS_ONLY - {"his"} | word_set("of and or but than because into if from although")
_MAY_DOUBLE = word_set("had that very no so bye ha really many far long now yes again on")


def surface_features(text: Text) -> dict[str, float]:
    """Values of the features of length, form and layout; for a text without words of the counts alone."""
    lengths, total = [len(sentence) for sentence in text.sentence_words], len(text.words)
    counts = {WORD_COUNT: float(total), "log_words": math.log1p(total), "sentences": float(len(lengths))}
    if not total:
        return counts
    marks = _PUNCTUATION.findall(text.raw)
    return {
        **counts,
        "longest_sentence": float(max(lengths)),
        "ends_complete": float(bool(_FINAL.search(text.raw[-40:]))),
        "opening_capital": float(not text.cased_words[0][0][0].islower()),
        "detached_punctuation": share(sum(1 for gap in marks if gap), len(marks)),
        "stumbles": 100 * sum(_is_stumble(*pair) for pair in pairwise(_JOINT.findall(text.plain))) / total,
        "commas": sum(text.raw.count(mark) for mark in ",;:、，；：") / len(lengths),
        "markup": 100 * len(_MARKUP.findall(text.raw)) / total,
    }


def _is_stumble(left: str, right: str) -> bool:
    """Neighbours that English hardly allows: "the of", "a .", "of .", "was was"."""
    if right in ".!?":
        return left in _NEVER_BEFORE_STOP
    if left in _OPENERS_ONLY:
        return right in ",;:" or right in _NEVER_AFTER_OPENER
    return left == right and left not in _MAY_DOUBLE and left.isalpha()
