"""What a file of rows is taken for, as text and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rubriclab.models.characters import count
from rubriclab.models.text import show
from rubriclab.report.model import Block, Cell, Pairs, Paragraph, Section, Table, View, paragraphs, quoted, table
from rubriclab.report.wording import estimate, excerpt

if TYPE_CHECKING:
    from rubriclab.ops.check import AspectCheck, CheckResult

COLUMNS_SHOWN = 40
RATERS_SHOWN = 8


def check_view(result: CheckResult, *, commands: bool = True) -> View:
    """Return the verdict, what the file is taken for, its columns, scores and groups, problems and the next command.

    Without `commands`, the lines of `check_commands` are left out: a terminal prints them unbroken.
    """
    problems = f"Not usable: {count(result.problem_count, 'problem')}."
    verdict = (
        "Usable." if result.usable else "Usable with the mapping below." if result.usable_as_proposed else problems
    )
    blocks: list[Block] = [Paragraph((quoted(result.source.where), f": {verdict}"), "lead")]
    blocks.append(Pairs(tuple(_facts(result))))
    if result.columns:
        blocks.append(_columns(result))
    if result.aspects:
        alpha = "alpha: Krippendorff's, for interval data, among the raters, with its 95 % interval"
        notes = (Paragraph(alpha, "quiet"),) if any(aspect.agreement for aspect in result.aspects) else ()
        blocks.append(Section("Scores", (_aspects(result), *notes)))
    if result.problems:
        blocks.append(Section("Problems", paragraphs(quoted(line) for line in result.problems)))
    blocks += paragraphs((quoted(note) for note in result.notes), "quiet")
    if commands:
        blocks += paragraphs(quoted(line) for line in check_commands(result))
    return View((), tuple(blocks))


def check_commands(result: CheckResult) -> Iterator[str]:
    """Yield the options that would solve problems, the mapping that is proposed, and the command to run next."""
    yield from result.hints
    if result.proposal:
        yield f"columns that look like fields: --map {shlex.quote(result.proposal)}"
    if result.next:
        yield f"next: {result.next}"


def _facts(result: CheckResult) -> Iterator[tuple[str, Any]]:
    source = result.source
    details = [source.tool, source.format, source.encoding_name]
    details += [f"cells separated by {source.delimiter_name}" if source.delimiter else None]
    details += ["decimal comma" if source.decimal == "comma" else None]
    details += [f"scores such as {source.unsure}" if source.unsure else None]
    details += [f"sheet {source.sheet!r} of {len(source.sheets)}" if source.sheet else None]
    details += [f"{source.merged:,} merged cells filled" if source.merged else None]
    yield "format", quoted(", ".join(filter(None, details)))
    if source.hidden:
        yield "hidden", quoted("; ".join(each.removeprefix("hidden ") for each in source.hidden))
    if source.details:
        yield "answers", quoted("; ".join(source.details))
    yield "rows", f"{result.rows:,}: {count(result.texts, 'usable text')} in {count(result.groups, 'group')}"
    if reasons := [f"{each.reasons:,} for {each.aspect}" for each in result.aspects if each.reasons]:
        yield "reasons", quoted(", ".join(reasons))
    if result.comparisons:
        yield "comparisons", f"{result.comparisons:,}"
    left_out = {"faulty row": result.skipped, "faulty score": result.skipped_scores}
    if any(left_out.values()):
        yield "left out", ", ".join(count(number, what) for what, number in left_out.items() if number)
    if result.duplicates:
        yield "duplicates", f"{count(result.duplicates, 'row')} with the text of another row"
    if result.missing:
        yield "missing", ", ".join(f"{field} in {count(number, 'text')}" for field, number in result.missing.items())


def _columns(result: CheckResult) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            quoted(column.name),
            quoted(column.field or "not used"),
            f"{column.filled:,}",
            quoted(excerpt(column.example, 40)),
        )
        for column in result.columns[:COLUMNS_SHOWN]
    ]
    if len(result.columns) > COLUMNS_SHOWN:
        rows.append((quoted("…"), quoted(""), "", quoted(f"{len(result.columns) - COLUMNS_SHOWN} more")))
    return table(("column", "used as", "filled", "first value"), rows, numeric=("filled",))


def _aspects(result: CheckResult) -> Table:
    columns = ("aspect", "labels", "scale", "distribution", "raters", "agreement (alpha)")
    return table(columns, [_aspect(aspect) for aspect in result.aspects], numeric=("labels",))


def _aspect(aspect: AspectCheck) -> tuple[Any, ...]:
    scale = f"{show(aspect.scale.low)} to {show(aspect.scale.high)}" if aspect.scale else ""
    distribution = ", ".join(f"{show(value)}: {number}" for value, number in aspect.distribution.items())
    names = ", ".join(aspect.raters[:RATERS_SHOWN])
    raters = f"{len(aspect.raters)}: {names}" if aspect.raters else "unknown"
    agreement = estimate(aspect.agreement) if aspect.agreement else "one rating per text"
    return quoted(aspect.aspect), f"{aspect.labels:,}", scale, excerpt(distribution, 60), quoted(raters), agreement


def check_row(result: CheckResult) -> dict[str, Any]:
    """Return the result as one JSON object."""
    source = asdict(result.source)
    aspects = [
        {
            **asdict(aspect),
            "scale": aspect.scale.model_dump(mode="json") if aspect.scale else None,
            "distribution": {show(value): number for value, number in aspect.distribution.items()},
        }
        for aspect in result.aspects
    ]
    fields = (
        "rows",
        "texts",
        "groups",
        "comparisons",
        "skipped",
        "skipped_scores",
        "duplicates",
        "missing",
        "problem_count",
    )
    return {
        "usable": result.usable,
        "source": source,
        "columns": [asdict(column) for column in result.columns],
        **{name: getattr(result, name) for name in fields},
        "aspects": aspects,
        "problems": list(result.problems),
        "hints": list(result.hints),
        "notes": list(result.notes),
        "proposal": result.proposal,
        "usable_as_proposed": result.usable_as_proposed,
        "next": result.next,
    }
