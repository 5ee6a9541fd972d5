"""The options of readers (`ReadingOptions`), and the format that they detected in a file or table (`SourceFormat`)."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field

from rubriclab.base_options import INPUT, CliForm, ConfigMaySet, Options
from rubriclab.data.cells import GRADE_RANGE, CellRules
from rubriclab.data.mapping import NO_MAPPING, FieldMap, mapping_text, parse_mapping
from rubriclab.errors import DataError
from rubriclab.models.characters import comma_list, comma_values, describe

# Maximum size of a row: a line, a CSV record of several lines, or the cells of a Parquet row.
MAX_ROW_BYTES = 64_000_000
UTF_8: Final = "utf-8"
_ENCODING_NAMES = {UTF_8: "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"}
DELIMITERS_BY_NAME = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_DELIMITER_NAMES = {delimiter: name for name, delimiter in DELIMITERS_BY_NAME.items()}
DecimalMark = Literal["point", "comma"]


def _parse_field_map(value: Any) -> Any:
    if isinstance(value, str):
        return parse_mapping(value)
    return FieldMap(dict(value)) if isinstance(value, Mapping) else value


def _parse_missing(value: Any) -> Any:
    parts = comma_values(value) if isinstance(value, str) else value
    return tuple(f"{part:g}" if isinstance(part, int | float) else part.strip() for part in parts)


def _parse_levels(value: Any) -> Any:
    if not isinstance(value, str | Mapping):
        raise ValueError(f"expected a text WORD=SCORE,… or a mapping, got {describe(value)}")
    pairs = map(_parse_level, comma_values(value)) if isinstance(value, str) else value.items()
    scores: dict[str, float] = {}
    for level, score in pairs:
        word, score_of_word = str(level).strip().casefold(), float(score)
        grade = CellRules(typed_cells=False).parse_number(word)
        word = word if grade is None else f"{grade:g}"
        if not word or not math.isfinite(score_of_word):
            raise ValueError(f"expected a word and a finite number for each level, got {level!r} and {score!r}")
        if scores.setdefault(word, score_of_word) != score_of_word:
            both = f"{scores[word]:g} and {score_of_word:g}"
            raise ValueError(f"the word {word!r} has the scores {both}; give it one (case is ignored)")
    return scores


def _parse_level(pair: str) -> tuple[str, float]:
    word, equals, score = pair.rpartition("=")
    grades = GRADE_RANGE.fullmatch(pair)
    if grades and int(grades[1]) > int(grades[2]):
        return pair, int(grades[1]) + int(grades[2])  # `CellRules` subtracts each grade from this sum
    try:
        return word, float(score if equals else "")
    except ValueError:
        form = "write WORD=SCORE with a decimal point, as in good=5,ok=3.5,bad=1, or grades, the worst first, as in 6:1"
        raise ValueError(f"{pair.strip()!r} is not understood; {form}") from None


def _check_delimiter(value: Any) -> Any:
    character = DELIMITERS_BY_NAME.get(value, value) if isinstance(value, str) else value
    if not isinstance(character, str) or len(character) != 1 or character in '"\r\n':
        raise ValueError(f"expected one character, or one of {', '.join(DELIMITERS_BY_NAME)}; got {value!r}")
    return character


def _check_encoding(value: Any) -> Any:
    try:
        return codecs.lookup(value).name
    except (LookupError, TypeError):
        raise ValueError(f"there is no encoding {value!r}; expected a name such as utf-8, cp1252 or utf-16") from None


class ReadingOptions(Options):
    """How rows are read from files, tables and other data."""

    section: ClassVar[str] = INPUT
    config_may_set: ClassVar[ConfigMaySet] = "always"
    needs_ratings: ClassVar[bool] = True
    """Whether a row is faulty if it lacks a mapped column of ratings."""

    mapping: Annotated[
        FieldMap, BeforeValidator(_parse_field_map), CliForm("--map", metavar="FIELD=COLUMN,…", is_list=True)
    ] = NO_MAPPING
    """The columns that hold the fields, as in `output=summary,scores.coherence=coh`."""

    missing: Annotated[tuple[str, ...], BeforeValidator(_parse_missing), CliForm(metavar="VALUE,…", is_list=True)] = ()
    """Values taken for missing in scores and in texts other than `output`, as in `n/a,-`; case is ignored."""

    level_scores: Annotated[
        Mapping[str, float], BeforeValidator(_parse_levels), CliForm("--levels", metavar="WORD=SCORE,…", is_list=True)
    ] = Field(default_factory=dict)
    """The scores of words, as in `good=5,ok=3,bad=1`, or a range of grades, the worst first, as in `6:1`."""

    sheet: Annotated[str | int | None, CliForm(metavar="NAME|N")] = None
    """The sheet of an Excel workbook, by name or by number from 1. Default: the first that is not hidden."""

    skip_hidden: bool = False
    """Leave out hidden rows and columns of an Excel sheet, such as those that a filter hides."""

    header_rows: Annotated[int, CliForm(metavar="N")] = Field(default=1, ge=1, le=10)
    """The number of header rows of a table; the names of a column are joined by dots."""

    skip_rows: Annotated[int, CliForm(metavar="N")] = Field(default=0, ge=0, le=1000)
    """The number of rows above the header of a table, such as a title; blank rows count. Default: 0."""

    delimiter: Annotated[Annotated[str, BeforeValidator(_check_delimiter)] | None, CliForm(metavar="CHARACTER")] = None
    """The delimiter of cells: a character, or tab, semicolon, comma, pipe. Default: detected."""

    encoding: Annotated[Annotated[str, BeforeValidator(_check_encoding)] | None, CliForm(metavar="NAME")] = None
    """The encoding of a text file, such as cp1252. Default: detected."""

    decimal: DecimalMark | None = None
    """The decimal mark of scores: 3.5 or 3,5. Default: detected."""

    skip_faulty: bool = False
    """Leave out faulty rows, and report their number. Without it, learning stops, and scoring gives them no score."""

    max_line_bytes: Annotated[int | None, CliForm(config_may_set="confirmed")] = Field(default=None, ge=1)
    """The maximum size of a row. Default: 64000000."""

    @property
    def max_row_bytes(self) -> int:
        return self.max_line_bytes or MAX_ROW_BYTES

    @property
    def grades(self) -> Mapping[str, float]:
        """The score of each level if any level is a number (grade), else empty; `6:1` gives 1 for 6, and 6 for 1."""
        if ends := GRADE_RANGE.fullmatch(next(iter(self.level_scores), "")):
            return {ends[2]: float(ends[1]), ends[1]: float(ends[2])}
        return self.level_scores if self.rules(typed_cells=True).describe_levels_if_numeric() else {}

    def rules(self, *, typed_cells: bool, decimal: DecimalMark | None = None) -> CellRules:
        missing = frozenset(value.casefold() for value in self.missing)
        return CellRules(typed_cells, missing, self.level_scores, decimal_comma=decimal == "comma")


DEFAULTS = ReadingOptions()


def changed_options(options: ReadingOptions) -> dict[str, str]:
    """Return the reading options that differ from the defaults, as texts by name; the text of a flag is empty."""
    texts: dict[str, str] = {}
    for name in ReadingOptions.model_fields:
        value = getattr(options, name)
        if value == getattr(DEFAULTS, name):
            continue
        match value:
            case True:
                texts[name] = ""
            case FieldMap():
                texts[name] = mapping_text(value.columns)
            case Mapping():
                ranges = [word for word in value if GRADE_RANGE.fullmatch(word)]
                words = {word: f"{score:g}" for word, score in value.items() if word not in ranges}
                texts[name] = ",".join(filter(None, (*ranges, mapping_text(words))))
            case tuple():
                texts[name] = comma_list(value)
            case _:
                texts[name] = _DELIMITER_NAMES.get(value, str(value))
    return texts


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """What was detected in a file of rows, or in other data; `where` is the name of the file or data.

    Attributes:
        unsure: an ambiguous score and how it is read, as in `'1.250' in line 3 as 1.25, not 1250`.
        usual: the usual delimiter of a file with this ending.
        merged: number of empty cells that were filled with the value of their merged range.
        hidden: notes on the hidden rows, columns and sheets of a workbook.
        tool: the kind of export, or of table, from which the rows were converted to rows of texts.
        choices: the distinct words of the answers to each question of an export, if these words have no score.
        details: notes on what was converted and what was left out.
        cells: for a table with a row for each rating: each column's number of filled cells, and its first filled cell.
    """

    where: str
    format: str
    encoding: str | None = None
    delimiter: str | None = None
    decimal: DecimalMark | None = None
    unsure: str | None = None
    usual: str | None = None
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    merged: int = 0
    hidden: tuple[str, ...] = ()
    tool: str | None = None
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    details: tuple[str, ...] = ()
    cells: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def encoding_name(self) -> str | None:
        return self.encoding and _ENCODING_NAMES.get(self.encoding, self.encoding)

    @property
    def delimiter_name(self) -> str | None:
        return self.delimiter and _DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))

    def assumptions(self) -> Iterator[str]:
        """Yield what was detected and is unusual for the format, with the option that changes it."""
        if self.encoding not in (None, UTF_8):
            yield f"encoding {self.encoding_name} (`encoding`)"
        if self.delimiter != self.usual:
            yield f"cells separated by {self.delimiter_name} (`delimiter`)"
        if self.decimal == "comma":
            yield "scores with a decimal comma (`decimal`)"
        if self.unsure:
            yield f"scores such as {self.unsure} (`decimal`)"
        if len(self.sheets) > 1:
            yield f"sheet {self.sheet!r} of {len(self.sheets)} (`sheet`)"
        yield from self.hidden
        if self.tool:
            yield "; ".join((f"rows converted from: {self.tool}", *self.details))
        if self.merged:
            yield f"{self.merged:,} merged cells filled with the value of their range"

    def no_rows_error(self) -> DataError:
        other_sheets = [name for name in self.sheets if name != self.sheet]
        if not other_sheets:
            needed = "Each row needs at least the field 'output', the text to judge."
            return DataError(f"{self.where} has no rows.", needed)
        hint = f"The other sheets are {', '.join(map(repr, other_sheets))}: `sheet={other_sheets[0]}`."
        return DataError(f"{self.where}: the sheet {self.sheet!r} has no rows.", hint)

    def note(self) -> str | None:
        assumptions = ", ".join(self.assumptions())
        return f"{self.where} is read with {assumptions}" if assumptions else None
