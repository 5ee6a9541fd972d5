"""The values of cells: numbers, words for levels, and missing values, and proposals for such words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from rubriclab.models.characters import comma_list, is_blank

# With more different words than this, the words of a column are not levels of a scale.
MAX_LEVEL_WORDS = 12
# Numbers with a decimal point, also with thousands as in 1,250.5; commas and points are exchanged for a decimal comma.
_NUMBER = re.compile(r"[+-]?((\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXCHANGED = str.maketrans(",.", ".,")
_COMMAS = re.compile(r"[,;]")
_SEMICOLONS = re.compile(r";")
MISSING_WORDS = frozenset({"n/a", "na", "none", "null", "missing", "unknown", "nan", "k.a", "k. a"}) | {
    # What a workbook shows for a formula without a result.
    *("#div/0!", "#n/a", "#name?", "#null!", "#num!", "#ref!", "#value!")
}
# Words for levels, the worst first, in English and German.
_LEVEL_WORDS = (
    "strongly disagree|very bad|very poor|terrible|sehr schlecht|stimme überhaupt nicht zu|trifft gar nicht zu"
    "|never|none",
    "disagree|bad|poor|low|weak|no|false|fail|schlecht|nein|stimme nicht zu|trifft nicht zu|rarely",
    "somewhat disagree|slightly disagree|stimme eher nicht zu|trifft eher nicht zu",
    "neutral|neither agree nor disagree|undecided|ok|okay|fair|medium|average|moderate|acceptable|partly|sometimes"
    "|mittel|teilweise|teils/teils|weder noch|unentschieden",
    "somewhat agree|slightly agree|stimme eher zu|trifft eher zu",
    "agree|good|high|strong|yes|true|pass|gut|ja|stimme zu|trifft zu|often",
    "strongly agree|very good|sehr gut|stimme voll zu|stimme voll und ganz zu|trifft voll zu|trifft voll und ganz zu"
    "|always",
    "excellent|perfect|outstanding",
)
_RANK = {word: rank for rank, words in enumerate(_LEVEL_WORDS, start=1) for word in words.split("|")}
# Words for the two levels of a verdict, the worse one first. Words such as good and bad can be of a longer scale.
_VERDICTS = (
    "false|fail|failed|no|incorrect|reject|rejected|👎|thumbs_down|thumbs down|thumbs-down|nein|falsch",
    "true|pass|passed|yes|correct|accept|accepted|👍|thumbs_up|thumbs up|thumbs-up|ja|richtig",
)
VERDICT_WORDS = {word: float(score) for score, words in enumerate(_VERDICTS) for word in words.split("|")}
# Raters' answers that they cannot judge a text.
CANNOT_ASSESS = frozenset({"cannot assess", "can't assess", "cannot judge", "not applicable", "n/a", "n.a.", "n. a."})


class WordScore(float):
    """The score of a word for a level.

    Attributes:
        word: as in the cell.
        usual: whether the score is that of a usual word for a verdict, not one that the user gave it.
    """

    word: str
    usual: bool

    def __new__(cls, score: float, word: str, usual: bool) -> Self:
        level = super().__new__(cls, score)
        level.word, level.usual = word, usual
        return level

    def __reduce__(self) -> tuple[type[WordScore], tuple[float, str, bool]]:
        return WordScore, (float(self), self.word, self.usual)


class CellError(str):
    """What a workbook shows for a formula without a result, such as `#DIV/0!`: neither a number nor a text to judge."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CellRules:
    """How cells are read.

    Attributes:
        typed: whether numbers are stored as numbers (JSON, Parquet) rather than as text (CSV).
        missing: texts that mean a missing value, in lower case without surrounding white space.
        level_scores: the score of each word for a level, by the word in lower case; without any, words for verdicts
            (`VERDICT_WORDS`) are read.
        decimal_comma: whether texts write numbers with a decimal comma.
        not_assessed: by field, the number of answers that a text cannot be assessed.
    """

    typed: bool = True
    missing: frozenset[str] = frozenset()
    level_scores: Mapping[str, float] = field(default_factory=dict)
    decimal_comma: bool = False
    not_assessed: Counter[str] = field(default_factory=Counter, compare=False)

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

    def level(self, text: str) -> WordScore | None:
        """Return the score of a word for a level; `None` for any other text."""
        word = text.strip()
        score = (self.level_scores or VERDICT_WORDS).get(word.casefold())
        return None if score is None else WordScore(score, word, not self.level_scores)

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


def proposed_level_scores(given: Iterable[str]) -> str | None:
    """Return options for words among scores: scores for levels, the worst first, and missing values."""
    words = list(dict.fromkeys(word.strip().casefold() for word in given))
    if not words or len(words) > MAX_LEVEL_WORDS:
        return None
    missing = [word for word in words if word.strip(".-/ ") in MISSING_WORDS]
    levels = sorted((word for word in words if word not in missing), key=lambda word: (_RANK.get(word, 0), word))
    ranks = {_RANK[word] for word in levels if word in _RANK}
    known = len(levels) > 1 and len(ranks) == len(levels)
    pairs = comma_list(f"{word}={number if known else 'N'}" for number, word in enumerate(levels, start=1))
    proposals = [f"`level_scores={pairs}`"] if levels else []
    proposals += [f"`missing={comma_list(missing)}`"] if missing else []
    return " ".join(proposals)


def is_level_word(word: str) -> bool:
    """Return whether a word is a usual one for a level."""
    return word.casefold() in _RANK
