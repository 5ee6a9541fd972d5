"""The criteria of a rubric of several methods by weight and what shortcuts they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubriclab.aggregation import Term
from rubriclab.learning.settings import INTERVAL_CONFIDENCE
from rubriclab.learning.shortcuts import FALSE_MARKS, RATERS, RUBRIC
from rubriclab.option_names import command
from rubriclab.report import charts, describe, verdicts, wording
from rubriclab.report.model import (
    Block,
    Cell,
    Drawing,
    Indented,
    Paragraph,
    Section,
    Span,
    Stack,
    Words,
    line,
    paragraphs,
    quoted,
    table,
)
from rubriclab.rubric import Criterion
from rubriclab.stats.interval import Interval
from rubriclab.validation import Shortcut

if TYPE_CHECKING:
    from rubriclab.store.version import Version

REASON_ONLY = "shown as a reason; does not change the score"
EXCERPT, TITLE = 150, 60
MOST_MAIN = 5
MOST_WEIGHT = 0.5
SHORTCUT = "shortcut: "
CALIBRATIONS: Mapping[str, str] = {
    "none": "the mean of the judge's scores",
    "linear": "a straight line",
    "isotonic": "increasing steps",
}


@dataclass(frozen=True, slots=True)
class WeightedCriterion:
    """A criterion with its weight.

    Attributes:
        method: that asks it.
        warning: that it takes a shortcut; empty where it takes none, or that was not looked into.
    """

    criterion: Criterion
    method: str
    term: Term
    warning: str

    @property
    def percent(self) -> Interval:
        """The weight with its interval, in percent of all weights."""
        return Interval(100 * self.term.weight, 100 * self.term.low, 100 * self.term.high)


def weighted_criteria(version: Version) -> list[WeightedCriterion]:
    """Return the criteria of a rubric that combines several methods, the largest weights first."""
    terms = describe.terms(version.rubric)
    warnings = shortcut_warnings(version)
    rows = [
        WeightedCriterion(criterion, part.method, terms[criterion.id], warnings.get(criterion.id, ""))
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
    shown = [
        (
            describe.percent(row.term.weight),
            line(quoted(titles[row.criterion.id]), Span(f"! {row.warning}" if row.warning else "", "warning")),
        )
        for row in rows[:MOST_MAIN]
    ]
    yield Section(
        "Main criteria", (table(("weight", ""), shown, numeric=("weight",)),), "with their shares of the weights"
    )
    if more := len(rows) - len(shown):
        yield Paragraph(f"{wording.counted(more, 'more criterion')}: {command('show', version.ref)}", "quiet")
    yield from paragraphs(weight_sentences(rows))
    yield from paragraphs([rubric_shortcut(version)], "quiet")


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


def shortcut_warnings(version: Version) -> dict[str, str]:
    """Return the warning of each criterion that takes a shortcut, by id."""
    by_name = {shortcut.name: shortcut for shortcut in shortcuts(version)}
    raters = by_name.get(RATERS)
    found = ((name, _warning(by_name[name], raters)) for name in by_name if name not in (RATERS, RUBRIC))
    return {name: warning for name, warning in found if warning}


def rubric_shortcut(version: Version) -> str:
    """Return whether the rubric as a whole follows a shortcut, where one of its criteria does; else empty."""
    rubric = next((each for each in shortcuts(version) if each.name == RUBRIC), None)
    if rubric is None or not shortcut_warnings(version):
        return ""
    raters = next((each for each in shortcuts(version) if each.name == RATERS), None)
    if rubric.marked:
        return f"The rubric as a whole {_warning(rubric, raters).removeprefix(SHORTCUT)}."
    of_raters = f" (raters: {verdicts.follows(raters)})" if raters else ""
    return (
        "The rubric as a whole follows no shortcut significantly more than the raters do: "
        f"{verdicts.follows(rubric)}{of_raters}."
    )


def _warning(shortcut: Shortcut | None, raters: Shortcut | None) -> str:
    """Return the warning that a criterion takes a shortcut: the one that it follows furthest beyond the raters."""
    if shortcut is None or not (shortcut.marked and shortcut.follows):
        return ""
    usual = raters.follows if raters else {}
    beyond = {feature: abs(value) - abs(usual.get(feature, 0.0)) for feature, value in shortcut.follows.items()}
    # The one with the smallest p-value where these are recorded: the largest difference need not be significant.
    feature = max(beyond, key=lambda name: (beyond[name] > 0, -shortcut.p.get(name, 0.0), beyond[name]))
    figures = [f"correlation {wording.figure(shortcut.follows[feature])}"]
    figures += [f"raters {wording.figure(usual[feature])}"] if feature in usual else []
    if (p := shortcut.p.get(feature)) is not None:
        figures.append("p < 0.001" if p < 0.001 else f"p = {p:.2g}")
    return f"{SHORTCUT}follows {feature} significantly more than the raters do ({', '.join(figures)})"


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
    if row.warning:
        remarks.append(Paragraph(f"! {row.warning}", "warning"))
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


def shortcuts(version: Version) -> list[Shortcut]:
    """Return what the raters, the rubric and each of its criteria follow; empty where that was not looked into."""
    validation = version.provenance.validation
    names = {RATERS, RUBRIC} | {criterion.id for criterion in version.rubric.criteria}
    return [shortcut for shortcut in validation.shortcuts if shortcut.name in names] if validation else []


def shortcut_section(version: Version, followed: Sequence[Shortcut]) -> Section:
    """Return how far the raters, the rubric and its criteria follow features that are no quality of a text."""
    criteria = {criterion.id: criterion for criterion in version.rubric.criteria}
    features = list(dict.fromkeys(feature for shortcut in followed for feature in shortcut.follows))
    numeric = ("agreement", "left", *features)
    marked = sum(each.marked and each.name in criteria for each in followed)
    note = (
        f"{wording.counted(marked, 'criterion')} marked with ! for following one of them significantly more than the "
        f"raters do, by a test at a false discovery rate of {describe.percent(FALSE_MARKS)}."
        if marked
        else "No criterion follows any of them significantly more than the raters do."
    )
    blocks = (
        table(("", *numeric), [_shortcut_row(each, features, criteria) for each in followed], numeric=numeric),
        *paragraphs((note, rubric_shortcut(version)), "quiet"),
    )
    beside = "Pearson correlation with the labels, what is left of it when these are held constant, and with each"
    return Section("Shortcuts", blocks, beside, name="shortcuts", folded=True)


def _shortcut_row(shortcut: Shortcut, features: Sequence[str], criteria: dict[str, Criterion]) -> tuple[Words, ...]:
    criterion = criteria.get(shortcut.name)
    title = quoted(describe.title(criterion, TITLE), "quiet") if criterion else ""
    name = line("!" if shortcut.marked else "", quoted(shortcut.name), title)
    follows = (wording.figure(shortcut.follows[name]) if name in shortcut.follows else "" for name in features)
    return name, wording.figure(shortcut.agreement), wording.figure(shortcut.left), *follows
