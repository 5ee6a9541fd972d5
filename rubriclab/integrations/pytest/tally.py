"""What the tests of a run scored, by rubric: counted in each test, carried by its report, and a table at the end."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from rubriclab.provenance import Effort
from rubriclab.report.describe import rounded
from rubriclab.report.model import Block, Cell, Paragraph, View, quoted, table
from rubriclab.report.wording import count
from rubriclab.scoring import Score

# The name of the property of a test's report.
PROPERTY = "rubriclab-scores"
TITLE = "Texts scored by rubrics"
NUMERIC = ("texts", "mean", "lowest", "failed", "calls", "cached", "US$")


@dataclass(slots=True)
class Tally:
    """What was scored by one rubric and judge.

    Attributes:
        texts: those of them without a score are `unscored`.
        total: the sum of the scores.
        lowest: the lowest score, of the text `lowest_id`.
        failed: assertions that failed.
        inconclusive: comparisons without a result.
        cost: in US dollars; `None` if a price is unknown.
    """

    rubric: str
    judge: str
    texts: int = 0
    unscored: int = 0
    total: float = 0.0
    lowest: float | None = None
    lowest_id: str = ""
    failed: int = 0
    inconclusive: int = 0
    calls: int = 0
    cached: int = 0
    cost: float | None = 0.0

    @property
    def mean(self) -> float | None:
        """The mean score; `None` if no text has one."""
        scored = self.texts - self.unscored
        return self.total / scored if scored else None

    def add_scores(self, scores: Iterable[Score]) -> None:
        """Count scores."""
        for score in scores:
            self.texts += 1
            if score.score is None:
                self.unscored += 1
                continue
            self.total += score.score
            if self.lowest is None or score.score < self.lowest:
                self.lowest, self.lowest_id = score.score, score.id

    def add_effort(self, before: Effort, after: Effort) -> None:
        """Count the calls between two states of a scorer."""
        self.calls += after.calls - before.calls
        self.cached += after.cached - before.cached
        known = self.cost is not None and before.cost_usd is not None and after.cost_usd is not None
        self.cost = (self.cost or 0.0) + (after.cost_usd or 0.0) - (before.cost_usd or 0.0) if known else None

    def add(self, other: Tally) -> None:
        """Count what another test scored by the same rubric and judge."""
        for name in ("texts", "unscored", "total", "failed", "inconclusive", "calls", "cached"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        if other.lowest is not None and (self.lowest is None or other.lowest < self.lowest):
            self.lowest, self.lowest_id = other.lowest, other.lowest_id


@dataclass(slots=True)
class Tallies:
    """What one or several tests scored.

    Attributes:
        notes: what a person should know beside the results.
        baselines: the baselines that it stored.
    """

    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    baselines: dict[str, None] = field(default_factory=dict)

    def of(self, rubric: str, judge: str) -> Tally:
        """Return the tally of a rubric and judge."""
        return self.tallies.setdefault((rubric, judge), Tally(rubric, judge))

    def written(self) -> str:
        """Return it as JSON, for the report of the test."""
        tallies = [asdict(tally) for tally in self.tallies.values()]
        return orjson.dumps({"rubrics": tallies, "notes": [*self.notes], "baselines": [*self.baselines]}).decode()


def read_tally(properties: Sequence[tuple[str, Any]]) -> Tallies:
    """Return what a test scored, from the properties of its report."""
    found = Tallies()
    for name, value in properties:
        if name == PROPERTY:
            row = orjson.loads(value)
            for tally in (Tally(**each) for each in row["rubrics"]):
                found.of(tally.rubric, tally.judge).add(tally)
            found.notes |= dict.fromkeys(row["notes"])
            found.baselines |= dict.fromkeys(row["baselines"])
    return found


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
