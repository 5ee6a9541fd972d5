"""Versions line by line, and what is wrong with a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rubriclab.report import describe, wording
from rubriclab.report.model import Block, Cell, Figure, Indented, Pairs, Paragraph, View, line, quoted, table

if TYPE_CHECKING:
    from rubriclab.store.verify import Problem
    from rubriclab.store.version import Version

NOTE = (
    "Spearman: with the labels given while learning; re-selected if these chose the criteria, which may be optimistic."
)


def names_view(versions: Sequence[Version]) -> View:
    """Return one line a version: what it is called and judges, and how well it agreed while learning."""
    if not versions:
        return _sentence("No rubric is stored.")
    origin = any(version.imported for version in versions)
    columns = ("rubric", "aspect", "criteria", "Spearman", "tags", *(("origin",) if origin else ()))
    rows = [_name(version, origin=origin) for version in versions]
    return View((), (table(columns, rows, numeric=("criteria", "Spearman")), Paragraph(NOTE, "quiet")))


def _name(version: Version, *, origin: bool) -> tuple[Cell, ...]:
    rubric, agreement = version.rubric, version.provenance.agreement
    return (
        quoted(version.ref),
        quoted(rubric.aspect.name),
        str(len(rubric.criteria)),
        "not measured"
        if agreement is None
        else Figure(agreement.reselected if agreement.optimistic else agreement.spearman),
        quoted(", ".join(version.tags)),
        *(("imported" if version.imported else "learned here",) if origin else ()),
    )


def log_view(versions: Sequence[Version]) -> View:
    """Return a few lines a version, in the given order: when it was made, by what, from what, and its parent."""
    if not versions:
        return _sentence("No version is stored.")
    return View((), tuple(block for version in versions for block in _entry(version)))


def trust_view(versions: Sequence[Version], files: Mapping[str, bool]) -> View:
    """Return one line an imported version and a confirmed file.

    Args:
        versions: those imported.
        files: confirmed configuration files by path, each with whether it still has the content that was confirmed.
    """
    if not versions and not files:
        return _sentence("Nothing in the store was imported, and no configuration file is confirmed.")
    rows = [
        (
            quoted(version.ref),
            quoted(wording.asked_at(version.provenance.judge, version.provenance.judge_address)),
            "confirmed" if version.confirmed else "not confirmed",
        )
        for version in versions
    ]
    rows += [
        (quoted(name), quoted(""), "confirmed" if same else "changed or missing: not confirmed")
        for name, same in files.items()
    ]
    return View((), (table(("imported or confirmed", "judge", "state"), rows),))


def problems_view(problems: Sequence[Problem]) -> View:
    """Return where each problem is and what does not match."""
    if not problems:
        return _sentence("No problems: everything is as it was written.")
    entries = (
        block
        for problem in problems
        for block in (Paragraph(quoted(problem.where), "strong"), Indented((Paragraph(quoted(problem.what)),)))
    )
    return View((), (Paragraph(f"{wording.count(len(problems), 'problem')}:"), *entries))


def _sentence(words: str) -> View:
    return View((), (Paragraph(words),))


def _entry(version: Version) -> Iterator[Block]:
    yield Paragraph(line(quoted(version.ref, "strong"), *(quoted(tag, "tag") for tag in version.tags)))
    yield Indented((Pairs(tuple((name, quoted(value)) for name, value in _facts(version))),))
    yield Paragraph("")


def _facts(version: Version) -> Iterator[tuple[str, str]]:
    made, rubric = version.provenance, version.rubric
    judge = wording.asked_at(made.judge, made.judge_address)
    generator = wording.asked_at(made.generator, made.generator_address)
    yield "created", wording.moment(version.created)
    yield "method", ", ".join(part.method for part in rubric.parts)
    yield "judge", judge if made.judge == made.generator else f"{judge}, generator {generator}"
    yield describe.labels_title(made), f"{describe.labels(made)}, with seed {made.seed}"
    yield "criteria", f"{describe.contents(rubric.criteria)}; {_agreement(version)}"
    if version.imported:
        yield "origin", describe.version_origin(version)
    yield "parent", version.parent or "none"
    yield "digest", wording.short_digest(version.digest)


def _agreement(version: Version) -> str:
    """Return the least optimistic figure that the version records."""
    agreement = version.provenance.agreement
    if agreement is None:
        return "agreement not measured"
    if agreement.optimistic:
        return f"Spearman {wording.estimate(agreement.reselected)} re-selected"
    return f"Spearman {wording.estimate(agreement.spearman)}"
