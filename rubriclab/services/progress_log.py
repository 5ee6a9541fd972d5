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


def logged(display: ProgressDisplay) -> ProgressDisplay:
    """Return a progress display that also logs what it shows."""

    @contextmanager
    def show(ledger: Ledger) -> Iterator[Progress]:
        begun, phase, last = time.monotonic(), "", 0.0
        with display(ledger) as on_progress:

            def advance(text: str, share: float) -> None:
                nonlocal phase, last
                on_progress(text, share)
                now = time.monotonic()
                # Counts change with every text, the words around them with the phase.
                words = re.sub(r"[\d,]+", "", text)
                if words != phase or now - last >= INTERVAL:
                    phase, last = words, now
                    _log.info("%s; %.0f s, %d calls, %d cached", text, now - begun, ledger.calls, ledger.cached)

            yield advance
            _log.info("done; %.0f s, %d calls, %d cached", time.monotonic() - begun, ledger.calls, ledger.cached)

    return show
