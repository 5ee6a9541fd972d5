"""The matrix of labelled texts by candidate criteria, in as many tables side by side as the terminal is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubriclab.characters import one_line
from rubriclab.data.scale import show
from rubriclab.report import describe, matrix, wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, pairs, text
from rubriclab.training_record import TrainingRecord

# Columns of a terminal: of a text's id at most, of its label and prediction, and of a criterion at most and at least.
NAME, FIGURE, CRITERION, ANSWER = 28, 6, 9, 4
# Between two columns.
GAP = 2
TITLE = 60


def matrix_view(record: TrainingRecord) -> RenderableType:
    """Return the matrix, the criteria that the rubric kept first, and below it what each criterion is."""
    places = matrix.ranked(record)
    kept = sum(candidate.kept for candidate in record.candidates)
    texts = wording.count(len(record.texts), "labelled text")
    return Group(
        heading(f"{texts} by {wording.counted(len(places), 'candidate criterion')}", f"{kept} kept, which come first"),
        _Blocks(record, tuple(places)),
        "",
        text("rubric: its score when the labels of the text's own group were held out", QUIET),
        text("none: no usable rating; n/a: cannot be asked of the text; --json and -o give all reasons", QUIET),
        heading("Criteria"),
        pairs(_legend(record, places)),
    )


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The matrix, cut into tables that fit the terminal."""

    record: TrainingRecord
    places: tuple[int, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        names = max(len(row.id) for row in self.record.texts) if self.record.texts else 0
        free = options.max_width - min(NAME, names) - GAP - 2 * (FIGURE + GAP)
        for number, block in enumerate(self._blocks(free)):
            if number:
                yield ""
            yield _table(self.record, block)

    def _blocks(self, free: int) -> Iterator[list[int]]:
        """Yield the places of the criteria that fit side by side into so many columns, at least one at a time."""
        block, left = list[int](), free
        for place in self.places:
            width = min(CRITERION, max(ANSWER, len(self.record.candidates[place].criterion.id))) + GAP
            if block and width > left:
                yield block
                block, left = [], free
            block.append(place)
            left -= width
        if block:
            yield block


def _table(record: TrainingRecord, places: Sequence[int]) -> Table:
    table = columns()
    table.add_column("text", max_width=NAME, overflow="fold")
    for title in ("label", "rubric"):
        table.add_column(title, justify="right", min_width=FIGURE)
    for place in places:
        name = text(record.candidates[place].criterion.id)
        table.add_column(name, justify="right", max_width=CRITERION, overflow="fold")
    for row, cells in zip(record.texts, record.cells, strict=True):
        answers = (describe.answered(cells[place], record.candidates[place].criterion) for place in places)
        table.add_row(text(row.id), *(Text(words) for words in (_number(row.label), _number(row.predicted), *answers)))
    return table


def _legend(record: TrainingRecord, places: Sequence[int]) -> Iterator[tuple[str, RenderableType]]:
    for place in places:
        candidate = record.candidates[place]
        state = "" if candidate.kept else "; not kept"
        title = text(describe.title(candidate.criterion, TITLE)).append("  ")
        yield one_line(candidate.criterion.id), title.append_text(text(f"{candidate.method}{state}", QUIET))


def _number(value: float | None) -> str:
    return "none" if value is None else show(round(value, 2))
