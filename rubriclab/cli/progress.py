"""How far a command is: a bar with calls, tokens, money and time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rubriclab.judges.ledger import Ledger

Advance = Callable[[str, float], None]


@contextmanager
def progress(ledger: Ledger) -> Iterator[Advance]:
    """Show a bar on standard error while the block runs; yields what moves it: a text, and the share done (0 to 1).

    A share below zero means that the whole is not known. Without a terminal nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda _doing, _share: None
        return
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


def spent(ledger: Ledger) -> str:
    """Return calls, tokens and money so far, in one line."""
    usage = ledger.usage
    parts = [f"{ledger.calls:,} calls"]
    if ledger.cached:
        parts.append(f"{ledger.cached:,} kept")
    if ledger.failed:
        parts.append(f"{ledger.failed:,} failed")
    if usage.prompt_tokens or usage.completion_tokens:
        parts.append(f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:,.0f}k tokens")
    parts.append("price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}")
    return ", ".join(parts)
