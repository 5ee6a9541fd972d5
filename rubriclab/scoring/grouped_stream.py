"""A stream of rows to a stream of results, in the same order, with the rows of one group processed together.

The rows of a group need not be adjacent: a group is processed when `WINDOW` rows were read since its first one, or all
rows were. Which rows are processed together depends on the rows alone, so that an interrupted run repeats the same
requests.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from rubriclab.errors import SettingsError

R = TypeVar("R")
T = TypeVar("T")

# Rows that are read before a group is processed: rows of a group that are further apart are processed separately.
WINDOW = 4096
# Groups that are remembered, so that later rows of theirs are noticed.
REMEMBERED = 100_000


def groups_of(rows: Iterable[R], key: Callable[[R], Hashable | None]) -> Iterator[list[R]]:
    """Yield the rows of each group that `grouped_stream` processes together, as soon as it is complete."""
    waiting = _Window[R](WINDOW, lambda: None)
    for number, row in enumerate(rows):
        yield from waiting.add(number, row, key(row))
    yield from waiting.rest()


async def grouped_stream(
    rows: Iterable[R],
    key: Callable[[R], Hashable | None],
    work: Callable[[list[R]], Coroutine[Any, Any, Sequence[T]]],
    under_way: int,
    *,
    window: int = WINDOW,
    on_continued: Callable[[], None] = lambda: None,
) -> AsyncGenerator[T]:
    """Yield what `work` makes of each row, in the order of the rows.

    At most `under_way` groups are processed at a time, and at most twice `window` rows are held. If one of the groups
    ends the run (a refused key, a cap reached), the others under way are waited for, so that answers already paid for
    are kept.

    Args:
        key: the group of a row; `None` for a row of its own.
        work: returns one result for each row of a group, in their order.
        on_continued: called for each group that is begun again, since rows of it were too far apart.

    Raises:
        SettingsError: if not even one group may be under way.
    """
    if under_way < 1:
        raise SettingsError(f"With {under_way} texts under way, none would ever be done;", "allow at least one.")
    run = _Run(enumerate(rows), key, work, _Window[_Slot[R, T]](window, on_continued))
    rate = Rate()
    try:
        while True:
            run.start_groups(under_way, 2 * window)
            while run.slots and run.slots[0].results:
                rate.count()
                yield run.slots.popleft().results[0]
            if run.running:
                await run.next_done()
            elif run.failure:
                raise run.failure
            elif run.exhausted and not run.slots:
                rate.log()
                return
    except Exception:
        await asyncio.gather(*run.running, return_exceptions=True)
        raise
    finally:
        for task in run.running:
            task.cancel()


class _Window(Generic[R]):
    """The groups of the latest rows that still wait for more rows."""

    def __init__(self, size: int, on_continued: Callable[[], None]) -> None:
        self._size = size
        self._on_continued = on_continued
        # By the hash of the group, with the number of its first row.
        self._open: dict[int, tuple[int, list[R]]] = {}
        self._done: OrderedDict[int, None] = OrderedDict()

    def add(self, number: int, row: R, key: Hashable | None) -> Iterator[list[R]]:
        """Add a row, and yield the groups that wait no longer."""
        if key is None:
            yield [row]
        else:
            self._add(number, row, hash(key))
        while self._open and number - next(iter(self._open.values()))[0] >= self._size - 1:
            yield self._close(next(iter(self._open)))

    def rest(self) -> Iterator[list[R]]:
        """Yield all groups that still wait, as no more rows come."""
        while self._open:
            yield self._close(next(iter(self._open)))

    def _add(self, number: int, row: R, key: int) -> None:
        if key not in self._open:
            self._open[key] = (number, [])
            if key in self._done:
                self._on_continued()
        self._open[key][1].append(row)

    def _close(self, key: int) -> list[R]:
        self._done[key] = None
        self._done.move_to_end(key)
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
        return self._open.pop(key)[1]


@dataclass(slots=True, eq=False)
class _Slot(Generic[R, T]):
    """A row, and its result in a list, empty until it is known."""

    row: R
    results: list[T] = field(default_factory=list)


@dataclass(eq=False)
class _Run(Generic[R, T]):
    """The rows that were read and whose results were not yielded yet, and the work on them."""

    source: Iterator[tuple[int, R]]
    key: Callable[[R], Hashable | None]
    work: Callable[[list[R]], Coroutine[Any, Any, Sequence[T]]]
    window: _Window[_Slot[R, T]]
    slots: deque[_Slot[R, T]] = field(default_factory=deque)
    ready: deque[list[_Slot[R, T]]] = field(default_factory=deque)
    running: set[asyncio.Task[None]] = field(default_factory=set)
    exhausted: bool = False
    failure: BaseException | None = None

    def start_groups(self, under_way: int, most_rows: int) -> None:
        """Begin the work on groups, the first ones first, reading as many rows as that takes."""
        while self.failure is None and len(self.running) < under_way:
            if self.ready:
                self.running.add(asyncio.ensure_future(self._process(self.ready.popleft())))
            elif self.exhausted or len(self.slots) >= most_rows:
                return
            else:
                self._read()

    def _read(self) -> None:
        numbered = next(self.source, None)
        if numbered is None:
            self.exhausted = True
            self.ready.extend(self.window.rest())
            return
        number, row = numbered
        slot = _Slot[R, T](row)
        self.slots.append(slot)
        self.ready.extend(self.window.add(number, slot, self.key(row)))

    async def next_done(self) -> None:
        """Wait until a group is done, and keep the first failure."""
        done, self.running = await asyncio.wait(self.running, return_when=asyncio.FIRST_COMPLETED)
        failures = [failure for task in done if (failure := task.exception())]
        self.failure = self.failure or next(iter(failures), None)

    async def _process(self, slots: Sequence[_Slot[R, T]]) -> None:
        for slot, result in zip(slots, await self.work([slot.row for slot in slots]), strict=True):
            slot.results.append(result)


# Seconds between two log messages.
LOGGED_EVERY = 60.0

_log = logging.getLogger(__name__)


class Rate:
    """Logs the number of rows done and the rate, once a minute."""

    def __init__(self) -> None:
        self._rows = 0
        self._started = self._logged = time.monotonic()

    def count(self) -> None:
        """Count a row."""
        self._rows += 1
        if time.monotonic() - self._logged >= LOGGED_EVERY:
            self.log()

    def log(self) -> None:
        """Log the figures."""
        self._logged = time.monotonic()
        minutes = (self._logged - self._started) / 60
        _log.info("%d rows done, %.1f per minute", self._rows, self._rows / minutes if minutes else 0.0)
