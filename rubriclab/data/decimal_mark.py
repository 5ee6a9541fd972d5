"""The decimal mark of the numbers in a text file or workbook.

`1,250` and `1.250` are a decimal or a thousand, depending on it. Other cells decide: first those that can be read in
one way only, then the size of the numbers without a mark, then the usual mark of the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from rubriclab.data.cells import CellRules
from rubriclab.data.mapping import TABLES
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import DataError
from rubriclab.option_names import option

Mark = Literal["point", "comma"]
# How much the median of a column's numbers without a mark may exceed that of its decimals, and how much it must exceed
# it to show that these are thousands. In between, it shows nothing.
NEAR, FAR = 10, 100
_RULES: dict[Mark, CellRules] = {"point": CellRules(typed=False), "comma": CellRules(typed=False, decimal_comma=True)}


@dataclass(frozen=True, slots=True)
class DecimalMark:
    """How numbers are written.

    Attributes:
        comma: whether they have a decimal comma.
        unsure: the first score that could be a decimal or a thousand, with both readings, the one that is used first;
            `None` if there is none, or a score that can be read in one way only decides.
    """

    comma: bool = False
    unsure: str | None = None


@dataclass(frozen=True, slots=True)
class _Number:
    """A cell that is not missing, with its column and line."""

    column: str
    line: int
    cell: Any

    @property
    def mark(self) -> Mark | None:
        """The decimal mark, if the cell is a number that can be read with one mark only."""
        readings = self.readings()
        return readings.popitem()[0] if len(readings) == 1 else None

    @property
    def separator(self) -> Mark | None:
        """The mark in a number that is a decimal with it, and a thousand with the other mark; `None` for others."""
        readings = self.readings()
        sizes = {abs(number): mark for mark, number in readings.items()}
        return sizes[min(sizes)] if len(sizes) > 1 else None

    def readings(self) -> dict[Mark, float]:
        """Return the number by the decimal mark with which it can be read; a stored number can be with both."""
        if isinstance(self.cell, str):
            found = {mark: rules.number(self.cell) for mark, rules in _RULES.items()}
            return {mark: number for mark, number in found.items() if number is not None}
        stored = isinstance(self.cell, int | float) and not isinstance(self.cell, bool)
        return {mark: float(self.cell) for mark in _RULES} if stored else {}


_Column = Sequence[_Number]


def has_decimal_points(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any number in these rows has a decimal point."""
    cells = (cell for row in rows for cell in row.values() if isinstance(cell, str) and "." in cell)
    return any(_RULES["point"].number(cell) is not None for cell in cells)


def decimal_mark(
    where: str, rows: Iterable[tuple[int, Mapping[str, Any]]], options: ReadingOptions, delimiter: str | None = None
) -> DecimalMark:
    """Return how scores are written in numbered rows of texts.

    Columns with one score in each cell decide. A column of annotations may hold lists, in which commas separate raters:
    it has decimal commas if each cell is one number and either the file separates cells by semicolons or other columns
    of numbers have decimal commas.

    Raises:
        DataError: if a score could be a decimal or a thousand, and nothing decides.
    """
    if options.decimal is not None:
        return DecimalMark(options.decimal == "comma")
    single, lists, others = _columns(rows, options)
    usual: Mark = "comma" if delimiter == ";" else "point"
    found = _decided(where, single, usual)
    if found.comma or not (delimiter == ";" or any(map(_are_decimals, others))):
        return found
    in_lists = _decided(
        where, [column for column in lists if all("comma" in each.readings() for each in column)], usual
    )
    return in_lists if in_lists.comma or in_lists.unsure else found


def _columns(
    rows: Iterable[tuple[int, Mapping[str, Any]]], options: ReadingOptions
) -> tuple[list[_Column], list[_Column], list[_Column]]:
    """Return the columns with one score in each cell, those that may hold lists of scores, and the others."""
    fields: dict[str, str] = {column: field for field, column in options.mapping.columns.items()}
    missing = options.rules(typed=False).is_missing
    columns: dict[str, list[_Number]] = {}
    for line, row in rows:
        for column, cell in row.items():
            if not missing(cell):
                columns.setdefault(column, []).append(_Number(column, line, cell))
    kinds: tuple[list[_Column], list[_Column], list[_Column]] = ([], [], [])
    for column, cells in columns.items():
        table, *names = str(fields.get(column, column)).split(".", 2)
        scores = bool(names) and table in TABLES
        kinds[2 if not scores else 0 if table == "scores" or len(names) == 2 else 1].append(cells)
    return kinds


def _decided(where: str, columns: Sequence[_Column], usual: Mark) -> DecimalMark:
    """Return the decimal mark of columns of scores; `usual` is that of the format."""
    numbers = [each for column in columns for each in column]
    if marks := {each.mark for each in numbers} - {None}:
        return DecimalMark(marks == {"comma"})
    unsure = [each for each in numbers if each.separator]
    if not unsure:
        return DecimalMark()
    found = {mark for column in columns if (mark := _by_size(column))}
    if not found and {each.separator for each in unsure} == {usual}:
        found = {usual}
    if len(found) != 1:
        raise _undecided(where, unsure[0])
    mark = found.pop()
    readings = unsure[0].readings()
    used, other = readings.pop(mark), readings.popitem()[1]
    return DecimalMark(mark == "comma", f"{unsure[0].cell!r} in line {unsure[0].line} as {used:.12g}, not {other:.12g}")


def _by_size(column: _Column) -> Mark | None:
    """Return the decimal mark with which the numbers of a column are of similar size; `None` if this is not clear."""
    unsure = [(each.readings(), separator) for each in column if (separator := each.separator)]
    plain = [abs(number) for each in column if not each.separator for number in each.readings().values()]
    if not plain or len({separator for _, separator in unsure}) != 1:
        return None
    separator = unsure[0][1]
    times = median(plain) / median(abs(readings[separator]) for readings, _ in unsure)
    if times <= NEAR:
        return separator
    return ("comma" if separator == "point" else "point") if times >= FAR else None


def _are_decimals(column: _Column) -> bool:
    """Return whether every cell of a column is one number, and at least one surely has a decimal comma.

    In `1,5`, this is the only sign that it is one number and not the ratings of two raters.
    """
    return any(each.mark == "comma" for each in column) and all("comma" in each.readings() for each in column)


def _undecided(where: str, number: _Number) -> DataError:
    point, comma = (f"{number.readings()[mark]:.12g}" for mark in _RULES)
    return DataError(
        f"{where}:{number.line}: the score {number.cell!r} in column {number.column!r} is {point} with a decimal point "
        f"and {comma} with a decimal comma, and no other score shows which it has.",
        f"Say which: {option('decimal', 'point')} or {option('decimal', 'comma')}.",
    )
