"""Whether a quotation stands on a page of a paper, tolerating what layout and text extraction change.

rapidfuzz finds the passage that is most similar. Its words must then be those of the quotation in the same order; a
word may be split between lines, or have lost a ligature. Numbers, signs and negations may not differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from rapidfuzz import fuzz

from rubriclab.papers.paper import PaperPage, cleaned

FEWEST_WORDS = 5
# Out of 100, for the passage and for words that differ. Tried on quotations of 8 to 60 words with line breaks, hyphens
# and lost ligatures, of which 99 % are found, and on ones with a changed, added, dropped or moved word, number or
# negation, of which at most 1 % are, except a dropped "not": 8 %.
SIMILAR = 90
SIMILAR_WORDS = 75
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’‛ʼ´`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\ufe0e\ufe0f©®™•▪◦"),
        "∼": "~",
        "⩽": "≤",
        "⩾": "≥",
        "İ": "I",
    }
)
_LIGATURES = re.compile("[\ufb00-\ufb06]")
# TeX draws a stroke through the sign before or after it.
_UNEQUAL = re.compile("\u0338[ \t]*=|=\u0338|!=")
# Writing without spaces between words.
_IDEOGRAPH = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
# Spaces beside a sign, and in such writing.
_SPACELESS = rf"(?<={_IDEOGRAPH}) (?={_IDEOGRAPH})"
_APART = re.compile(rf" (?=[<>=≤≥≠±~≈×])|(?<=[<>=≤≥≠±~≈×+]) |(?<![^\W\d]-)(?<=-) (?=[.$\d])|(?<=\d) (?=%)|{_SPACELESS}")
_NUMBER = r"(?:[<>=≤≥≠±~≈×+]+-?|(?<!\w)-)?[$€£]?\.?\d(?:[.,:/*'·-]?\w)*%?"
_SIGN = r"[^\w\s.,;:!?'\"()\[\]-]"
_TOKEN = re.compile(rf"{_NUMBER}|{_SIGN}|{_IDEOGRAPH}|[^\W\d](?:'?(?!{_IDEOGRAPH})\w)*")
# What may not differ at all; words with a prefix of opposites too, as in "consistent" and "inconsistent".
_EXACT = re.compile(
    rf"{_NUMBER}|{_SIGN}|no|not|never|none|nor|neither|without|cannot|hardly|\w+n't|(?:un|in|im|ir|dis|non|mis)\w+"
)


def find_quotation(quotation: str, pages: Sequence[PaperPage], first: int | None = None) -> PaperPage | None:
    """Return where a quotation stands in a paper, in the paper's own words; the page `first` is searched first.

    Return `None` if it stands on no page, or has fewer than `FEWEST_WORDS` words.
    """
    sought = _normalized(cleaned(quotation))
    if len(_TOKEN.findall(sought)) < FEWEST_WORDS:
        return None
    for page in sorted(pages, key=lambda each: each.number != first):
        if passage := _passage(sought, _normalized(page.text)):
            return PaperPage(page.number, passage)
    return None


def _normalized(text: str) -> str:
    composed = _UNEQUAL.sub("≠", unicodedata.normalize("NFC", text))
    letters = _LIGATURES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), composed)
    return _APART.sub("", " ".join(letters.translate(_ALIKE).split()))


def _passage(sought: str, page: str) -> str | None:
    found = fuzz.partial_ratio_alignment(sought.lower(), page.lower(), score_cutoff=SIMILAR)
    if found is None:
        return None
    tokens = [each for each in _TOKEN.finditer(page.lower()) if each.end() > found.dest_start]
    tokens = [each for each in tokens if each.start() < found.dest_end]
    wanted, there = _TOKEN.findall(sought.lower()), [each[0] for each in tokens]
    blocks = SequenceMatcher(None, wanted, there, autojunk=False).get_opcodes()
    # The passage that is most similar may have a word more at either end.
    start = blocks[0][4] if blocks[0][0] == "insert" else 0
    end = blocks[-1][3] if blocks[-1][0] == "insert" else len(there)
    for kind, one, one_end, other, other_end in blocks:
        is_inside = start <= other and other_end <= end
        if kind != "equal" and is_inside and not _is_same(wanted[one:one_end], there[other:other_end]):
            return None
    return page[tokens[start].start() : tokens[end - 1].end()]


def _is_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether different words are the same but for their division and lost ligatures."""
    if any(map(_EXACT.fullmatch, (*one, *other))):
        return False
    return fuzz.ratio("".join(one), "".join(other)) >= SIMILAR_WORDS
