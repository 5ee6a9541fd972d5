"""Work that is done in rounds: what is asked for during one round is done together in the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress


class Rounds:
    """Runs a function again and again while there is work, one round at a time.

    With one transaction a round, the transactions of a process do not grow with its requests: the slower the database,
    the more requests share a transaction.

    Args:
        work: one round; it returns the seconds until the next round at the latest, or `None` if there is no work left.
    """

    def __init__(self, work: Callable[[], Awaitable[float | None]]) -> None:
        self._work = work
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Begin a round as soon as the present one has ended. It has to be called from the event loop."""
        self._woken.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        self._woken = asyncio.Event()  # an event belongs to one event loop
        while (pause := await self._work()) is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), pause)
            self._woken.clear()
