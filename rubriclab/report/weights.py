"""The criteria of a rubric of several methods by weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubriclab.aggregation import Term
from rubriclab.learning.settings import INTERVAL_CONFIDENCE
from rubriclab.option_names import command
from rubriclab.report import charts, describe, wording
from rubriclab.report.model import (
    Block,
    Cell,
    Drawing,
    Indented,
    Paragraph,
    Section,
    Stack,
    line,
    paragraphs,
    quoted,
    table,
)
from rubriclab.rubric import Criterion
from rubriclab.stats.interval import Interval

if TYPE_CHECKING:
    from rubriclab.store.version import Version

REASON_ONLY = "shown as a reason; does not change the score"
EXCERPT, TITLE = 150, 60
MOST_MAIN = 5
MOST_WEIGHT = 0.5
CALIBRATIONS: Mapping[str, str] = {
    "none": "the mean of the judge's scores",
    "linear": "a straight line",
    "isotonic": "increasing steps",
    "logistic": "a logistic curve",
}


@dataclass(frozen=True, slots=True)
class WeightedCriterion:
    """A criterion with its weight.

    Attributes:
        method: that asks it.
    """

    criterion: Criterion
    method: str
    term: Term

    @property
    def percent(self) -> Interval:
        """The weight with its interval, in percent of all weights."""
        return Interval(100 * self.term.weight, 100 * self.term.low, 100 * self.term.high)


def weighted_criteria(version: Version) -> list[WeightedCriterion]:
    """Return the criteria of a rubric that combines several methods, the largest weights first."""
    terms = describe.terms(version.rubric)
    rows = [
        WeightedCriterion(criterion, part.method, terms[criterion.id])
        for part in version.rubric.parts
        for criterion in part.criteria
        if criterion.id in terms
    ]
    return sorted(rows, key=lambda row: -abs(row.term.weight))


def main_criteria(version: Version) -> Iterator[Block]:
    """Yield the criteria with the largest weights in brief, and how many more there are; nothing without weights."""
    rows = weighted_criteria(version)
    if not rows:
        return
    titles = describe.distinct_titles({row.criterion.id: describe.title(row.criterion) for row in rows}, EXCERPT)
    shown = [(describe.percent(row.term.weight), quoted(titles[row.criterion.id])) for row in rows[:MOST_MAIN]]
    yield Section(
        "Main criteria", (table(("weight", ""), shown, numeric=("weight",)),), "with their shares of the weights"
    )
    if more := len(rows) - len(shown):
        yield Paragraph(f"{wording.counted(more, 'more criterion')}: {command('show', version.ref)}", "quiet")
    yield from paragraphs(weight_sentences(rows))


def weight_sentences(rows: Sequence[WeightedCriterion]) -> Iterator[str]:
    """Yield that scores of the whole text carry most of the weight, if they do."""
    whole = sum(row.term.weight for row in rows if row.criterion.kind == "score")
    total = sum(abs(row.term.weight) for row in rows)
    scores = sum(row.criterion.kind == "score" and row.term.weight > 0 for row in rows)
    if len(rows) - scores > 0 and whole > MOST_WEIGHT * total:
        held_by = "one score" if scores == 1 else f"{scores} scores"
        yield (
            f"{describe.percent(whole / total)} of the weight is on {held_by} of the whole text: the other criteria "
            "explain the score more than they determine it."
        )


def weight_blocks(version: Version, rows: Sequence[WeightedCriterion]) -> Iterator[Block]:
    aggregation = version.rubric.aggregation
    if aggregation is None:
        return
    asked = f"asked {aggregation.form or aggregation.ask}"
    if aggregation.rivals:
        asked += f" about up to {aggregation.rivals.texts} texts of a group"
    yield Paragraph(f"{asked}; the weighted sum is calibrated by {CALIBRATIONS[aggregation.calibration.kind]}", "quiet")
    axis = charts.axis_of((row.percent for row in rows), 0.0)
    numeric = ("weight", "chosen", "alone")
    shown = [_weight_row(axis, row) for row in rows]
    yield table(("", "", *numeric), shown, numeric=numeric, ticks=charts.tick_row(axis))
    yield from paragraphs(weight_sentences(rows))
    yield Paragraph(
        f"weight: share of the weights, with its {describe.percent(INTERVAL_CONFIDENCE)} posterior interval; below "
        "zero, less is better; chosen: share of the rubrics fitted without some of the groups that have it; alone: its "
        "own Pearson correlation with the "
        "training labels.",
        "quiet",
    )
    if dropped := version.rubric.all_dropped:
        more = wording.counted(len(dropped), "more criterion")
        yield Paragraph(f"{more} considered and dropped, listed with the reasons below the criteria.", "quiet")


def _weight_row(axis: charts.Axis, row: WeightedCriterion) -> tuple[Cell, ...]:
    title = line(quoted(row.criterion.id, "id"), quoted(describe.title(row.criterion, EXCERPT)))
    remarks = [Paragraph(quoted(_brief(row)), "quiet")]
    if not row.term.weight:
        remarks.append(Paragraph(REASON_ONLY, "quiet"))
    alone = wording.figure(row.criterion.evidence.pearson)
    name = Stack((Paragraph(title), Indented(tuple(remarks))))
    drawing = Drawing(charts.bar(axis, row.percent, total=False))
    return name, drawing, describe.weight(row.term), describe.percent(row.term.selected), alone


def _brief(row: WeightedCriterion) -> str:
    criterion = row.criterion
    if criterion.kind == "question":
        return "; ".join(filter(None, (row.method, describe.answers(criterion.evidence))))
    if criterion.kind == "score":
        return f"{row.method}: one score of the whole aspect"
    return f"{row.method}: {wording.excerpt(criterion.statement, EXCERPT)}"
