"""Whether a quotation stands on a page of a paper, tolerating what layout and text extraction change.

rapidfuzz finds the passage that is most similar; numbers, signs of comparison and negations in it may not differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz import fuzz

from rubriclab.papers.paper import PaperPage, cleaned

FEWEST_WORDS = 5
# Out of 100: lost ligatures, and words divided between lines, are more similar; another word in a sentence is not.
SIMILAR = 95
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’‛ʼ´`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\ufe0e\ufe0f©®™•▪◦"),
        "İ": "I",
    }
)
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_APART = re.compile(r" (?=[<>=≤≥≠±%])|(?<=[<>=≤≥≠±]) |(?<=-) (?=[.\d])")
# In writing without spaces, each sign counts.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|\\w+")
# What may not differ at all; words with a prefix of opposites too, as in "consistent" and "inconsistent".
_EXACT = re.compile(
    r"[<>=≤≥≠±]|(?:(?<!\w)-)?\.?\d(?:[.,:/]?\d)*%?|\b(?:no|not|never|none|nor|neither|without|cannot|hardly)\b|\w+n't"
    r"|\b(?:un|in|im|ir|dis|non|mis)\w+"
)


def find_quotation(quotation: str, pages: Sequence[PaperPage], first: int | None = None) -> PaperPage | None:
    """Return where a quotation stands in a paper, in the paper's own words; the page `first` is searched first.

    Return `None` if it stands on no page, or has fewer than `FEWEST_WORDS` words.
    """
    sought = _normalized(cleaned(quotation))
    if len(_WORD.findall(sought)) < FEWEST_WORDS:
        return None
    for page in sorted(pages, key=lambda each: each.number != first):
        if passage := _passage(sought, _normalized(page.text)):
            return PaperPage(page.number, passage)
    return None


def _normalized(text: str) -> str:
    composed = unicodedata.normalize("NFC", text)
    letters = _LIGATURES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), composed)
    return _APART.sub("", " ".join(letters.translate(_ALIKE).split()))


def _passage(sought: str, page: str) -> str | None:
    found = fuzz.partial_ratio_alignment(sought.lower(), page.lower(), score_cutoff=SIMILAR)
    if found is None or not sought:
        return None
    # To the ends of the first and last word.
    words = [
        word for word in re.finditer(r"\S+", page) if word.end() > found.dest_start and word.start() < found.dest_end
    ]
    passage = page[words[0].start() : words[-1].end()].strip("\"'.,;: ")
    return passage if _EXACT.findall(sought.lower()) == _EXACT.findall(passage.lower()) else None
