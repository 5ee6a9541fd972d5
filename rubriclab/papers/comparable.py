"""The part of a text that counts when a quotation is compared with a paper.

Letters, digits, signs and the boundaries between words count. Upper case, ligatures, soft hyphens, quotation marks
and other punctuation do not, since they change when text is extracted from a file or copied by a language model.
Signs are mathematical and currency symbols, symbols such as check marks, stars, triangles and emoji, the percent
sign, slashes, a dash before a number, and what divides the digits of a number; white space around them does not
count. The mark before an entry of a list, lines of boxes and the marks of rights are not signs.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

# What stands between two letters or digits of different words, or of a compound, or where a line ends.
SPACE, LINE_END, HYPHEN, SPLIT = " ", "\n", "-", "\u2010"
# A dash before a number: a minus sign, or one that follows a letter or digit, as in a range.
MINUS, JOINING = "\u2212", "\u2013"
BOUNDARIES = SPACE + LINE_END + HYPHEN + SPLIT

_OTHER_SIGNS = "%‰°&@/^"
_ALIKE = str.maketrans("∼˜～⩽≦⩾≧∗⁄∕…\u2018\u2019\u201b\u02bc", "~~~≤≤≥≥*// ''''")
# Forms with a meaning of their own: the 2 in 10² is not a digit of the number.
_MEANINGFUL_FORMS = ("<super>", "<sub>", "<fraction>", "<circle>")
# Marks of list entries; several in a row are a rating.
_LIST_MARKS = "\u25a0\u25a1\u25aa\u25ab\u25cb\u25cf\u25e6\u25fb\u25fc\u25fd\u25fe"
# Lines and blocks of which boxes are drawn.
_BOXES = map(chr, range(0x2500, 0x25A0))
# They choose a form of the character before them, such as the coloured one.
_VARIATIONS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Writing without spaces between words: East Asian and mainland Southeast Asian.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)
_KINDS = {
    **dict.fromkeys("-\u2011\u2010\ufe63\uff0d", "h"),
    **dict.fromkeys("\u2012\u2013", "e"),
    **dict.fromkeys("\u2014\u2015\ufe58", "E"),
    "'": "'",
    **dict.fromkeys(_LIST_MARKS, "b"),
    **dict.fromkeys((*_BOXES, *"©®™℠℗"), "p"),
    "\u00ad": "o",
    "\u2212": "m",
    "\n": "n",
    ".": ".",
    ",": ",",
    ":": ",",
    "*": "*",
    "!": "!",
    "\ufffd": "u",
}
# Over one letter for the kind of each character: `a` letter, `d` digit, `s` sign, `y` symbol, `b` mark of a list entry,
# `h` hyphen, `e` en dash, `E` em dash, `m` minus sign, `o` soft hyphen, `n` line break, `u` unknown glyph, `p` other
# punctuation; the others stand for themselves.
_PART = re.compile(
    r"""(?P<letter>[ad])
    |(?P<sign>(?<=d)[.,'p](?=d)|(?<![ad.])\.(?=d)|(?<=d)\*(?=d)|s|y|b(?=b)|(?<=b)b|!(?=s)|u(?=[ n]*\.?d))
    |(?P<joining>(?<=[ad])[hemE]+(?=[ n]*\.?d))
    |(?P<minus>[hemE]+(?=[ n]*s?\.?d|s)|m)
    |(?P<split>(?<=[ad])(?:h[ n]+|e[ ]*n[ n]*|o[ n]+)(?=[ad]))
    |(?P<hyphen>(?<=[ad])[he](?=[ad]))
    |(?P<nothing>(?<=a)'(?=a)|o)
    |(?P<line_end>[ ]*n[ n]*)
    |(?P<space>.)""",
    re.VERBOSE,
)
_WRITTEN = {
    "joining": JOINING,
    "minus": MINUS,
    "split": SPLIT,
    "hyphen": HYPHEN,
    "line_end": LINE_END,
    "space": SPACE,
}


@dataclass(frozen=True, slots=True)
class Comparable:
    """A text and what counts of it.

    Attributes:
        text: in Unicode's composed form.
        letters: letters, digits, signs, and one of `BOUNDARIES` between words, none beside a sign or at the ends.
        places: for each of the letters, its place in the text.
    """

    text: str
    letters: str
    places: Sequence[int]


def comparable(text: str) -> Comparable:
    """Return what counts of a text; one character can stand for several letters, such as the ligature of f and i."""
    composed = unicodedata.normalize("NFC", text)
    folded, kinds, places = _folded(composed)
    letters: list[str] = []
    kept = array("L")
    boundary = ""
    boundary_at = 0
    after_sign = True
    for part in _PART.finditer(kinds):
        kind, start = str(part.lastgroup), part.start()
        written = _WRITTEN.get(kind, folded[start] if kind != "nothing" else "")
        if kind in ("split", "hyphen", "line_end", "space"):
            boundary, boundary_at = (SPACE, boundary_at) if boundary else (written, places[start])
        elif written:
            is_sign = kind != "letter"
            if boundary and not (is_sign or after_sign):
                letters.append(boundary)
                kept.append(boundary_at)
            letters.append(written)
            kept.append(places[start])
            boundary, after_sign = "", is_sign
    return Comparable(composed, "".join(letters), kept)


def is_letter(character: str) -> bool:
    """Return whether a character is a letter, or a mark that is part of one; digits are not letters."""
    if character.isalnum():
        return not character.isdigit()
    return unicodedata.category(character).startswith("M")


def is_sign(character: str) -> bool:
    """Return whether one of the letters that count is a sign."""
    return not (character in BOUNDARIES or character.isdigit() or is_letter(character))


def is_spaceless(character: str) -> bool:
    """Return whether a letter belongs to a writing system without spaces between words."""
    return bool(_SPACELESS.match(character))


def _folded(text: str) -> tuple[str, str, Sequence[int]]:
    """Return the characters of a text in one form each, their kinds, and their places."""
    characters: list[str] = []
    kinds: list[str] = []
    places = array("L")
    for place, character in enumerate(text):
        form, its_kinds = _form(character)
        characters.append(form)
        kinds.append(its_kinds)
        places.extend([place] * len(form))
    return "".join(characters), "".join(kinds), places


@functools.lru_cache(8192)
def _form(character: str) -> tuple[str, str]:
    """Return the form in which a character is compared, and the kind of each of its letters."""
    category = unicodedata.category(character)
    alike = character.translate(_ALIKE)
    if category == "Sk" and alike == character and character != "^":
        # Accents that stand alone are quotation marks, or belong to the letter before.
        return "'", "'"
    if (category == "Cf" and character != "\u00ad") or _VARIATIONS.match(character):
        return "", ""
    form = alike
    if unicodedata.decomposition(alike).partition(" ")[0] not in _MEANINGFUL_FORMS:
        form = unicodedata.normalize("NFKC", alike).casefold()
    return form, "".join(map(_kind, form))


def _kind(character: str) -> str:
    if character in _KINDS:
        return _KINDS[character]
    if character.isspace():
        return "n" if character in "\r\v\f\u2028\u2029" else " "
    if character.isdigit():
        return "d"
    if is_letter(character):
        return "a"
    category = unicodedata.category(character)
    if category in ("Sm", "Sc") or character in _OTHER_SIGNS:
        return "s"
    return {"So": "y", "Co": "u"}.get(category, "p")
