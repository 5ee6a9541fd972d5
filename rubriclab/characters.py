"""Characters that cannot be seen, and characters that act on a terminal or a page."""

from __future__ import annotations

import re
import unicodedata

# Categories of Unicode whose characters show nothing by themselves: white space, controls, format characters (zero
# width), and marks, which need a letter to stand on (variation selectors are among them).
_UNSEEN = frozenset({"Cc", "Cf", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})
# Hangul fillers and the braille pattern without dots: a letter or a symbol by category, shown as a space.
_EMPTY = frozenset("\u115f\u1160\u2800\u3164\uffa0")

# Control characters, line separators that only some programs see, the marks that turn the direction of all that
# follows, and lone surrogates, which no file can hold. Plain right-to-left letters and marks are left as they are.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_blank(text: str) -> bool:
    """Return whether `text` shows nothing: it is empty, or all of its characters are invisible."""
    return not any(_is_seen(character) for character in text)


def plain(text: str) -> str:
    """Return `text` with every character that could act on a terminal or a page spelled out, such as `\\x1b`."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return `text`, made plain, on one line."""
    return " ".join(plain(text).split())


def _is_seen(character: str) -> bool:
    return character not in _EMPTY and unicodedata.category(character) not in _UNSEEN
