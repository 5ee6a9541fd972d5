"""Rows of a JSON file that is one document: a list of objects, or an object of columns as data frames write it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data.formats import opened, too_long
from rubriclab.data.reading import UTF_8
from rubriclab.data.row import RowError
from rubriclab.errors import DataError


def document_rows(path: Path, sample: str, longest: int, encoding: str = UTF_8) -> list[Any] | None:
    """Return the rows of a file that is one JSON document; `None` for JSON Lines.

    Args:
        path: the file.
        sample: its first characters.
        longest: the most bytes of a document.
        encoding: of the file.

    Raises:
        DataError: if the document has more than `longest` bytes, or one over several lines is damaged.
    """
    first, _, rest = sample.strip().partition("\n")
    is_list = first.startswith("[") and f"{first}\n{rest[:100]}"[1:].lstrip().startswith("{")
    if not is_list and not first.startswith("{"):
        return None
    with suppress(orjson.JSONDecodeError):
        document = orjson.loads(first)
        if rest or not (is_list or _is_columns(document)):
            return None
    content = b""
    # JSON Lines that end early are read up to there.
    with suppress(OSError, EOFError, zlib.error), opened(path) as stream:
        content = stream.read(longest + 1)
    if len(content) > longest:
        if is_list:
            raise too_long(str(path), "the list of JSON objects", longest)
        return None
    try:
        text = content.decode(encoding, "surrogateescape").removeprefix("\ufeff")
        with suppress(orjson.JSONDecodeError):
            return list(_rows(orjson.loads(text)))
        # Unlike orjson, the standard library reads NaN, and bytes that are not UTF-8 in texts.
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        # In a file with a list in each line, the first line is complete.
        over_lines = rest and (first.strip() == "{" or (is_list and not first.rstrip().endswith("]")))
        if over_lines and isinstance(error, json.JSONDecodeError):
            raise DataError(
                f"{path} is one JSON document that ends early or is damaged: {error.msg}, in line {error.lineno}, "
                f"column {error.colno}.",
                "Export it again, or correct it there.",
            ) from None
        return None
    return [_sound(str(path), number, row) for number, row in enumerate(_rows(document), start=1)]


def _is_columns(document: Any) -> bool:
    """Return whether all values of an object are lists of one length, or objects with the same keys."""
    if not isinstance(document, Mapping) or not document or "ranking" in document:
        return False
    first, *others = document.values()
    if isinstance(first, list):
        return all(isinstance(each, list) and len(each) == len(first) for each in others)
    return isinstance(first, Mapping) and all(
        isinstance(each, Mapping) and each.keys() == first.keys() for each in others
    )


def _rows(document: Any) -> Iterator[Any]:
    if isinstance(document, list):
        yield from document
    elif _is_columns(document):
        cells = [list(each.values()) if isinstance(each, Mapping) else each for each in document.values()]
        yield from (dict(zip(document, row, strict=True)) for row in zip(*cells, strict=True))
    else:
        yield document


def _sound(where: str, number: int, row: Any) -> Any:
    try:
        orjson.dumps(row)
    except TypeError:
        got = "bytes that are not UTF-8, or a number beyond 64 bits"
        return RowError(where, number, None, got, "JSON in UTF-8")
    return row
