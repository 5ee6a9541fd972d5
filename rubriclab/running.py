"""Running an operation: event loops, displays of progress, log messages about long waits, and closing at the end.

- `Closing` is the base of objects that are closed by `close` or at the end of a `with` statement.
- `run_to_end` runs asynchronous work, `iterate` yields the results of a stream, and a `BackgroundLoop` runs work in a
  thread of its own.
- A display of progress is a bar or lines on standard error. It is a context manager that gets the ledger, which counts
  the calls, and yields a function. An operation calls the function with its stage and the share of work that is done.
"""

from __future__ import annotations

import asyncio
import html
import importlib
import logging
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from rubriclab.judges.judge import Ledger
    from rubriclab.methods.method import Progress

    # The share of work that is done is from 0 to 1, or below 0 if it is unknown. A stage is a text such as "30 texts".
    ProgressDisplay = Callable[[Ledger], AbstractContextManager[Progress]]

T = TypeVar("T")

# The name of each task that sends a request. Only the task that waits for the reply may cancel a task of this name.
REQUEST_TASK = "request in flight"

LONG_WAIT = 5.0  # a wait of this many seconds or more gives a warning
# Minimum time in seconds between two messages of one kind.
NOTEBOOK_INTERVAL = 0.2  # updates of a bar in a notebook
LINE_INTERVAL = 60.0  # lines on standard error
LOG_INTERVAL = 10.0  # log messages about one phase
WARNING_INTERVAL = 600.0  # warnings about waits for one reason

_last_warning_times: dict[str, float] = {}  # by the reason of the wait
_log = logging.getLogger(__name__)


class Closing:
    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work to its end, then close the connections of language models.

    If a loop is running already, as in a notebook, work runs in a thread with its own loop. Ctrl-C cancels the work.
    """
    results: list[T] = []

    async def run() -> None:
        # If `run` returned the result, `asyncio.run` would compute its repr when it restores the signal handler. For
        # the training record of 10,000 texts that took minutes and gigabytes.
        results.append(await finish_and_close(work()))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(run())
    else:
        with closing(BackgroundLoop()) as loop:
            loop.run(run)
    return results[0]


def iterate(stream: Callable[[], AsyncGenerator[T]]) -> Generator[T]:
    """Run an asynchronous stream in a new thread and yield its results; closing the iterator ends the stream."""
    with closing(BackgroundLoop()) as loop:
        running = stream()

        async def take_next() -> list[T]:  # the next result in a list, which is empty at the end
            async for result in running:
                return [result]
            return []

        try:
            while results := loop.run(take_next):
                yield results[0]
        finally:
            loop.run(running.aclose)


async def finish_and_close(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns, after the tasks that it left were ended and the models' connections closed."""
    from rubriclab.judges.llm import close_connections

    working = asyncio.create_task(work)
    try:
        # Without the shield, a cancellation would first reach only the request that `work` awaits. Until this request
        # ends, other tasks that `work` started would send more requests. `end_other_tasks` cancels all tasks at once.
        return await asyncio.shield(working)
    finally:
        await end_other_tasks()
        await close_connections()


async def end_other_tasks() -> None:
    """Cancel all tasks but this one, and wait until they have ended, so that none opens a connection any more.

    It leaves requests to the tasks that wait for them, and cancels no task that is being cancelled already.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        if not task.cancelling() and task.get_name() != REQUEST_TASK:
            task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class ShieldedTasks(set[asyncio.Task[Any]]):
    """Tasks that go on until they end even if the caller is gone, since their answers are paid for."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(work)
        self.add(task)
        task.add_done_callback(self._on_end)
        return await asyncio.shield(task)

    def _on_end(self, task: asyncio.Task[Any]) -> None:
        self.discard(task)
        if not task.cancelled():
            task.exception()  # marks the error as retrieved; asyncio would log it if the caller is gone

    async def finish(self, max_seconds: float) -> int:
        """Wait up to `max_seconds` for all tasks; return the number of tasks that have not ended."""
        if not self:
            return 0
        _ended, unfinished = await asyncio.wait(self, timeout=max_seconds)
        return len(unfinished)


class BackgroundLoop:
    """An event loop in a thread of its own, to which other threads and event loops give work until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="rubriclab", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        future = self.start(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def run_async(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns without blocking the running event loop; cancelling the call cancels the work."""
        return await asyncio.wrap_future(self.start(work))

    def close(self, at_end: Callable[[], None] | None = None) -> None:
        """Cancel the work under way, close the connections of language models, call `at_end`, and end the thread."""
        if self._closed:
            return
        self._closed = True

        async def end() -> None:
            await finish_and_close(asyncio.sleep(0))  # after the sleep, it ends all other tasks
            await self._loop.shutdown_default_executor()
            if at_end:
                at_end()

        try:
            asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        if self._closed:
            raise RuntimeError("This scorer is closed; open a new one.")  # only a `TextScorer` can be used too late
        return asyncio.run_coroutine_threadsafe(work(), self._loop)


def no_progress(_ledger: Ledger) -> AbstractContextManager[Progress]:
    return nullcontext(lambda _stage, _share: None)


@contextmanager
def terminal_bar(ledger: Ledger) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    description, spending = TextColumn("{task.description}"), TextColumn("{task.fields[spent]}")
    columns = (description, BarColumn(), spending, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0, spent="")

        def advance(stage: str, share: float) -> None:
            total = 1.0 if share >= 0 else None
            bar.update(task, description=stage, total=total, completed=max(share, 0.0), spent=describe_spending(ledger))

        yield advance


@contextmanager
def regular_lines(ledger: Ledger) -> Iterator[Progress]:
    """Write a line to standard error, at most once a minute, with what is done and what is left."""
    start = last_line = time.monotonic()

    def advance(stage: str, share: float) -> None:
        nonlocal last_line
        now = time.monotonic()
        if now - last_line < LINE_INTERVAL:
            return
        last_line = now
        seconds = now - start
        parts = [stage, f"{seconds / 60:.0f} min"]
        if share > 0:
            parts += [f"{share:.0%} done", f"about {seconds * (1 - share) / share / 60:.0f} min left"]
        print(f"{', '.join(parts)}; {describe_spending(ledger)}", file=sys.stderr, flush=True)

    yield advance


def in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def notebook_bar(ledger: Ledger) -> Iterator[Progress]:
    display: Any = importlib.import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    last_update = 0.0

    def advance(stage: str, share: float) -> None:
        nonlocal last_update
        if time.monotonic() - last_update < NOTEBOOK_INTERVAL:
            return
        last_update = time.monotonic()
        value = f' value="{share:.3f}"' if share >= 0 else ""
        spending = html.escape(describe_spending(ledger))
        handle.update(display.HTML(f"<progress{value}></progress> {html.escape(stage)}; {spending}"))

    try:
        yield advance
    finally:
        handle.update(display.HTML(""))


def describe_spending(ledger: Ledger) -> str:
    usage = ledger.usage
    parts = [f"{ledger.calls:,} calls"]
    if ledger.cached:
        parts.append(f"{ledger.cached:,} cached")
    if ledger.failed:
        parts.append(f"{ledger.failed:,} failed")
    if tokens := usage.prompt_tokens + usage.completion_tokens:
        parts.append(f"{tokens / 1000:,.0f}k tokens")
    if usage.cached_tokens:
        parts.append(f"{usage.cached_tokens / 1000:,.0f}k of them read from the provider's cache")
    parts.append("price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}")
    return ", ".join(parts)


def with_logging(display: ProgressDisplay) -> ProgressDisplay:
    """Return the display, extended to log a line for each new phase, and a line every `LOG_INTERVAL` seconds."""

    @contextmanager
    def show(ledger: Ledger) -> Iterator[Progress]:
        start = last_message = time.monotonic()
        phase = ""

        def log(event: str) -> None:
            nonlocal last_message
            last_message = time.monotonic()
            counts = (ledger.calls, ledger.cached, ledger.failed)
            _log.info("%s; %.0f s, %d calls, %d cached, %d failed", event, last_message - start, *counts)

        with display(ledger) as on_progress:

            def advance(stage: str, share: float) -> None:
                nonlocal phase
                on_progress(stage, share)
                # A phase is a stage without its numbers, which change with every text.
                stage_words = re.sub(r"[\d,]+", "", stage)
                if stage_words != phase or time.monotonic() - last_message >= LOG_INTERVAL:
                    phase = stage_words
                    log(stage)

            yield advance
            log("done")

    return show


def log_wait(log: logging.Logger, seconds: float, reason: str, detail: str = "") -> None:
    """Log a wait: a long one as a warning, unless there was a recent warning for the same reason."""
    now = time.monotonic()
    is_warning = seconds >= LONG_WAIT and now - _last_warning_times.get(reason, -WARNING_INTERVAL) >= WARNING_INTERVAL
    if is_warning:
        _last_warning_times[reason] = now
    log.log(logging.WARNING if is_warning else logging.INFO, "waiting %.1f s for %s%s", seconds, reason, detail)
