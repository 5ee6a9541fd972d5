"""Messages between a worker and its parent: pickled tuples over two pipes.

Reading and writing have a thread each, so that neither event loop waits for the other process. Messages are pickled
where they are sent, so that a fault is raised there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import queue
import threading
from collections.abc import Callable
from typing import IO, Any

# A kind and its arguments.
Message = tuple[Any, ...]

_log = logging.getLogger(__name__)


class Channel:
    """Two pipes with messages, in order. `send` may be called from any thread."""

    def __init__(self, reading: IO[bytes], writing: IO[bytes]) -> None:
        self._reading = reading
        self._writing = writing
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        self._writer = threading.Thread(target=self._write, name="rubriclab-messages-out", daemon=True)
        self._writer.start()

    def send(self, *message: Any) -> None:
        """Send a message without waiting. It is dropped if the other side has gone.

        Raises:
            Exception: what `pickle` raises if the message cannot be pickled.
        """
        self._unsent.put(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def receive(self) -> Message:
        """Return the next message, before `listen` is called.

        Raises:
            EOFError: if the other side has gone.
        """
        message: Message = pickle.load(self._reading)
        return message

    def listen(self, handle: Callable[[Message], None], ended: Callable[[], None]) -> None:
        """Call `handle` for each message, and `ended` once the other side has gone, both in the running event loop."""
        loop = asyncio.get_running_loop()
        self._reader = threading.Thread(
            target=self._read, args=(loop, handle, ended), name="rubriclab-messages-in", daemon=True
        )
        self._reader.start()

    def close(self) -> None:
        """Let the other side know that nothing follows, once everything is sent."""
        self._unsent.put(None)

    def join(self) -> None:
        """Wait until everything is sent and the other side has gone."""
        self._writer.join()
        if self._reader is not None:
            self._reader.join()

    def _write(self) -> None:
        # The other side may go at any time; its reader learns of it.
        with contextlib.suppress(OSError):
            while (data := self._unsent.get()) is not None:
                self._writing.write(data)
                if self._unsent.empty():
                    self._writing.flush()
            self._writing.flush()
        with contextlib.suppress(OSError):
            self._writing.close()

    def _read(
        self, loop: asyncio.AbstractEventLoop, handle: Callable[[Message], None], ended: Callable[[], None]
    ) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            try:
                while True:
                    loop.call_soon_threadsafe(handle, self.receive())
            except (EOFError, OSError):
                pass
            except pickle.UnpicklingError as error:  # a killed process may leave half a message
                _log.debug("unreadable message: %s", error)
            loop.call_soon_threadsafe(ended)
