"""Versions line by line, and what is wrong with a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, indented, pairs, text

if TYPE_CHECKING:
    from rubriclab.store.verify import Problem
    from rubriclab.store.version import Version


def names_view(versions: Sequence[Version]) -> RenderableType:
    """Return one line a version: what it is called and judges, and how well it agreed while learning."""
    if not versions:
        return text("No rubric is stored.")
    table = columns("rubric", "aspect", "criteria", "Spearman", "tags", numeric=("criteria", "Spearman"))
    for version in versions:
        rubric = version.rubric
        cells = (version.ref, rubric.aspect.name, str(len(rubric.criteria)), _reselected(version))
        table.add_row(*map(text, (*cells, ", ".join(version.tags))))
    return Group(table, "", text("Spearman: re-selected on the training labels, which flatters.", QUIET))


def log_view(versions: Sequence[Version]) -> RenderableType:
    """Return a few lines a version, in the given order: when it was made, by what, from what, and its parent."""
    if not versions:
        return text("No version is stored.")
    return Group(*(part for version in versions for part in _entry(version)))


def problems_view(problems: Sequence[Problem]) -> RenderableType:
    """Return where each problem is and what does not match."""
    if not problems:
        return text("Everything is as it was written.")
    lines = [part for problem in problems for part in (text(problem.where, "bold"), indented(text(problem.what)))]
    return Group(text(f"{wording.count(len(problems), 'problem')}:"), *lines)


def _entry(version: Version) -> tuple[RenderableType, ...]:
    made = version.provenance
    judges = made.judge if made.judge == made.generator else f"{made.judge}, hypotheses by {made.generator}"
    title = text(version.ref, "bold").append("  ").append_text(text(", ".join(version.tags), QUIET))
    title.rstrip()
    learned = f"{wording.count(len(made.examples), 'text')} of {wording.count(len(made.groups), 'group')}"
    rows = [
        ("created", wording.moment(version.created)),
        ("judge", judges),
        ("learned from", f"{learned}, with seed {made.seed}"),
        ("criteria", f"{len(version.rubric.criteria)}, Spearman {_reselected(version)} re-selected"),
        ("parent", version.parent or "none"),
        ("digest", wording.short_digest(version.digest)),
    ]
    return (title, indented(pairs(rows)), "")


def _reselected(version: Version) -> str:
    found = version.provenance.agreement
    return wording.estimate(found.reselected) if found else "unknown"
