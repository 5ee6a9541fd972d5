"""The decimal mark of the scores in a text file or workbook.

`1,250` and `1.250` are a decimal or a thousand, depending on it. Other scores decide: first those that can be read in
one way only, then the size of the numbers without a mark, then the usual mark of the format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Any

from rubriclab.data.reading import Mark, ReadingOptions
from rubriclab.errors import DataError
from rubriclab.models.cells import CellRules
from rubriclab.option_names import option

# How much the median of a column's numbers without a mark may exceed that of its decimals, and how much it must exceed
# it to show that these are thousands. In between, it shows nothing.
NEAR, FAR = 10, 100
# Characters; longer texts are not numbers, and are not cached.
LONGEST_NUMBER = 40
_RULES: dict[Mark, CellRules] = {"point": CellRules(typed=False), "comma": CellRules(typed=False, decimal_comma=True)}


@dataclass(frozen=True, slots=True)
class DecimalMark:
    """How scores are written.

    Attributes:
        mark: `None` if no score has one.
        unsure: the first score that could be a decimal or a thousand, with both readings, the one that is used first;
            `None` if there is none, or a score that can be read in one way only decides.
    """

    mark: Mark | None = None
    unsure: str | None = None


@dataclass(slots=True)
class _Column:
    """The scores in a column, in little memory for any number of rows.

    Attributes:
        lists: whether a cell may be a list, in which commas separate raters.
        one_number: whether every cell is one number, if commas are decimal commas.
        certain: the marks of numbers that can be read with one mark only.
        plain: the sizes of numbers that are the same with both marks.
        decimals: the sizes of numbers that are decimals with a mark, and thousands with the other, by this mark.
        unsure: the first of the latter, with its line and readings.
    """

    name: str
    lists: bool
    one_number: bool = True
    certain: set[Mark] = field(default_factory=set)
    plain: Counter[float] = field(default_factory=Counter)
    decimals: dict[Mark, Counter[float]] = field(default_factory=dict)
    unsure: tuple[int, str, Mapping[Mark, float]] | None = None

    def add(self, line: int, cell: Any) -> None:
        readings = _readings(cell) if not isinstance(cell, str) or len(cell) <= LONGEST_NUMBER else {}
        self.one_number &= "comma" in readings
        if len(readings) == 1:
            self.certain |= readings.keys()
        elif readings and readings["point"] == readings["comma"]:
            self.plain[abs(readings["point"])] += 1
        elif readings:
            mark = min(readings, key=lambda mark: abs(readings[mark]))
            self.decimals.setdefault(mark, Counter())[abs(readings[mark])] += 1
            self.unsure = self.unsure or (line, cell, readings)

    def mark_by_size(self) -> Mark | None:
        """Return the mark with which the numbers are of similar size; `None` if this is not clear."""
        if not self.plain or len(self.decimals) != 1:
            return None
        ((mark, decimals),) = self.decimals.items()
        times = median(self.plain.elements()) / median(decimals.elements())
        return mark if times <= NEAR else _OTHER[mark] if times >= FAR else None


_OTHER: dict[Mark, Mark] = {"point": "comma", "comma": "point"}


@lru_cache(maxsize=4096, typed=True)
def _readings(cell: Any) -> dict[Mark, float]:
    """Return a cell as a number by decimal mark: empty if it is none, two equal ones for a stored number."""
    if isinstance(cell, str):
        return {mark: number for mark, rules in _RULES.items() if (number := rules.number(cell)) is not None}
    stored = isinstance(cell, int | float) and not isinstance(cell, bool)
    return dict.fromkeys(_RULES, float(cell)) if stored else {}


def decimal_mark(
    where: str, rows: Iterable[tuple[int, Mapping[str, Any]]], options: ReadingOptions, delimiter: str | None = None
) -> DecimalMark:
    """Return how scores are written in numbered rows of texts.

    Columns with one score in each cell decide. A column of annotations may hold lists, in which commas separate raters:
    it has decimal commas if each cell is one number and the file separates cells by semicolons.

    Raises:
        DataError: if a score could be a decimal or a thousand, and nothing decides.
    """
    if options.decimal is not None:
        return DecimalMark(options.decimal)
    columns = _columns(rows, options)
    usual: Mark = "comma" if delimiter == ";" else "point"
    found = _decided(where, [column for column in columns if not column.lists], usual)
    if found.mark == "comma" or delimiter != ";":
        return found
    in_lists = _decided(where, [column for column in columns if column.lists and column.one_number], usual)
    return in_lists if in_lists.mark == "comma" or in_lists.unsure else found


def _columns(rows: Iterable[tuple[int, Mapping[str, Any]]], options: ReadingOptions) -> list[_Column]:
    """Return the columns of scores; without any, only the first row is read."""
    fields: dict[str, str] = {column: name for name, column in options.mapping.columns.items()}
    is_missing = options.rules(typed=False).is_missing
    columns: dict[str, _Column] = {}
    for number, (line, row) in enumerate(rows):
        if number == 0:
            for name in row:
                table, *parts = fields.get(name, name).split(".", 2)
                if parts and table in ("scores", "annotations"):
                    columns[name] = _Column(name, lists=table == "annotations" and len(parts) == 1)
        if not columns:
            break
        for name, column in columns.items():
            if not is_missing(cell := row.get(name)):
                column.add(line, cell)
    return list(columns.values())


def _decided(where: str, columns: Sequence[_Column], usual: Mark) -> DecimalMark:
    """Return the decimal mark of columns of scores; `usual` is that of the format."""
    if certain := {mark for column in columns for mark in column.certain}:
        return DecimalMark("comma" if certain == {"comma"} else "point")
    unsure = next(((column.name, *column.unsure) for column in columns if column.unsure), None)
    if not unsure:
        return DecimalMark()
    found = {mark for column in columns if (mark := column.mark_by_size())}
    if not found and {mark for column in columns for mark in column.decimals} == {usual}:
        found = {usual}
    name, line, cell, readings = unsure
    if len(found) != 1:
        raise DataError(
            f"{where}:{line}: the score {cell!r} in column {name!r} is {readings['point']:.12g} with a decimal point "
            f"and {readings['comma']:.12g} with a decimal comma, and no other score shows which it has.",
            f"Say which: {option('decimal', 'point')} or {option('decimal', 'comma')}.",
        )
    mark = found.pop()
    other = readings[_OTHER[mark]]
    return DecimalMark(mark, f"{cell!r} in line {line} as {readings[mark]:.12g}, not {other:.12g}")
