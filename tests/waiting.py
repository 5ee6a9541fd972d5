"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")
# Seconds after which a service, a response or a worker hangs.
PATIENCE = 60.0


def until(found: Callable[[], T | Literal[False] | None]) -> T:
    """Return what `found` returns as soon as it is true.

    Raises:
        TimeoutError: if that takes longer than `PATIENCE`.
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.01)
    raise TimeoutError
