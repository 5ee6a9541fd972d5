"""The number of rows done, in the log."""

from __future__ import annotations

import logging
import time

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
