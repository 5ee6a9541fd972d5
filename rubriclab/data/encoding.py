"""Detection of a text file's encoding from its first bytes."""

from __future__ import annotations

import codecs
from typing import Final

from rubriclab.errors import DataError
from rubriclab.option_names import option

UTF_8: Final = "utf-8"
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NAMES = {
    UTF_8: "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}
# In text of mostly ASCII characters in UTF-16, every other byte is zero.
_MOSTLY = 0.4
_HARDLY_EVER = 0.05
# Western European languages use few letters outside ASCII; other alphabets use mostly such letters.
_MOST_ACCENTED = 0.4
_UNDEFINED_IN_WINDOWS = frozenset(b"\x81\x8d\x8f\x90\x9d")
_CONTROLS_IN_LATIN = frozenset(range(0x80, 0xA0))


def encoding_of(where: str, sample: bytes, *, complete: bool, only_unicode: bool = False) -> str:
    """Return Python's name of the encoding of a file that begins with `sample`.

    A byte order mark decides; then zero bytes (UTF-16); then whether the bytes are UTF-8. With more
    valid characters beyond ASCII than other bytes, the file is UTF-8 with damaged places. Else it is Windows-1252, or
    Latin-1 if no byte is from 0x80 to 0x9F; both agree on all other bytes.

    Args:
        sample: the first bytes.
        complete: whether these are all bytes of the file.
        only_unicode: whether the format is always Unicode (JSON), so that other bytes are damage.

    Raises:
        DataError: if the bytes are neither UTF-8 nor likely to be Western European text.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return name
    if wide := _without_mark(sample):
        return wide
    if only_unicode or _is_utf_8(sample, complete=complete) or _is_damaged_utf_8(sample):
        return UTF_8
    return _western(where, sample)


def _without_mark(sample: bytes) -> str | None:
    """Return the kind of UTF-16 indicated by the positions of zero bytes, if any."""
    pairs = len(sample) // 2
    if not pairs or b"\0" not in sample:
        return None
    first, second = (sample[start : 2 * pairs : 2].count(0) / pairs for start in (0, 1))
    if second >= _MOSTLY and first <= _HARDLY_EVER:
        return "utf-16-le"
    return "utf-16-be" if first >= _MOSTLY and second <= _HARDLY_EVER else None


def _is_utf_8(sample: bytes, *, complete: bool) -> bool:
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(sample, final=complete)
    except UnicodeDecodeError:
        return False
    return True


def _is_damaged_utf_8(sample: bytes) -> bool:
    """Return whether there are more valid UTF-8 characters beyond ASCII than invalid bytes.

    In other encodings, a few byte sequences are valid by chance.
    """
    text = sample.decode(UTF_8, "surrogateescape")
    damaged = sum("\udc80" <= character <= "\udcff" for character in text)
    return 0 < damaged < sum(character > "\x7f" for character in text) - damaged


def _western(where: str, sample: bytes) -> str:
    used = set(sample)
    letters = [character for character in sample.decode("latin-1") if character.isalpha()]
    accented = sum(character > "\x7f" for character in letters)
    if accented > _MOST_ACCENTED * max(len(letters), 1) or used & _UNDEFINED_IN_WINDOWS:
        raise DataError(
            f"{where} is neither UTF-8 nor Western European text in Windows-1252.",
            f"Name its encoding, such as {option('encoding', 'cp1251')}, or save it as UTF-8.",
        )
    return "cp1252" if used & _CONTROLS_IN_LATIN else "latin-1"
