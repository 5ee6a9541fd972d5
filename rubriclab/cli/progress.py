"""The bar of a command, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rubriclab.judges.ledger import Ledger
from rubriclab.progress import Callback, terminal_bar


@contextmanager
def progress(ledger: Ledger) -> Iterator[Callback]:
    """Show a bar on standard error while the block runs; without a terminal nothing is shown."""
    if not sys.stderr.isatty():
        yield lambda _doing, _share: None
        return
    with terminal_bar(ledger) as advance:
        yield advance
