"""The decimal mark of the numbers in a text file or workbook.

`1,250` and `1.250` are a decimal or a thousand, depending on it. Other cells decide: first those that can be read in
one way only, then the size of the numbers without a mark, then the usual mark of the format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Any, Literal

from rubriclab.data.cells import CellRules
from rubriclab.data.formats import Numbered
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import DataError
from rubriclab.option_names import option

Mark = Literal["point", "comma"]
# How much the median of a column's numbers without a mark may exceed that of its decimals, and how much it must exceed
# it to show that these are thousands. In between, it shows nothing.
NEAR, FAR = 10, 100
# Characters of a cell up to which its reading is cached, since scores repeat and texts do not.
LONGEST_NUMBER = 40
# What the cells of a column hold: one score each, perhaps lists of scores, or anything else.
SINGLE, LIST, OTHER = range(3)
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
class _Unsure:
    """A score that could be a decimal or a thousand, with its place and its size by the decimal mark."""

    column: str
    line: int
    cell: str
    readings: Mapping[Mark, float]


@dataclass(frozen=True, slots=True)
class _Number:
    """A cell by the decimal mark with which it can be read as a number.

    Attributes:
        readings: none of a cell that is not a number, and two equal ones of a stored number.
        separator: the mark in a number that is a decimal with it, and a thousand with the other; `None` for others.
    """

    readings: Mapping[Mark, float]
    separator: Mark | None


@dataclass(slots=True)
class _Column:
    """What the cells of a column that are not missing show, in little memory for any number of rows.

    Attributes:
        sizes: whether the sizes of its numbers are kept.
        marks: of numbers that can be read with one mark only.
        one_number: whether every cell is one number, if commas are decimal commas.
        plain: the sizes of numbers that are the same with both marks.
        separated: the sizes of numbers that are decimals with a mark, and thousands with the other, by this mark.
        unsure: the first of the latter.
    """

    name: str
    sizes: bool
    marks: set[Mark] = field(default_factory=set)
    one_number: bool = True
    plain: Counter[float] = field(default_factory=Counter)
    separated: dict[Mark, Counter[float]] = field(default_factory=dict)
    unsure: _Unsure | None = None

    def add(self, line: int, cell: Any, number: _Number) -> None:
        readings, separator = number.readings, number.separator
        self.one_number &= "comma" in readings
        if len(readings) == 1:
            self.marks |= readings.keys()
        elif separator:
            self.separated.setdefault(separator, Counter())[abs(readings[separator])] += 1
            self.unsure = self.unsure or _Unsure(self.name, line, cell, readings)
        elif readings and self.sizes:
            self.plain[abs(readings["point"])] += 1

    @property
    def mark_by_size(self) -> Mark | None:
        """The mark with which the numbers are of similar size; `None` if this is not clear."""
        if not self.plain or len(self.separated) != 1:
            return None
        ((separator, decimals),) = self.separated.items()
        times = median(self.plain.elements()) / median(decimals.elements())
        if times <= NEAR:
            return separator
        return ("comma" if separator == "point" else "point") if times >= FAR else None


def _number(cell: Any) -> _Number:
    if isinstance(cell, str):
        found = {mark: rules.number(cell) for mark, rules in _RULES.items()}
        readings = {mark: number for mark, number in found.items() if number is not None}
    else:
        stored = isinstance(cell, int | float) and not isinstance(cell, bool)
        readings = dict.fromkeys(_RULES, float(cell)) if stored else {}
    sizes = {abs(number): mark for mark, number in readings.items()}
    return _Number(readings, sizes[min(sizes)] if len(sizes) > 1 else None)


def _number_reader(options: ReadingOptions) -> Callable[[Any], _Number | None]:
    """Return what reads a cell, as `None` if it is missing; scores repeat, so that most were read before."""
    missing = options.rules(typed=False).is_missing

    def number(cell: Any) -> _Number | None:
        return None if missing(cell) else _number(cell)

    kept = lru_cache(maxsize=4096, typed=True)(number)
    return lambda cell: number(cell) if isinstance(cell, str) and len(cell) > LONGEST_NUMBER else kept(cell)


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
    single, lists, others = _columns(rows, options, delimiter)
    usual: Mark = "comma" if delimiter == ";" else "point"
    found = _decided(where, single, usual)
    # In `1,5`, this is the only sign that it is one number and not the ratings of two raters.
    if found.comma or not (delimiter == ";" or any(each.one_number and "comma" in each.marks for each in others)):
        return found
    in_lists = _decided(where, [column for column in lists if column.one_number], usual)
    return in_lists if in_lists.comma or in_lists.unsure else found


def sure_rows(where: str, rows: Numbered, options: ReadingOptions, delimiter: str) -> Numbered:
    """Yield the rows of a stream, which cannot be read twice to decide about its decimal mark.

    Raises:
        DataError: for the first score that could be read in two ways, unless the mark is given.
    """
    kinds: dict[str, int] = {}
    number_of = _number_reader(options)
    for line, row in rows:
        if options.decimal is None and isinstance(row, dict):
            kinds = kinds or _kinds(row, options)
            for name, cell in row.items():
                number = None if kinds[name] == OTHER else number_of(cell)
                # In a list, a comma separates two raters, and only beside semicolons could it be a decimal comma.
                two_ways = number and kinds[name] == LIST and delimiter == ";" and number.readings.keys() == {"comma"}
                if number and (number.separator or two_ways):
                    raise _undecided(where, _Unsure(name, line, cell, number.readings), "a stream is read only once")
        yield line, row


def _kinds(names: Iterable[str], options: ReadingOptions) -> dict[str, int]:
    """Return by column whether it has one score in each cell, may hold lists of scores, or is another one."""
    fields: dict[str, str] = {column: field for field, column in options.mapping.columns.items()}
    kinds = {}
    for column in names:
        table, *parts = str(fields.get(column, column)).split(".", 2)
        scores = bool(parts) and table in ("scores", "annotations")
        kinds[column] = OTHER if not scores else SINGLE if table == "scores" or len(parts) == 2 else LIST
    return kinds


def _columns(
    rows: Iterable[tuple[int, Mapping[str, Any]]], options: ReadingOptions, delimiter: str | None
) -> tuple[list[_Column], list[_Column], list[_Column]]:
    """Return the columns with one score in each cell, those that may hold lists of scores, and the others.

    Only the columns that matter are read: without scores, no row but the first.
    """
    number_of = _number_reader(options)
    kinds: dict[str, int] = {}
    columns: dict[str, _Column] = {}
    for line, row in rows:
        if not kinds:
            kinds = _kinds(row, options)
            others = LIST in kinds.values() and delimiter != ";"
            columns = {name: _Column(name, kind != OTHER) for name, kind in kinds.items() if kind != OTHER or others}
        if not columns:
            break
        for name, column in columns.items():
            cell = row.get(name)
            # Of another column, a text shows that it has no numbers, and a whole number, such as an id, shows nothing.
            if not column.sizes and (not column.one_number or (isinstance(cell, str) and cell.isdigit())):
                continue
            if number := number_of(cell):
                column.add(line, cell, number)
    single, lists, other = ([columns[n] for n in columns if kinds[n] == kind] for kind in (SINGLE, LIST, OTHER))
    return single, lists, other


def _decided(where: str, columns: Sequence[_Column], usual: Mark) -> DecimalMark:
    """Return the decimal mark of columns of scores; `usual` is that of the format."""
    if marks := {mark for column in columns for mark in column.marks}:
        return DecimalMark(marks == {"comma"})
    unsure = next((column.unsure for column in columns if column.unsure), None)
    if not unsure:
        return DecimalMark()
    found = {mark for column in columns if (mark := column.mark_by_size)}
    if not found and {separator for column in columns for separator in column.separated} == {usual}:
        found = {usual}
    if len(found) != 1:
        raise _undecided(where, unsure, "no other score shows which it has")
    mark = found.pop()
    used, other = unsure.readings[mark], unsure.readings["point" if mark == "comma" else "comma"]
    return DecimalMark(mark == "comma", f"{unsure.cell!r} in line {unsure.line} as {used:.12g}, not {other:.12g}")


def _undecided(where: str, score: _Unsure, why: str) -> DataError:
    point, comma = (f"{score.readings[mark]:.12g}" if mark in score.readings else "a list" for mark in _RULES)
    return DataError(
        f"{where}:{score.line}: the score {score.cell!r} in column {score.column!r} is {point} with a decimal point "
        f"and {comma} with a decimal comma, and {why}.",
        f"Say which: {option('decimal', 'point')} or {option('decimal', 'comma')}.",
    )
