"""Limits of a service: requests in a minute for each caller, and requests at a time."""

from __future__ import annotations

import time
from collections.abc import Callable

MINUTE = 60.0
# Times are sums of many intervals.
ROUNDING = 1e-6


class RateLimit:
    """At most so many requests of a caller in a minute; all of them may come at once.

    Attributes:
        per_minute: the number of requests.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._interval = MINUTE / per_minute
        self._clock = clock
        # When the requests of a caller so far would be over at the even rate (the generic cell rate algorithm).
        self._over: dict[str, float] = {}

    def wait(self, caller: str) -> float:
        """Return 0 and count a request, or return the seconds until the caller may send one."""
        now = self._clock()
        over = max(self._over.get(caller, now), now) + self._interval
        early = over - now - max(MINUTE, self._interval)
        if early > ROUNDING:
            return early
        self._over[caller] = over
        return 0.0


class Slots:
    """Requests at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def take(self) -> bool:
        """Take a slot, and return whether one was free."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def free(self) -> None:
        """Give a slot back."""
        self.taken -= 1
