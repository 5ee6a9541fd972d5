"""How a rubric of several methods was trained: the verdict, what it is compared with, its criteria, its cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rubriclab.aggregation import Term
from rubriclab.report import charts, describe, plots, recorded, verdicts, wording
from rubriclab.report import version as versions
from rubriclab.report.criteria import spark
from rubriclab.report.model import (
    Block,
    Card,
    Cell,
    Details,
    Drawing,
    Figure,
    Indented,
    Paragraph,
    Plot,
    Row,
    Section,
    Span,
    Stack,
    Table,
    Tile,
    Tiles,
    View,
    Words,
    line,
    paragraphs,
    quiet,
    quoted,
    table,
)
from rubriclab.report.texts import text_card
from rubriclab.rubric import Criterion
from rubriclab.stats.interval import Interval
from rubriclab.validation import EvaluatorAgreement, FrontierPoint, Raters, Shortcut, Validation

if TYPE_CHECKING:
    from rubriclab.report.recorded import Disagreement
    from rubriclab.store.version import Version
    from rubriclab.training_record import TrainingRecord

RATERS_NAME, RUBRIC_NAME = "raters", "rubric"
REASON_ONLY = "shown as a reason; does not change the score"
EXCERPT, TITLE = 150, 60
MOST_PATHS = 6
KINDS = {"rubric": "", "judged": "with a judge:", "baseline": "surface baselines:"}
KIND: Mapping[str, Literal["", "baseline", "total"]] = {"rubric": "total", "judged": "", "baseline": "baseline"}
CALIBRATIONS = {"none": "the mean of the judge's scores", "linear": "a straight line", "isotonic": "increasing steps"}


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


def gate_view(ref: str, validation: Validation) -> View:
    """Return the verdict on the version `ref`, and below it what every evaluator reached on the same labels."""
    blocks = (*_other_comparisons(validation), _agreement(validation))
    return View(quoted(f"{ref}: {verdicts.headline(validation)}"), blocks, "rubriclab gate")


def training_view(version: Version) -> View:
    """Return what learning ends with: the verdict, and below it everything that it rests on.

    Raises:
        ValueError: the version was not validated.
    """
    validation = version.provenance.validation
    if validation is None:
        raise ValueError(
            f"expected a version that was validated while it was trained, got {version.ref}, which was not"
        )
    blocks = (
        *_other_comparisons(validation),
        *_sections(version, validation, None),
        Section("Cost", tuple(_cost(version, validation))),
    )
    return View(quoted(f"{version.ref}: {verdicts.headline(validation)}"), blocks, "rubriclab training")


def training_report(version: Version, record: TrainingRecord | None) -> str:
    """Return how `version` was trained as one self-contained HTML page.

    Args:
        version: of one method or of several; the page says what is not known of it.
        record: the texts that it was learned from with their ratings; `None` where there is none.
    """
    about = (versions.definition(version.rubric), *versions.agreement(version), *versions.contents(version.rubric))
    blocks = (
        Section("Verdict", tuple(_verdict(version, record)), name="verdict"),
        *_sections(version, version.provenance.validation, record),
        Section("The rubric", about, name="criteria"),
        Section("Provenance", (versions.facts(version), versions.settings(version)), name="provenance"),
    )
    title = (quoted(version.ref), ", a rubric of ", quoted(version.rubric.aspect.name))
    return View(title, blocks, "rubriclab training report").page()


def _sections(version: Version, validation: Validation | None, record: TrainingRecord | None) -> Iterator[Block]:
    """Yield what is known of a training run, a section each."""
    if validation:
        yield _agreement(validation, version, record)
    if rows := weighted_criteria(version):
        yield Section("Criteria by weight", tuple(_weights(version, rows)), name="weights")
    if validation and validation.frontier:
        yield _frontier(validation)
    if record and (furthest := recorded.disagreements(record)):
        yield _disagreements(version, record, furthest)
    if validation and (followed := shortcuts(version)):
        yield _shortcuts(version, validation, followed)
    if validation and validation.raters:
        yield _raters(validation.raters)


def _verdict(version: Version, record: TrainingRecord | None) -> Iterator[Block]:
    validation = version.provenance.validation
    if validation is None:
        yield Paragraph(verdicts.not_validated(version), "lead")
    else:
        yield Paragraph(verdicts.headline(validation), "lead")
        yield Tiles(tuple(_tiles(validation)))
        yield Paragraph("Held-out Pearson correlation with the labels.", "quiet")
        yield from _other_comparisons(validation)
    if not record:
        yield Paragraph(f"{verdicts.unrecorded(version)} This page leaves out what needs them.", "quiet")


def _tiles(validation: Validation) -> Iterator[Tile]:
    rubric, baseline = verdicts.rubric_agreement(validation), verdicts.best_baseline(validation)
    yield Tile(verdicts.RUBRIC, Figure(rubric.pearson), verdicts.per_text(rubric.calls))
    if baseline:
        yield Tile(quoted(baseline.name), Figure(baseline.pearson), "the best surface baseline", "baseline")
    if (ceiling := verdicts.ceiling(validation)) is not None:
        yield Tile("ceiling", Figure(Interval(ceiling)), "a perfect judge, as the raters differ", "baseline")


def _other_comparisons(validation: Validation) -> Iterator[Section]:
    if others := validation.verdicts[1:]:
        rows = [(quoted(verdict.against), Figure(verdict.difference)) for verdict in others]
        shown = table(("", "difference"), rows, numeric=("difference",))
        beside = "differences in held-out Pearson; the verdict above decides alone"
        yield Section("Other comparisons", (shown,), beside)


def _agreement(validation: Validation, version: Version | None = None, record: TrainingRecord | None = None) -> Section:
    """Return what every evaluator reached, and with a record each text with its label and held-out score."""
    blocks: list[Block] = [
        _evaluators(validation),
        Paragraph(verdicts.basis(validation), "quiet"),
        Paragraph(verdicts.optimism(validation)),
    ]
    if version and record and recorded.predicted(record):
        blocks.append(Section("Text by text", (_predictions(version, record),), page_only=True))
    return Section("Agreement with people", tuple(blocks), "held out", name="agreement")


def _evaluators(validation: Validation) -> Table:
    """Return every evaluator by kind, the best by held-out Pearson correlation first, those without one last."""
    axis = charts.correlation_axis(evaluator.pearson for evaluator in validation.evaluators)
    ranked = sorted(
        validation.evaluators, key=lambda each: math.inf if each.pearson.value is None else -each.pearson.value
    )
    rows: list[Row | str] = []
    for kind, title in KINDS.items():
        chosen = [evaluator for evaluator in ranked if evaluator.kind == kind]
        rows += [title] if chosen and title else []
        rows += [_evaluator(axis, evaluator, verdicts.name(evaluator)) for evaluator in chosen]
    optimistic = "this rubric, optimistic: on the labels it was fitted to"
    rows += ["for comparison:", _evaluator(axis, validation.training, optimistic)]
    if (ceiling := verdicts.ceiling(validation)) is not None:
        drawing = Drawing(charts.whisker(axis, Interval(ceiling), baseline=True))
        rows.append(Row(("ceiling, as the raters differ", drawing, "", wording.figure(ceiling), "")))
    caption = "Pearson: filled dots read the text, hollow diamonds are surface baselines; lines are 95 % intervals."
    numeric = ("Spearman", "Pearson", "calls/text")
    return table(("", "", *numeric), rows, numeric=numeric, caption=caption, ticks=charts.tick_row(axis))


def _evaluator(axis: charts.Axis, evaluator: EvaluatorAgreement, name: str) -> Row:
    baseline = evaluator.kind == "baseline"
    drawing = Drawing(charts.whisker(axis, evaluator.pearson, baseline=baseline))
    figures = (Figure(evaluator.spearman), Figure(evaluator.pearson), verdicts.calls(evaluator.calls))
    return Row((quoted(name), drawing, *figures), KIND[evaluator.kind])


def _predictions(version: Version, record: TrainingRecord) -> Plot:
    conformal = version.rubric.aggregation and version.rubric.aggregation.conformal
    held = f" {recorded.coverage(record, conformal.confidence)} Hollow diamonds lie outside." if conformal else ""
    caption = (
        "Each mark is a text with its held-out score and the interval around it; on the broken line score and label "
        f"are equal.{held}"
    )
    return Plot(caption, plots.predictions(record.texts, version.rubric.scores_on))


def weighted_criteria(version: Version) -> list[WeightedCriterion]:
    """Return the criteria of a rubric that combines several methods, the largest weights first."""
    terms = describe.terms(version.rubric)
    by_name = {shortcut.name: shortcut for shortcut in shortcuts(version)}
    raters = by_name.get(RATERS_NAME)
    rows = [
        WeightedCriterion(criterion, part.method, terms[criterion.id], _warning(by_name.get(criterion.id), raters))
        for part in version.rubric.parts
        for criterion in part.criteria
        if criterion.id in terms
    ]
    return sorted(rows, key=lambda row: -abs(row.term.weight))


def weight_interval(version: Version) -> str:
    """Return what the interval of a weight is, as `90 % posterior interval`."""
    confidence = version.provenance.settings.get("joint", {}).get("confidence")
    share = f"{100 * confidence:.4g} % " if isinstance(confidence, float) else ""
    return f"{share}posterior interval"


def _warning(shortcut: Shortcut | None, raters: Shortcut | None) -> str:
    """Return the warning that a criterion takes a shortcut: the one that it follows furthest beyond the raters."""
    if shortcut is None or not (shortcut.marked and shortcut.follows):
        return ""
    usual = raters.follows if raters else {}
    beyond = {feature: abs(value) - abs(usual.get(feature, 0.0)) for feature, value in shortcut.follows.items()}
    return f"shortcut: follows {max(beyond, key=lambda feature: beyond[feature])} more than the raters do"


def _weights(version: Version, rows: Sequence[WeightedCriterion]) -> Iterator[Block]:
    aggregation = version.rubric.aggregation
    if aggregation is None:
        return
    asked = f"asked {aggregation.ask}"
    yield Paragraph(f"{asked}; the weighted sum is calibrated by {CALIBRATIONS[aggregation.calibration.kind]}", "quiet")
    axis = charts.weight_axis(row.percent for row in rows)
    numeric = ("weight", "chosen", "alone")
    shown = [_weight_row(axis, row) for row in rows]
    yield table(("", "", *numeric), shown, numeric=numeric, ticks=charts.tick_row(axis))
    yield Paragraph(
        f"weight: share of all weights, with its {weight_interval(version)}; below zero, less is better; chosen: share "
        "of the rubrics fitted without some of the groups that have it; alone: its own Pearson correlation with the "
        "training labels.",
        "quiet",
    )
    if dropped := sum(len(part.dropped) for part in version.rubric.parts):
        more = wording.counted(dropped, "more criterion")
        yield Paragraph(f"{more} considered and dropped; `rubriclab show {version.ref} --evidence` says why.", "quiet")
    if walked := [row.criterion for row in rows if row.criterion.evidence.rewards]:
        yield _paths(walked)


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
    return name, drawing, describe.weight(row.term), describe.selected(row.term), alone


def _brief(row: WeightedCriterion) -> str:
    criterion = row.criterion
    if criterion.kind == "question":
        return "; ".join(filter(None, (row.method, describe.answers(criterion.evidence))))
    if criterion.kind == "score":
        return f"{row.method}: one score of the whole aspect"
    return f"{row.method}: {wording.excerpt(criterion.statement, EXCERPT)}"


def _paths(criteria: Sequence[Criterion]) -> Section:
    about = (
        "Hypotheses are rated on one labelled text after another. The line is a hypothesis' reward: mean utility, "
        "which is 1 where ratings equal the labels, plus the shaded bonus for having been tried little."
    )
    drawn = [
        spark(each.evidence, (quoted(describe.title(each, TITLE)), " ", quoted(each.id, "id"))) for each in criteria
    ]
    shown, rest = drawn[:MOST_PATHS], drawn[MOST_PATHS:]
    folded = (Details(f"{len(rest)} more", (Stack(tuple(rest), grid=True),)),) if rest else ()
    blocks = (Paragraph(about, "quiet"), Stack(tuple(shown), grid=True), *folded)
    return Section("Rewards of the bandit", blocks, page_only=True)


def _frontier(validation: Validation) -> Section:
    caption = (
        "Candidate rubrics by price, with the standard errors of their held-out correlations. The filled dot is this "
        "rubric; the broken line lies one standard error below the best. Paired differences decide which candidates "
        "are within one standard error."
    )
    numeric = ("calls/text", "Pearson")
    rows = [_frontier_row(point) for point in validation.frontier]
    blocks = (
        Plot(caption, plots.frontier(validation.frontier)),
        table((*numeric, "asked", ""), rows, numeric=numeric),
        *paragraphs(verdicts.choice_sentences(validation)),
    )
    return Section("Accuracy and price", blocks, "held-out Pearson, with its standard error", name="price")


def _frontier_row(point: FrontierPoint) -> tuple[Words, ...]:
    pearson = f"{wording.figure(point.pearson)} ± {wording.figure(point.error)}"
    return verdicts.calls(point.calls), pearson, quoted(verdicts.asked(point)), Span(verdicts.marks(point), "strong")


def shortcuts(version: Version) -> list[Shortcut]:
    """Return what the raters, the rubric and each of its criteria follow; empty where that was not looked into."""
    validation = version.provenance.validation
    names = {RATERS_NAME, RUBRIC_NAME} | {criterion.id for criterion in version.rubric.criteria}
    return [shortcut for shortcut in validation.shortcuts if shortcut.name in names] if validation else []


def _shortcuts(version: Version, validation: Validation, followed: Sequence[Shortcut]) -> Section:
    criteria = {criterion.id: criterion for criterion in version.rubric.criteria}
    features = list(dict.fromkeys(feature for shortcut in followed for feature in shortcut.follows))
    numeric = ("agreement", "left", *features)
    notable = [each for each in followed if each.marked or each.name not in criteria]
    rest = [each for each in followed if each not in notable]
    marked = sum(each.marked and each.name in criteria for each in followed)
    note = (
        f"{wording.counted(marked, 'criterion')} marked with ! for following one of them more than the raters do."
        if marked
        else "No criterion follows any of them more than the raters do."
    )
    others = table(("", *numeric), [_shortcut_row(each, features, criteria) for each in rest], numeric=numeric)
    blocks = (
        table(("", *numeric), [_shortcut_row(each, features, criteria) for each in notable], numeric=numeric),
        Paragraph(note, "quiet"),
        *paragraphs([verdicts.forgone(validation)]),
        *((Details(wording.counted(len(rest), "other criterion"), (others,)),) if rest else ()),
    )
    beside = "Pearson correlation with the labels, what is left of it when these are held constant, and with each"
    return Section("Shortcuts", blocks, beside, name="shortcuts")


def _shortcut_row(shortcut: Shortcut, features: Sequence[str], criteria: dict[str, Criterion]) -> tuple[Words, ...]:
    criterion = criteria.get(shortcut.name)
    title = quoted(describe.title(criterion, TITLE), "quiet") if criterion else ""
    name = line("!" if shortcut.marked else "", quoted(shortcut.name), title)
    follows = (wording.figure(shortcut.follows[name]) if name in shortcut.follows else "" for name in features)
    return name, wording.figure(shortcut.agreement), wording.figure(shortcut.left), *follows


def _raters(raters: Raters) -> Section:
    numeric = ("texts", "severity", "noise", "with the others")
    rows = [
        (
            quoted(rater.name),
            f"{rater.n:,}",
            Figure(rater.severity),
            wording.figure(rater.noise),
            wording.figure(rater.agreement),
        )
        for rater in raters.raters
    ]
    blocks = (table(("", *numeric), rows, numeric=numeric), Paragraph(" ".join(verdicts.rater_sentences(raters))))
    beside = "severity: points below the others' mean; noise: standard deviation of that difference"
    return Section("Raters", blocks, beside, name="raters")


def _cost(version: Version, validation: Validation) -> Iterator[Paragraph]:
    yield Paragraph(f"Scoring takes {verdicts.per_text(verdicts.rubric_agreement(validation).calls)}.")
    yield Paragraph(f"Learning took {wording.effort(version.effort)}.")
    if by_stage := wording.stages(version.effort):
        yield Paragraph(f"Replies by stage: {by_stage}.")


def _disagreements(version: Version, record: TrainingRecord, furthest: Sequence[Disagreement]) -> Section:
    scale = version.rubric.scores_on
    axis = charts.score_axis(scale, _scores(record))
    about = (
        f"Held-out scores furthest from the labels, in points of the scale from {scale.describe()}. Hollow is the "
        "label, strokes are single raters, filled is the rubric with its interval."
    )
    cards = (_disagreement(axis, each, opened=number == 0) for number, each in enumerate(furthest))
    title = "Largest disagreements with people"
    return Section(title, (Paragraph(about), *cards), name="disagreements", page_only=True)


def _disagreement(axis: charts.Axis, disagreement: Disagreement, *, opened: bool) -> Card:
    text = disagreement.text
    interval = describe.score_interval((text.low, text.high)) if text.low is not None and text.high is not None else ""
    scores = line(f"people {describe.rounded(text.label)}, rubric {describe.rounded(text.predicted)}", quiet(interval))
    rated = [f"{name} {describe.rounded(mark)}" for name, mark in text.raters.items()]
    answers = [
        (
            line(quoted(candidate.criterion.id, "id"), quoted(describe.title(candidate.criterion, TITLE))),
            describe.answered(cell, candidate.criterion),
            quoted(cell.reason),
        )
        for candidate, cell in disagreement.answers
    ]
    scored = (text.id, Drawing(charts.rated(axis, text)), scores)
    return text_card(scored, ", ".join(rated), (text.output, text.source), answers, opened=opened)


def _scores(record: TrainingRecord) -> Iterator[float]:
    """Yield every score on the raters' scale that a drawing may have to hold."""
    for text in record.texts:
        yield from (text.label, *text.raters.values())
        yield from (score for score in (text.predicted, text.low, text.high) if score is not None)
