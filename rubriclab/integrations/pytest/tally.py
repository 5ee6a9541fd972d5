"""What the tests of a run scored, by rubric: counted in each test, carried by its report, added up at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from rubriclab.provenance import Effort
from rubriclab.scoring import Score

# The name of the property of a test's report.
PROPERTY = "rubriclab-scores"


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
