"""How rows are read: the values of cells, the columns of fields, the options of readers, and what was detected.

A mapping names the columns of fields with other names, as in `output=summary,scores.coherence=coh`; one can be proposed
from the names and cells of the columns.
"""

from __future__ import annotations

import codecs
import math
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field

from rubriclab.base_options import INPUT, Flag, FromFound, Options
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.characters import comma_list, comma_values, is_blank
from rubriclab.models.text import WordScore, parse_scale

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


TEXT_FIELDS = ("source", "context", "reference")
NAME_FIELDS = ("id", "group", "system")
TABLES = ("scores", "annotations", "reasons")
RATING_FIELDS = (*TABLES, "aspect", "rater")
COMPARISON_FIELDS = ("preferred", "over", "tie", "ranking", "aspect", "rater")
FIELDS = ("output", *NAME_FIELDS, *TEXT_FIELDS, *TABLES, *COMPARISON_FIELDS)

_COLUMN_NAMES = tomllib.loads(Path(__file__).with_name("column_names.toml").read_text("utf-8"))
# Words in the names of columns of school grades and ranks, of which 1 is usually the best.
_LOWEST_IS_BEST = re.compile(r"[a-z]*noten?|rank|rang|platz|platzierung")
# Words in the names of columns of numbers that are not people's scores.
_MEASURED = re.compile(
    "bertscore|bleu|bleurt|char(acter)?s|chrf|comet|cost|count|duration|latency|length|logprob|loss|meteor|ms|perplexity"
    r"|price|probability|rouge\w*|seconds|similarity|time|tokens|words"
)
# Names of columns in a form with a question for each text: How good? [The text].
_FORM = re.compile(r"(.+?)\s*\[.+\]", re.DOTALL)
_RATER = re.compile(r"(?:rater|annotator|judge|coder|reviewer|person|bewerter|gutachter)[-]?\w+")
# Names of columns of one rater each, of the same stem; those of questions or criteria are not raters'.
_NUMBERED = re.compile(r"(?!q-?\d|question|item|criteri)([a-z-]+?)-?\d{1,2}")
_TEXTS = ("output", "source", "context", "reference")
# Minimum similarity (0 to 100) of two names that are considered the same.
_MIN_SIMILARITY = 88
# Minimum characters of the last word of a compound name, and words that are too general there.
_MIN_HEAD_LENGTH = 5
_GENERIC = ("input", "number", "passage", "original", "group", "model")
# Minimum characters, on average, of texts to judge rather than names.
_MIN_TEXT_LENGTH = 25
# The highest rating in columns of numbers whose names do not tell what they hold.
MAX_RATING = 10
_DECIMAL_RULES = (CellRules(typed=False), CellRules(typed=False, decimal_comma=True))

# Rows whose cells are kept to describe columns and propose a mapping.
MAX_SAMPLED = 200
# The value of a column that a row lacks; a column with null is not absent.
ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Columns by field; a field without an entry has a column of the same name.

    A column may be a dotted path into nested rows (`article.text`), also through all elements of a list
    (`ratings[].coherence`); a column of exactly this name takes precedence.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.columns:
            table, dot, aspect = name.partition(".")
            if name not in FIELDS and not (dot and table in TABLES and aspect.strip()):
                tables = "scores.ASPECT, annotations.ASPECT, annotations.ASPECT.RATER, reasons.ASPECT"
                fields = f"{', '.join(FIELDS)}, or {tables} and reasons.ASPECT.RATER"
                raise SettingsError(f"There is no field {name!r} to map; the fields are {fields}.")

    def without_absent_ratings(self, row: Any) -> FieldMap:
        """Return the mapping without the columns of ratings that a row does not have."""
        present: dict[str, str] = {}
        for name, column in self.columns.items():
            is_rating = name.partition(".")[0] in RATING_FIELDS and isinstance(row, Mapping)
            if not is_rating or look_up(row, column) is not ABSENT:
                present[name] = column
        return FieldMap(present)

    def aspects(self, table: str) -> dict[str, str]:
        """Return the columns mapped to single aspects of a table such as `scores`, or to an aspect's raters."""
        start = f"{table}."
        return {name[len(start) :]: column for name, column in self.columns.items() if name.startswith(start)}


class DefaultMap(FieldMap):
    """A mapping for files and tables in general, which rows with `output` under its own name do not need."""


NATIVE = FieldMap()


def parse_mapping(text: str) -> FieldMap:
    """Return the mapping in a text `FIELD=COLUMN,FIELD=COLUMN`; a pair that contains a comma needs quotation marks."""
    columns: dict[str, str] = {}
    for pair in comma_values(text) or [""]:
        name, _, column = (part.strip() for part in pair.partition("="))
        if not (name and column):
            form = "write FIELD=COLUMN, as in output=summary,scores.coherence=coh"
            quoted = "a pair that contains a comma needs quotation marks, as in 'id=Nr.,\"output=Text, final\"'"
            raise SettingsError(f"The mapping {pair.strip()!r} is not understood;", f"{form}; {quoted}.")
        if name in columns:
            problem = f"The field {name!r} is mapped twice, to {columns[name]!r} and {column!r}."
            raise SettingsError(problem, "Map it once; each rater has a field: annotations.ASPECT.RATER=COLUMN.")
        columns[name] = column
    return FieldMap(columns)


def without_ratings(text: str) -> str:
    """Return the text of a mapping without the columns of ratings and comparisons."""
    columns, text_fields = parse_mapping(text).columns, ("output", *NAME_FIELDS, *TEXT_FIELDS)
    return mapping_text({name: column for name, column in columns.items() if name in text_fields})


def mapping_text(columns: Mapping[str, str]) -> str:
    return comma_list(f"{name}={column}" for name, column in columns.items())


def look_up(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column or dotted path; `ABSENT` if there is none, null if the path leads through null.

    `ratings[].coherence` gives the values of all elements of a list that are neither absent nor null.
    """
    if column in row:
        return row[column]
    value: Any = row
    steps = column.split(".")
    for index, step in enumerate(steps, start=1):
        name = step.removesuffix("[]")
        if value is None:
            return None
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
        if name != step and value is not None:
            if not isinstance(value, list | tuple):
                return ABSENT
            path = ".".join(steps[index:])
            values = [look_up(each, path) if path and isinstance(each, Mapping) else each for each in value]
            return [each for each in values if each is not ABSENT and each is not None]
    return value


def proposed_columns(
    rows: Sequence[Mapping[str, Any]], mapping: Mapping[str, str], aspect: str | None
) -> dict[str, str]:
    """Return `mapping` with columns for other fields; scores of an unknown aspect get the placeholder `ASPECT`."""
    columns = {str(column) for row in rows for column in row}
    scored = {name for name in (*mapping, *columns) if name.startswith("scores.")}
    if aspect or len(scored) == 1:
        return {**mapping, **propose_mapping(rows, aspect or scored.pop().removeprefix("scores."), mapping)}
    proposal = propose_mapping(rows, mapped=mapping)
    if aspects := rated_aspects(rows, proposal.get("aspect") or mapping.get("aspect", "aspect")):
        columns_of_aspects = dict(mapping)
        for rated_aspect in aspects:
            columns_of_aspects |= propose_mapping(rows, rated_aspect, mapping)
        return columns_of_aspects
    has_scores = any(name.partition(".")[0] in TABLES for name in (*mapping, *columns))
    with_aspect = {} if has_scores else propose_mapping(rows, "ASPECT", mapping)
    return {**mapping, **with_aspect, **proposal}


def propose_mapping(
    rows: Sequence[Mapping[str, Any]], aspect: str | None = None, mapped: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return proposed columns by field, for the fields that are not `mapped` and have no column of their name.

    Columns are matched by usual names. Without a match, the output is the column of chats, or else the column with the
    longest texts. Columns of numbers become scores of `aspect`, or annotations if several are named after the aspect or
    raters or hold numbers of one small range. Without columns of numbers, columns of usual words for levels are taken.
    """
    cells = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    native = {column for column in cells if column.partition(".")[0] in (*FIELDS, *TABLES)} | mapped.keys()
    unmapped = {column: values for column, values in cells.items() if column not in (*native, *mapped.values())}
    proposal: dict[str, str] = {}
    numbers = {column for column, values in unmapped.items() if _are_numbers(values)}
    target = _plain(aspect or "")
    for match in (_find_named, _find_compound):
        for name, words in _COLUMN_NAMES["fields"].items():
            if name in native or name in proposal:
                continue
            columns = [column for column in unmapped if column not in proposal.values() and _plain(column) != target]
            usable = [column for column in columns if _may_hold(name, column, unmapped[column])]
            if column := match(usable, words.split()):
                proposal[name] = column
    if "output" not in proposal and "output" not in native:
        chats = (column for column, values in unmapped.items() if any(map(chat_messages, values)))
        if column := next(chats, None) or _find_longest(unmapped, proposal):
            proposal["output"] = column
    output = proposal.get("output") or mapped.get("output", "output")
    if output not in cells and len(form_columns(cells)) > 1:
        return {}
    proposal |= _rating_columns(unmapped, cells.get(output, ()), {*proposal.values(), *native})
    remaining = {column: values for column, values in unmapped.items() if column not in proposal.values()}
    if "system" not in native and "system" not in proposal:
        few = [name for name, values in remaining.items() if 1 < len(set(map(str, values))) <= len(values) / 2]
        names = _COLUMN_NAMES["system_versions"].split()
        if column := _find_named(few, names) or _find_compound(few, names):
            proposal["system"] = column
            del remaining[column]
    likely, of_level_words = _columns_of_words(remaining, aspect)
    score_columns = numbers - {column for column in numbers if _are_measured(column, unmapped[column], aspect)} | likely
    chosen = score_columns & remaining.keys() or of_level_words
    scored = {column: values for column, values in remaining.items() if column in chosen}
    is_scored = any(column.startswith((f"scores.{aspect}", f"annotations.{aspect}")) for column in native)
    others = rated_aspects(rows, proposal.get("aspect") or mapped.get("aspect", "aspect"))
    if aspect and not is_scored and (not others or target in map(_plain, others)):
        proposal |= dict(_score_fields(scored, aspect))
    label = {**mapped, **proposal}.get(f"scores.{aspect}", f"scores.{aspect}")
    if label in cells and not any(name.startswith("annotations") for name in (*native, *proposal)):
        proposal |= {f"annotations.{aspect}.{_plain(each)}": each for each in _numbered_raters(scored, cells[label])}
    return proposal


def propose_scores(rows: Sequence[Mapping[str, Any]], aspect: str, mapped: Mapping[str, str]) -> str | None:
    """Return a mapping of `mapped` and the columns that look like scores of `aspect`; `None` if no column does."""
    proposed = propose_mapping(rows, aspect, mapped)
    is_scored = any(name.partition(".")[0] in TABLES for name in proposed)
    return mapping_text({**mapped, **proposed}) if is_scored else None


def _may_hold(name: str, column: str, cells: Sequence[Any]) -> bool:
    """Return whether cells can be values of a field: texts are neither numbers nor ids, and ids differ."""
    if name in _TEXTS:
        return not (_are_numbers(cells) or _plain(column).endswith("-id"))
    if name == "group" and _plain(column) == "doc":
        return _mean_length(cells) < _MIN_TEXT_LENGTH  # longer, it holds the document
    present = [str(cell) for cell in cells if not _DECIMAL_RULES[0].is_missing(cell)]
    return name != "id" or len(set(present)) == len(present)


def _rating_columns(unmapped: Mapping[str, Sequence[Any]], outputs: Sequence[Any], mapped: set[str]) -> dict[str, str]:
    proposal: dict[str, str] = {}
    repeats = len(set(map(str, outputs))) < len(outputs)
    for name, words in _COLUMN_NAMES["ratings"].items():
        columns = {column: values for column, values in unmapped.items() if column not in (*mapped, *proposal.values())}
        few = [column for column, values in columns.items() if 1 < len(set(map(str, values))) <= len(values) / 2]
        column = _find_named(few, words.split())
        if name in mapped or not column:
            continue
        # Raters rate the same texts; names of aspects are words.
        fits = repeats if name == "rater" else not _are_numbers(unmapped[column])
        if fits:
            proposal[name] = column
    return proposal


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


def rated_aspects(rows: Sequence[Mapping[str, Any]], column: str) -> list[str]:
    values = dict.fromkeys(row.get(column) for row in rows)
    return [name.strip() for name in values if isinstance(name, str) and name.strip()]


def form_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns of a form that asks one question for each of several texts: `How good? [The text]`."""
    questions = {column: match[1] for column in columns if (match := _FORM.fullmatch(column))}
    counts = Counter(questions.values())
    return [column for column, question in questions.items() if counts[question] > 1]


def output_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of long texts whose names are an output's name and a number, letter or name: `Answer A`."""
    cells = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    texts = [column for column, values in cells.items() if _mean_length(values) >= _MIN_TEXT_LENGTH]
    beginnings = tuple(f"{name}-" for name in _COLUMN_NAMES["fields"]["output"].split())
    return [column for column in texts if _plain(column).startswith(beginnings)]


def may_rank_lowest_first(column: str) -> bool:
    return any(map(_LOWEST_IS_BEST.fullmatch, _plain(column).split("-")))


def is_score_name(column: str) -> bool:
    return _find_named([column], _COLUMN_NAMES["scores"].split()) is not None


def closest_column(name: str, columns: Sequence[str]) -> str | None:
    from rapidfuzz import fuzz, process

    match = process.extractOne(name, list(columns), scorer=fuzz.ratio, processor=_plain, score_cutoff=70)
    return match[0] if match else None


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(column) for row in rows for column in row))


def _plain(name: str) -> str:
    """Return a name in lower case without accents, its words joined by hyphens."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[^a-z0-9]+", "-", "".join(c for c in letters if not unicodedata.combining(c))).strip("-")


def _find_named(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column whose name is like one of `names`, the first of which is preferred; `None` without."""
    from rapidfuzz import fuzz

    for name in names:
        similar = [column for column in columns if fuzz.ratio(_plain(column), name) >= _MIN_SIMILARITY]
        if similar:
            return max(similar)
    return None


def _find_compound(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the first column whose last word is one of `names`, as in `customer question` or `Kundenfrage`."""
    heads = tuple(name for name in names if len(name) >= _MIN_HEAD_LENGTH and name not in _GENERIC)
    return next((column for column in columns if _plain(column).endswith(heads)), None)


def _find_longest(cells: Mapping[str, Sequence[Any]], mapped: Mapping[str, str]) -> str | None:
    """Return the column of the longest texts that is not mapped; `None` if these are short or not in words."""
    lengths: dict[str, float] = {}
    for column, values in cells.items():
        characters = "".join("".join(cell.split()) for cell in values if isinstance(cell, str))
        if column not in mapped.values() and sum(map(str.isalpha, characters)) > len(characters) / 2:
            lengths[column] = _mean_length(values)
    longest = max(lengths, key=lambda name: lengths[name], default=None)
    return longest if longest is not None and lengths[longest] >= _MIN_TEXT_LENGTH else None


def _mean_length(cells: Sequence[Any]) -> float:
    return sum(len(cell) for cell in cells if isinstance(cell, str)) / max(len(cells), 1)


def _columns_of_words(cells: Mapping[str, Sequence[Any]], aspect: str | None) -> tuple[set[str], set[str]]:
    """Return columns of a few short words: those that are likely scores, and those whose words are usual for levels."""
    by_name = {column for column in cells if is_score_name(column) or (aspect and _is_similar(column, aspect))}
    words: dict[str, set[str]] = {}
    for column, values in cells.items():
        column_words = _short_words(values)
        # One word alone is a score only in a column with the name of scores.
        if (1 if column in by_name else 2) <= len(column_words) <= MAX_LEVEL_WORDS:
            words[column] = column_words
    long = [column for column in words if len(cells[column]) > MAX_LEVEL_WORDS]
    alike = set[str]()
    for pair in combinations(long, 2):
        if _are_alike(words[pair[0]], words[pair[1]]):
            alike.update(pair)
    usual = {column for column in words if all(word in VERDICT_WORDS or is_level_word(word) for word in words[column])}
    return alike | (by_name & words.keys()), usual


def _short_words(cells: Sequence[Any]) -> set[str]:
    texts = {str(cell).strip().casefold() for cell in cells if isinstance(cell, str | bool)}
    return {text for text in texts if 0 < len(text) < _MIN_TEXT_LENGTH and not _numbers([text])}


def _are_alike(one: set[str], two: set[str]) -> bool:
    return 0 < len(one | two) <= 2 * len(one & two)


def _are_numbers(cells: Sequence[Any]) -> bool:
    filled_cells = [cell for cell in cells if not _DECIMAL_RULES[0].is_missing(cell)]
    return len(filled_cells) > 0 and len(_numbers(filled_cells)) >= 0.8 * len(filled_cells)


def _are_measured(column: str, cells: Sequence[Any], aspect: str | None) -> bool:
    if aspect is not None and _is_similar(column, aspect):
        return False
    if any(map(_MEASURED.fullmatch, _plain(column).split("-"))):
        return True
    numbers = _numbers(cells)
    differ = len(numbers) > MAX_RATING and len(set(numbers)) > len(numbers) / 2
    beyond = sum(not 0 <= number <= MAX_RATING for number in numbers) > 0.1 * len(numbers)
    return (differ or beyond) and not is_score_name(column)


def _is_similar(column: str, aspect: str) -> bool:
    from rapidfuzz import fuzz

    return bool(fuzz.partial_ratio(_plain(aspect), _plain(column)) >= _MIN_SIMILARITY)


def _numbers(cells: Iterable[Any]) -> list[float]:
    numbers = []
    for cell in cells:
        readings = [rule.number(cell) for rule in _DECIMAL_RULES] if isinstance(cell, str) else [cell]
        number = next((reading for reading in readings if reading is not None), None)
        if isinstance(number, int | float) and not isinstance(number, bool):
            numbers.append(number)
    return numbers


def _score_fields(cells: Mapping[str, Sequence[Any]], aspect: str) -> Iterator[tuple[str, str]]:
    columns, plain_aspect = list(cells), _plain(aspect)
    similar = [column for column in columns if _plain(column) == plain_aspect]
    if len(similar) != 1:
        similar = [column for column in columns if _is_similar(column, aspect)]
    raters = similar if len(similar) > 1 else [column for column in columns if _RATER.fullmatch(_plain(column))]
    first_words = {_plain(column).partition("-")[0] for column in columns}
    single = [column for column in columns if column not in _numbered_raters(cells)]
    if len(similar) == 1:
        yield f"scores.{aspect}", similar[0]
    elif len(raters) > 1:
        yield from ((f"annotations.{aspect}.{_rater(column, plain_aspect)}", column) for column in raters)
    elif len(first_words) == 1 < len(columns):
        yield from ((f"annotations.{aspect}.{_rater(column, *first_words)}", column) for column in columns)
    elif column := _find_named(single, _COLUMN_NAMES["scores"].split()) or (single[0] if len(single) == 1 else None):
        yield f"scores.{aspect}", column
        # Other columns with the same words are those of single raters.
        words = _short_words(cells[column])
        alike = [other for other in columns if other != column and _are_alike(_short_words(cells[other]), words)]
        yield from ((f"annotations.{aspect}.{_rater(other, plain_aspect)}", other) for other in alike)
    elif len(columns) > 1:
        yield from ((f"annotations.{aspect}.{_plain(column)}", column) for column in columns)


def _numbered_raters(cells: Mapping[str, Sequence[Any]], labels: Sequence[Any] = ()) -> list[str]:
    """Return the columns such as `a1` and `a2`, of one stem and on one small scale that `labels` do not exceed."""
    stems = {column: match[1] for column in cells if (match := _NUMBERED.fullmatch(_plain(column)))}
    values = {number for column in stems for number in _numbers(cells[column])}
    have_one_stem = len(stems) > 1 and len(set(stems.values())) == 1
    if not have_one_stem or not 1 < len(values) <= MAX_LEVEL_WORDS:
        return []
    return list(stems) if all(min(values) <= label <= max(values) for label in _numbers(labels)) else []


def _rater(column: str, aspect: str) -> str:
    return _plain(column).replace(aspect, "").strip("-") or _plain(column)


# Maximum size of a row: a line, a CSV record of several lines, or the cells of a Parquet row.
MAX_ROW_BYTES = 64_000_000
UTF_8: Final = "utf-8"
_ENCODING_NAMES = {UTF_8: "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"}
DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_DELIMITERS_BY_MARK = {mark: name for name, mark in DELIMITER_NAMES.items()}
Mark = Literal["point", "comma"]


def _field_map(value: Any) -> Any:
    if isinstance(value, str):
        return parse_mapping(value)
    return FieldMap(dict(value)) if isinstance(value, Mapping) else value


def _missing_values(value: Any) -> Any:
    parts = comma_values(value) if isinstance(value, str) else value
    return tuple(f"{part:g}" if isinstance(part, int | float) else part.strip() for part in parts)


def _level_scores(value: Any) -> Any:
    pairs = map(_parse_level, comma_values(value)) if isinstance(value, str) else value.items()
    scores: dict[str, float] = {}
    for label, score in pairs:
        word, number = str(label).strip().casefold(), float(score)
        level = UNTYPED.number(word)
        word = word if level is None else f"{level:g}"
        if not word or not math.isfinite(number):
            raise ValueError(f"expected a word and a finite number for each level, got {label!r} and {score!r}")
        if scores.setdefault(word, number) != number:
            both = f"{scores[word]:g} and {number:g}"
            raise ValueError(f"the word {word!r} has the scores {both}; give it one (case is ignored)")
    return scores


def _parse_level(pair: str) -> tuple[str, float]:
    word, equals, score = pair.rpartition("=")
    if re.fullmatch(r"\s*\d+:\d+\s*", pair):
        parse_scale(pair)
    try:
        return word, float(score if equals else "")
    except ValueError:
        form = "write WORD=SCORE with a decimal point, as in good=5,ok=3.5,bad=1"
        raise ValueError(f"{pair.strip()!r} is not understood; {form}") from None


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

    section: ClassVar[str] = INPUT
    from_found: ClassVar[FromFound] = "always"
    needs_ratings: ClassVar[bool] = True
    """Whether rows without the mapped columns of ratings are faulty."""

    mapping: Annotated[FieldMap, BeforeValidator(_field_map), Flag("--map", metavar="FIELD=COLUMN,…", joined=True)] = (
        NATIVE
    )
    """The columns that hold the fields, as in `output=summary,scores.coherence=coh`."""

    missing: Annotated[tuple[str, ...], BeforeValidator(_missing_values), Flag(metavar="VALUE,…", joined=True)] = ()
    """Values taken for missing in scores and in texts other than `output`, as in `n/a,-`; case is ignored."""

    level_scores: Annotated[
        Mapping[str, float], BeforeValidator(_level_scores), Flag("--levels", metavar="WORD=SCORE,…", joined=True)
    ] = Field(default_factory=dict)
    """The scores of words, as in `good=5,ok=3,bad=1`, or of grades of which 1 is the best, as in `1=3,2=2,3=1`."""

    sheet: Annotated[str | int | None, Flag(metavar="NAME|N")] = None
    """The sheet of an Excel workbook, by name or by number from 1. Default: the first that is not hidden."""

    skip_hidden: bool = False
    """Leave out hidden rows and columns of an Excel sheet, such as those that a filter hides."""

    header_rows: Annotated[int, Flag(metavar="N")] = Field(default=1, ge=1, le=10)
    """The number of header rows of a table; the names of a column are joined by dots."""

    skip_rows: Annotated[int, Flag(metavar="N")] = Field(default=0, ge=0, le=1000)
    """The number of rows above the header of a table, such as a title; blank rows count. Default: 0."""

    delimiter: Annotated[Annotated[str, BeforeValidator(_delimiter)] | None, Flag(metavar="CHARACTER")] = None
    """The delimiter of cells: a character, or tab, semicolon, comma, pipe. Default: detected."""

    encoding: Annotated[Annotated[str, BeforeValidator(_encoding)] | None, Flag(metavar="NAME")] = None
    """The encoding of a text file, such as cp1252. Default: detected."""

    decimal: Mark | None = None
    """The decimal separator of scores: 3.5 or 3,5. Default: detected."""

    skip_faulty: bool = False
    """Leave out faulty rows, and report their number. Without it, learning stops, and scoring gives them no score."""

    max_line_bytes: Annotated[int | None, Flag(from_found="confirmed")] = Field(default=None, ge=1)
    """The maximum size of a row. Default: 64000000."""

    @property
    def max_row_bytes(self) -> int:
        return self.max_line_bytes or MAX_ROW_BYTES

    @property
    def grades(self) -> Mapping[str, float]:
        """The levels if numbers are among them, such as grades of which 1 is the best; else none."""
        return self.level_scores if self.rules(typed=True).only_levels() else {}

    def rules(self, *, typed: bool, decimal: Mark | None = None) -> CellRules:
        missing = frozenset(value.casefold() for value in self.missing)
        return CellRules(typed, missing, self.level_scores, decimal_comma=decimal == "comma")


DEFAULTS = ReadingOptions()


def changed_options(options: ReadingOptions) -> dict[str, str]:
    """Return the reading options that differ from the defaults, as texts by name; a flag is empty."""
    values = {name: getattr(options, name) for name in ReadingOptions.model_fields}
    return {name: _option_text(value) for name, value in values.items() if value != getattr(DEFAULTS, name)}


def _option_text(value: Any) -> str:
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
        unsure: a score whose mark may be of decimals or of thousands, and how it is read.
        usual: the usual delimiter of a file with this ending.
        merged: cells of the sheet that have the value of a merged range.
        tool, details: the export that the rows are read as, and notes on how it is read and what is left out.
        choices: for an export, the words of each question whose words have no scores.
        cells: for joined ratings, the number of cells in each column and the first of them.
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
    cells: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def encoding_name(self) -> str | None:
        return self.encoding and _ENCODING_NAMES.get(self.encoding, self.encoding)

    @property
    def delimiter_name(self) -> str | None:
        return self.delimiter and _DELIMITERS_BY_MARK.get(self.delimiter, repr(self.delimiter))

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
            yield "; ".join((f"its rows taken for those of: {self.tool}", *self.details))
        if self.merged:
            yield f"{self.merged:,} merged cells filled with the value of their range"

    def no_rows_error(self) -> DataError:
        others = [name for name in self.sheets if name != self.sheet]
        if not others:
            needed = "Each row needs at least the field 'output', the text to judge."
            return DataError(f"{self.where} has no rows.", needed)
        hint = f"The other sheets are {', '.join(map(repr, others))}: `sheet={others[0]}`."
        return DataError(f"{self.where}: the sheet {self.sheet!r} has no rows.", hint)

    def note(self) -> str | None:
        assumptions = ", ".join(self.assumptions())
        return f"{self.where} is read with {assumptions}" if assumptions else None
