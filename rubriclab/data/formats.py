"""Encodings and lines of text files, and rows of JSON Lines, one at a time and in order, each with its line number.

Every function yields `(line, row)`, where a row is the parsed value (a mapping, if it is valid) or a `RowError`.
Reading continues after a faulty row. If the data ends early (a damaged gzip file, a disk error), the last row is a
fault.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

import orjson

from rubriclab.data.reading import LONGEST_ROW, UTF_8
from rubriclab.data.row import RowError
from rubriclab.errors import DataError
from rubriclab.option_names import option

Lines = Iterable[bytes | str]
Numbered = Iterator[tuple[int, Any]]

_BOM = b"\xef\xbb\xbf"
# The first bytes of other formats, with a description and a hint.
_NOT_TEXT = {
    b"\x1f\x8b": ("gzip data", "name the file .gz, or unpack it first: gzip -dc FILE | rubriclab ... -"),
    b"PAR1": ("a Parquet file", "name it .parquet."),
    b"\xd0\xcf\x11\xe0": ("an old (.xls) or password-protected Excel workbook", "save it as .xlsx without a password."),
    b"PK\x03\x04": ("a zip archive or an Excel workbook", "name a workbook .xlsx."),
}
_NOT_UTF_8 = {
    b"\xff\xfe": ("text in UTF-16", "give the file by its name, or save it as UTF-8."),
    b"\xfe\xff": ("text in UTF-16", "give the file by its name, or save it as UTF-8."),
}
# Bytes of memory per line besides its characters: a CSV record may consist of millions of empty lines.
LINE_OVERHEAD = 200
# Bytes that are used to detect encoding, delimiter and decimal mark, and bytes of them that are read at once.
SAMPLE = 2**24
BLOCK = 2**16
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# In text of mostly ASCII characters in UTF-16, every other byte is zero.
_MOSTLY = 0.4
_HARDLY_EVER = 0.05
# Western European languages use few letters outside ASCII; other alphabets use mostly such letters.
_MOST_ACCENTED = 0.4


def lines_of(path: Path, longest: int = LONGEST_ROW, encoding: str = UTF_8, newline: str = "\n") -> Iterator[Any]:
    """Yield the lines of a file, decompressed if its name ends in `.gz`: bytes in UTF-8, else texts.

    Only one line is in memory. `newline` is the end of a line.

    Raises:
        DataError: for a line of more than `longest` bytes (characters of another encoding).
    """
    with opened(path) as stream:
        if encoding == UTF_8 and newline == "\n":
            yield from bounded_lines(str(path), stream, longest)
            return
        errors = "replace" if encoding.startswith("utf-16") else "surrogateescape"
        with io.TextIOWrapper(stream, encoding, errors, newline=newline) as text:
            yield from bounded_lines(str(path), text, longest)


def opened(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed if its name ends in `.gz`."""
    return cast(IO[bytes], gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb", buffering=BLOCK)


def sample_of(path: Path) -> tuple[bytes, bool]:
    """Return the first decompressed bytes of a file, and whether no further bytes can be read.

    Nothing is read from a pipe or another special file, since it could not be read again.
    """
    parts = list[bytes]()
    size = 0
    if not path.is_file():
        return b"", False
    with suppress(OSError, EOFError, zlib.error), opened(path) as stream:
        while size < SAMPLE and (part := stream.read(min(BLOCK, SAMPLE - size))):
            parts.append(part)
            size += len(part)
    return b"".join(parts), size < SAMPLE


def bounded_lines(where: str, lines: Lines, longest: int) -> Iterator[Any]:
    """Yield the lines of a stream or an iterable; at most `longest` bytes of a line are read from a stream.

    Raises:
        DataError: for a longer line.
    """
    readline = getattr(lines, "readline", None)
    read = iter(lambda: readline(longest + 1) or None, None) if callable(readline) else iter(lines)
    for number, line in enumerate(read, start=1):
        if len(line) > longest:
            raise too_long(where, f"line {number}", longest)
        yield line


def too_long(where: str, place: str, longest: int) -> DataError:
    return DataError(
        f"{where}: {place} has more than {longest:,} bytes, the limit of a row.",
        f"Check that it has one row per line; if so, raise the limit: {option('max_line_bytes', str(2 * longest))}.",
    )


def json_lines(where: str, lines: Lines) -> Numbered:
    """Yield the rows of JSON Lines; blank lines are skipped."""
    for number, line in numbered(where, lines):
        if isinstance(line, RowError):
            yield number, line
        elif line.strip():
            yield number, _json_row(where, number, line)


def numbered(where: str, lines: Lines) -> Iterator[tuple[int, bytes | RowError]]:
    """Yield numbered lines without byte order mark, and a fault if the rest is unreadable."""
    number = 0
    try:
        for number, text in enumerate(lines, start=1):
            line = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
            if number == 1:
                check_text(where, line, {**_NOT_TEXT, **_NOT_UTF_8})
                line = line.removeprefix(_BOM)
            yield number, line
    except (OSError, EOFError, zlib.error) as error:
        yield number + 1, broken_off(where, number, error)


def check_text(where: str, content: bytes, others: Mapping[bytes, tuple[str, str]] = _NOT_TEXT) -> None:
    """Check that a file does not begin like a file of another format.

    Raises:
        DataError: if it does; the message names the format.
    """
    for start, (name, hint) in others.items():
        if content.startswith(start):
            raise DataError(f"{where} is {name}, not lines of text in UTF-8;", hint)


def broken_off(where: str, number: int, error: Exception) -> RowError:
    reason = " ".join(str(error).split()).rstrip(".")
    if number == 0:
        raise DataError(
            f"{where} cannot be read: {reason}.", "Check that it is complete and of the format that its name says."
        ) from error
    return RowError(where, number + 1, None, f"data that ends early or is damaged ({reason})", "a complete file")


def _json_row(where: str, number: int, line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        reason = error.msg
    try:
        line.decode()
    except UnicodeDecodeError as error:
        around = line[max(0, error.start - 10) : error.end + 10].strip()
        return RowError(where, number, None, f"bytes that are not UTF-8, in {around!r}", "JSON in UTF-8")
    if (row := with_infinite_numbers(line)) is not None:
        return row
    ending = "" if line.endswith(b"\n") else "; the last line is incomplete"
    return RowError(where, number, None, f"text that is not JSON ({reason}{ending})", "a JSON object on one line")


def with_infinite_numbers(content: bytes) -> Any:
    """Return parsed JSON with NaN or Infinity, which Python writes but JSON lacks, so that an error can name the field.

    `None` for other content, also if it is valid JSON.
    """
    if b"NaN" not in content and b"Infinity" not in content:
        return None
    try:
        row = json.loads(content)
        # Unlike the standard library, orjson refuses lone surrogates and numbers beyond 64 bits.
        orjson.dumps(row)
    except (ValueError, TypeError, RecursionError):
        return None
    return row


def encoding_of(where: str, sample: bytes, *, complete: bool, only_unicode: bool = False) -> str:
    """Return Python's name of the encoding of a file that begins with `sample`.

    A byte order mark decides; then zero bytes (UTF-16); then whether the bytes are UTF-8. With as many
    valid characters beyond ASCII as other bytes, the file is UTF-8 with damaged places. Else it is Windows-1252,
    which agrees with Latin-1 on all letters that both have.

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
    if only_unicode or _is_utf_8(sample, complete=complete):
        return UTF_8
    letters = None
    with suppress(UnicodeDecodeError):
        letters = [character for character in sample.decode("cp1252") if character.isalpha()]
    if letters is None or sum(character > "\x7f" for character in letters) > _MOST_ACCENTED * len(letters):
        raise DataError(
            f"{where} is neither UTF-8 nor Western European text in Windows-1252.",
            f"Name its encoding, such as {option('encoding', 'cp1251')}, or save it as UTF-8.",
        )
    return "cp1252"


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
    """Return whether all bytes are UTF-8, or at least as many characters beyond ASCII are valid as bytes are not.

    In other encodings, a few byte sequences are valid by chance.
    """
    text = codecs.getincrementaldecoder(UTF_8)("surrogateescape").decode(sample, final=complete)
    damaged = sum("\udc80" <= character <= "\udcff" for character in text)
    return not damaged or damaged <= sum(character > "\x7f" for character in text) - damaged
