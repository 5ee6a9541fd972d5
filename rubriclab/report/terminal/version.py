"""A rubric as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from rubriclab.data.scale import show
from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, heading, indented, pairs, text
from rubriclab.rubric import Criterion, Dropped, Evidence, Provenance, TrainingAgreement

if TYPE_CHECKING:
    from rubriclab.store.version import Version


def version_view(version: Version, *, evidence: bool = False) -> RenderableType:
    """Return the rubric: what it judges, what it was learned from, how well it agrees, and its criteria one by one.

    With `evidence`, also where each criterion came from, its way through the bandit, and what was dropped and why.
    """
    dropped = [entry for part in version.rubric.parts for entry in part.dropped]
    return Group(
        *_title(version),
        pairs(_facts(version)),
        *_agreement(version.provenance),
        *_criteria(version, evidence=evidence),
        *(_dropped(dropped) if evidence else [text(_how_many(dropped), QUIET)]),
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
    texts, groups = wording.count(len(made.examples), "text"), wording.count(len(made.groups), "group")
    yield "task", version.rubric.task
    yield "scale", version.rubric.scale.describe()
    yield "judge", made.judge
    yield "generator", made.generator
    if made.snapshots:
        yield "reported as", ", ".join(made.snapshots)
    yield "learned from", f"{texts} of {groups}, with seed {made.seed}"
    yield "created", f"{wording.moment(version.created)}, by rubriclab {made.version}"
    if version.parent:
        yield "parent", version.parent
    yield "took", wording.effort(version.effort)
    algorithm, _, digits = version.digest.partition(":")
    yield f"digest, {algorithm}", digits


def _agreement(made: Provenance) -> Iterator[RenderableType]:
    if made.agreement:
        yield heading("Agreement with the labels it was learned from", f"{made.agreement.n} texts")
        yield indented(pairs(_statistics(made.agreement)))
    yield heading("Floor")
    if made.floor:
        measure = text(wording.floor_measure(made.floor))
        yield indented(measure.append(f": Pearson {wording.figure(made.floor.pearson)} with the same labels"))
    else:
        yield indented(text("No surface measure varies with the labels."))


def _statistics(found: TrainingAgreement) -> Iterator[tuple[str, RenderableType]]:
    yield "Spearman", f"{wording.estimate(found.spearman)}, optimistic: the same labels chose the criteria"
    yield "Pearson", f"{wording.estimate(found.pearson)}, optimistic"
    yield "Kendall", f"{wording.estimate(found.kendall)}, optimistic"
    yield "re-selected", f"Spearman {wording.estimate(found.reselected)}, {wording.CROSS_VALIDATED}"


def _criteria(version: Version, *, evidence: bool) -> Iterator[RenderableType]:
    for part in version.rubric.parts:
        yield heading(f"{wording.counted(len(part.criteria), 'criterion')}", f"method {part.method}")
        for criterion in part.criteria:
            yield ""
            yield from _criterion(criterion, evidence=evidence)
    yield ""


def _criterion(criterion: Criterion, *, evidence: bool) -> Iterator[RenderableType]:
    yield text(criterion.id, "cyan").append("  ").append_text(text(criterion.trait, "bold"))
    yield indented(text(f"weight {show(criterion.weight)}; {wording.training_pearson(criterion.evidence)}", QUIET))
    yield indented(text(criterion.statement))
    yield indented(indented(pairs((show(level.score), level.description) for level in criterion.levels)))
    if evidence:
        yield indented(pairs(_evidence(criterion.evidence)))


def _evidence(found: Evidence) -> Iterator[tuple[str, RenderableType]]:
    yield "origin", wording.origin(found)
    if found.examples:
        yield "texts", ", ".join(found.examples)
    if found.findings:
        yield "findings", ", ".join(found.findings)
    if found.rewards:
        line = wording.sparkline([point.utility + point.bonus for point in found.rewards])
        yield "bandit", f"{line}  {wording.rewards(found.rewards)}"


def _dropped(dropped: list[Dropped]) -> Iterator[RenderableType]:
    yield heading(f"Dropped: {wording.counted(len(dropped), 'criterion')}")
    for entry in dropped:
        criterion = entry.criterion
        yield ""
        yield text(criterion.id, "cyan").append("  ").append_text(text(criterion.trait, "bold"))
        yield indented(text(f"dropped: {entry.reason}"))
        yield indented(text(wording.training_pearson(criterion.evidence), QUIET))
        yield indented(text(criterion.statement))
        yield indented(pairs(_evidence(criterion.evidence)))


def _how_many(dropped: list[Dropped]) -> str:
    if not dropped:
        return "No other criterion was considered."
    more = wording.counted(len(dropped), "more criterion")
    return f"{more} considered and dropped; --evidence shows them, and where each criterion came from."
