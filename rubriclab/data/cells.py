"""How single cells are read: as numbers, words with scores, missing values, lists or chats.

Without the option `level_scores`, only `VERDICT_WORDS` have scores. `LEVEL_RANKS` only serve to propose this option.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rubriclab.models.characters import comma_list, is_blank
from rubriclab.models.text import WordScore

# A column with more distinct words or numbers than this does not hold levels of a scale.
MAX_COLUMN_LEVELS = 12
# A range of grades whose lowest is the best, written WORST:BEST, such as 6:1.
GRADE_RANGE = re.compile(r"\s*(\d+):(\d+)\s*", re.ASCII)
# Numbers with a decimal point, perhaps with commas between thousands, as in 1,250.5.
_NUMBER = re.compile(r"[+-]?((\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXCHANGE_COMMA_AND_POINT = str.maketrans(",.", ".,")
_WORDS = tomllib.loads(Path(__file__).with_name("cell_words.toml").read_text("utf-8"))
MISSING_WORDS = frozenset(_WORDS["missing"])
PLACEHOLDER = re.compile(_WORDS["placeholder"])  # what is written in place of a text that does not exist
LEVEL_RANKS = {word: rank for rank, words in enumerate(_WORDS["levels"], start=1) for word in words}
VERDICT_WORDS = {word: float(score) for score, words in enumerate(_WORDS["verdicts"]) for word in words}
# The usual orders of words, from the worst to the best.
WORD_ORDERS = (VERDICT_WORDS, LEVEL_RANKS)
# The value that readers give a cell whose formula has no stored result, as in a workbook that a program wrote.
UNCALCULATED = "#formula without a stored result"


class CellError(str):
    """What a workbook shows for a formula without a result, such as `#DIV/0!`: neither a number nor a text to judge."""


@dataclass(frozen=True, slots=True)
class CellRules:
    """How cells are read.

    Attributes:
        typed_cells: whether numbers are stored as numbers (as in JSON and Parquet) rather than as texts (as in CSV).
        missing: texts that mean a missing value, in lower case without surrounding white space.
        level_scores: scores of words in lower case; a `WordScore` among them is a default score. If empty,
            `VERDICT_WORDS` have scores. `{"6:1": 7}` gives each grade from 1 to 6 the score 7 minus the grade.
        not_assessed: by field, the number of cells read so far in which raters say that the text cannot be assessed.
    """

    typed_cells: bool = True
    missing: frozenset[str] = frozenset()
    level_scores: Mapping[str, float] = field(default_factory=dict)
    decimal_comma: bool = False
    not_assessed: Counter[str] = field(default_factory=Counter, compare=False)

    def is_missing(self, cell: Any) -> bool:
        """Return whether a cell is null, one of the `missing` values or, if cells are untyped, blank."""
        if cell is None:
            return True
        if isinstance(cell, str):
            return (not self.typed_cells and is_blank(cell)) or cell.strip().casefold() in self.missing
        is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
        return bool(self.missing) and is_number and f"{cell:g}" in self.missing

    def score_of_word(self, text: str) -> WordScore | None:
        word = text.strip()
        score = (self.level_scores or VERDICT_WORDS).get(word.casefold())
        is_default_score = not self.level_scores or (isinstance(score, WordScore) and score.is_default_score)
        return None if score is None else WordScore(score, word, is_default_score=is_default_score)

    def describe_levels_if_numeric(self) -> str:
        """Return the levels, joined by commas, if one of them is a number or a range of grades; else `""`."""
        has_number = any(_NUMBER.fullmatch(level) or GRADE_RANGE.fullmatch(level) for level in self.level_scores)
        return ", ".join(self.level_scores) if has_number else ""

    def score_of_number(self, number: float) -> WordScore | None:
        for level, score_or_sum in self.level_scores.items():
            grades = GRADE_RANGE.fullmatch(level)
            if grades and int(grades[2]) <= number <= int(grades[1]):  # a grade and its score have this sum
                return WordScore(round(score_or_sum - number, 9), f"{number:g}", is_default_score=False)
        return self.score_of_word(f"{number:g}")

    def parse_number(self, text: str) -> float | None:
        digits = text.strip()
        if self.decimal_comma:
            digits = digits.translate(_EXCHANGE_COMMA_AND_POINT)
        return float(digits.replace(",", "")) if _NUMBER.fullmatch(digits) else None

    def split_list(self, text: str) -> list[str]:
        """Return the elements of a list, such as `4 5 3`, `[4, 5, 3]` or `agree; strongly agree`.

        White space separates only numbers, words for levels and missing values, since other elements may contain it.
        """
        if self.score_of_word(text) is not None:
            return [text]
        quoted = re.findall('"(.*?)"', text)  # in a JSON list, commas within quotes separate nothing
        elements: list[str] = []
        for part in quoted or re.split(";" if self.decimal_comma else "[,;]", text.strip("[]() \t")):
            words = part.split()
            words_are_elements = self.score_of_word(part) is None and all(
                self.is_missing(word) or self.score_of_word(word) is not None or self.parse_number(word) is not None
                for word in words
            )
            elements += words if words_are_elements else [part.strip()]
        return elements

    def is_list(self, cell: Any) -> bool:
        if self.typed_cells or not isinstance(cell, str):
            return isinstance(cell, list | tuple)
        is_one_score = self.score_of_word(cell) is not None or self.parse_number(cell) is not None
        return not is_one_score and (cell.strip()[:1] in "[(" or len(self.split_list(cell)) > 1)


JSON_RULES: Final = CellRules()
CSV_RULES: Final = CellRules(typed_cells=False)
DECIMAL_COMMA: Final = CellRules(typed_cells=False, decimal_comma=True)


def split_level_words(words: Iterable[str], *, beside_numbers: bool = False) -> tuple[dict[str, int | None], list[str]]:
    """Return the levels among words, worst first, with their scores, and the words for missing values.

    Scores are `None` if the order of the levels is unknown, or if the words share a scale with numbers
    (`beside_numbers`). Both results are empty if there are more than `MAX_COLUMN_LEVELS` distinct words.
    """
    distinct = list(dict.fromkeys(word.strip().casefold() for word in words))
    if len(distinct) > MAX_COLUMN_LEVELS:
        return {}, []
    missing = [word for word in distinct if word.strip(".-/ ") in MISSING_WORDS]
    levels = [word for word in distinct if word not in missing]
    levels.sort(key=lambda word: (LEVEL_RANKS.get(word, 0), word))
    ranks = {LEVEL_RANKS[word] for word in levels if word in LEVEL_RANKS}
    is_order_known = len(levels) > 1 and len(ranks) == len(levels) and not beside_numbers
    # Two levels are scored like fail and pass, as 0 and 1.
    lowest_score = 0 if len(levels) == 2 else 1
    scores = {word: score if is_order_known else None for score, word in enumerate(levels, start=lowest_score)}
    return scores, missing


def propose_level_scores(words: Iterable[str], *, beside_numbers: bool = False) -> str | None:
    """Return the text of options that read words as levels or missing values; `None` if there are too many words."""
    levels, missing = split_level_words(words, beside_numbers=beside_numbers)
    pairs = comma_list(f"{word}={'N' if score is None else score}" for word, score in levels.items())
    level_scores = f"`level_scores={pairs}`" if levels else ""
    missing_values = f"`missing={comma_list(missing)}`" if missing else ""
    return " ".join(filter(None, (level_scores, missing_values))) or None


def is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))


def chat_messages(value: Any) -> list[tuple[str, str]]:
    """Return the role and the content of each message of a chat; empty if `value` is no chat."""
    messages: list[tuple[str, str]] = []
    for element in value if isinstance(value, list | tuple) else ():
        message = element if isinstance(element, Mapping) else {}
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            return []
        messages.append((role, content))
    return messages
