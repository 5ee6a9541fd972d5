"""A rubric as a person reads it: what it judges, what it was learned from, how well it agrees, and its criteria."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import orjson

from rubriclab.models.characters import asked_at, count
from rubriclab.report import describe, verdicts, wording
from rubriclab.report.conclusion import outcome
from rubriclab.report.criteria import criteria_blocks, dropped_section
from rubriclab.report.edit import edit_origin
from rubriclab.report.model import (
    Block,
    Cell,
    Details,
    Indented,
    Pairs,
    Paragraph,
    Section,
    View,
    Words,
    line,
    quoted,
    table,
)

if TYPE_CHECKING:
    from rubriclab.models.rubric import Rubric
    from rubriclab.models.version import TrainingAgreement, Validation, Version


def version_view(version: Version) -> View:
    """Return the rubric with its origin, how well it agrees with people, and its criteria one by one.

    A terminal leaves out the origin of each criterion, how it was answered, and what was dropped and why.
    """
    blocks = (
        definition(version.rubric),
        facts(version),
        *agreement(version),
        *contents(version.rubric, version.provenance.agreement),
    )
    return View(_title(version), (*blocks, settings(version)), "rubriclab version")


def rubric_view(rubric: Rubric) -> View:
    """Return a rubric that is in no store: what it judges and its criteria."""
    rows = (("task", quoted(rubric.task)), ("scale", describe.scales(rubric)))
    blocks = (Paragraph(quoted(rubric.aspect.definition)), Pairs(rows), *contents(rubric))
    return View(("Rubric of ", quoted(rubric.aspect.name)), blocks, "rubriclab rubric")


def definition(rubric: Rubric) -> Paragraph:
    """Return the aspect with its definition."""
    return Paragraph((quoted(f"{rubric.aspect.name}:", "strong"), " ", quoted(rubric.aspect.definition)))


def facts(version: Version, judges: Iterable[str] = ()) -> Pairs:
    """Return what a version was made of and by, and which `judges` have scored with it here."""
    rows = [(name, quoted(value) if isinstance(value, str) else value) for name, value in _facts(version, judges)]
    return Pairs(tuple((name, value) for name, value in rows))


def _title(version: Version) -> Words:
    return line(quoted(version.ref), *(quoted(tag, "tag") for tag in version.tags))


def _facts(version: Version, judges: Iterable[str]) -> Iterator[tuple[str, Cell]]:
    made = version.provenance
    yield "task", version.rubric.task
    yield "scale", describe.scales(version.rubric)
    if threshold := describe.threshold(version.rubric):
        yield "threshold", threshold
    if scored_by := ", ".join(sorted(set(judges))):
        yield "scored here by", scored_by
    yield "calibrated for", asked_at(made.judge, made.judge_address)
    yield "generator", asked_at(made.generator, made.generator_address)
    if version.imported:
        yield "origin", describe.version_origin(version)
    if made.model_versions:
        yield "model reported", ", ".join(made.model_versions)
    yield describe.labels_title(made), f"{describe.labels(made)}, with seed {made.seed}"
    if made.literature_without:
        yield "findings left out", quoted(f"about the raters of {', '.join(made.literature_without)}")
    yield "created", f"{wording.moment(version.created)}, by rubriclab {made.version}"
    if version.parent:
        yield "parent", version.parent
    if made.transfer:
        yield "transferred", describe.carried_over(made)
    if made.edit:
        yield from edit_origin(made.edit)
    yield "cost", wording.effort(version.effort)
    if by_stage := wording.stages(version.effort):
        yield "by stage", by_stage
    algorithm, _, digits = version.digest.partition(":")
    yield f"digest, {algorithm}", digits


def agreement(version: Version) -> Iterator[Block]:
    """Yield how well a version agreed with the labels when it was made, in brief, beside the best free baseline."""
    made = version.provenance
    if made.validation:
        rows = Pairs(tuple(_held_out(made.validation)))
        measured = verdicts.procedure(made.validation)
        yield Section("Agreement with the labels", (Indented((*outcome(version), rows)),), measured)
        return
    if made.agreement is None:
        unknown = "It was not measured when this version was made; `rubriclab evaluate` measures it."
        yield Section("Agreement with the labels", (Indented((Paragraph(unknown),)),))
        return
    whose = "the labels it was learned from" if made.agreement.optimistic else "labels it was not learned from"
    free = "no text feature varies with the labels"
    if made.baseline:
        measure = wording.baseline_feature(made.baseline)
        free = f"{measure}: Pearson {wording.figure(made.baseline.pearson)} with the same labels"
    statistics = _statistics(made.agreement, optimistic_too=describe.labels_proposed(version.rubric))
    rows = Pairs((*statistics, ("free baseline", free)))
    yield Section(f"Agreement with {whose}", (Indented((rows,)),), count(made.agreement.n, "text"))


def _held_out(validation: Validation) -> Iterator[tuple[str, str]]:
    rubric, fitted, order = verdicts.rubric_agreement(validation), validation.training, validation.measures.order
    if rubric.auroc is None:
        yield "in rank", f"Spearman {wording.estimate(rubric.spearman)}"
    else:
        yield order, wording.estimate(rubric.order)
    if rubric.brier:
        yield "Brier score", wording.estimate(rubric.brier)
    yield "optimistic", f"{order} {wording.figure(fitted.order.value)} on the labels it was fitted to"
    yield "calls", f"{verdicts.calls(rubric.calls)} per text"


def _statistics(agreement: TrainingAgreement, *, optimistic_too: bool) -> Iterator[tuple[str, str]]:
    optimistic = ", optimistic" if agreement.optimistic else ""
    because = ": the same labels selected the criteria" if agreement.optimistic else ""
    yield "Spearman", f"{wording.estimate(agreement.spearman)}{optimistic}{because}"
    yield "Pearson", f"{wording.estimate(agreement.pearson)}{optimistic}"
    yield "Kendall", f"{wording.estimate(agreement.kendall)}{optimistic}"
    if agreement.optimistic:
        still = "; still optimistic, as labels of all groups helped to propose the criteria" if optimistic_too else ""
        yield "cross-validated", f"Spearman {wording.estimate(agreement.reselected)} over groups{still}"


def contents(rubric: Rubric, measured: TrainingAgreement | None = None) -> Iterator[Block]:
    """Yield all criteria, part by part, and below them what was dropped.

    Args:
        measured: the agreement with the labels that the criteria were rated on.
    """
    correlation = describe.correlation_name(rubric)
    if (measured is None or measured.optimistic) and any(each.evidence.judged for each in rubric.criteria):
        labels = "on the training labels, by which the criteria were also chosen, so optimistic."
        point_biserial = " (point-biserial)" if rubric.scores_on.names else ""
        yield Paragraph(f"Single criteria: {correlation}{point_biserial} {labels}", "quiet")
    for part in rubric.parts:
        blocks = tuple(criteria_blocks(part, rubric))
        yield Section(describe.contents(part.criteria), blocks, f"method {part.method}")
    dropped = rubric.all_dropped
    yield dropped_section(dropped, correlation) if dropped else Paragraph("No other criteria were considered.", "quiet")


def settings(version: Version) -> Details:
    """Return the settings that a version was learned with, and all digests."""
    made = version.provenance
    digests = (
        ("rubric", version.digest),
        ("provenance", version.provenance_digest),
        ("data", made.data),
        ("prompts", made.prompts),
    )
    tables = (
        Section(
            quoted(method), (table(("", ""), [(quoted(name), quoted(_value(own))) for name, own in values.items()]),)
        )
        for method, values in made.settings.items()
    )
    rows = Pairs(tuple((name, quoted(digest)) for name, digest in digests))
    return Details("Settings and digests", (rows, *tables), hint=f"{describe.SHOWN_BY_EVIDENCE}.")


def _value(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
