"""Content digests, equal for equal values in every process and on every machine.

A digest is `sha256:` and 64 hexadecimal digits over canonical JSON: keys sorted, no white space, ASCII escapes,
numbers in their shortest form that reads back the same. NaN and infinities have no JSON form and are refused.
"""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar

PREFIX = "sha256:"


def canonical(value: Any) -> str:
    """Return `value` (JSON types only) as canonical JSON text.

    Raises:
        ValueError: for NaN or infinities.
        TypeError: for anything that JSON cannot hold.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """Return the digest of `value` (JSON types only), tagged with its algorithm."""
    return digest_text(canonical(value))


def digest_text(text: str) -> str:
    """Return the digest of `text`; lone surrogates are allowed."""
    return PREFIX + hashlib.sha256(encoded(text)).hexdigest()


def encoded(text: str) -> bytes:
    """Return `text` in UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


# Characters that count for each result besides those of its texts.
OVERHEAD = 100

P = ParamSpec("P")
T = TypeVar("T")


def characters_of_arguments(arguments: tuple[Any, ...], _result: Any) -> int:
    """Return the characters of the texts among the arguments of a call."""
    return sum(len(argument) for argument in arguments if isinstance(argument, str))


def cached_by_size(
    most: int, size: Callable[[tuple[Any, ...], Any], int] = characters_of_arguments
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that caches the results of the latest calls by their positional arguments.

    `functools.lru_cache` bounds the number of results instead, and a thousand texts may have a billion characters.
    Safe for threads, which may compute the same result twice.

    Args:
        most: characters that all cached calls have together; a larger call is not cached.
        size: returns the characters that a call, by its arguments and its result, holds in memory.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        lock = threading.Lock()
        held = 0

        @functools.wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            nonlocal held
            with lock:
                if (found := kept.get(arguments)) is not None:
                    kept.move_to_end(arguments)
                    return found[0]
            result = function(*arguments, **options)
            new = size(arguments, result) + OVERHEAD
            with lock:
                if new <= most and arguments not in kept:
                    kept[arguments] = result, new
                    held += new
                    while held > most:
                        held -= kept.popitem(last=False)[1][1]
            return result

        return call

    return decorate
