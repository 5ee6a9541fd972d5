"""How a rubric of several methods was trained: the verdict, what it is compared with, its criteria, its cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from rubriclab.learning.gate import DIRECT
from rubriclab.report import charts, describe, plots, recorded, verdicts, version as versions, wording
from rubriclab.report.conclusion import conclusion, offline_banner
from rubriclab.report.model import (
    Block,
    Drawing,
    Figure,
    Paragraph,
    Plot,
    Row,
    Section,
    Span,
    Table,
    Tile,
    Tiles,
    View,
    Words,
    paragraphs,
    quoted,
    table,
)
from rubriclab.report.weights import (
    main_criteria,
    shortcut_section,
    shortcut_warnings,
    shortcuts,
    weight_blocks,
    weighted_criteria,
)
from rubriclab.stats.interval import Interval
from rubriclab.validation import EvaluatorAgreement, FrontierPoint, Raters, Validation

if TYPE_CHECKING:
    from rubriclab.store.version import Version
    from rubriclab.training_record import TrainingRecord

KINDS = {"rubric": "", "judged": "with a judge:", "baseline": "free baselines:"}
KIND: Mapping[str, Literal["", "baseline", "total"]] = {"rubric": "total", "judged": "", "baseline": "baseline"}


def gate_view(version: Version, validation: Validation) -> View:
    """Return the conclusion on a version, and below it what every evaluator reached on the same labels."""
    blocks = (*conclusion(version), *_other_comparisons(validation), _agreement(validation))
    return View(quoted(version.ref), blocks, "rubriclab gate")


def learned_view(version: Version) -> View:
    """Return what learning ends with, on one screen: the conclusion, the main criteria, and what scoring costs."""
    validation = version.provenance.validation
    blocks = (*_banner(version), *conclusion(version), *main_criteria(version))
    if validation:
        blocks += (Paragraph(f"Scoring takes {verdicts.per_text(verdicts.rubric_agreement(validation).calls)}."),)
    return View((quoted(version.ref), f": {describe.contents(version.rubric.criteria)}"), blocks, "rubriclab training")


def evidence_view(version: Version) -> View:
    """Return everything that is known of a version: its criteria with evidence, what was dropped, and its training."""
    brief = versions.version_view(version)
    validation = version.provenance.validation
    comparisons = tuple(_other_comparisons(validation)) if validation else ()
    blocks = (*brief.blocks, *comparisons, *_sections(version, validation, None), *_costs(version))
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
    validation = version.provenance.validation
    measured = list(_validation(validation)) if validation else []
    if not record:
        measured.append(Paragraph(f"{verdicts.unrecorded(version)} This page leaves out what needs them.", "quiet"))
    blocks = (
        *_beginning(version),
        Section("Validation", tuple(measured), name="verdict"),
        *_sections(version, validation, record),
        *_ending(version),
    )
    title = (quoted(version.ref), ", a rubric of ", quoted(version.rubric.aspect.name))
    return View(title, blocks, "rubriclab training report")


def overview(version: Version) -> View:
    """Return the parts of the training report that need no training record."""
    validation = version.provenance.validation
    measured = (Section("Validation", tuple(_validation(validation)), name="verdict"),) if validation else ()
    blocks = (*_beginning(version), *measured, *_sections(version, validation, None), *_ending(version))
    return View(quoted(version.ref), blocks)


def _beginning(version: Version) -> tuple[Block, ...]:
    asked = Paragraph(
        ("Judge: ", quoted(describe.judge(version), "strong"), f"; {describe.labels(version.provenance)}.")
    )
    return (asked, *_banner(version), *conclusion(version))


def _ending(version: Version) -> tuple[Section, ...]:
    criteria = versions.contents(version.rubric, shortcut_warnings(version))
    about = (versions.definition(version.rubric), *versions.agreement(version), *criteria)
    return (
        Section("The rubric", about, name="criteria"),
        Section("Provenance", (versions.facts(version), versions.settings(version)), name="provenance", folded=True),
    )


def _banner(version: Version) -> tuple[Paragraph, ...]:
    banner = offline_banner(version)
    return (banner,) if banner else ()


def _sections(version: Version, validation: Validation | None, record: TrainingRecord | None) -> Iterator[Block]:
    """Yield what is known of a training run, a section each."""
    if rows := weighted_criteria(version):
        yield Section("Criteria by weight", tuple(weight_blocks(version, rows)), name="weights")
    if validation:
        yield _agreement(validation, version, record)
    if validation and validation.frontier and not version.provenance.edit:
        yield _frontier(validation)
    if record and (furthest := recorded.disagreements(record)):
        yield recorded.disagreement_section(version, record, furthest)
    if validation and (followed := shortcuts(version)):
        yield shortcut_section(version, validation, followed)
    if validation and validation.raters:
        yield _raters(validation.raters)


def _validation(validation: Validation) -> Iterator[Block]:
    yield Tiles(tuple(_tiles(validation)))
    yield Paragraph(f"Pearson correlation with the labels, {verdicts.procedure(validation)}.", "quiet")
    yield from _other_comparisons(validation)


def _tiles(validation: Validation) -> Iterator[Tile]:
    rubric, baseline = verdicts.rubric_agreement(validation), verdicts.best_baseline(validation)
    yield Tile(verdicts.RUBRIC, Figure(rubric.pearson), verdicts.per_text(rubric.calls))
    if baseline:
        yield Tile(quoted(verdicts.name(baseline)), Figure(baseline.pearson), "the best free baseline", "baseline")
    if (ceiling := verdicts.ceiling(validation)) is not None:
        yield Tile("ceiling", Figure(Interval(ceiling)), "a perfect judge, as the raters differ", "baseline")


def _other_comparisons(validation: Validation) -> Iterator[Section]:
    if others := validation.verdicts[1:]:
        rows = [(quoted(_other_name(verdict.against)), Figure(verdict.difference)) for verdict in others]
        shown = table(("", "difference"), rows, numeric=("difference",))
        beside = "this rubric's held-out Pearson minus that of each; the verdict compares it with free baselines only"
        yield Section("Other comparisons", (shown,), beside)


def _other_name(against: str) -> str:
    return f"{DIRECT}: the same judge without a rubric" if against == DIRECT else verdicts.baseline_name(against)


def _agreement(validation: Validation, version: Version | None = None, record: TrainingRecord | None = None) -> Section:
    """Return what every evaluator reached, and with a record each text with its label and held-out score."""
    blocks: list[Block] = [
        _evaluators(validation),
        Paragraph(verdicts.basis(validation), "quiet"),
        Paragraph(verdicts.optimism(validation)),
    ]
    if version and record and recorded.predicted(record):
        blocks.append(Section("Text by text", (_predictions(version, record),), page_only=True))
    measured = verdicts.procedure(validation)
    return Section("Agreement with the labels", tuple(blocks), measured, name="agreement", folded=True)


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
    optimistic = "this rubric on the labels it was fitted to (optimistic)"
    rows += ["for comparison:", _evaluator(axis, validation.training, optimistic)]
    if (ceiling := verdicts.ceiling(validation)) is not None:
        drawing = Drawing(charts.whisker(axis, Interval(ceiling), baseline=True))
        rows.append(Row(("ceiling, as the raters differ", drawing, "", wording.figure(ceiling), "")))
    caption = "Pearson: filled dots have a judge, hollow diamonds are baselines without one; lines are 95 % intervals."
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


def _frontier(validation: Validation) -> Section:
    caption = (
        "Candidate rubrics by price, with the standard errors of their held-out correlations. The filled dot is this "
        "rubric; the broken line lies one standard error below the best. Paired differences decide which candidates "
        "are within one standard error."
    )
    numeric = ("calls/text", "Pearson")
    ranked = sorted(validation.frontier, key=lambda point: (point.calls, -point.pearson))
    rows = [_frontier_row(point) for point in ranked]
    blocks = (
        Plot(caption, plots.frontier(validation.frontier)),
        table((*numeric, "asked", ""), rows, numeric=numeric),
        *paragraphs(verdicts.choice_sentences(validation)),
    )
    return Section("Accuracy and price", blocks, "held-out Pearson, with its standard error", name="price", folded=True)


def _frontier_row(point: FrontierPoint) -> tuple[Words, ...]:
    pearson = f"{wording.figure(point.pearson)} ± {wording.figure(point.error)}"
    return verdicts.calls(point.calls), pearson, quoted(verdicts.asked(point)), Span(verdicts.marks(point), "strong")


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
    return Section("Raters", blocks, beside, name="raters", folded=True)


def _costs(version: Version) -> Iterator[Section]:
    if validation := version.provenance.validation:
        yield Section("Cost", tuple(_cost(version, validation)))


def _cost(version: Version, validation: Validation) -> Iterator[Paragraph]:
    yield Paragraph(f"Scoring takes {verdicts.per_text(verdicts.rubric_agreement(validation).calls)}.")
    yield Paragraph(f"Learning took {wording.effort(version.effort)}.")
    if by_stage := wording.stages(version.effort):
        yield Paragraph(f"Replies by stage: {by_stage}.")
