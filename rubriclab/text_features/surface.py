"""Length, well-formedness and layout of a text; all elementary counts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
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


def _detached_punctuation(text: Text) -> float:
    gaps = _PUNCTUATION.findall(text.raw)
    return share(sum(map(bool, gaps)), len(gaps))


def _stumbles(text: Text) -> float:
    return 100 * sum(_is_stumble(*pair) for pair in pairwise(_JOINT.findall(text.plain))) / len(text.words)


SURFACE_OF_ANY: Mapping[str, Callable[[Text], float]] = {
    WORD_COUNT: lambda text: float(len(text.words)),
    "log_words": lambda text: math.log1p(len(text.words)),
    "sentences": lambda text: float(len(text.sentence_words)),
}
"""The features of length that texts without words have too."""

SURFACE: Mapping[str, Callable[[Text], float]] = {
    "longest_sentence": lambda text: float(max(map(len, text.sentence_words))),
    "ends_complete": lambda text: float(bool(_FINAL.search(text.raw[-40:]))),
    "opening_capital": lambda text: float(not text.cased_words[0][0][0].islower()),
    "detached_punctuation": _detached_punctuation,
    "stumbles": _stumbles,
    "commas": lambda text: sum(map(text.raw.count, ",;:、，；：")) / len(text.sentence_words),
    "markup": lambda text: 100 * len(_MARKUP.findall(text.raw)) / len(text.words),
}
"""The features of length, form and layout of a text with words."""


def _is_stumble(left: str, right: str) -> bool:
    """Neighbours that English hardly allows: "the of", "a .", "of .", "was was"."""
    if right in ".!?":
        return left in _NEVER_BEFORE_STOP
    if left in _OPENERS_ONLY:
        return right in ",;:" or right in _NEVER_AFTER_OPENER
    return left == right and left not in _MAY_DOUBLE and left.isalpha()
