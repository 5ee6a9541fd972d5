"""Versions line by line, and what is wrong with a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from rubriclab.report import describe, wording
from rubriclab.report.terminal.parts import QUIET, columns, indented, pairs, text

if TYPE_CHECKING:
    from rubriclab.store.verify import Problem
    from rubriclab.store.version import Version

NOTE = "Spearman: with the labels given while learning; re-selected where they had a part in it, which may flatter."


def names_view(versions: Sequence[Version]) -> RenderableType:
    """Return one line a version: what it is called and judges, and how well it agreed while learning."""
    if not versions:
        return text("No rubric is stored.")
    origins = ("origin",) if any(version.imported for version in versions) else ()
    table = columns("rubric", "aspect", "criteria", "Spearman", "tags", *origins, numeric=("criteria", "Spearman"))
    for version in versions:
        rubric = version.rubric
        cells = (version.ref, rubric.aspect.name, str(len(rubric.criteria)), _spearman(version))
        origin = ("imported" if version.imported else "learned here",) if origins else ()
        table.add_row(*map(text, (*cells, ", ".join(version.tags), *origin)))
    return Group(table, "", text(NOTE, QUIET))


def log_view(versions: Sequence[Version]) -> RenderableType:
    """Return a few lines a version, in the given order: when it was made, by what, from what, and its parent."""
    if not versions:
        return text("No version is stored.")
    return Group(*(part for version in versions for part in _entry(version)))


def trust_view(versions: Sequence[Version], files: Mapping[str, bool]) -> RenderableType:
    """Return one line an imported version and a confirmed file.

    Args:
        versions: those imported.
        files: confirmed configuration files by path, each with whether it still has the content that was confirmed.
    """
    if not versions and not files:
        return text("Nothing in the store was imported, and no configuration file is confirmed.")
    table = columns("imported or confirmed", "judge", "state")
    for version in versions:
        judge = wording.asked_at(version.provenance.judge, version.provenance.judge_address)
        table.add_row(*map(text, (version.ref, judge, "confirmed" if version.confirmed else "not confirmed")))
    for name, same in files.items():
        table.add_row(*map(text, (name, "", "confirmed" if same else "changed or gone: not confirmed")))
    return table


def problems_view(problems: Sequence[Problem]) -> RenderableType:
    """Return where each problem is and what does not match."""
    if not problems:
        return text("Everything is as it was written.")
    lines = [part for problem in problems for part in (text(problem.where, "bold"), indented(text(problem.what)))]
    return Group(text(f"{wording.count(len(problems), 'problem')}:"), *lines)


def _entry(version: Version) -> tuple[RenderableType, ...]:
    made, rubric = version.provenance, version.rubric
    judge = wording.asked_at(made.judge, made.judge_address)
    generator = wording.asked_at(made.generator, made.generator_address)
    judges = judge if made.judge == made.generator else f"{judge}, generator {generator}"
    title = text(version.ref, "bold").append("  ").append_text(text(", ".join(version.tags), QUIET))
    title.rstrip()
    rows = [
        ("created", wording.moment(version.created)),
        ("method", ", ".join(part.method for part in rubric.parts)),
        ("judge", judges),
        (describe.labels_title(made), f"{describe.labels(made)}, with seed {made.seed}"),
        ("criteria", f"{describe.contents(rubric.criteria)}; {_agreement(version)}"),
        *([("origin", describe.version_origin(version))] if version.imported else []),
        ("parent", version.parent or "none"),
        ("digest", wording.short_digest(version.digest)),
    ]
    return (title, indented(pairs(rows)), "")


def _agreement(version: Version) -> str:
    found = version.provenance.agreement
    if found is None:
        return "agreement not measured"
    return f"Spearman {_spearman(version)}{' re-selected' if found.optimistic else ''}"


def _spearman(version: Version) -> str:
    """Return the least flattering figure that the version records."""
    found = version.provenance.agreement
    if found is None:
        return "not measured"
    return wording.estimate(found.reselected if found.optimistic else found.spearman)
