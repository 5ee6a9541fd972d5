"""What models and files share: limits, digests, a cache of bounded size, strict reading, and shipped content.

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
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from rubriclab.base_options import field_path
from rubriclab.errors import UserError
from rubriclab.models.characters import describe, one_line

# Maximum absolute value of a number that scoring calculates with, so that products of a few of them are finite.
MAX_SCORING_NUMBER = 1e12
Count = Annotated[int, Field(ge=0)]
BoundedFloat = Annotated[float, Field(ge=-MAX_SCORING_NUMBER, le=MAX_SCORING_NUMBER, allow_inf_nan=False)]


def _check_time_in_utc(moment: datetime) -> datetime:
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time in UTC is before the year 1 or after the year 9999") from None
    return moment


def _check_recall_goal(text: str) -> str:
    if text and not re.fullmatch(r".+=(0?\.\d+|1(\.0*)?)", text):
        raise ValueError(f"expected LEVEL=SHARE with a share above 0 and up to 1, as in fail=0.95; got {text!r}")
    return text


CriteriaBounds = Field(ge=1, le=30)  # of the number of criteria in a rubric of several methods
RecallGoalText = Annotated[str, AfterValidator(_check_recall_goal)]  # `fail=0.95`; empty: no goal
Moment = Annotated[AwareDatetime, AfterValidator(_check_time_in_utc)]


class FrozenModel(BaseModel):
    """Base of stored data: immutable, without unknown fields, infinite numbers and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class MethodSettings(FrozenModel):
    """Base of the hyperparameters of methods, which are documented below each field."""

    model_config = ConfigDict(use_attribute_docstrings=True)


# Maximum number of characters of a text in a field that has no other limit, such as an id, a name or a group.
MAX_NAME_LENGTH = 1_000
# Maximum number of characters of a statement, level, definition or reason.
MAX_WORDING_LENGTH = 50_000
MAX_TEXT_LENGTH = 1_000_000
MAX_LIST_LENGTH = 1_000_000
MAX_CRITERIA = 1_000
# Maximum absolute value of any stored number, such as a count or a seed; scoring has the lower `MAX_SCORING_NUMBER`.
MAX_NUMBER = 1e15

_MAX_LENGTHS: Mapping[str, int] = {
    **dict.fromkeys(("statement", "description", "definition", "reason", "dimensions"), MAX_WORDING_LENGTH),
    **dict.fromkeys(("steps", "before", "after", "because", "note"), MAX_WORDING_LENGTH),
    **dict.fromkeys(("output", "source", "context"), MAX_TEXT_LENGTH),
}
_MAX_LIST_LENGTHS: Mapping[str, int] = {"criteria": MAX_CRITERIA, "dropped": 10_000}


def first_limit_violation(value: Any, path: tuple[int | str, ...] = (), field: str = "") -> str | None:
    """Return a message about the first value above the limit of its field, or `None` if all are within their limits.

    `value` has JSON types; `path` leads to it, and `field` is the field that it belongs to.
    """
    max_characters = _MAX_LENGTHS.get(field, MAX_NAME_LENGTH)
    max_entries = _MAX_LIST_LENGTHS.get(field, MAX_LIST_LENGTH)
    expected = ""
    if isinstance(value, str) and len(value) > max_characters:
        expected = f"at most {max_characters:,} characters, got {len(value):,}"
    elif isinstance(value, list | tuple) and len(value) > max_entries:
        expected = f"a list of at most {max_entries:,}, got {len(value):,}"
    # The condition is negated so that NaN is refused.
    elif isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
        expected = f"a number between {-MAX_NUMBER:g} and {MAX_NUMBER:g}, got {describe(value)}"
    if expected:
        return f"{field_path(path)}: expected {expected}"
    inner: list[tuple[Any, int | str, str]] = []  # each key or entry, the last step of its path, and its field
    if isinstance(value, Mapping):
        for name, entry in value.items():
            # If `_MAX_LENGTHS` has a limit for a mapping, such as `dimensions`, it is the limit of each entry.
            entry_field = field if field in _MAX_LENGTHS else str(name)
            inner += [(str(name), name, ""), (entry, name, entry_field)]
    elif isinstance(value, list | tuple):
        inner = [(entry, number, field) for number, entry in enumerate(value)]
    for inner_value, step, inner_field in inner:
        if violation := first_limit_violation(inner_value, (*path, step), inner_field):
            return violation
    return None


DIGEST_PREFIX = "sha256:"


def canonical_json(value: Any) -> str:
    """Return `value` (JSON types only) as canonical JSON; NaN and infinities are a `ValueError`."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    return digest_text(canonical_json(value))


def digest_text(text: str) -> str:
    """Return the digest of `text` itself, not of its JSON; lone surrogates are allowed."""
    return DIGEST_PREFIX + hashlib.sha256(encode_text(text)).hexdigest()


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# Number of characters that the cache adds to the length of a call's texts: a call without texts takes memory too.
CACHED_CALL_OVERHEAD = 100

P = ParamSpec("P")
T = TypeVar("T")


def cached_by_size(
    max_characters: int, measure: Callable[[tuple[Any, ...], Any], int] | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that caches the results of the latest calls by their positional arguments.

    `functools.lru_cache` would limit the number of results, but a thousand texts may have a billion characters. Threads
    share the cache; two threads may compute the same result.

    Args:
        max_characters: the maximum number of characters of all cached calls; a call with more is not cached.
        measure: counts the characters of a call's arguments and result; by default, only text arguments count.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cache: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        lock = threading.Lock()
        total_characters = 0

        @functools.wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            nonlocal total_characters
            with lock:
                if (cached := cache.get(arguments)) is not None:
                    cache.move_to_end(arguments)
                    return cached[0]
            result = function(*arguments, **options)
            texts = (argument for argument in arguments if isinstance(argument, str))
            characters = CACHED_CALL_OVERHEAD + (measure(arguments, result) if measure else sum(map(len, texts)))
            with lock:
                if characters <= max_characters and arguments not in cache:
                    cache[arguments] = result, characters
                    total_characters += characters
                    while total_characters > max_characters:
                        _, (_, oldest_characters) = cache.popitem(last=False)
                        total_characters -= oldest_characters
            return result

        return call

    return decorate


# Maximum size of a file that is read. A rubric with 30 demonstrations of 1,000,000 characters has about 30 MB.
MAX_FILE_BYTES = 64_000_000
# Maximum levels of nested objects and lists in a file; the deepest field of a pack is at level 12.
MAX_DEPTH = 64
MAX_PARSER_MESSAGE = 200  # characters of a parser's message within an error
MAX_TOML_BYTES = 1_000_000


class Unreadable(ValueError):
    """A file that cannot be read or parsed. The message is the reason, without the file's name."""


def read_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file, or raise `Unreadable` if it is larger than `max_bytes` or no regular file."""
    try:
        check_regular_file(path)
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    return _check_size(content, max_bytes)


def check_regular_file(path: Path) -> None:
    """Raise `Unreadable` if `path` is a folder, or a device or named pipe, which might never end."""
    if path.exists() and not path.is_file():
        raise Unreadable("it is a folder" if path.is_dir() else "it is no regular file")


def is_sqlite_file(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def read_stdin() -> bytes:
    return _check_size(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), MAX_FILE_BYTES)


def decode_text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None


def parse_json(text: str) -> Any:
    """Return the value of strict JSON, or raise `Unreadable`.

    Repeated keys in an object, infinite numbers, NaN, lone surrogates and more than `MAX_DEPTH` levels are refused.
    """

    def refuse(constant: str) -> NoReturn:  # NaN, Infinity or -Infinity
        raise ValueError(f"{constant} is not JSON")

    def parse_finite(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            raise ValueError(f"the number {digits[:40]} is too large")
        return number

    def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Python would keep the last value of a repeated key; a person who checks the file may have read the first.
        value = dict(pairs)
        if len(value) < len(pairs):
            repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise ValueError(f"the key {repeated[:40]!r} is repeated in one object")
        return value

    hooks: dict[str, Any] = {"object_pairs_hook": build_object, "parse_constant": refuse, "parse_float": parse_finite}
    return _parse_strictly(functools.partial(json.loads, **hooks), text, "JSON")


def parse_toml(content: bytes) -> dict[str, Any]:
    return dict(_parse_strictly(tomllib.loads, decode_text(content), "valid TOML"))


def load_patterns(file: Path, table: str = "patterns") -> dict[str, re.Pattern[str]]:
    """Return a TOML table's patterns by name; `<x>` in a pattern stands for entry x of the file's table `parts`."""
    tables = tomllib.loads(file.read_text("utf-8"))
    compiled = {}
    for name, pieces in tables[table].items():
        pattern = "".join(pieces)
        for part, part_pieces in tables.get("parts", {}).items():
            pattern = pattern.replace(f"<{part}>", "".join(part_pieces))
        compiled[name] = re.compile(pattern)
    return compiled


def _check_size(content: bytes, max_bytes: int) -> bytes:
    if len(content) > max_bytes:
        raise Unreadable(f"it has more than {max_bytes:,} bytes")
    return content


def _parse_strictly(load: Callable[[str], Any], text: str, language: str) -> Any:
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
    # Level by level, since recursion could exceed Python's limit.
    while nonempty := [entry for entry in level if isinstance(entry, dict | list) and entry]:
        level = [child for entry in nonempty for child in (entry.values() if isinstance(entry, dict) else entry)]
        depth += 1
    return depth


_PACKAGE = Path(__file__).resolve().parents[1]
# A wheel has all shipped content in `rubriclab/_content/`; a checkout has it at the top, except for these folders.
_PATHS_IN_CHECKOUT = {name: Path("experiments", name) for name in ("ratings", "sample")}


def content_path(*parts: str, package: Path = _PACKAGE) -> Path:
    """Return the path of a shipped file or folder, such as `content_path("literature", "story.json")`.

    Raises UserError if neither the package nor a checkout has the folder; the path within it is not checked.
    """
    folder, *inner = parts
    candidates = [package / "_content" / folder]
    # Only a checkout has a pyproject.toml. Beside an installed package, a folder of this name is another project's.
    if (package.parent / "pyproject.toml").is_file():
        candidates.append(package.parent / _PATHS_IN_CHECKOUT.get(folder, folder))
    for path in candidates:
        if path.is_dir():
            return path.joinpath(*inner)
    raise UserError(
        f"The shipped folder {folder!r} is missing: neither {package / '_content' / folder} "
        f"nor a checkout's own {folder!r} exists.",
        "Reinstall rubriclab, or run it from a complete checkout.",
    )
