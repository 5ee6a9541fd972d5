"""What a store holds and what was removed from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.option_names import by_reader
from rubriclab.report import wording
from rubriclab.report.model import Cell, Paragraph, View, quoted, table

if TYPE_CHECKING:
    from rubriclab.services.storage import PruneResult, StoreSize, VacuumResult
    from rubriclab.store import KindSize

UNKNOWN_MODEL = "unknown model"


def size_view(size: StoreSize) -> View:
    """Return one line for each kind of content, one for each model of cached answers, and the total space."""
    rows = [_row(kind) for kind in size.kinds if kind.rows]
    space = size.space
    total = "" if space.total is None else f": {wording.byte_count(space.total)} with indexes and free space"
    free = f", of which `vacuum` gives back {wording.byte_count(space.free)}" if space.free else ""
    summary = Paragraph((quoted(size.place), f"{total}{free}"))
    columns = ("content", "rows", "size")
    return View((), (summary, *((table(columns, rows, numeric=columns[1:]),) if rows else ())))


def prune_view(result: PruneResult) -> View:
    """Return how many cached answers were removed and kept, and how their space is given back."""
    verb = "would be removed" if result.dry_run else "removed"
    answers = f"{wording.count(result.removed, 'cached answer')} {verb}, {wording.byte_count(result.bytes)}"
    kept = f"; {wording.count(result.kept, 'other')} kept, as the named versions used them" if result.kept else ""
    lines = [Paragraph((quoted(result.place), f": {answers}{kept}"))]
    if result.removed and not result.dry_run:
        vacuum = by_reader(python="lab.vacuum()", command_line="`rubriclab store vacuum`")
        lines.append(Paragraph(f"{vacuum} gives the space back to the file system."))
    return View((), tuple(lines))


def vacuum_view(result: VacuumResult) -> View:
    """Return the space before and after."""
    sizes = f"{wording.byte_count(result.before)} before, {wording.byte_count(result.after)} now"
    return View((), (Paragraph((quoted(result.place), f": {sizes}")),))


def _row(kind: KindSize) -> tuple[Cell, ...]:
    is_answers = kind.kind == "cached answers"
    name = f"{kind.kind}, {kind.model or UNKNOWN_MODEL}" if is_answers else kind.kind
    return (quoted(name), f"{kind.rows:,}", wording.byte_count(kind.bytes))
