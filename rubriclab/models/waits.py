"""Warnings about long waits, so that a command never seems to hang without a reason."""

from __future__ import annotations

import logging
import time

# Seconds of a wait from which it is told of, and between two warnings about the same kind of wait.
LONG = 5.0
AGAIN = 600.0

_told: dict[str, float] = {}


def log_wait(log: logging.Logger, seconds: float, reason: str, detail: str = "") -> None:
    """Log a wait with its reason: a long one as a warning, unless there was one for the same reason lately.

    Args:
        seconds: that the wait takes, or has taken so far.
        reason: the kind of wait, as in `the rate limit of openai/gpt-4o-mini`.
        detail: what else there is to say about this wait.
    """
    now = time.monotonic()
    long = seconds >= LONG and now - _told.get(reason, -AGAIN) >= AGAIN
    if long:
        _told[reason] = now
    log.log(logging.WARNING if long else logging.INFO, "waiting %.1f s for %s%s", seconds, reason, detail)
