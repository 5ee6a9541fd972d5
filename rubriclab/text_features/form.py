"""Whether the text is well-formed on its surface: sentence ends and starts, marks in pairs, debris, layout."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from statistics import fmean

from rubriclab.text_features.definition import Measure
from rubriclab.text_features.lexicon import ARTICLES, AUXILIARIES, CONJUNCTIONS, POSSESSIVES, PREPOSITIONS
from rubriclab.text_features.text import Text, share

_GRAMMAR = ("gramma", "fluen", "well-formed", "correct", "error", "mistake", "awkward", "natural", "polish")
_FORMAT = ("format", "layout", "markup", "structure", "clean", "present")

MEASURES = (
    Measure(
        "ends_complete",
        "an ending on final punctuation",
        "1 if the text ends in a sentence mark, else 0",
        "elementary",
        ("complet", "finish", "end", "conclu", "cut", "truncat", "abrupt", *_GRAMMAR),
        better_high=("fluency", "coherence"),
    ),
    Measure(
        "complete_sentences",
        "share of complete-looking sentences",
        "share of sentences with at least four words and a sentence mark",
        "elementary",
        ("complet", "sentence", "fragment", *_GRAMMAR),
        better_high=("fluency", "coherence"),
    ),
    Measure(
        "capital_starts",
        "share of sentences that start with a capital",
        "share of sentences",
        "elementary",
        ("capital", "case", "typograph", "formal", *_GRAMMAR),
        better_high=("fluency",),
    ),
    Measure(
        "opening_capital",
        "an opening with a capital, digit or quotation mark",
        "1 or 0",
        "elementary",
        ("capital", "begin", "start", "open", *_GRAMMAR),
        better_high=("fluency", "coherence"),
    ),
    Measure(
        "unpaired_marks",
        "quotation marks and brackets without a partner",
        "marks per sentence",
        "elementary",
        ("punctuat", "quot", "bracket", "typo", *_GRAMMAR),
        better_low=("fluency",),
    ),
    Measure(
        "detached_punctuation",
        "share of punctuation marks that stand apart from their word",
        "share of marks",
        "elementary",
        ("punctuat", "spac", "token", "format", *_GRAMMAR),
        better_low=("fluency",),
    ),
    Measure(
        "stumbles",
        "impossible word neighbours, such as an article before a full stop or a doubled word",
        "per 100 words",
        "elementary",
        ("ungramma", "broken", "garbl", "disfluen", "understand", "sense", "incomplet", *_GRAMMAR),
        better_low=("fluency", "coherence", "engagement"),
    ),
    Measure(
        "debris",
        "remains of machine processing, such as placeholders, escapes and doubled marks",
        "per 100 words",
        "elementary",
        ("artifact", "artefact", "debris", "garbage", "noise", "symbol", "encod", "clean", *_GRAMMAR),
        better_low=("fluency", "coherence"),
    ),
    Measure(
        "commas",
        "commas, semicolons and colons",
        "per sentence",
        "elementary",
        ("punctuat", "comma", "clause", "complex", "subordinat", "elaborat"),
    ),
    Measure(
        "markup",
        "layout marks: headings, list items, bold, code, links",
        "per 100 words",
        "elementary",
        ("markdown", "bullet", "list", "heading", "link", "url", "code", *_FORMAT),
    ),
)

_FINAL = re.compile(r"[.!?…。！？][\"'”’)\]»`\s]*\Z")
_PUNCTUATION = re.compile(r"(\s?)[.,;:!?](?=\s|\Z)")
_DEBRIS = re.compile(
    r"<[/\w]{1,12}>|\[\w{1,12}\]|-(?i:[lr][rcs]b)-|&(?:amp|quot|lt|gt|nbsp|#\d{1,6});|@\w{1,12}@|\b(?i:unk)\b"
    r"|\ufffd|â€|Ã[\x80-\xbf]|(?<![,;:.!?])[,;:][ ]?[,;:.!?]|(?<!\S)\.(?: \.)+|\\[nrtu]|\x00"
)
_MARKUP = re.compile(r"^[ \t]{0,8}(?:#{1,6} |[-*•+] |\d{1,3}[.)] |>|\|)|\*\*|__|```|https?://|www\.|\]\(", re.MULTILINE)
_JOINT = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?](?=\s|\Z)")
_OPENERS_ONLY = ARTICLES | POSSESSIVES
_NEVER_AFTER_OPENER = (
    ARTICLES
    | POSSESSIVES
    | CONJUNCTIONS
    | AUXILIARIES
    | (PREPOSITIONS - {"down", "inside", "like", "near", "outside", "past", "up"})
) - {"can", "will", "may", "might", "must", "do", "being"}
_NEVER_BEFORE_STOP = (
    ARTICLES | POSSESSIVES - {"his"} | {"of", "and", "or", "but", "than", "because", "into", "if", "from", "although"}
)
_MAY_DOUBLE = frozenset(
    {"had", "that", "very", "no", "so", "bye", "ha", "really", "many", "far", "long", "now", "yes", "again", "on"}
)


def measure_form(text: Text) -> dict[str, float]:
    """Values of this module's measures; nan for a text without words."""
    if not text.words:
        return {entry.name: math.nan for entry in MEASURES}
    per_hundred = 100 / len(text.words)
    marks = _PUNCTUATION.findall(text.raw)
    return {
        "ends_complete": float(bool(_FINAL.search(text.raw[-40:]))),
        "complete_sentences": fmean(_looks_complete(text)),
        "capital_starts": fmean(_starts_with_capital(words) for words in text.cased_words),
        "opening_capital": float(not text.cased_words[0][0][0].islower()),
        "unpaired_marks": _unpaired(text.plain) / len(text.sentences),
        "detached_punctuation": share(sum(1 for gap in marks if gap), len(marks)),
        "stumbles": _stumbles(text.plain) * per_hundred,
        "debris": len(_DEBRIS.findall(text.raw)) * per_hundred,
        "commas": sum(text.raw.count(mark) for mark in ",;:、，；：") / len(text.sentences),
        "markup": len(_MARKUP.findall(text.raw)) * per_hundred,
    }


def _looks_complete(text: Text) -> list[bool]:
    pairs = zip(text.sentences, text.sentence_words, strict=True)
    return [len(words) >= 4 and bool(_FINAL.search(sentence[-40:])) for sentence, words in pairs]


def _starts_with_capital(words: tuple[str, ...]) -> bool:
    return not words[0][0].islower()


def _unpaired(plain: str) -> int:
    brackets = sum(abs(plain.count(opening) - plain.count(closing)) for opening, closing in ("()", "[]", "{}"))
    return brackets + plain.count('"') % 2


def _stumbles(plain: str) -> int:
    """Neighbours that English hardly allows: "the of", "a .", "of .", "was was"."""
    tokens = _JOINT.findall(plain)
    return sum(_is_stumble(left, right) for left, right in pairwise(tokens))


def _is_stumble(left: str, right: str) -> bool:
    if right in ".!?":
        return left in _NEVER_BEFORE_STOP
    if left in _OPENERS_ONLY:
        return right in ",;:" or right in _NEVER_AFTER_OPENER
    return left == right and left not in _MAY_DOUBLE and left.isalpha()
