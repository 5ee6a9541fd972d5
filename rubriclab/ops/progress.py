"""How far an operation is: a bar in a terminal or a notebook, lines elsewhere, or a callback."""

from __future__ import annotations

import html
import importlib
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from rubriclab.judges.ledger import Ledger
from rubriclab.methods.method import Progress

# Told what is being done, and the share of the whole that is done (0 to 1; below 0 where the whole is not known).
Callback = Callable[[str, float], None]
# Seconds between two changes of a bar in a notebook.
PAUSE = 0.2
# Seconds between two lines where there is no terminal.
BETWEEN_LINES = 60.0


def in_notebook() -> bool:
    """Return whether the code runs in a notebook with a kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def terminal_bar(ledger: Ledger) -> Iterator[Callback]:
    """Show a bar on standard error while the block runs, with calls, tokens, money and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0, spent="")

        def advance(doing: str, share: float) -> None:
            bar.update(
                task,
                description=doing,
                total=1.0 if share >= 0 else None,
                completed=max(share, 0.0),
                spent=spent(ledger),
            )

        yield advance


@contextmanager
def regular_lines(ledger: Ledger) -> Iterator[Callback]:
    """Write a line to standard error once a minute while the block runs, with what is done and what is left."""
    begun, ended = time.monotonic(), threading.Event()
    latest = ("starting", -1.0)

    def advance(doing: str, share: float) -> None:
        nonlocal latest
        latest = (doing, share)

    def write_lines() -> None:
        while not ended.wait(BETWEEN_LINES):
            doing, share = latest
            seconds = time.monotonic() - begun
            parts = [doing, f"{seconds / 60:.0f} min"]
            if share > 0:
                parts += [f"{share:.0%} done", f"about {seconds * (1 - share) / share / 60:.0f} min left"]
            print("; ".join([", ".join(parts), spent(ledger)]), file=sys.stderr, flush=True)

    writing = threading.Thread(target=write_lines, name="progress", daemon=True)
    writing.start()
    try:
        yield advance
    finally:
        ended.set()
        writing.join()


@contextmanager
def notebook_bar(ledger: Ledger) -> Iterator[Callback]:
    """Show a bar under the cell while the block runs, and remove it afterwards."""
    display: Any = importlib.import_module("IPython.display")
    shown = display.display(display.HTML(""), display_id=True)
    last = 0.0

    def advance(doing: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last < PAUSE:
            return
        last = time.monotonic()
        value = f' value="{share:.3f}"' if share >= 0 else ""
        shown.update(display.HTML(f"<progress{value}></progress> {html.escape(doing)}; {html.escape(spent(ledger))}"))

    try:
        yield advance
    finally:
        shown.update(display.HTML(""))


def calling(callback: Callback) -> Callable[[Ledger], AbstractContextManager[Callback]]:
    """Return a display that hands everything to a callback."""

    @contextmanager
    def display(_ledger: Ledger) -> Iterator[Callback]:
        yield callback

    return display


def spent(ledger: Ledger) -> str:
    """Return calls, tokens and money so far, in one line."""
    usage = ledger.usage
    parts = [f"{ledger.calls:,} calls"]
    if ledger.cached:
        parts.append(f"{ledger.cached:,} cached")
    if ledger.failed:
        parts.append(f"{ledger.failed:,} failed")
    if usage.prompt_tokens or usage.completion_tokens:
        parts.append(f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:,.0f}k tokens")
    if usage.cached_tokens:
        parts.append(f"{usage.cached_tokens / 1000:,.0f}k of them read from the provider's cache")
    parts.append("price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}")
    return ", ".join(parts)


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
