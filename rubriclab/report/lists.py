"""Versions line by line, and what is wrong with a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rubriclab.option_names import by_reader
from rubriclab.report import describe, judge_alone, wording
from rubriclab.report.conclusion import badge_of
from rubriclab.report.edit import edited_sentence
from rubriclab.report.model import (
    Block,
    Cell,
    Figure,
    Indented,
    Pairs,
    Paragraph,
    View,
    Words,
    line,
    paragraphs,
    quoted,
    table,
)
from rubriclab.report.verdicts import headline, recorded_agreement

if TYPE_CHECKING:
    from rubriclab.services.versions import VerifyResult
    from rubriclab.store.verify import Problem
    from rubriclab.store.version import Version


def names_view(versions: Sequence[Version]) -> View:
    """Return one line a version: what it is called and judges, and how well it agreed while learning."""
    if not versions:
        return _sentence("No rubric is stored.")
    columns = ["rubric", "aspect", "criteria", "verdict", "agreement", "labels"]
    columns += ["tags"] if any(version.tags for version in versions) else []
    columns += ["origin"] if any(version.imported for version in versions) else []
    rows = [[cell for name, cell in _cells(version).items() if name in columns] for version in versions]
    shown = table(columns, rows, numeric=("criteria", "agreement", "labels"))
    return View((), (shown, *paragraphs(_measures(versions), "quiet")))


def _measures(versions: Sequence[Version]) -> Iterator[Words]:
    """Yield what the column of agreement states, and what the verdicts of edited and imported versions rest on."""
    measured = [(version, found) for version in versions if (found := recorded_agreement(version))]
    by_name: dict[str, list[str]] = {}
    for version, found in measured:
        by_name.setdefault(found.name, []).append(version.ref)
    for name, refs in by_name.items():
        of = () if len(by_name) == 1 else (" of ", quoted(", ".join(refs)))
        yield ("Agreement", *of, f": {name}, with its 95 % interval.")
    for version in versions:
        if edited := edited_sentence(version):
            yield quoted(version.ref), f": {edited[0].lower()}{edited[1:]}"
    if any(version.imported and version.provenance.validation for version in versions):
        evaluate = by_reader(python="lab.evaluate(...)", command_line="rubriclab evaluate")
        yield f"Verdicts of imported versions are as the exporter recorded them; `{evaluate}` uses labels of your own."


def _cells(version: Version) -> dict[str, Cell]:
    rubric, measured = version.rubric, recorded_agreement(version)
    return {
        "rubric": quoted(version.ref),
        "aspect": quoted(rubric.aspect.name),
        "criteria": str(len(rubric.criteria)),
        "verdict": _verdict(version),
        "agreement": "" if measured is None else Figure(measured.value),
        "labels": "not measured" if measured is None else f"{measured.n:,}",
        "tags": quoted(", ".join(version.tags)),
        "origin": quoted(_origin(version)),
    }


def _verdict(version: Version) -> str:
    validation, edit = version.provenance.validation, version.provenance.edit
    verdict = badge_of(validation).words if validation else "not validated"
    return f"{verdict}, edited" if edit else verdict


def _origin(version: Version) -> str:
    return f"imported from {version.imported_from}" if version.imported else "learned here"


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


def verify_view(result: VerifyResult) -> View:
    """Return the answers that were removed, where each problem is and what does not match."""
    removed = paragraphs(
        f"Removed the damaged answer {digest}: it is requested again when it is needed." for digest in result.removed
    )
    if result.problems:
        return View((), (*removed, *problems_view(result.problems).blocks))
    rubrics = wording.count(result.names, "rubric")
    return View((), (*removed, Paragraph((quoted(result.place), f": {rubrics}, everything as it was written"))))


def problems_view(problems: Sequence[Problem]) -> View:
    """Return where each problem is and what does not match."""
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
    yield Indented((Pairs(tuple((name, _shown(value)) for name, value in _facts(version))),))
    yield Paragraph("")


def _shown(value: Words) -> Words:
    return quoted(value) if isinstance(value, str) else value


def _facts(version: Version) -> Iterator[tuple[str, Words]]:
    made, rubric = version.provenance, version.rubric
    judge = wording.asked_at(made.judge, made.judge_address)
    generator = wording.asked_at(made.generator, made.generator_address)
    yield "created", wording.moment(version.created)
    yield "method", ", ".join(part.method for part in rubric.parts)
    yield "judge", judge if made.judge == made.generator else f"{judge}, generator {generator}"
    yield describe.labels_title(made), f"{describe.labels(made)}, with seed {made.seed}"
    yield "criteria", describe.contents(rubric.criteria)
    yield "agreement", _agreement(version)
    if made.validation:
        yield "verdict", headline(made.validation)
        yield from (
            (name, words)
            for name, words in (("without a rubric", judge_alone.sentence(version)), ("edit", edited_sentence(version)))
            if words
        )
    if version.imported:
        yield "origin", describe.version_origin(version)
    yield "parent", version.parent or "none"
    yield "digest", wording.short_digest(version.digest)


def _agreement(version: Version) -> str:
    measured = recorded_agreement(version)
    if measured is None:
        return "not measured"
    return f"{wording.estimate(measured.value)} ({measured.name}, n = {measured.n:,})"
