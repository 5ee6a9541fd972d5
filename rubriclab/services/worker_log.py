"""Log records of workers, handled by the process that has started them as if they were its own."""

from __future__ import annotations

import logging
import logging.handlers
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class LogLevels:
    """The levels from which on the root logger of the process with the workers and this package's log."""

    root: int
    package: int

    @classmethod
    def of_process(cls) -> LogLevels:
        """Return those of this process."""
        return cls(logging.getLogger().getEffectiveLevel(), logging.getLogger("rubriclab").getEffectiveLevel())


class SendingHandler(logging.handlers.QueueHandler):
    """Passes each log record to a function, in a form that can be sent to another process."""

    def __init__(self, send: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # `enqueue` is the only method that uses the queue
        self._send = send

    def enqueue(self, record: logging.LogRecord) -> None:
        """Send a record."""
        self._send(record)


def handle_sent(record: logging.LogRecord) -> None:
    """Handle the log record of a worker."""
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)
