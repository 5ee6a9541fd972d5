"""Asynchronous work run to its end from synchronous code, whether or not an event loop is running."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from typing import Any, TypeVar

T = TypeVar("T")

# Results that a stream may be ahead of its reader.
AHEAD = 16


def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work to its end, closing the connections of language models afterwards.

    Where a loop is running already, as in a notebook, the work gets a thread with a loop of its own. Ctrl-C cancels the
    work and waits until it has ended.
    """
    results: list[T] = []

    async def run() -> None:
        # Not returned: `asyncio.run` formats its finished task when it restores the signal handler, and with it
        # whatever the task returned. For the training record of 10,000 texts that took minutes and gigabytes.
        results.append(await closing_connections(work()))

    if _loop_is_running():
        BackgroundWork(run).join()
    else:
        asyncio.run(run())
    return results[0]


def iterate(stream: Callable[[], AsyncGenerator[T]]) -> Generator[T]:
    """Yield what an asynchronous stream yields, which runs in a thread of its own, a few results ahead at most.

    Closing the iterator ends the stream.
    """
    results: queue.Queue[list[T]] = queue.Queue(AHEAD)
    stopped = threading.Event()

    async def run() -> None:
        async with aclosing(stream()) as running:
            async for result in running:
                await asyncio.to_thread(_put, results, [result], stopped)
                if stopped.is_set():
                    return

    thread = BackgroundWork(lambda: closing_connections(run()), at_end=lambda: _put(results, [], stopped))
    finished = False
    try:
        while result := results.get():
            yield result[0]
        finished = True
    finally:
        stopped.set()
        if finished:
            thread.join()
        else:
            thread.stop()


def _put(results: queue.Queue[list[T]], result: list[T], stopped: threading.Event) -> None:
    """Hand a result over, unless nobody is reading any more; an empty one is the end."""
    while not stopped.is_set():
        try:
            results.put(result, timeout=0.1)
        except queue.Full:
            continue
        return


async def closing_connections(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns, having ended the tasks it left and closed the connections of language models."""
    from rubriclab.judges.language_model import close_connections

    working = asyncio.create_task(work)
    try:
        # Shielded, so that a cancellation reaches all tasks at once: some wait for replies before they end, and others
        # would send requests meanwhile.
        return await asyncio.shield(working)
    finally:
        await end_other_tasks()
        await close_connections()


async def end_other_tasks() -> None:
    """Cancel what an error or Ctrl-C has left under way: it would open connections while they are being closed.

    What is being cancelled already may wait for its reply.
    """
    from rubriclab.judges.judge import IN_FLIGHT

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        if not task.cancelling() and task.get_name() != IN_FLIGHT:
            task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class BackgroundLoop:
    """An event loop in a thread of its own, which does the work of other threads and loops until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="rubriclab", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns; Ctrl-C cancels it.

        Raises:
            RuntimeError: if the loop is closed.
        """
        future = self._submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def run_async(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns, without blocking the running event loop; its cancellation cancels the work.

        Raises:
            RuntimeError: if the loop is closed.
        """
        return await asyncio.wrap_future(self._submit(work))

    def close(self, at_end: Callable[[], None] | None = None) -> None:
        """Cancel the work under way, close the connections of language models, call `at_end`, and end the thread."""
        if self._closed:
            return
        self._closed = True

        async def ended() -> None:
            await closing_connections(asyncio.sleep(0))
            if at_end:
                at_end()

        try:
            asyncio.run_coroutine_threadsafe(ended(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        if self._closed:
            raise RuntimeError("The rubric is closed; open a new scorer.")
        return asyncio.run_coroutine_threadsafe(work(), self._loop)


class BackgroundWork:
    """Asynchronous work under way in a thread that has a loop of its own."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], at_end: Callable[[], None] | None = None) -> None:
        self._work = work
        self._at_end = at_end
        self._error: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="rubriclab", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the work, and raise what it raised."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.stop()
            raise
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Cancel the work and wait until it has ended."""
        with suppress(RuntimeError):  # the loop has been closed in the meantime
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join()

    def _cancel(self) -> None:
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._main())
        except BaseException as error:
            self._error = error
        finally:
            if self._at_end:
                self._at_end()

    async def _main(self) -> None:
        self._task = asyncio.current_task()
        if not self._stopped:
            await self._work()
