"""How cells are read: numbers, words for levels and verdicts, missing values, lists and chats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rubriclab.models.characters import comma_list, is_blank
from rubriclab.models.text import WordScore

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
# Words for the two levels of a verdict, the worse one first. Words such as good and bad may belong to a longer scale.
_VERDICTS = (
    "false|fail|failed|no|incorrect|reject|rejected|👎|thumbs_down|thumbs down|thumbs-down|nein|falsch",
    "true|pass|passed|yes|correct|accept|accepted|👍|thumbs_up|thumbs up|thumbs-up|ja|richtig",
)
VERDICT_WORDS = {word: float(score) for score, words in enumerate(_VERDICTS) for word in words.split("|")}

# The error of a formula that no spreadsheet has calculated, as in a workbook that a program wrote.
UNCALCULATED = "#formula without a stored result"


class CellError(str):
    """What a workbook shows for a formula without a result, such as `#DIV/0!`: neither a number nor a text to judge."""


@dataclass(frozen=True, slots=True)
class CellRules:
    """How cells are read.

    Attributes:
        typed: whether numbers are stored as numbers (JSON, Parquet) rather than as text (CSV).
        missing: texts that mean a missing value, in lower case without surrounding white space.
        level_scores: scores of words in lower case; if empty, `VERDICT_WORDS` are used.
        not_assessed: by field, how many raters' cells say that the text cannot be assessed.
    """

    typed: bool = True
    missing: frozenset[str] = frozenset()
    level_scores: Mapping[str, float] = field(default_factory=dict)
    decimal_comma: bool = False
    not_assessed: Counter[str] = field(default_factory=Counter, compare=False)

    def is_missing(self, cell: Any) -> bool:
        if cell is None:
            return True
        if isinstance(cell, str):
            return (not self.typed and is_blank(cell)) or cell.strip().casefold() in self.missing
        number = isinstance(cell, int | float) and not isinstance(cell, bool)
        return bool(self.missing) and number and f"{cell:g}" in self.missing

    def level(self, text: str) -> WordScore | None:
        word = text.strip()
        score = (self.level_scores or VERDICT_WORDS).get(word.casefold())
        return None if score is None else WordScore(score, word, not self.level_scores)

    def only_levels(self) -> str:
        """Return the levels if numbers are among them, so that no other number is a score; else an empty text."""
        return ", ".join(self.level_scores) if any(map(_NUMBER.fullmatch, self.level_scores)) else ""

    def number(self, text: str) -> float | None:
        written = text.strip().translate(_EXCHANGED) if self.decimal_comma else text.strip()
        return float(written.replace(",", "")) if _NUMBER.fullmatch(written) else None

    def elements(self, text: str) -> list[str]:
        """Return the elements of a list, such as `4 5 3`, `[4, 5, 3]` or `agree; strongly agree`.

        White space divides only numbers, words for levels and missing values, since other elements may have spaces.
        """
        if self.level(text) is not None:
            return [text]
        divided = (_SEMICOLONS if self.decimal_comma else _COMMAS).split(text.strip("[]() \t"))
        return [value for words in divided for value in self._values(words.strip())]

    def is_list(self, cell: Any) -> bool:
        if self.typed or not isinstance(cell, str):
            return isinstance(cell, list | tuple)
        is_one_score = self.level(cell) is not None or self.number(cell) is not None
        return not is_one_score and (cell.strip()[:1] in "[(" or len(self.elements(cell)) > 1)

    def _values(self, words: str) -> list[str]:
        def is_value(part: str) -> bool:
            return self.is_missing(part) or self.level(part) is not None or self.number(part) is not None

        parts = words.split()
        return parts if self.level(words) is None and all(map(is_value, parts)) else [words]


TYPED: Final = CellRules()
UNTYPED: Final = CellRules(typed=False)


def split_level_words(words: Iterable[str], *, beside_numbers: bool = False) -> tuple[dict[str, int | None], list[str]]:
    """Return the levels among words, worst first, with their scores if the order is known, and the missing values.

    Beside numbers the scores are unknown, since words and numbers are levels of one scale.
    """
    distinct = list(dict.fromkeys(word.strip().casefold() for word in words))
    if len(distinct) > MAX_LEVEL_WORDS:
        return {}, []
    missing = [word for word in distinct if word.strip(".-/ ") in MISSING_WORDS]
    levels = sorted((word for word in distinct if word not in missing), key=lambda word: (_RANK.get(word, 0), word))
    ranks = {_RANK[word] for word in levels if word in _RANK}
    is_ordered = len(levels) > 1 and len(ranks) == len(levels) and not beside_numbers
    # Two levels are those of a rubric for pass and fail, 0 and 1.
    first = 0 if len(levels) == 2 else 1
    scores = {word: number if is_ordered else None for number, word in enumerate(levels, start=first)}
    return scores, missing


def propose_level_scores(words: Iterable[str], *, beside_numbers: bool = False) -> str | None:
    """Return the options that would read words among scores: scores of levels, worst first, and missing values."""
    levels, missing = split_level_words(words, beside_numbers=beside_numbers)
    pairs = comma_list(f"{word}={'N' if number is None else number}" for word, number in levels.items())
    proposals = [f"`level_scores={pairs}`"] if levels else []
    proposals += [f"`missing={comma_list(missing)}`"] if missing else []
    return " ".join(proposals) or None


def is_level_word(word: str) -> bool:
    return word.casefold() in _RANK


def is_worse(first: str, second: str) -> bool:
    """Return whether the usual meaning of two words in lower case is known, and the first is the worse."""
    return any(first in ranks and second in ranks and ranks[first] < ranks[second] for ranks in (VERDICT_WORDS, _RANK))


def chat_messages(value: Any) -> list[tuple[str, str]]:
    """Return the role and the content of each message; empty for what is no chat."""
    messages: list[tuple[str, str]] = []
    elements = value if isinstance(value, list | tuple) else ()
    for element in elements:
        message = element if isinstance(element, Mapping) else {}
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            return []
        messages.append((role, content))
    return messages
