"""Warnings about long waits, so that a command never seems to hang without a reason."""

from __future__ import annotations

import logging
import time

# Seconds of a wait that gives a warning, and seconds between two warnings for the same reason.
LONG_WAIT = 5.0
REPEAT_AFTER = 600.0

_last_warning_times: dict[str, float] = {}


def log_wait(log: logging.Logger, seconds: float, reason: str, detail: str = "") -> None:
    """Log a wait: a long one as a warning, unless there was a recent warning for the same reason."""
    now = time.monotonic()
    is_warning = seconds >= LONG_WAIT and now - _last_warning_times.get(reason, -REPEAT_AFTER) >= REPEAT_AFTER
    if is_warning:
        _last_warning_times[reason] = now
    log.log(logging.WARNING if is_warning else logging.INFO, "waiting %.1f s for %s%s", seconds, reason, detail)
