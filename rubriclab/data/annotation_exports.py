"""Which annotation tool rows were exported from, detected from the first row, and these rows as this package's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data import argilla, label_studio
from rubriclab.data.annotation_export import Export
from rubriclab.data.formats import Numbered, opened, too_long, with_infinite_numbers
from rubriclab.errors import DataError

Convert = Callable[[str, Iterable[tuple[int, Any]]], Export]
_FORMATS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Convert], ...] = (
    (label_studio.is_json, label_studio.from_json),
    (label_studio.is_minimal, label_studio.from_minimal),
    (argilla.is_record, argilla.from_records),
    (argilla.is_flat, argilla.from_flat),
)


def detect(numbered: Numbered) -> tuple[Convert | None, Numbered]:
    """Return how to convert rows that an annotation tool exported, `None` for others, and the rows from the first."""
    first = next(numbered, None)
    if first is None:
        return None, numbered
    return _converter(first[1]), chain([first], numbered)


def exported_list(path: Path, sample: bytes, longest: int) -> list[Any] | None:
    """Return the rows of a JSON file that is one list exported by an annotation tool; `None` for any other file.

    Raises:
        DataError: if such a list has more than `longest` bytes, or a list of objects over several lines is not JSON.
    """
    start = sample.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"[") or not start[1:].lstrip().startswith(b"{"):
        return None
    with opened(path) as stream:
        content = stream.read(longest + 1)
    if len(content) > longest:
        raise too_long(str(path), "the list of JSON objects", longest)
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        rows = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        rows = with_infinite_numbers(content)
        if rows is None and error.lineno > 1 and not _is_json(content.partition(b"\n")[0]):
            raise DataError(
                f"{path} is one JSON list that ends early or is damaged: {error.msg}, in line {error.lineno}, column "
                f"{error.colno}.",
                "Export it again, or correct it there.",
            ) from None
    return rows if isinstance(rows, list) and rows and _converter(rows[0]) else None


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _converter(row: Any) -> Convert | None:
    return next((convert for is_of, convert in _FORMATS if is_of(row)), None) if isinstance(row, Mapping) else None
