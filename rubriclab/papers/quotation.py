"""Whether a quotation stands in a paper, and on which page.

What counts of both must agree (`rubriclab.papers.comparable`): each letter, digit and sign, in the same order, and
the boundaries between words. Two differences are allowed, since they come from the layout and from extraction. A word
may be split where a line of the paper ends; without a hyphen only if neither part is a word that is common or stands
elsewhere in the paper. A word of at least `SHORTEST_RESTORED` letters may have lost a ligature of f in the paper
("signicant"). So a passage with another number or sign, an added or left out word such as "not", or an opposite
("consistent", "inconsistent") is refused.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby

from rubriclab.papers.comparable import (
    BOUNDARIES,
    HYPHEN,
    JOINING,
    LINE_END,
    MINUS,
    SPACE,
    SPLIT,
    Comparable,
    comparable,
    is_letter,
    is_sign,
    is_spaceless,
)
from rubriclab.papers.paper import PaperPage
from rubriclab.text_features import lexicon

FEWEST_WORDS = 5
SHORTEST_RESTORED = 5
# Each doubles the ways in which a word can be compared.
_MOST_RESTORED = 3
# In writing without spaces, about this many letters make a word.
_LETTERS_OF_A_WORD = 2
_PAGE_END = "\n"
_BOUNDARY = re.compile(f"([{re.escape(BOUNDARIES)}])")
# Prefixes and suffixes of opposites, which stand alone where a sentence says something else: "a typical", "no table".
_OPPOSITES = lexicon.word_set("a an anti counter de dis il im in ir less mal mis no non not un")
# Common words, also in a paper that is too short to have each of them once more.
_WORDS = _OPPOSITES | lexicon.FUNCTION_WORDS | lexicon.CONNECTIVES
# The end of a line between parts that are not known words: it may divide one word or separate two.
_POSSIBLE_SPLIT = "\u200b"
# What the paper may have where the quotation has nothing between two letters.
_SPLIT_WORD = f"[{SPLIT}{_POSSIBLE_SPLIT}]?"
# Lines that end with the hyphen of a compound were joined without it when the paper was read.
_IN_COMPOUND = f"[{HYPHEN}{SPLIT}]"
_WORDS_APART = SPACE + LINE_END + _POSSIBLE_SPLIT
_LIGATURE = re.compile("ffi|ffl|ff|fi|fl")
# Signs that belong to the number before them, and those beside which a quotation may begin or end with a number.
_AFTER_NUMBER = "%‰°/^*"
_APART_BEFORE = "=%&"
_APART_AFTER = f"<>=≤≥≠~≈{MINUS}"


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a quotation was found: its page, and the wording there."""

    page: int
    text: str


@dataclass(frozen=True, slots=True)
class _Pages:
    """The text of all pages, and where each of them begins in it.

    Attributes:
        letters: what counts of the text, with `_POSSIBLE_SPLIT` for each line end that may divide a word.
    """

    compared: Comparable
    letters: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def number_at(self, place: int) -> int:
        return self.numbers[bisect_right(self.starts, place) - 1]


def word_count(quotation: str) -> int:
    """Return the number of words and numbers."""
    letters = comparable(quotation).letters
    words = re.findall(r"[^\W_](?:[^\W_]|[.,:](?=\d))*", letters)
    spaceless = sum(map(is_spaceless, letters))
    return sum(not is_spaceless(word[0]) for word in words) + spaceless // _LETTERS_OF_A_WORD


def find_quotation(quotation: str, pages: Sequence[PaperPage], page: int | None = None) -> Passage | None:
    """Return where a quotation stands in a paper, in the paper's own words, or `None` if it does not.

    It may run on from one page to the next; the page is then the first of both.

    Args:
        quotation: at least `FEWEST_WORDS` words; with fewer, nothing is found.
        page: the page that is preferred if the quotation stands on several.
    """
    if word_count(quotation) < FEWEST_WORDS or not pages:
        return None
    sought = comparable(quotation.strip())
    there = _joined(tuple(pages))
    chosen = None
    for start, end in _occurrences(sought.letters, there.letters):
        number = there.number_at(there.compared.places[start])
        if chosen is None or number == page:
            chosen = number, start, end
        if page in (None, number):
            break
    if chosen is None:
        return None
    number, start, end = chosen
    return Passage(number, _passage(there.compared, start, end, sought))


@functools.lru_cache(2)
def _joined(pages: tuple[PaperPage, ...]) -> _Pages:
    texts = [comparable(each.text).text for each in pages]
    starts = accumulate((len(text) + len(_PAGE_END) for text in texts[:-1]), initial=0)
    compared = comparable(_PAGE_END.join(texts))
    return _Pages(
        compared, _with_possible_splits(compared.letters), tuple(starts), tuple(each.number for each in pages)
    )


def _with_possible_splits(letters: str) -> str:
    """Return the letters with `_POSSIBLE_SPLIT` for each line end between two words that are not known."""
    words, boundaries = (parts := _BOUNDARY.split(letters))[::2], parts[1::2]
    around = zip([SPACE, *boundaries], words, [*boundaries, SPACE], strict=True)
    known = _WORDS | {word for before, word, after in around if before == after == SPACE}
    for place, boundary in enumerate(boundaries):
        one, other = words[place : place + 2]
        spaceless = is_spaceless(one[-1:]) and is_spaceless(other[:1])
        if boundary == LINE_END and (spaceless or known.isdisjoint((one, other))):
            boundaries[place] = _POSSIBLE_SPLIT
    return "".join(chain.from_iterable(zip(words, [*boundaries, ""], strict=True)))


def _occurrences(sought: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a quotation begins and ends in a text, both with whole words and numbers."""
    pattern = _pattern(sought)
    found = pattern.search(text)
    while found:
        start, end = found.span()
        if _begins_word(text, start) and _ends_word(text, end):
            yield start, end
        found = pattern.search(text, start + 1)


def _pattern(sought: str) -> re.Pattern[str]:
    parts = []
    for are_letters, run in groupby(sought.replace(LINE_END, SPACE), key=is_letter):
        part = "".join(run)
        if are_letters:
            parts.append(_word_pattern(part))
        elif part in (HYPHEN, SPLIT):
            parts.append(f"{_IN_COMPOUND}?")
        else:
            parts += [_character_pattern(character) for character in part]
    return re.compile("".join(parts))


def _word_pattern(word: str) -> str:
    """Return a pattern of a word that may be split between two lines, or have lost a ligature."""
    ligatures = list(_LIGATURE.finditer(word)) if len(word) >= SHORTEST_RESTORED else []
    parts: list[str] = []
    at = 0
    for ligature in ligatures if len(ligatures) <= _MOST_RESTORED else ():
        parts += map(re.escape, word[at : ligature.start()])
        space = " ?" if ligature.start() > 0 and ligature.end() < len(word) else ""
        parts.append(f"(?:{_SPLIT_WORD.join(ligature[0])}|{space})")
        at = ligature.end()
    # Atomic, so that a word without a match is not tried again for each way of matching those before it.
    return f"(?>{_SPLIT_WORD.join([*parts, *map(re.escape, word[at:])])})"


def _character_pattern(character: str) -> str:
    return {SPACE: f"[{_WORDS_APART}]", HYPHEN: _IN_COMPOUND, SPLIT: _IN_COMPOUND}.get(character, re.escape(character))


def _begins_word(text: str, start: int) -> bool:
    """Return whether nothing that belongs to the word or number at `start` stands before it."""
    if start == 0:
        return True
    before, first = text[start - 1], text[start]
    if before in _WORDS_APART:
        return True
    if before in (HYPHEN, SPLIT, JOINING, MINUS):
        return False
    if is_sign(first):
        belongs = before.isdigit() and first in f"{_AFTER_NUMBER}.,:"
        return not belongs and first != JOINING and (not is_sign(before) or before in _AFTER_NUMBER)
    if is_sign(before):
        return before in _APART_BEFORE or not first.isdigit()
    return is_spaceless(before) or is_spaceless(first)


def _ends_word(text: str, end: int) -> bool:
    """Return whether nothing that belongs to the word or number before `end` stands after it."""
    if end == len(text):
        return True
    last, after = text[end - 1], text[end]
    if after in _WORDS_APART:
        return True
    if after in (HYPHEN, SPLIT, JOINING):
        return False
    if is_sign(last):
        return last in _AFTER_NUMBER or not (after.isdigit() or is_sign(after))
    if is_sign(after):
        return after in _APART_AFTER or not last.isdigit()
    return is_spaceless(last) or is_spaceless(after)


def _passage(there: Comparable, start: int, end: int, sought: Comparable) -> str:
    """Return the text between two places, with the punctuation around it that the quotation has too."""
    first, last = there.places[start], there.places[end - 1] + 1
    before, after = sought.text[: sought.places[0]], sought.text[sought.places[-1] + 1 :]
    first -= len(before) if there.text.endswith(before, 0, first) else 0
    last += len(after) if there.text.startswith(after, last) else 0
    return " ".join(there.text[first:last].split())
