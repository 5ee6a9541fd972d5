"""Whether a quotation stands in a paper, and on which page.

Letters, digits and the signs of numbers are compared; white space, hyphens, quotation marks and other punctuation are
not, nor are upper case and ligatures, since they change when text is extracted from a file. Where this finds nothing, a
passage of at least `SIMILARITY` percent similarity (rapidfuzz's partial ratio) is accepted if each of its words is the
same or differs as a misspelling does: a ratio of at least `WORD_SIMILARITY`, the same first letter, five letters or
more, no digit. So a passage with another number, an added or left out word such as "not", or an opposite
("consistent", "inconsistent") is refused.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rubriclab.papers.paper import PaperPage

SIMILARITY = 93.0
WORD_SIMILARITY = 88.0
FEWEST_WORDS = 5
# Letters on either side of a similar passage that are looked at to find the whole words at its ends.
_MARGIN = 15
_SIGNS = "<>=%+"
_IN_NUMBER = ".%"
_BEFORE_NUMBER = "-−"
_WORD = re.compile(r"[<>=+]|(?<![^\W_])[-−](?=\d)|[^\W_]+(?:[.,]\d+)*%?")
_AROUND = re.compile(r"([^\w<>=%+−-]*)(?:.*[\w%+])?([^\w%+]*)", re.DOTALL)
_INSIDE_WORD = re.compile(r"[^\W_][-\u00ad\u2010\u2011'’]?$")


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a quotation was found: its page, and the wording there."""

    page: int
    text: str


@dataclass(frozen=True, slots=True)
class _Letters:
    """What is compared of a text, and the place of each letter in it."""

    text: str
    letters: str
    places: tuple[int, ...]

    def passage(self, start: int, end: int, quotation: str) -> str:
        """Return the text from one letter to the one before another, with punctuation around it as in the quotation."""
        first, last = self.places[start], self.places[end - 1] + 1
        before, after = _AROUND.fullmatch(quotation.strip()).groups()  # type: ignore[union-attr]  # it matches any text
        first -= len(before) if self.text[:first].endswith(before) else 0
        last += len(after) if self.text[last:].startswith(after) else 0
        return " ".join(self.text[first:last].split())

    def starts_word(self, at: int) -> bool:
        """Return whether a word or number begins with the letter at `at`."""
        if self.letters[at] in _IN_NUMBER or self.letters[at - 1 : at] == ".":
            return False
        place = self.places[at]
        before = self.text[max(0, place - 2) : place]
        return not (self.text[place].isalnum() and _INSIDE_WORD.search(before))

    def ends_word(self, end: int) -> bool:
        """Return whether a word or number ends before the letter at `end`."""
        return end == len(self.places) or self.starts_word(end)


def word_count(quotation: str) -> int:
    """Return the number of words and numbers."""
    return len(_words(quotation))


def find_quotation(quotation: str, pages: Sequence[PaperPage], page: int | None = None) -> Passage | None:
    """Return where a quotation stands in a paper, or `None` if it does not.

    It may run on from one page to the next; the passage is then the quotation itself, on the first of both.

    Args:
        quotation: at least `FEWEST_WORDS` words; with fewer, nothing is found.
        page: the page that is searched first.
    """
    sought = _letters(quotation)
    if word_count(quotation) < FEWEST_WORDS or not sought.letters:
        return None
    ordered = sorted(pages, key=lambda each: each.number != page)
    compared = {id(each): _letters(each.text) for each in ordered}
    for each in ordered:
        if found := _exact(sought, compared[id(each)]):
            return Passage(each.number, found)
    for each, following in itertools.pairwise(pages):
        if _exact(sought, _letters(f"{each.text}\n{following.text}")):
            return Passage(each.number, " ".join(quotation.split()))
    for each in ordered:
        if similar := _similar(sought, compared[id(each)]):
            return Passage(each.number, similar)
    return None


def _letters(text: str) -> _Letters:
    """Return the compared letters of a text; one character can stand for several, such as the ligature of f and i."""
    kept = [(letter, place) for place, character in enumerate(text) for letter in _kept(character, text, place)]
    return _Letters(text, "".join(letter for letter, _ in kept), tuple(place for _, place in kept))


def _kept(character: str, text: str, place: int) -> Iterable[str]:
    if character in _SIGNS:
        return character
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    if character in ".,":
        return "." if len(around) == 2 and around.isdecimal() else ""
    if character in _BEFORE_NUMBER:
        return "-" if around[-1:].isdecimal() and not (place and text[place - 1].isalnum()) else ""
    folded = unicodedata.normalize("NFKC", character).casefold()
    return [letter for letter in folded if letter.isalnum()]


def _exact(sought: _Letters, page: _Letters) -> str | None:
    """Return the passage of a page with the same letters, which begins and ends with whole words."""
    start = page.letters.find(sought.letters)
    while start >= 0:
        end = start + len(sought.letters)
        if page.starts_word(start) and page.ends_word(end):
            return page.passage(start, end, sought.text)
        start = page.letters.find(sought.letters, start + 1)
    return None


def _similar(sought: _Letters, page: _Letters) -> str | None:
    """Return the passage of a page that differs from the quotation by misspellings only."""
    from rapidfuzz import fuzz

    if len(page.letters) < len(sought.letters):
        return None
    found = fuzz.partial_ratio_alignment(sought.letters, page.letters, score_cutoff=SIMILARITY)
    if found is None:
        return None
    start, end = max(0, found.dest_start - _MARGIN), min(len(page.letters), found.dest_end + _MARGIN)
    around = page.text[page.places[start] : page.places[end - 1] + 1]
    spans = [match.span() for match in _WORD.finditer(around)]
    words = [_folded(around[slice(*span)]) for span in spans]
    matched = list(_matched(words, _words(sought.text)))
    if not matched or None in matched:
        return None
    used = [place for place in matched if place is not None]
    return " ".join(around[spans[used[0]][0] : spans[used[-1]][1]].split())


def _matched(page: Sequence[str], quotation: Sequence[str]) -> Iterator[int | None]:
    """Yield the places of the page's words that the quotation has, `None` where one of either is missing or another."""
    steps = SequenceMatcher(None, page, quotation, autojunk=False).get_opcodes()
    for number, (_, start, end, first, last) in enumerate(steps):
        outside = number in (0, len(steps) - 1)
        if first == last:
            # Words around the passage are none of it.
            yield from () if outside else (None,)
        elif page[start:end] == quotation[first:last]:
            yield from range(start, end)
        else:
            yield from _misspelt(page, range(start, end), quotation[first:last], outside=outside)


def _misspelt(page: Sequence[str], places: range, words: Sequence[str], *, outside: bool) -> Iterator[int | None]:
    """Yield the places of words that are misspelt or split otherwise; around the passage there may be more words."""
    runs: list[range] = [places]
    if outside:
        runs += [places[-count:] for count in range(1, len(places))] + [
            places[:count] for count in range(1, len(places))
        ]
    for run in runs:
        there = [page[place] for place in run]
        same_count = len(there) == len(words)
        if "".join(there) == "".join(words) or (same_count and all(map(_is_misspelling, there, words))):
            yield from run
            return
    yield None


def _is_misspelling(one: str, other: str) -> bool:
    from rapidfuzz import fuzz

    if one == other:
        return True
    if min(len(one), len(other)) < 5 or one[0] != other[0] or not (one + other).isalpha():
        return False
    return fuzz.ratio(one, other) >= WORD_SIMILARITY


def _words(text: str) -> list[str]:
    return [_folded(word) for word in _WORD.findall(text)]


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace(",", ".").replace("−", "-")
