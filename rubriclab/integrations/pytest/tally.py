"""What the tests of a run scored, by rubric: counted in each test, carried by its report, and a table at the end."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from rubriclab.integrations.evaluator import criterion_result, scale_of
from rubriclab.judges.stack import recorded_name
from rubriclab.learning.paired_scores import SideSummary
from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.characters import count, one_line
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import format_score
from rubriclab.models.version import Effort
from rubriclab.report import wording
from rubriclab.report.render import View, view
from rubriclab.report.wording import estimate, excerpt

# Criteria that are listed for a text, texts that are listed, and characters of a reason and of a text.
CRITERIA, TEXTS, REASON, TEXT = 3, 3, 200, 300


def below(score: Score, rubric: Rubric, threshold: float, output: object) -> str:
    """Return why a text fails."""
    interval = f" {wording.score_interval(score.interval)}" if score.interval else ""
    first = f"{score.rubric}: score {wording.rounded(score.score)}{interval} is below {format_score(threshold)}"
    return "\n".join((f"{first} ({_scorer(score, rubric)})", *_costs(score, rubric), *_text(score, output)))


def unscored(score: Score, rubric: Rubric, output: object) -> str:
    """Return why a text has no score."""
    first = f"{score.rubric}: no score: {excerpt(one_line(score.unscored or ''), REASON)}"
    return "\n".join((f"{first} ({_scorer(score, rubric)})", *_text(score, output)))


def mean_below(
    side: SideSummary, scores: Sequence[Score], rubric: Rubric, threshold: float, *, inconclusive: bool
) -> str:
    """Return why the mean of many texts fails, or why it is not known whether it is high enough."""
    texts = f"{count(side.scored, 'text')} in {count(side.groups, 'group')}"
    names = rubric.scores_on.names
    what = f"share of {names[1]!r}" if names else "mean"
    lines = [f"{scores[0].rubric}: {what} {estimate(side.mean)} of {texts} ({_scorer(scores[0], rubric)})"]
    if not inconclusive:
        lines.append(f"the whole interval is below {format_score(threshold)}")
    elif side.mean.low is None:
        lines.append("inconclusive: with so few groups there is no interval; give texts of more groups")
    elif side.mean.low >= threshold:
        lines.append("inconclusive: more than a tenth of the texts have no score: the others may not represent them")
    else:
        lines.append(f"inconclusive: the interval includes {format_score(threshold)}; more texts are needed")
    lines += [f"{count(number, 'text')} without a score: {_reason(reason)}" for reason, number in side.unscored.items()]
    lines += _lowest(scores, rubric)
    return "\n".join(lines)


def _scorer(score: Score, rubric: Rubric) -> str:
    return f"scale {scale_of(rubric)}; judge {one_line(recorded_name(score.judge))}"


def _costs(score: Score, rubric: Rubric) -> Iterator[str]:
    """Yield the criteria that lower the score most: by contributions, or else by how far they are from their best."""
    ranked = _ranked(score, rubric)
    if not ranked:
        yield "no criterion lowers the score"
        return
    yield "criteria that lower the score most:"
    yield from (f"  {_cost(part, rubric)}" for part in ranked[:CRITERIA])


def _cost(part: CriterionRating, rubric: Rubric) -> str:
    return f"{criterion_result(part, rubric, REASON)}: {_reason(part.reason)}"


def _ranked(score: Score, rubric: Rubric) -> list[CriterionRating]:
    contributed = [part for part in score.criteria if part.contribution is not None]
    if contributed:
        costly = [part for part in contributed if (part.contribution or 0.0) < 0]
        return sorted(costly, key=lambda part: part.contribution or 0.0)
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    shares = [(_share(part, criteria[part.id], rubric), part) for part in score.criteria if part.score is not None]
    return [part for share, part in sorted(shares, key=lambda pair: pair[0]) if share < 1]


def _share(part: CriterionRating, criterion: Criterion, rubric: Rubric) -> float:
    rating = part.score or 0.0
    return rating if criterion.kind == "question" else (rating - rubric.scale.low) / rubric.scale.width


def _text(score: Score, output: object) -> Iterator[str]:
    yield f"text {one_line(score.id)}: {excerpt(one_line(str(output)), TEXT)}"


def _lowest(scores: Sequence[Score], rubric: Rubric) -> Iterator[str]:
    """Yield the texts with the lowest scores, each with the criterion that lowers it most."""
    scored = sorted((score for score in scores if score.score is not None), key=lambda score: score.score or 0.0)
    for score in scored[:TEXTS]:
        yield f"lowest: {wording.rounded(score.score)}, text {one_line(score.id)}"
        yield from (f"  {_cost(part, rubric)}" for part in _ranked(score, rubric)[:1])


def _reason(text: str) -> str:
    return excerpt(one_line(text), REASON)


# The name of the property of a test's report.
PROPERTY = "rubriclab-scores"
TITLE = "Texts scored by rubrics"


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
    """

    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def of(self, rubric: str, judge: str) -> Tally:
        """Return the tally of a rubric and judge."""
        return self.tallies.setdefault((rubric, judge), Tally(rubric, judge))

    def written(self) -> str:
        """Return it as JSON, for the report of the test."""
        tallies = [asdict(tally) for tally in self.tallies.values()]
        return orjson.dumps({"rubrics": tallies, "notes": [*self.notes]}).decode()


def read_tally(properties: Sequence[tuple[str, Any]]) -> Tallies:
    """Return what a test scored, from the properties of its report."""
    found = Tallies()
    for name, value in properties:
        if name == PROPERTY:
            row = orjson.loads(value)
            for tally in (Tally(**each) for each in row["rubrics"]):
                found.of(tally.rubric, tally.judge).add(tally)
            found.notes |= dict.fromkeys(row["notes"])
    return found


def summary_view(tallies: Tallies, recorded: str | None = None) -> View:
    """Return the table, and below it the recording and the notes."""
    return view(
        "tally",
        title=TITLE,
        tallies=[tally for _, tally in sorted(tallies.tallies.items())],
        every=tallies.tallies.values(),
        recorded=recorded,
        notes=tallies.notes,
    )


def summary_lines(summary: View, width: int) -> Iterator[str]:
    """Yield the lines of the table without its title, which pytest sets above it."""
    from rich.console import Console

    console = Console(file=(lines := io.StringIO()), width=width, color_system=None)
    console.print(summary)
    yield from (line.rstrip() for line in lines.getvalue().rstrip().splitlines()[1:])
