"""The values of cells: numbers, words for levels, and missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rubriclab.characters import is_blank

# With more different words than this, the words of a column are not levels of a scale.
MOST_WORDS = 12
# Numbers with a decimal point, also with thousands as in 1,250.5; commas and points are exchanged for a decimal comma.
_NUMBER = re.compile(r"[+-]?((\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXCHANGED = str.maketrans(",.", ".,")
_COMMAS = re.compile(r"[,;]")
_SEMICOLONS = re.compile(r";")


class CellError(str):
    """What a workbook shows for a formula without a result, such as `#DIV/0!`: neither a number nor a text to judge."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CellRules:
    """How cells are read.

    Attributes:
        typed: whether numbers are stored as numbers (JSON, Parquet) rather than as text (CSV).
        missing: texts that mean a missing value, in lower case without surrounding white space.
        level_scores: the score of each word for a level, by the word in lower case.
        decimal_comma: whether texts write numbers with a decimal comma.
    """

    typed: bool = True
    missing: frozenset[str] = frozenset()
    level_scores: Mapping[str, float] = field(default_factory=dict)
    decimal_comma: bool = False

    def is_missing(self, cell: Any) -> bool:
        """Return whether a cell is empty or has one of the values in `missing`."""
        if cell is None:
            return True
        if isinstance(cell, str):
            return (not self.typed and is_blank(cell)) or (
                bool(self.missing) and cell.strip().casefold() in self.missing
            )
        number = isinstance(cell, int | float) and not isinstance(cell, bool)
        return bool(self.missing) and number and f"{cell:g}" in self.missing

    def level(self, text: str) -> float | None:
        """Return the score of a word for a level; `None` for any other text."""
        return self.level_scores.get(text.strip().casefold())

    def number(self, text: str) -> float | None:
        """Return the number in a text; `None` if it is not a number."""
        written = text.strip().translate(_EXCHANGED) if self.decimal_comma else text.strip()
        return float(written.replace(",", "")) if _NUMBER.fullmatch(written) else None

    def parts(self, text: str) -> list[str]:
        """Return the parts of a list, such as `4 5 3`, `[4, 5, 3]` or `agree; strongly agree`.

        White space divides only numbers, words for levels and missing values, since other words can have several parts.
        """
        if self.level(text) is not None:
            return [text]
        divided = (_SEMICOLONS if self.decimal_comma else _COMMAS).split(text.strip("[]() \t"))
        return [part for words in divided for part in self._values(words.strip())]

    def is_list(self, text: str) -> bool:
        """Return whether a text holds several values; `1,250` is one number."""
        return (
            self.level(text) is None
            and self.number(text) is None
            and (text.strip()[:1] in "[(" or len(self.parts(text)) > 1)
        )

    def _values(self, words: str) -> list[str]:
        parts = words.split()
        values = (
            self.is_missing(part) or self.level(part) is not None or self.number(part) is not None for part in parts
        )
        return parts if self.level(words) is None and all(values) else [words]


TYPED: Final = CellRules()
UNTYPED: Final = CellRules(typed=False)
