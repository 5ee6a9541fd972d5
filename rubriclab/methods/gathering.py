"""Awaiting several requests at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


async def gathered(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of coroutines that run concurrently, in order; the first error is raised, as by `gather`.

    A single one runs in the caller's task: a task of its own would take longer than the offline judge's reply.
    """
    coroutines = list(requests)
    if len(coroutines) == 1:
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines)


async def for_each(
    items: Sequence[S], request: Callable[[S], Coroutine[Any, Any, T]], on_done: Callable[[int], None]
) -> list[T]:
    """Return the result of a request for each item, in order; `on_done` is called with how many are done."""
    done = 0

    async def counted(item: S) -> T:
        nonlocal done
        result = await request(item)
        done += 1
        on_done(done)
        return result

    return await asyncio.gather(*map(counted, items))
