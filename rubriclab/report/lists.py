"""What a store holds, findings of papers, what raters have labelled, and scores of texts: short lists and sentences."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.models.characters import asked_at, count
from rubriclab.models.text import show
from rubriclab.report import describe, wording
from rubriclab.report.conclusion import badge_of, verdict
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
from rubriclab.report.verdicts import errors_words, recorded_agreement
from rubriclab.report.wording import BLOCKS, byte_count, estimate, excerpt, figure

if TYPE_CHECKING:
    from rubriclab.learning.scoring import Score
    from rubriclab.methods.sources import Finding
    from rubriclab.models.judgment import Consistency, RaterAgreement, RaterProgress
    from rubriclab.models.rubric import Rubric
    from rubriclab.models.version import Version
    from rubriclab.ops.label import LabelResult
    from rubriclab.ops.literature import FindingList, LiteratureAdded
    from rubriclab.ops.scores import ScoreDistribution, Scores
    from rubriclab.ops.versions import PruneResult, StoreSize, VacuumResult, VerifyResult
    from rubriclab.store.answers import KindSize
    from rubriclab.store.store import Problem

RATER_COLUMNS = ("rater", "done", "skipped", "of", "equal on repeats")
# Rows that are shown at each end of a long list, characters of a reason, reasons, and characters of a title.
SHOWN, LONGEST_REASON, MOST_REASONS, TITLE = 10, 200, 5, 90


def names_view(versions: Sequence[Version]) -> View:
    """Return one line a version: what it is called and judges, and how well it agreed while learning."""
    if not versions:
        return _sentence("No rubric is stored.")
    measured = [recorded_agreement(version) for version in versions]
    columns = ["rubric", "aspect", "verdict", "agreement"]
    columns += ["error", "labels"] if any(each and each.errors for each in measured) else ["labels"]
    columns += ["tags"] if any(version.tags for version in versions) else []
    columns += ["origin"] if any(version.imported for version in versions) else []
    rows = [[cell for name, cell in _cells(version).items() if name in columns] for version in versions]
    numeric = [name for name in ("agreement", "error", "labels") if name in columns]
    shown = table(columns, rows, numeric=numeric)
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
    if any(found.errors for _, found in measured):
        yield "Error: mean absolute error of the same scores, in points of the scale."
    for version in versions:
        if version.provenance.validation:
            yield quoted(version.ref), f": {badge_of(version).words} {badge_of(version).remark}"
        if edited := edited_sentence(version):
            yield quoted(version.ref), f": {edited[0].lower()}{edited[1:]}"
    if any(version.imported and version.provenance.validation for version in versions):
        own = "`rubriclab evaluate` uses labels of your own"
        yield f"Verdicts of imported versions are as the exporter recorded them; {own}."


def _cells(version: Version) -> dict[str, Cell]:
    rubric, measured = version.rubric, recorded_agreement(version)
    return {
        "rubric": quoted(version.ref),
        "aspect": quoted(rubric.aspect.name),
        "verdict": _verdict(version),
        "agreement": "" if measured is None else Figure(measured.value),
        "error": figure(measured.errors.absolute.value) if measured and measured.errors else "",
        "labels": "not measured" if measured is None else f"{measured.n:,}",
        "tags": quoted(", ".join(version.tags)),
        "origin": quoted(_origin(version)),
    }


def _verdict(version: Version) -> str:
    outcome = badge_of(version).words
    return f"{outcome}, edited" if version.provenance.edit else outcome


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
            quoted(asked_at(version.provenance.judge, version.provenance.judge_address)),
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
    rubrics = count(result.names, "rubric")
    return View((), (*removed, Paragraph((quoted(result.place), f": {rubrics}, everything as it was written"))))


def problems_view(problems: Sequence[Problem]) -> View:
    """Return where each problem is and what does not match."""
    entries = (
        block
        for problem in problems
        for block in (Paragraph(quoted(problem.where), "strong"), Indented((Paragraph(quoted(problem.what)),)))
    )
    return View((), (Paragraph(f"{count(len(problems), 'problem')}:"), *entries))


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
    judge = asked_at(made.judge, made.judge_address)
    generator = asked_at(made.generator, made.generator_address)
    yield "created", wording.moment(version.created)
    yield "method", ", ".join(part.method for part in rubric.parts)
    yield "judge", judge if made.judge == made.generator else f"{judge}, generator {generator}"
    yield describe.labels_title(made), f"{describe.labels(made)}, with seed {made.seed}"
    yield "criteria", describe.contents(rubric.criteria)
    yield "agreement", _agreement(version)
    if made.validation:
        yield "verdict", verdict(version)
        if edited := edited_sentence(version):
            yield "edit", edited
    if version.imported:
        yield "origin", describe.version_origin(version)
    yield "parent", version.parent or "none"
    yield "digest", wording.short_digest(version.digest)


def _agreement(version: Version) -> str:
    measured = recorded_agreement(version)
    if measured is None:
        return "not measured"
    errors = f"; {errors_words(measured.errors)}" if measured.errors else ""
    return f"{estimate(measured.value)} ({measured.name}, n = {measured.n:,}){errors}"


def size_view(size: StoreSize) -> View:
    """Return one line for each kind of content, one for each model of cached answers, and the total space."""
    rows = [_kind(kind) for kind in size.kinds if kind.rows]
    space = size.space
    total = "" if space.total is None else f": {byte_count(space.total)} with indexes and free space"
    free = f", of which `vacuum` gives back {byte_count(space.free)}" if space.free else ""
    summary = Paragraph((quoted(size.place), f"{total}{free}"))
    columns = ("content", "rows", "size")
    return View((), (summary, *((table(columns, rows, numeric=columns[1:]),) if rows else ())))


def prune_view(result: PruneResult) -> View:
    """Return how many cached answers were removed, and how their space is given back."""
    verb = "would be removed" if result.dry_run else "removed"
    answers = f"{count(result.removed, 'cached answer')} {verb}, {byte_count(result.bytes)}"
    lines = [Paragraph((quoted(result.place), f": {answers}"))]
    if result.removed and not result.dry_run:
        lines.append(Paragraph("`rubriclab store vacuum` gives the space back to the file system."))
    return View((), tuple(lines))


def vacuum_view(result: VacuumResult) -> View:
    """Return the space before and after."""
    sizes = f"{byte_count(result.before)} before, {byte_count(result.after)} now"
    return View((), (Paragraph((quoted(result.place), f": {sizes}")),))


def _kind(kind: KindSize) -> tuple[Cell, ...]:
    is_answers = kind.kind == "cached answers"
    name = f"{kind.kind}, {kind.model or 'unknown model'}" if is_answers else kind.kind
    return (quoted(name), f"{kind.rows:,}", byte_count(kind.bytes))


def added_view(added: LiteratureAdded) -> View:
    """Return what was kept of a paper, what was dropped, and how it is used."""
    said: list[Words] = [
        ("Dropped, as its quotation is not in the paper: ", quoted(f"{each.claim} — {each.quotation}"))
        for each in added.dropped
    ]
    said += [("Not read: ", quoted(reason)) for reason in added.unread]
    said += [f"{len(added.kept)} kept, {len(added.dropped)} dropped. Reading took {wording.effort(added.effort)}."]
    if added.kept:
        remove = "rubriclab literature remove ID"
        said += [("Kept in ", quoted(str(added.file)), f". Remove those that do not follow from the paper: {remove}")]
        said += [f"Learn with them: rubriclab learn … --literature {shlex.quote(str(added.file))}"]
    return View((), (*_details(added.kept), *map(Paragraph, said)))


def findings_view(found: FindingList) -> View:
    """Return one line for each finding, or all that is recorded of each."""
    findings = [each.finding for each in found.findings]
    rows = [
        (*map(quoted, (each.file.stem, each.finding.id, _aspects(each.finding), each.finding.claim)),)
        for each in found.findings
    ]
    shown = _details(findings) if found.detailed or not rows else [table(("task", "id", "aspects", "claim"), rows)]
    return View((), (*shown, Paragraph(quoted(found.said), "quiet")))


def _details(findings: Sequence[Finding]) -> list[Block]:
    shown = (
        {**each.to_row(), "aspects": _aspects(each), "benchmarks": ", ".join(each.benchmarks)} for each in findings
    )
    return [Pairs(tuple((name, quoted(str(value))) for name, value in rows.items() if value)) for rows in shown]


def _aspects(finding: Finding) -> str:
    return ", ".join(finding.aspects) or "all"


def labeling_view(result: LabelResult) -> View:
    """Return the number of labels, and a table of the raters."""
    lead = Paragraph((f"{count(result.texts, 'text')} labelled for ", quoted(result.aspect), "."))
    rows: list[tuple[Cell, ...]] = [(quoted(rater), *_progress(progress)) for rater, progress in result.raters.items()]
    shown = [table(RATER_COLUMNS, rows, numeric=RATER_COLUMNS[1:])] if rows else []
    return View("", (lead, *shown, Paragraph(agreement_words(result.agreement))), "rubriclab label")


def agreement_words(agreement: RaterAgreement | None) -> str:
    """Return how well raters agree, in a sentence."""
    if agreement is None:
        return "Agreement among raters is known once two of them have judged the same texts."
    judged = f"{agreement.raters} raters, {agreement.units} judged by two or more"
    if agreement.alpha.value is None:
        return f"Agreement among raters is not known yet ({judged})."
    return f"Agreement among raters: Krippendorff's alpha {estimate(agreement.alpha)} ({judged})."


def consistency_words(consistency: Consistency | None) -> str:
    """Return how consistent a rater is, in a few words."""
    if consistency is None:
        return "nothing rated twice yet"
    same = f"{consistency.same:.0%} equal of {count(consistency.repeats, 'repeat')}"
    return f"{same}, {consistency.difference:.2f} points apart on average"


def _progress(progress: RaterProgress) -> tuple[str, ...]:
    same = f"{progress.consistency.same:.0%}" if progress.consistency else ""
    return str(progress.done), str(progress.skipped), str(progress.total), same


def scores_view(scores: Scores) -> View:
    """Return the mean, how many texts have no score, and the first and last scores with their intervals."""
    scored = f"{count(len(scores), 'text')} scored by {scores.rubric}, {len(scores.unscored):,} unscored"
    rows = list(scores)
    first, last = (rows[:SHOWN], rows[-SHOWN:]) if len(rows) > 2 * SHOWN else (rows, [])
    cells = [_score(score) for score in first]
    if last:
        cells += [("…", "", "", f"{len(rows) - 2 * SHOWN:,} more"), *(_score(score) for score in last)]
    columns = ("text", "score", "interval", "reason")
    return View(
        (), (Paragraph(scored), *summary_blocks(scores.summary), table(columns, cells, numeric=("score", "interval")))
    )


def summary_blocks(summary: ScoreDistribution) -> tuple[Block, ...]:
    """Return the mean human score, the scores' mean, spread and histogram, and the main reasons for missing scores."""
    blocks: list[Block] = []
    what = f"share that people put at {summary.scale.names[1]!r}" if summary.scale.names else "mean human score"
    if summary.labelled and summary.human_mean.value is not None:
        labels = (
            f"{count(len(summary.labelled.labels), 'label')} of {'these texts' if summary.own_labels else 'learning'}"
        )
        blocks.append(Paragraph(quoted(f"estimated {what} {estimate(summary.human_mean)}, by {labels}")))
    if summary.labels_needed:
        blocks.append(
            Paragraph(
                "These texts are scored unlike the labelled ones, so that interval may miss their mean. Label about "
                f"{count(summary.labels_needed, 'text')} of them at random for a margin of {show(summary.margin)}."
            )
        )
    if summary.pass_rate is not None and summary.scale.names:
        blocks.append(Paragraph(quoted(f"verdict {summary.scale.names[1]!r}: {summary.pass_rate:.1%} of the texts")))
    if summary.mean is not None:
        spread = f", standard deviation {figure(summary.standard_deviation)}" if summary.standard_deviation else ""
        ends = f"{show(summary.scale.low)} |{_bars(summary.histogram)}| {show(summary.scale.high)}"
        blocks.append(Paragraph(f"mean {figure(summary.mean)}{spread}; {ends}"))
    if set(summary.names) - {""}:
        rows = [
            (quoted(each.name), f"{each.texts:,}", f"{each.labels:,}", Figure(each.human_mean), figure(each.mean))
            for each in summary.slice_rows()
        ]
        figures = ("texts", "labels", what, "mean score")
        blocks.append(table(("slice", *figures), rows, numeric=figures))
    blocks += [
        Paragraph(quoted(f"{count(number, 'text')} unscored: {excerpt(reason, LONGEST_REASON)}"), "quiet")
        for reason, number in summary.unscored.most_common(MOST_REASONS)
    ]
    return tuple(blocks)


def criteria_rows(rubric: Rubric) -> list[dict[str, Any]]:
    """Return what the columns of criteria in a table of scores stand for: id, title, statement and weight."""
    weights = {term.criterion: term.weight for term in rubric.aggregation.terms} if rubric.aggregation else {}
    return [
        {
            "criterion": criterion.id,
            "title": describe.title(criterion, TITLE),
            "statement": criterion.statement,
            "weight": weights.get(criterion.id),
        }
        for criterion in rubric.criteria
    ]


def _bars(counts: Sequence[int]) -> str:
    """Return a histogram as one character a bin; an empty bin is a dot."""
    highest = max(1, *counts)
    return "".join(BLOCKS[round(number / highest * (len(BLOCKS) - 1))] if number else "." for number in counts)


def _score(score: Score) -> tuple[Cell, ...]:
    interval = f"{show(score.interval[0])} to {show(score.interval[1])}" if score.interval else ""
    reason = score.unscored or next((part.reason for part in score.criteria if part.reason), "")
    cut = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}…"
    return quoted(score.id), "" if score.score is None else show(score.score), interval, quoted(cut)
