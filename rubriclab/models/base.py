"""Common parts of stored data: base and number types, content digests, and reading of files from other sources.

A digest is `sha256:` and 64 hexadecimal digits over canonical JSON: keys sorted, no white space, ASCII escapes,
numbers in their shortest form that reads back the same. NaN and infinities have no JSON form and are refused.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
import sys
import threading
import tomllib
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from rubriclab.base_options import option_path
from rubriclab.errors import UserError
from rubriclab.models.characters import one_line

# Bound of numbers in scoring, so that products and quotients of a few of them are finite.
MAX_SCORING_NUMBER = 1e12
Count = Annotated[int, Field(ge=0)]
Bounded = Annotated[float, Field(ge=-MAX_SCORING_NUMBER, le=MAX_SCORING_NUMBER, allow_inf_nan=False)]


def _check_time_in_utc(moment: datetime) -> datetime:
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time in UTC is before the year 1 or after the year 9999") from None
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_check_time_in_utc)]


class FrozenModel(BaseModel):
    """Base of stored data: immutable, without unknown fields, infinite numbers and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class MethodSettings(FrozenModel):
    """Base of the hyperparameters of methods, which are documented below each field."""

    model_config = ConfigDict(use_attribute_docstrings=True)


# Maximum characters of each text without a limit of its own, such as ids, names, groups and systems.
MAX_NAME_LENGTH = 1_000
# Maximum characters of statements, levels, definitions and reasons.
MAX_WORDING_LENGTH = 50_000
MAX_TEXT_LENGTH = 1_000_000
MAX_LIST_LENGTH = 1_000_000
MAX_CRITERIA = 1_000
# Maximum absolute value of a number: scores, weights, spreads, counts, seeds.
MAX_NUMBER = 1e15

_MAX_LENGTHS: Mapping[str, int] = {
    **dict.fromkeys(("statement", "description", "definition", "reason", "dimensions"), MAX_WORDING_LENGTH),
    **dict.fromkeys(("steps", "before", "after", "because", "note"), MAX_WORDING_LENGTH),
    **dict.fromkeys(("output", "source", "context"), MAX_TEXT_LENGTH),
}
_MAX_LIST_LENGTHS: Mapping[str, int] = {"criteria": MAX_CRITERIA, "dropped": 10_000}


def first_bounds_fault(content: Any) -> str | None:
    """Return the path and the limit of the first value in `content` (JSON types) above its field's limit, or `None`."""
    return next(_bounds_faults(content, (), ""), None)


def _bounds_faults(value: Any, path: tuple[int | str, ...], field: str) -> Iterator[str]:
    max_characters = _MAX_LENGTHS.get(field, MAX_NAME_LENGTH)
    max_entries = _MAX_LIST_LENGTHS.get(field, MAX_LIST_LENGTH)
    expected = ""
    if isinstance(value, str) and len(value) > max_characters:
        expected = f"at most {max_characters:,} characters, got {len(value):,}"
    elif isinstance(value, list | tuple) and len(value) > max_entries:
        expected = f"a list of at most {max_entries:,}, got {len(value):,}"
    # The condition is negated so that NaN is refused.
    elif isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
        expected = f"a number between {-MAX_NUMBER:g} and {MAX_NUMBER:g}"
    if expected:
        yield f"{option_path(path, '')}: expected {expected}"
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            # Entries of a mapping that is listed above, such as `dimensions`, have the mapping's limit.
            limited_as = field if field in _MAX_LENGTHS else str(name)
            yield from _bounds_faults(str(name), (*path, name), "")
            yield from _bounds_faults(entry, (*path, name), limited_as)
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            yield from _bounds_faults(entry, (*path, number), field)


PREFIX = "sha256:"


def canonical(value: Any) -> str:
    """Return `value` (JSON types only) as canonical JSON; NaN and infinities are a `ValueError`."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    return digest_text(canonical(value))


def digest_text(text: str) -> str:
    """Return the digest of `text`; lone surrogates are allowed."""
    return PREFIX + hashlib.sha256(encode_text(text)).hexdigest()


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# Characters added to the size of every cached call, for the memory that it takes beside its texts.
OVERHEAD = 100

P = ParamSpec("P")
T = TypeVar("T")


def cached_by_size(
    max_size: int, size: Callable[[tuple[Any, ...], Any], int] | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that caches the results of the latest calls by their positional arguments.

    `functools.lru_cache` would limit the number of results, but a thousand texts may have a billion characters. Threads
    may share the cache, and may compute the same result twice.

    Args:
        max_size: the maximum number of characters of all cached calls together; a larger call is not cached.
        size: returns the number of characters in a call's arguments and result; by default, those of the arguments.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cache: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        lock = threading.Lock()
        total = 0

        @functools.wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            nonlocal total
            with lock:
                if (cached := cache.get(arguments)) is not None:
                    cache.move_to_end(arguments)
                    return cached[0]
            result = function(*arguments, **options)
            texts = (argument for argument in arguments if isinstance(argument, str))
            characters = OVERHEAD + (size(arguments, result) if size else sum(map(len, texts)))
            with lock:
                if characters <= max_size and arguments not in cache:
                    cache[arguments] = result, characters
                    total += characters
                    while total > max_size:
                        _, (_, oldest_characters) = cache.popitem(last=False)
                        total -= oldest_characters
            return result

        return call

    return decorate


# The largest file that is read. A pack is smaller: 30 demonstrations of 1,000,000 characters have about 30 MB.
MAX_BYTES = 64_000_000
# Maximum levels of nested objects and lists in a file; the deepest field of a pack is at level 12.
MAX_DEPTH = 64
MAX_PARSER_MESSAGE = 200
MAX_TOML_BYTES = 1_000_000


class Unreadable(ValueError):
    """A file that cannot be read or parsed. The message is the reason, without the file's name."""


def read_file(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file, or raise `Unreadable` if it is larger than `max_bytes` or no regular file."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    return _limit_size(content, max_bytes)


def check_regular(path: Path) -> None:
    """Raise `Unreadable` if `path` is a folder, or a device or named pipe, which might never end."""
    if path.exists() and not path.is_file():
        raise Unreadable("it is a folder" if path.is_dir() else "it is no regular file")


def is_database(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def read_stdin() -> bytes:
    return _limit_size(sys.stdin.buffer.read(MAX_BYTES + 1), MAX_BYTES)


def decode_text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None


def parse_json(text: str) -> Any:
    """Return the value of strict JSON, or raise `Unreadable`.

    It refuses repeated keys in an object, infinite numbers and NaN, lone surrogates and more than `MAX_DEPTH` levels.
    """

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    def finite(written: str) -> float:
        number = float(written)
        if math.isinf(number):
            raise ValueError(f"the number {written[:40]} is too large")
        return number

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # A reviewer may read one value of a repeated key, and Python the other.
        value = dict(pairs)
        if len(value) < len(pairs):
            repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise ValueError(f"the key {repeated[:40]!r} is repeated in one object")
        return value

    load = functools.partial(json.loads, object_pairs_hook=object_of, parse_constant=refuse, parse_float=finite)
    return _parsed(load, text, "JSON")


def parse_toml(content: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = _parsed(tomllib.loads, decode_text(content), "valid TOML")
    return parsed


def load_patterns(file: Path, table: str = "patterns") -> dict[str, re.Pattern[str]]:
    """Return the patterns in a table of a TOML file by name; `<x>` in them stands for the part x in `parts`."""
    tables = tomllib.loads(file.read_text("utf-8"))
    compiled = {}
    for name, pieces in tables[table].items():
        pattern = "".join(pieces)
        for part, part_pieces in tables.get("parts", {}).items():
            pattern = pattern.replace(f"<{part}>", "".join(part_pieces))
        compiled[name] = re.compile(pattern)
    return compiled


def _limit_size(content: bytes, max_bytes: int) -> bytes:
    if len(content) > max_bytes:
        raise Unreadable(f"it has more than {max_bytes:,} bytes")
    return content


def _parsed(load: Callable[[str], Any], text: str, language: str) -> Any:
    too_deep = Unreadable(f"its objects and lists are nested more than {MAX_DEPTH} levels deep")
    try:
        value = load(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        raise Unreadable(f"it is not {language}: {one_line(str(error))[:MAX_PARSER_MESSAGE]}") from None
    if nesting_depth(value) > MAX_DEPTH:
        raise too_deep
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise Unreadable("a text in it has a lone surrogate, which is half a character") from None
    return value


def nesting_depth(value: Any) -> int:
    """Return how deeply objects and lists in a value are nested: 0 for a number, 1 for a list of numbers."""
    depth, level = 0, [value]
    # Level by level, since recursion could fail.
    while outers := [each for each in level if isinstance(each, dict | list) and each]:
        level = [entry for outer in outers for entry in (outer.values() if isinstance(outer, dict) else outer)]
        depth += 1
    return depth


_PACKAGE = Path(__file__).resolve().parents[1]
# A wheel has all shipped content in `rubriclab/_content/`; a checkout has it at the top, except for these folders.
_IN_CHECKOUT = {name: Path("experiments", name) for name in ("ratings", "sample")}


def content_path(*parts: str, package: Path = _PACKAGE) -> Path:
    """Return the path of a shipped file or folder, such as `content_path("literature", "story.json")`.

    The path within the folder is not checked. Raises UserError if neither the package nor a checkout has the folder.
    """
    folder, *inner = parts
    candidates = [package / "_content" / folder]
    # A folder of this name beside an installed package is another project's; only a checkout has a pyproject.toml.
    if (package.parent / "pyproject.toml").is_file():
        candidates.append(package.parent / _IN_CHECKOUT.get(folder, folder))
    for path in candidates:
        if path.is_dir():
            return path.joinpath(*inner)
    raise UserError(
        f"The shipped folder {folder!r} is missing: neither {package / '_content' / folder} "
        f"nor a checkout's own {folder!r} exists.",
        "Reinstall rubriclab, or run it from a complete checkout.",
    )
