"""Files from other sources: packs, checklists, findings, configuration.

Each is read up to a size limit, and only from a regular file, since a device or pipe might never end.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from rubriclab.errors import UserError
from rubriclab.models.characters import one_line

# Larger than any pack: 30 demonstrations of 1,000,000 characters have about 30 MB.
MOST_BYTES = 64_000_000
# Nested objects and lists; the deepest field of a pack is at level 12.
DEEPEST = 64
LONGEST_REASON = 200
MOST_TOML_BYTES = 1_000_000


class Unreadable(ValueError):
    """A file that cannot be read or parsed. The message is the reason, without the file's name."""


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        Unreadable: if it is missing, no regular file, larger than `most` bytes, or cannot be read.
    """
    try:
        check_regular(path)
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    return _within(content, most)


def check_regular(path: Path) -> None:
    """Refuse what exists and is no regular file, such as a named pipe.

    Raises:
        Unreadable: if it is one.
        OSError: if that cannot be found out.
    """
    if path.exists() and not path.is_file():
        raise Unreadable("it is a folder" if path.is_dir() else "it is no regular file")


def is_database(path: Path) -> bool:
    """Return whether a file is an SQLite database, such as a store."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def read_stdin(most: int = MOST_BYTES) -> bytes:
    """Return the content of standard input.

    Raises:
        Unreadable: if that is more than `most` bytes.
    """
    return _within(sys.stdin.buffer.read(most + 1), most)


def text_of(content: bytes) -> str:
    """Return the text of UTF-8 content, without a byte order mark.

    Raises:
        Unreadable: if it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None


def parse_json(text: str) -> Any:
    """Return the value of strict JSON.

    Raises:
        Unreadable: if it is no JSON, names a key twice in one object, holds a number that is not finite or a lone
            surrogate, or nests objects and lists deeper than `DEEPEST`.
    """
    try:
        value = json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise Unreadable(f"it is not JSON: {one_line(str(error))[:LONGEST_REASON]}") from None
    _check_parts(value)
    return value


def parse_toml(content: bytes) -> dict[str, Any]:
    """Return the parsed content of a TOML file.

    Raises:
        Unreadable: if it is not TOML.
    """
    text = text_of(content)
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise Unreadable(f"it is not valid TOML: {one_line(str(error))[:LONGEST_REASON]}") from None
    _check_parts(value)
    return value


def _within(content: bytes, most: int) -> bytes:
    if len(content) > most:
        raise Unreadable(f"it has more than {most:,} bytes")
    return content


def _check_parts(value: Any) -> None:
    """Refuse deep nesting and lone surrogates, level by level, since recursion would fail."""
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise _too_deep()
        level = [part for value in level for part in _parts(value)]
        depth += 1


def _parts(value: Any) -> list[Any]:
    if isinstance(value, str):
        _check_unicode(value)
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unreadable("a text in it has a lone surrogate, which is half a character") from None


def _too_deep() -> Unreadable:
    return Unreadable(f"its objects and lists are nested more than {DEEPEST} levels deep")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a repeated key: a reviewer may read one value and Python the other."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:40]!r} is repeated in one object")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


_PACKAGE = Path(__file__).resolve().parents[1]
# The reviewed content that ships lies outside the package. A wheel carries copies under `rubriclab/_content/`, so that
# nothing else lands beside the package in somebody's site-packages. Here is a folder of another path in a checkout.
_IN_CHECKOUT = {"sample": Path("experiments", "sample")}


def content_path(*parts: str, package: Path = _PACKAGE) -> Path:
    """Return the path of a shipped file or folder, such as `content_path("literature", "story.json")`.

    The folder itself (`parts[0]`) must exist; what lies inside it may not, since an unknown task has no file.

    Raises:
        UserError: if neither the installed package nor a checkout around it has the folder.
    """
    folder, *inner = parts
    for place in _places(folder, package):
        if place.is_dir():
            return place.joinpath(*inner)
    raise UserError(
        f"The shipped folder {folder!r} is missing: neither {package / '_content' / folder} "
        f"nor a checkout's own {folder!r} exists.",
        "Reinstall rubriclab, or run it from a complete checkout.",
    )


def _places(folder: str, package: Path) -> tuple[Path, ...]:
    installed, checkout = package / "_content" / folder, package.parent
    # Beside an installed package a folder of this name is somebody else's, so a checkout must show itself.
    is_checkout = (checkout / "pyproject.toml").is_file()
    return (installed, checkout / _IN_CHECKOUT.get(folder, folder)) if is_checkout else (installed,)
