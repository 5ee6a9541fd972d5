"""A rubric as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from rubriclab.provenance import Provenance, TrainingAgreement
from rubriclab.report import describe, training, verdicts, wording
from rubriclab.report.terminal.criteria import criteria_view, dropped_view
from rubriclab.report.terminal.parts import QUIET, heading, indented, pairs, text
from rubriclab.rubric import DroppedCriterion
from rubriclab.validation import Validation

if TYPE_CHECKING:
    from rubriclab.store.version import Version


def version_view(version: Version, *, evidence: bool = False) -> RenderableType:
    """Return the rubric: what it judges, what it was learned from, how well it agrees, and its criteria one by one.

    With `evidence`, also where each criterion came from, its way through the bandit or how its question was answered,
    and what was dropped and why.
    """
    dropped = [entry for part in version.rubric.parts for entry in part.dropped]
    return Group(
        *_title(version),
        pairs(_facts(version)),
        *(_trust(version.provenance.validation) if version.provenance.validation else _untested(version)),
        *_criteria(version, evidence=evidence),
        *(dropped_view(dropped) if evidence and dropped else [text(_how_many(dropped), QUIET)]),
    )


def _title(version: Version) -> Iterator[RenderableType]:
    name = text(version.ref, "bold")
    if version.tags:
        name.append("  ").append_text(text(", ".join(version.tags), QUIET))
    yield name
    aspect = version.rubric.aspect
    yield text(f"{aspect.name}: {aspect.definition}")
    yield ""


def _facts(version: Version) -> Iterator[tuple[str, RenderableType]]:
    made = version.provenance
    yield "task", version.rubric.task
    yield "scale", describe.scales(version.rubric)
    yield "calibrated for", wording.asked_at(made.judge, made.judge_address)
    yield "generator", wording.asked_at(made.generator, made.generator_address)
    if version.imported:
        yield "origin", describe.version_origin(version)
    if made.model_versions:
        yield "reported as", ", ".join(made.model_versions)
    yield describe.labels_title(made), f"{describe.labels(made)}, with seed {made.seed}"
    yield "created", f"{wording.moment(version.created)}, by rubriclab {made.version}"
    if version.parent:
        yield "parent", version.parent
    if made.transfer:
        yield "carried over", describe.carried_over(made)
    yield "took", wording.effort(version.effort)
    if by_stage := wording.stages(version.effort):
        yield "by stage", by_stage
    algorithm, _, digits = version.digest.partition(":")
    yield f"digest, {algorithm}", digits


def _trust(validation: Validation) -> Iterator[RenderableType]:
    """Yield in brief what `training_view` says in full."""
    yield heading("Agreement with people", "held out")
    yield indented(text(verdicts.headline(validation)))
    yield indented(pairs(_held_out(validation)))


def _held_out(validation: Validation) -> Iterator[tuple[str, RenderableType]]:
    ours, floor, ceiling = training.ours(validation), training.best_floor(validation), training.ceiling(validation)
    yield "Spearman", wording.estimate(ours.spearman)
    fitted = wording.figure(validation.training.pearson.value)
    yield "Pearson", f"{wording.estimate(ours.pearson)}; {fitted} with the labels it was fitted to"
    if floor:
        yield "best floor", f"{floor.name}, Pearson {wording.estimate(floor.pearson)}"
    if ceiling is not None:
        yield "ceiling", f"Pearson {wording.figure(ceiling)}, as the raters differ"
    yield "calls", f"{training.calls(ours.calls)} per text"


def _untested(version: Version) -> Iterator[RenderableType]:
    yield from _agreement(version)
    yield from _floor(version.provenance)


def _agreement(version: Version) -> Iterator[RenderableType]:
    found = version.provenance.agreement
    if found is None:
        yield heading("Agreement with people")
        yield indented(text("It was not measured when this version was made; `rubriclab evaluate` measures it."))
        return
    whose = "the labels it was learned from" if found.optimistic else "labels that had no part in it"
    yield heading(f"Agreement with {whose}", wording.count(found.n, "text"))
    yield indented(pairs(_statistics(found, describe.reselection(version.rubric))))


def _statistics(found: TrainingAgreement, reselection: str) -> Iterator[tuple[str, RenderableType]]:
    flattering = ", optimistic" if found.optimistic else ""
    because = ": the same labels chose the criteria" if found.optimistic else ""
    yield "Spearman", f"{wording.estimate(found.spearman)}{flattering}{because}"
    yield "Pearson", f"{wording.estimate(found.pearson)}{flattering}"
    yield "Kendall", f"{wording.estimate(found.kendall)}{flattering}"
    if found.optimistic:
        yield "re-selected", f"Spearman {wording.estimate(found.reselected)}, {reselection}"


def _floor(made: Provenance) -> Iterator[RenderableType]:
    if made.baseline:
        yield heading("Floor")
        measure = text(wording.floor_measure(made.baseline))
        yield indented(measure.append(f": Pearson {wording.figure(made.baseline.pearson)} with the same labels"))
    elif made.agreement:
        yield heading("Floor")
        yield indented(text("No surface measure varies with the labels."))


def _criteria(version: Version, *, evidence: bool) -> Iterator[RenderableType]:
    terms = describe.terms(version.rubric)
    for part in version.rubric.parts:
        yield heading(describe.contents(part.criteria), f"method {part.method}")
        yield from criteria_view(part, version.rubric.aspect.definition, terms, evidence=evidence)
    yield ""


def _how_many(dropped: Sequence[DroppedCriterion]) -> str:
    if not dropped:
        return "No other criterion was considered."
    more = describe.tally([entry.criterion for entry in dropped], "more ")
    return f"{more} considered and dropped; --evidence shows them, and where each criterion came from."
