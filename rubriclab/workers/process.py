"""A worker process: a new interpreter that imports nothing of the user's program, joined to its parent by a channel.

`multiprocessing` would import the parent's main module once more in each worker, which a script without
`if __name__ == "__main__"` does not survive, and which a notebook does not have.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rubriclab.workers.channel import Channel

# Seconds that a worker may take to end once its parent wants it to.
GRACE = 10.0
# Seconds between the end of a worker's messages and the end of its process.
ENDING = 1.0

_START = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from importlib import import_module
import_module(sys.argv[1]).main()
"""


class WorkerProcess:
    """A worker under way: `main()` of a module in a process of its own.

    Attributes:
        channel: the messages; closing it ends the worker.
    """

    def __init__(self, module: str) -> None:
        with _without_interrupts():
            self._process = subprocess.Popen(
                # `-P`: without the working folder on Python's path, as its files may be somebody else's.
                [sys.executable, *_interpreter_flags(), "-P", "-c", _START, module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(pickle.dumps(sys.path))
        self.channel = Channel(self._process.stdout, self._process.stdin)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def end(self, grace: float = GRACE) -> None:
        """Close the channel and wait until the worker has ended; kill it after `grace` seconds."""
        self.channel.close()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.channel.join()
        if self._process.stdout:
            self._process.stdout.close()

    def ending(self) -> str:
        """Return how the process ended: by a signal or with an exit code."""
        try:
            code = self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return "it closed its pipes"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"


def parent_channel() -> Channel:
    """Return the channel to the parent of this worker process, which gives up standard input and output for it.

    What is printed goes to standard error. The process ends at the latest `GRACE` seconds after its parent has gone.
    """
    writing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Buffered already: the start of the process has read from it.
    return Channel(sys.stdin.buffer, writing)


def end_soon() -> None:
    """End this process after `GRACE` seconds, whatever it does then."""
    timer = threading.Timer(GRACE, os._exit, (1,))
    timer.daemon = True
    timer.start()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started meanwhile: their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interpreter_flags() -> list[str]:
    # What `multiprocessing` uses for the same purpose.
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags
