"""How a rubric of several methods was trained: the verdict, what it is compared with, its criteria, its cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rubriclab.learning.fitting import INTERVAL_CONFIDENCE
from rubriclab.learning.verdicts import LevelAgreement, level_agreement
from rubriclab.models.aggregation import Term
from rubriclab.models.characters import count
from rubriclab.models.rubric import Criterion
from rubriclab.models.version import (
    MIN_BRIER_EFFECT,
    MIN_EFFECT,
    MIN_ERROR_EFFECT,
    VERDICTS,
    WHOLE,
    EvaluatorAgreement,
    Validation,
)
from rubriclab.report import charts, describe, recorded, verdicts, version as versions, wording
from rubriclab.report.conclusion import conclusion, offline_banner
from rubriclab.report.model import (
    Block,
    Cell,
    Drawing,
    Figure,
    Indented,
    Paragraph,
    Plot,
    Row,
    Section,
    Stack,
    Table,
    View,
    line,
    paragraphs,
    quoted,
    table,
)
from rubriclab.report.verdict_agreement import level_section, verdict_section
from rubriclab.stats.agreement import ScoreErrors
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.models.version import TrainingRecord, Version


KINDS = {"rubric": "", "judged": "with a judge:", "baseline": "free baselines:"}
KIND: Mapping[str, Literal["", "baseline", "total"]] = {"rubric": "total", "judged": "", "baseline": "baseline"}


def gate_view(version: Version, validation: Validation) -> View:
    """Return the conclusion on a version, and below it what every evaluator reached on the same labels."""
    blocks = (*conclusion(version), _agreement(validation))
    return View(quoted(version.ref), blocks, "rubriclab gate")


def learned_view(version: Version) -> View:
    """Return what learning ends with, on one screen: the conclusion, the main criteria, and what scoring costs."""
    validation = version.provenance.validation
    blocks = (*offline_banner(version), *conclusion(version), *main_criteria(version))
    if validation:
        names = version.rubric.scores_on.names
        blocks += (*verdict_section(validation.verdict_agreements, names or ("", ""), verdicts.procedure(validation)),)
        blocks += (Paragraph(f"Scoring takes {verdicts.per_text(verdicts.rubric_agreement(validation).calls)}."),)
    return View((quoted(version.ref), f": {describe.contents(version.rubric.criteria)}"), blocks, "rubriclab training")


def evidence_view(version: Version) -> View:
    """Return everything that is known of a version: its criteria with evidence, what was dropped, and its training."""
    brief = versions.version_view(version)
    validation = version.provenance.validation
    blocks = (*brief.blocks, *_sections(version, validation, None))
    return View(brief.title, blocks, brief.kicker, unfolded=True)


def training_report(version: Version, record: TrainingRecord | None) -> str:
    """Return how `version` was trained as one self-contained HTML page; see `training_view`."""
    return training_view(version, record).page()


def training_view(version: Version, record: TrainingRecord | None) -> View:
    """Return how `version` was trained.

    Args:
        version: of one method or of several; the page says what is not known of it.
        record: the texts that it was learned from with their ratings; `None` where there is none.
    """
    unknown = "" if record else f"{verdicts.unrecorded(version)} This page leaves out what needs them."
    title = (quoted(version.ref), ", a rubric of ", quoted(version.rubric.aspect.name))
    return View(title, (*_report(version, record), *paragraphs([unknown], "quiet")), "rubriclab training report")


def overview(version: Version) -> View:
    """Return the parts of the training report that need no training record."""
    return View(quoted(version.ref), tuple(_report(version, None)))


def _report(version: Version, record: TrainingRecord | None) -> Iterator[Block]:
    judge = quoted(describe.judge(version), "strong")
    yield Paragraph(("Judge: ", judge, f"; {describe.labels(version.provenance)}."))
    yield from offline_banner(version)
    yield from conclusion(version)
    yield from _sections(version, version.provenance.validation, record)
    agreement = () if version.provenance.validation else tuple(versions.agreement(version))
    contents = versions.contents(version.rubric, version.provenance.agreement)
    about = (versions.definition(version.rubric), *agreement, *contents)
    yield Section("The rubric", about, name="criteria")
    made = (versions.facts(version), versions.settings(version))
    yield Section("Provenance", made, name="provenance", folded=True)


def _sections(version: Version, validation: Validation | None, record: TrainingRecord | None) -> Iterator[Block]:
    if rows := weighted_criteria(version):
        yield Section("Criteria by weight", tuple(weight_blocks(version, rows)), name="weights")
    if validation:
        names = version.rubric.scores_on.names
        measured = verdicts.procedure(validation)
        yield from verdict_section(validation.verdict_agreements, names or ("", ""), measured, "verdicts")
        yield _agreement(validation, version, record)
    if record and validation:
        yield from level_section(_levels(version, record), verdicts.procedure(validation), "levels")
    if record and (furthest := recorded.disagreements(record)):
        yield recorded.disagreement_section(version, record, furthest)


def _levels(version: Version, record: TrainingRecord) -> LevelAgreement | None:
    """Return the agreement of the held-out scores in whole levels; `None` unless there are few."""
    labels, scores = (
        np.array(values, dtype=float) for values in zip(*((t.label, t.predicted) for t in record.texts), strict=True)
    )
    return level_agreement(scores, labels, [text.group for text in record.texts], version.rubric.scores_on)


def _comparisons(validation: Validation) -> Section:
    """Return the paired differences from other evaluators, with an outcome for those that decide."""
    measures = validation.measures
    of_verdicts, numeric = measures == VERDICTS, (measures.order, "error")
    rows = [
        (
            quoted(verdicts.baseline_name(each.against)),
            Figure(each.difference),
            each.outcome or "",
            Figure(each.less_error) if each.less_error else "",
            each.error_outcome or "",
        )
        for each in validation.verdicts
    ]
    order = measures.order if of_verdicts else "correlation"
    least = f"{MIN_BRIER_EFFECT}" if of_verdicts else f"{describe.percent(MIN_ERROR_EFFECT)} of the scale"
    beside = (
        f"{measures.order}: the rubric's less the other's; error: the other's {measures.error} less the rubric's"
        f"{', in points' if measures.unit else ''}. Less than {MIN_EFFECT} in {order} or {least} in error does not "
        "matter. Comparisons without an outcome decide nothing."
    )
    shown = table(("", measures.order, "", "error", ""), rows, numeric=numeric)
    return Section("Gain over others", (shown, Paragraph(beside, "quiet")), "paired, held out")


def _agreement(validation: Validation, version: Version | None = None, record: TrainingRecord | None = None) -> Section:
    """Return what every evaluator reached, and with a record each text with its label and held-out score."""
    blocks: list[Block] = [
        _evaluators(validation),
        Paragraph(verdicts.basis(validation), "quiet"),
        Paragraph(verdicts.optimism(validation)),
        _comparisons(validation),
    ]
    if raters := validation.raters:
        blocks.append(Paragraph(f"Agreement of the raters: Krippendorff's alpha {wording.estimate(raters.alpha)}."))
    if version and record:
        blocks += _predictions(version, record)
    measured = verdicts.procedure(validation)
    return Section("Agreement with the labels", tuple(blocks), measured, name="agreement")


def _evaluators(validation: Validation) -> Table:
    """Return every evaluator by kind, the best by held-out agreement in order first, those without one last."""
    measures = validation.measures
    axis = charts.correlation_axis(evaluator.order for evaluator in validation.evaluators)
    ranked = sorted(validation.evaluators, key=lambda each: math.inf if each.order.value is None else -each.order.value)
    rows: list[Row | str] = []
    for kind, title in KINDS.items():
        chosen = [evaluator for evaluator in ranked if evaluator.kind == kind]
        rows += [title] if chosen and title else []
        rows += [_evaluator(axis, evaluator, verdicts.name(evaluator)) for evaluator in chosen]
    optimistic = "this rubric on the labels it was fitted to (optimistic)"
    rows += ["for comparison:", _evaluator(axis, validation.training, optimistic)]
    if (raters := validation.raters) and measures != VERDICTS:
        if raters.ceiling is not None:
            drawing = Drawing(charts.whisker(axis, Interval(raters.ceiling), baseline=True))
            ceiling = wording.figure(raters.ceiling)
            rows.append(Row(("ceiling, as the raters differ", drawing, ceiling, *_errors(None), "")))
        if raters.errors:
            rows.append(Row(("a rater, against the mean of the others", "", "", *_errors(raters.errors), "")))
    error = (
        "Brier score"
        if measures == VERDICTS
        else "mean absolute, in points of the scale; bias: mean of score less label; near: share of texts at most one "
        "point from the label, or a fifth of the width of narrower and wider scales"
    )
    caption = (
        f"{measures.order}: filled dots have a judge, hollow diamonds are baselines without one; lines are 95 % "
        f"intervals. Error: {error}."
    )
    numeric = (measures.order, "error", *(() if measures == VERDICTS else ("bias", "near")), "calls/text")
    return table(("", "", *numeric), rows, numeric=numeric, caption=caption, ticks=charts.tick_row(axis))


def _evaluator(axis: charts.Axis, evaluator: EvaluatorAgreement, name: str) -> Row:
    drawing = Drawing(charts.whisker(axis, evaluator.order, baseline=evaluator.kind == "baseline"))
    of_verdicts = (Figure(evaluator.brier) if evaluator.brier else "",)
    errors = of_verdicts if evaluator.auroc else _errors(evaluator.errors)
    figures = (Figure(evaluator.order), *errors, verdicts.calls(evaluator.calls))
    return Row((quoted(name), drawing, *figures), KIND[evaluator.kind])


def _errors(errors: ScoreErrors | None) -> tuple[Cell, ...]:
    if errors is None:
        return "", "", ""
    return Figure(errors.absolute), f"{errors.bias:+.2f}", describe.percent(errors.near)


def _predictions(version: Version, record: TrainingRecord) -> Iterator[Section]:
    """Yield each text with its label and held-out score, and how many labels the intervals of the scores hold.

    Verdicts have no such plot: their scores are probabilities, for which the reliability curve stands.
    """
    pairs = [(text.label, text.predicted) for text in record.texts if text.predicted is not None]
    if not pairs or version.rubric.scores_on.names:
        return
    conformal = version.rubric.aggregation and version.rubric.aggregation.conformal
    intervals = [(text.label, text.low, text.high) for text in record.texts]
    held = [low <= label <= high for label, low, high in intervals if low is not None and high is not None]
    caption = "Each dot is a text with its held-out score; on the broken line score and label are equal."
    if conformal and held:
        caption += (
            f" {sum(held)} of {count(len(held), 'label')} lie inside the intervals of the scores, by "
            "construction, as these texts determine the width; for new texts the intervals are meant to contain "
            f"{describe.percent(conformal.confidence)}."
        )
    plot = Plot(caption, charts.scatter(pairs, version.rubric.scores_on, "held-out score"))
    yield Section("Text by text", (plot,), page_only=True)


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
        yield Paragraph(f"{wording.counted(more, 'more criterion')}: rubriclab show {version.ref}", "quiet")
    yield from paragraphs(weight_sentences(version, rows))


def weight_sentences(version: Version, rows: Sequence[WeightedCriterion]) -> Iterator[str]:
    """Yield what share of the weight scores of the whole text carry, if most, and what the criteria add to them."""
    whole = sum(row.term.weight for row in rows if row.criterion.kind == "score")
    total = sum(abs(row.term.weight) for row in rows)
    scores = sum(row.criterion.kind == "score" and row.term.weight > 0 for row in rows)
    if len(rows) - scores > 0 and whole > MOST_WEIGHT * total:
        held_by = "one score" if scores == 1 else f"{scores} scores"
        yield (
            f"{describe.percent(whole / total)} of the weight is on {held_by} of the whole text: the other criteria "
            "explain the score more than they determine it."
        )
    validation = version.provenance.validation
    if validation and (added := validation.against(WHOLE)):
        yield (
            f"The criteria add {wording.estimate(added.difference)} to the held-out {validation.measures.order} of the "
            "scores of the whole in the same call."
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
    yield from paragraphs(weight_sentences(version, rows))
    correlation = "point-biserial correlation" if version.rubric.scores_on.names else "Pearson correlation"
    yield Paragraph(
        f"weight: share of the weights, with its {describe.percent(INTERVAL_CONFIDENCE)} posterior interval; below "
        "zero, less is better; chosen: share of the rubrics fitted without some of the groups that have it; alone: its "
        f"own {correlation} with the training labels, by which it was also chosen, so optimistic.",
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
