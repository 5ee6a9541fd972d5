"""The usable texts of a file, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rubriclab.cli.session import note
from rubriclab.data import Example, parse_mapping, read
from rubriclab.data.fitted import about, comparison_faults, fit_scores
from rubriclab.data.formats import LONGEST_ROW
from rubriclab.data.mapping import NATIVE

if TYPE_CHECKING:
    from rubriclab.data import Rows
    from rubriclab.data.scale import Scale


def rows_of(path: str, given: Mapping[str, Any]) -> Rows:
    """Return the rows of a file, read as `given`, the options of the command line, say."""
    mapping = parse_mapping(given["mapping"]) if given["mapping"] else NATIVE
    return read(path, mapping, longest=given["max_line_bytes"] or LONGEST_ROW)


def usable_texts(path: str, given: Mapping[str, Any], aspects: Iterable[tuple[str, Scale]]) -> tuple[Example, ...]:
    """Return the texts of a file, those that people only compared with others with labels for the aspects too.

    Rows that cannot be used are left out, and it is said which and why.
    """
    found = rows_of(path, given)
    rows = list(found)
    for fault in [row for row in rows if not isinstance(row, Example)]:
        note(f"left out: {fault}")
    return _compared(tuple(row for row in rows if isinstance(row, Example)), found, aspects)


def _compared(examples: tuple[Example, ...], rows: Rows, aspects: Iterable[tuple[str, Scale]]) -> tuple[Example, ...]:
    faults = list(comparison_faults(rows.where, rows.comparisons, examples))
    for fault in faults:
        note(f"left out: {fault}")
    usable = [stated for stated in rows.comparisons if stated[0] not in {fault.line for fault in faults}]
    for aspect, scale in aspects:
        compared = [comparison for _, comparison in about(usable, examples, aspect)]
        fitted = fit_scores(examples, compared, aspect, scale)
        examples = fitted.examples
        for line in fitted.notes:
            note(line)
    return examples
