"""Progress in the log: each phase when it begins, and how far it is every ten seconds."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rubriclab.judges.ledger import Ledger
from rubriclab.methods.method import Progress

# Shows progress while its block runs; yields a function of a text and the share done (0 to 1, below 0 if unknown).
ProgressDisplay = Callable[[Ledger], AbstractContextManager[Progress]]

# Seconds between two messages about the same phase.
INTERVAL = 10.0

_log = logging.getLogger(__name__)


def logged(display: ProgressDisplay, *, clock: Callable[[], float] = time.monotonic) -> ProgressDisplay:
    """Return a progress display that also logs what it shows."""

    @contextmanager
    def show(ledger: Ledger) -> Iterator[Progress]:
        lines = _Lines(ledger, clock)
        with display(ledger) as on_progress:

            def advance(text: str, share: float) -> None:
                on_progress(text, share)
                lines.advance(text)

            yield advance
            lines.log("done")

    return show


class _Lines:
    """The lines about one operation."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._begun = self._last = clock()
        self._phase = ""

    def advance(self, text: str) -> None:
        """Log how far a phase is, if it is new or the last line is some time ago."""
        # Counts change with every text, the words around them with the phase.
        phase = re.sub(r"[\d,]+", "", text)
        if phase != self._phase or self._clock() - self._last >= INTERVAL:
            self._phase = phase
            self.log(text)

    def log(self, text: str) -> None:
        """Log a line."""
        self._last = self._clock()
        seconds, ledger = self._last - self._begun, self._ledger
        counts = (ledger.calls, ledger.cached, ledger.failed)
        _log.info("%s; %.0f s, %d calls, %d cached, %d failed", text, seconds, *counts)
