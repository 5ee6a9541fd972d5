"""How rows are read: the options that every reader and every command that reads data share, and what was detected."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from rubriclab.base_options import Options
from rubriclab.data.mapping import NATIVE, FieldMap, mapping_text, parse_mapping
from rubriclab.errors import DataError
from rubriclab.models.cells import CellRules
from rubriclab.models.characters import comma_list, comma_values
from rubriclab.option_names import option

# Bytes of a row: a line, a CSV record of several lines, or the cells of a Parquet row.
LONGEST_ROW = 64_000_000
UTF_8: Final = "utf-8"
_ENCODING_NAMES = {
    UTF_8: "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252",
}
DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_DELIMITERS_BY_MARK = {mark: name for name, mark in DELIMITER_NAMES.items()}
Mark = Literal["point", "comma"]


def _field_map(value: Any) -> Any:
    if isinstance(value, str):
        return parse_mapping(value)
    return FieldMap(dict(value)) if isinstance(value, Mapping) else value


def _values(value: Any) -> Any:
    parts = comma_values(value) if isinstance(value, str) else value
    return tuple(f"{part:g}" if isinstance(part, int | float) else part.strip() for part in parts)


def _level_scores(value: Any) -> Any:
    pairs = [_level(pair) for pair in comma_values(value)] if isinstance(value, str) else value.items()
    scores: dict[str, float] = {}
    for given, score in pairs:
        word, number = str(given).strip().casefold(), float(score)
        if not word or not math.isfinite(number):
            raise ValueError(f"expected a word and a finite number for each level, got {given!r} and {score!r}")
        if scores.setdefault(word, number) != number:
            raise ValueError(
                f"the word {word!r} has the scores {scores[word]:g} and {number:g}; give it one (case is ignored)"
            )
    return scores


def _level(pair: str) -> tuple[str, float]:
    word, equals, score = pair.rpartition("=")
    try:
        if equals:
            return word, float(score)
    except ValueError:
        pass
    raise ValueError(
        f"{pair.strip()!r} is not understood; write WORD=SCORE with a decimal point, as in good=5,ok=3.5,bad=1"
    )


def _delimiter(value: Any) -> Any:
    mark = DELIMITER_NAMES.get(value, value) if isinstance(value, str) else value
    if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n':
        raise ValueError(f"expected one character, or one of {', '.join(DELIMITER_NAMES)}; got {value!r}")
    return mark


def _encoding(value: Any) -> Any:
    try:
        return codecs.lookup(value).name
    except (LookupError, TypeError):
        raise ValueError(f"there is no encoding {value!r}; expected a name such as utf-8, cp1252 or utf-16") from None


class ReadingOptions(Options):
    """How rows are read from files, tables and other data."""

    mapping: Annotated[FieldMap, BeforeValidator(_field_map)] = NATIVE
    """The columns of fields: `{"output": "summary"}` or `"output=summary"`."""

    missing: Annotated[tuple[str, ...], BeforeValidator(_values)] = ()
    """Values that mean missing in scores, annotations and texts other than `output`: `["n/a", "-"]` or `"n/a,-"`. Case
    is ignored."""

    level_scores: Annotated[Mapping[str, float], BeforeValidator(_level_scores)] = Field(default_factory=dict)
    """The scores of words for levels: `{"good": 5, "ok": 3, "bad": 1}` or `"good=5,ok=3,bad=1"`; case is ignored."""

    sheet: str | int | None = None
    """The sheet of an Excel workbook, by name or by number from 1. Default: the first that is not hidden."""

    skip_hidden: bool = False
    """Leave out the hidden rows and columns of a sheet, such as those that a filter hides."""

    header_rows: int = Field(default=1, ge=1, le=10)
    """The number of header rows of a table; the names of a column are joined by dots."""

    skip_rows: int = Field(default=0, ge=0, le=1000)
    """The number of rows above the header of a table, such as a title; blank rows count."""

    delimiter: Annotated[str, BeforeValidator(_delimiter)] | None = None
    """The separator of cells: a character, or `tab`, `semicolon`, `comma`, `pipe`. Default: detected."""

    encoding: Annotated[str, BeforeValidator(_encoding)] | None = None
    """The encoding of a text file, such as `cp1252`. Default: detected."""

    decimal: Mark | None = None
    """Whether scores in a table are written 3.5 or 3,5. Default: detected."""

    skip_faulty: bool = False
    """Leave faulty rows out and say how many. Default: learning stops; when scoring, a faulty row is unscored."""

    max_line_bytes: int | None = Field(default=None, ge=1)
    """The longest row that is read from a file. Default: 64 MB."""

    @property
    def longest(self) -> int:
        """The most bytes of a row."""
        return self.max_line_bytes or LONGEST_ROW

    def rules(self, *, typed: bool, decimal: Mark | None = None) -> CellRules:
        """Return how the cells of a row are read.

        Args:
            typed: whether numbers are stored as numbers rather than as text.
            decimal: the decimal mark in texts.
        """
        missing = frozenset(value.casefold() for value in self.missing)
        return CellRules(typed, missing, self.level_scores, decimal_comma=decimal == "comma")


DEFAULTS = ReadingOptions()


def given_options(options: ReadingOptions) -> dict[str, str]:
    """Return every reading option without its default value, as texts by name; a flag is empty."""
    given: dict[str, str] = {}
    for name in ReadingOptions.model_fields:
        value = getattr(options, name)
        if value != getattr(DEFAULTS, name):
            given[name] = _text(value)
    return given


def _text(value: Any) -> str:
    match value:
        case True:
            return ""
        case FieldMap():
            return mapping_text(value.columns)
        case Mapping():
            return mapping_text({word: f"{score:g}" for word, score in value.items()})
        case tuple():
            return comma_list(value)
        case _:
            return _DELIMITERS_BY_MARK.get(value, str(value))


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """The detected format of a file of rows.

    Attributes:
        where: the file, or a name for another source.
        format: such as `CSV`; `rows` for data in memory.
        encoding: Python's name of it; `None` unless the file is text.
        delimiter: the separator of cells; `None` unless the file is CSV or similar.
        decimal: the decimal mark of scores; `None` if none has one.
        unsure: a score that could be a decimal or a thousand, and how it is read; `None` if there is none.
        usual: the usual delimiter of the format.
        sheet: the sheet of a workbook that is read, of `sheets`.
        merged: cells of the sheet that have the value of a merged range.
        hidden: the hidden rows, columns and sheets, and whether they are read.
        tool: the annotation tool's export that the rows are read as; `None` for other rows.
        choices: of this export, the words of each question whose words have no scores.
        details: what of this export is read as what, and what is left out.
    """

    where: str
    format: str
    encoding: str | None = None
    delimiter: str | None = None
    decimal: Mark | None = None
    unsure: str | None = None
    usual: str | None = None
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    merged: int = 0
    hidden: tuple[str, ...] = ()
    tool: str | None = None
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    details: tuple[str, ...] = ()

    @property
    def encoding_name(self) -> str | None:
        """The encoding as people write it."""
        return self.encoding and _ENCODING_NAMES.get(self.encoding, self.encoding)

    @property
    def delimiter_name(self) -> str | None:
        """The name of the delimiter, or the character itself."""
        return self.delimiter and _DELIMITERS_BY_MARK.get(self.delimiter, repr(self.delimiter))

    def assumptions(self) -> Iterator[str]:
        """Yield what was detected and is unusual for the format, with the option that sets it."""
        if self.encoding not in (None, UTF_8):
            yield f"encoding {self.encoding_name} ({option('encoding')})"
        if self.delimiter != self.usual:
            yield f"cells separated by {self.delimiter_name} ({option('delimiter')})"
        if self.decimal == "comma":
            yield f"scores with a decimal comma ({option('decimal')})"
        if self.unsure:
            yield f"scores such as {self.unsure} ({option('decimal')})"
        if len(self.sheets) > 1:
            yield f"sheet {self.sheet!r} of {len(self.sheets)} ({option('sheet')})"
        yield from self.hidden
        if self.tool:
            yield "; ".join((f"its rows taken for those of: {self.tool}", *self.details))
        if self.merged:
            yield f"{self.merged:,} merged cells filled with the value of their range"

    def without_rows(self) -> DataError:
        """Return the error that there are no rows."""
        if len(self.sheets) > 1:
            others = [name for name in self.sheets if name != self.sheet]
            listed = ", ".join(repr(name) for name in others)
            return DataError(
                f"{self.where}: the sheet {self.sheet!r} has no rows; the other sheets are {listed}.",
                f"Name another: {option('sheet', others[0])}.",
            )
        return DataError(f"{self.where} has no rows.", "Each row needs at least the field 'output', the text to judge.")

    def note(self) -> str | None:
        """Return a sentence with the assumptions; `None` if there are none."""
        assumptions = ", ".join(self.assumptions())
        return f"{self.where} is read with {assumptions}" if assumptions else None
