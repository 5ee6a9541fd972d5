"""The table at the end of a run: per rubric the texts, their mean and lowest score, failures, calls and cost."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rubriclab.integrations.pytest.tally import Tallies, Tally
from rubriclab.report.describe import rounded
from rubriclab.report.model import Block, Cell, Paragraph, View, quoted, table
from rubriclab.report.wording import count

TITLE = "Texts scored by rubrics"
NUMERIC = ("texts", "mean", "lowest", "failed", "calls", "cached", "US$")


def summary_view(tallies: Tallies, recorded: str | None = None) -> View:
    """Return the table, and below it the stored baselines, the recording and the notes."""
    rows = [_row(tally) for _, tally in sorted(tallies.tallies.items())]
    blocks: tuple[Block, ...] = (table(("rubric", *NUMERIC), rows, numeric=NUMERIC),)
    return View(TITLE, (*blocks, *_remarks(tallies, recorded)), "rubriclab tests")


def summary_lines(view: View, width: int) -> Iterator[str]:
    """Yield the lines of the table without its title, which pytest sets above it."""
    from rich.console import Console

    console = Console(file=(lines := io.StringIO()), width=width, color_system=None)
    console.print(View((), view.blocks))
    yield from (line.rstrip() for line in lines.getvalue().rstrip().splitlines())


def _row(tally: Tally) -> tuple[Cell, ...]:
    cost = "unknown" if tally.cost is None else f"{tally.cost:.4f}"
    counts = (tally.failed, tally.calls, tally.cached)
    return (
        quoted(f"{tally.rubric}, {tally.judge}"),
        f"{tally.texts:,}",
        rounded(tally.mean),
        rounded(tally.lowest),
        *(f"{number:,}" for number in counts),
        cost,
    )


def _remarks(tallies: Tallies, recorded: str | None) -> Iterator[Paragraph]:
    for tally in tallies.tallies.values():
        without = f"{count(tally.unscored, 'text')} without a score" if tally.unscored else ""
        unknown = count(tally.inconclusive, "inconclusive comparison") if tally.inconclusive else ""
        if found := ", ".join(filter(None, (without, unknown))):
            yield Paragraph(quoted(f"{tally.rubric}, {tally.judge}: {found}"), "warning")
    if tallies.baselines:
        yield Paragraph(quoted(f"baselines stored: {', '.join(sorted(tallies.baselines))}"))
    if recorded:
        yield Paragraph(quoted(f"recorded to {recorded}"))
    for note in tallies.notes:
        yield Paragraph(quoted(note), "quiet")
