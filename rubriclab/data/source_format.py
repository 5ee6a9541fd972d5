"""The detected format of a file of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rubriclab.data.formats import NAMES, UTF_8
from rubriclab.errors import DataError
from rubriclab.option_names import option

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """The detected format of a file of rows.

    Attributes:
        where: the file, or a name for another source.
        format: such as `CSV`; `rows` for data in memory.
        encoding: Python's name of it; `None` unless the file is text.
        delimiter: the separator of cells; `None` unless the file is CSV or similar.
        decimal_comma: whether scores have a decimal comma.
        decimal_point: whether any column of a text file has numbers with a decimal point, or these were asked for.
        unsure: a score that could be a decimal or a thousand, and how it is read; `None` if there is none.
        usual: the usual delimiter of the format.
        sheet: the sheet of a workbook that is read, of `sheets`.
        merged: cells of the sheet that have the value of a merged range.
        tool: the annotation tool's export that the rows are read as; `None` for other rows.
        choices: of this export, the words of each question whose words have no scores.
        details: what of this export is read as what, and what is left out.
    """

    where: str
    format: str
    encoding: str | None = None
    delimiter: str | None = None
    decimal_comma: bool = False
    decimal_point: bool = False
    unsure: str | None = None
    usual: str | None = None
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    merged: int = 0
    tool: str | None = None
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    details: tuple[str, ...] = ()

    @property
    def encoding_name(self) -> str | None:
        """The encoding as people write it."""
        return self.encoding and NAMES.get(self.encoding, self.encoding)

    @property
    def delimiter_name(self) -> str | None:
        """The name of the delimiter, or the character itself."""
        return self.delimiter and DELIMITERS.get(self.delimiter, repr(self.delimiter))

    def assumptions(self) -> Iterator[str]:
        """Yield what was detected and is unusual for the format, with the option that sets it."""
        if self.encoding not in (None, UTF_8):
            yield f"encoding {self.encoding_name} ({option('encoding')})"
        if self.delimiter != self.usual:
            yield f"cells separated by {self.delimiter_name} ({option('delimiter')})"
        if self.decimal_comma:
            yield f"scores with a decimal comma ({option('decimal')})"
        if self.unsure:
            yield f"scores such as {self.unsure} ({option('decimal')})"
        if len(self.sheets) > 1:
            yield f"sheet {self.sheet!r} of {len(self.sheets)} ({option('sheet')})"
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
