"""What messages say of faulty rows: the faults, and options that would make them valid."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.data.levels import proposed_level_scores
from rubriclab.data.row import RowError
from rubriclab.option_names import option

FAULTS_SHOWN = 20
# Cells with the same word that one line reports together.
FEWEST_ALIKE = 3
# With more different numbers outside the scale, they are not values for missing scores.
MOST_OUTSIDE = 3


def fault_hints(faults: Sequence[RowError]) -> list[str]:
    """Return the options that would make faulty scores valid: levels and missing values."""
    outside = list(dict.fromkeys(fault.outside for fault in faults if fault.outside))
    proposal = proposed_level_scores(fault.word for fault in faults if fault.word)
    hints = [f"if the words are levels or missing values, add {proposal}"] if proposal else []
    if outside and len(outside) <= MOST_OUTSIDE:
        means = "stands for a missing value" if len(outside) == 1 else "stand for missing values"
        hints.append(f"if {' and '.join(outside)} {means}, add {option('missing', ','.join(outside))}")
    return hints


def fault_lines(faults: Sequence[RowError]) -> list[str]:
    """Return a line for each fault; cells with the same word share one."""
    words: dict[str, list[RowError]] = {}
    for fault in faults:
        words.setdefault((fault.word or "").casefold(), []).append(fault)
    lines: dict[str, None] = {}
    for fault in faults:
        alike = words[(fault.word or "").casefold()]
        if not fault.word or len(alike) < FEWEST_ALIKE:
            lines[str(fault)] = None
            continue
        lines[_word_line(alike)] = None
    return list(lines)


def first_of(faults: Sequence[str]) -> list[str]:
    """Return the first faults, and the number of further ones."""
    more = len(faults) - FAULTS_SHOWN
    return [*faults[:FAULTS_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def _word_line(faults: Sequence[RowError]) -> str:
    """Return a line for the cells with one word."""
    first, columns = faults[0], list(dict.fromkeys(fault.column or fault.field for fault in faults))
    place = f"column {columns[0]!r}" if len(columns) == 1 else f"{len(columns)} columns"
    return (
        f"{first.where}: {first.word!r}: {len(faults)} cells in {place}, the first in line {first.line}; "
        f"expected {first.expected}"
    )
