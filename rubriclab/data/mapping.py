"""Mapping of fields to columns with other names: `output=summary,scores.coherence=coh`; also proposed ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from rubriclab.errors import SettingsError
from rubriclab.models.cells import (
    MOST_WORDS,
    VERDICT_WORDS,
    CellRules,
    is_level_word,
)
from rubriclab.models.characters import comma_list, comma_values

TEXT_FIELDS = ("source", "context", "reference")
NAME_FIELDS = ("id", "group", "system")
TABLES = ("scores", "annotations", "reasons")
COMPARISON_FIELDS = ("preferred", "over", "tie", "ranking", "aspect", "rater")
FIELDS = ("output", *NAME_FIELDS, *TEXT_FIELDS, *TABLES, *COMPARISON_FIELDS)

KNOWN = (
    f"{', '.join(FIELDS)}, or scores.ASPECT, annotations.ASPECT, annotations.ASPECT.RATER, reasons.ASPECT and "
    "reasons.ASPECT.RATER"
)
# Usual names of columns, in English and German, preferred ones first.
_NAMES = {
    "output": "output text summary response answer reply completion generation generated hypothesis candidate "
    "translation story essay zusammenfassung antwort ausgabe",
    "source": "source article document input passage original artikel quelle dokument quelltext",
    "context": "context dialogue conversation history prompt question instruction kontext frage dialog",
    "reference": "reference gold target reference-answer model-answer referenz musterloesung musterantwort",
    "id": "id key item item-id text-id nr number nummer",
    "group": "group group-id doc-id document-id article-id source-id prompt-id topic gruppe thema",
    "system": "system model model-name system-id modell",
}
# Columns of tables with a row for each rating.
_RATING_NAMES = {
    "aspect": "aspect dimension criterion kriterium aspekt",
    "rater": "rater annotator worker coder reviewer judge user rater-id annotator-id worker-id user-id bewerter "
    "gutachter",
}
_SCORE_NAMES = ("score", "rating", "label", "grade", "mean", "human", "bewertung", "note", "punkte", "wertung")
# Words in the names of columns of numbers that are not people's scores.
_MEASURED = re.compile(
    "bertscore|bleu|bleurt|char(acter)?s|chrf|comet|cost|count|duration|latency|length|logprob|loss|meteor|ms|perplexity"
    r"|price|probability|rouge\w*|seconds|similarity|time|tokens|words"
)
# Columns of a form with a question for each text: How good? [The text].
_FORM = re.compile(r"(.+?)\s*\[.+\]", re.DOTALL)
_RATER = re.compile(r"(?:rater|annotator|judge|coder|reviewer|person|bewerter|gutachter)[-]?\w+")
_TEXTS = ("output", "source", "context", "reference")
# Minimum similarity (0 to 100) of two names that are considered the same.
_SAME = 88
# Minimum characters of the last word of a compound, and words that say too little as one.
_SHORTEST_HEAD = 5
_GENERIC = ("input", "number", "passage", "original", "group", "model")
# Minimum characters of texts that are considered more than names.
_TEXT = 25
# The highest rating in columns of numbers whose names say nothing.
MOST_RATED = 10
_RULES = (CellRules(typed=False), CellRules(typed=False, decimal_comma=True))


class Absent:
    """The value of a column that a row lacks; a column with null is not absent."""


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Columns by field; a field without an entry has a column of the same name.

    `columns` maps fields (`output`, `scores.coherence`, ...) to columns. A column may be a dotted path into nested rows
    (`article.text`), also through all elements of a list (`ratings[].coherence`); a column of exactly this name takes
    precedence.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.columns:
            table, dot, aspect = name.partition(".")
            if name not in FIELDS and not (dot and table in TABLES and aspect.strip()):
                raise SettingsError(f"There is no field {name!r} to map; the fields are {KNOWN}.")

    def aspects(self, table: str) -> dict[str, str]:
        """Return the columns mapped to single aspects of a table such as `scores`, or to an aspect's raters."""
        start = f"{table}."
        return {name[len(start) :]: column for name, column in self.columns.items() if name.startswith(start)}


NATIVE = FieldMap()


def parse_mapping(text: str) -> FieldMap:
    """Return the mapping in a text `FIELD=COLUMN,FIELD=COLUMN`; a pair that contains a comma needs quotation marks.

    Raises:
        SettingsError: if `text` does not have this form, or names an unknown field or a field twice.
    """
    columns: dict[str, str] = {}
    for pair in comma_values(text) or [""]:
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise SettingsError(
                f"The mapping {pair.strip()!r} is not understood;",
                "write FIELD=COLUMN, as in output=summary,scores.coherence=coh; a pair that contains a comma needs "
                "quotation marks, as in 'id=Nr.,\"output=Text, final\"'.",
            )
        if name in columns:
            raise SettingsError(
                f"The field {name!r} is mapped twice, to {columns[name]!r} and {column!r}.", _several_raters(name)
            )
        columns[name] = column
    return FieldMap(columns)


def _several_raters(name: str) -> str | None:
    """Return how to map the columns of several raters; `None` for other fields than annotations."""
    table, _, aspect = name.partition(".")
    if table != "annotations":
        return None
    aspect = aspect.partition(".")[0] or "ASPECT"
    return f"Give each rater a name: annotations.{aspect}.anna=COLUMN,annotations.{aspect}.ben=COLUMN."


def mapping_text(columns: Mapping[str, str]) -> str:
    """Return a mapping as `parse_mapping` reads it."""
    return comma_list(f"{name}={column}" for name, column in columns.items())


def look_up(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column or dotted path; `ABSENT` if the row has no such column.

    A path through null gives null, since a nested object may be missing in some rows. `NAME[]` stands for every element
    of a list: `ratings[].coherence` gives a list of the values that are neither absent nor null.
    """
    if column in row:
        return row[column]
    value: Any = row
    parts = column.split(".")
    for place, part in enumerate(parts, start=1):
        name = part.removesuffix("[]")
        if value is None:
            return None
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
        if name != part and value is not None:
            if not isinstance(value, list | tuple):
                return ABSENT
            rest = ".".join(parts[place:])
            found = [look_up(each, rest) if rest and isinstance(each, Mapping) else each for each in value]
            return [each for each in found if each is not ABSENT and each is not None]
    return value


def proposed_mapping(
    rows: Sequence[Mapping[str, Any]], aspect: str | None = None, mapped: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return proposed columns by field, for the fields without a column of their name; empty if nothing is similar.

    Fields that are `mapped` to columns, and these columns, are left out, and so are scores of an aspect that has mapped
    ones.

    Columns are matched by usual names; without a match, the column with the longest texts is the output. Columns of
    numbers become scores of `aspect`, or annotations if several columns are named after the aspect or after raters, or
    hold numbers of one small range; so do columns of usual words for levels if there are no others.
    """
    cells = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    native = {column for column in cells if column.partition(".")[0] in (*FIELDS, *TABLES)} | mapped.keys()
    free = {column: values for column, values in cells.items() if column not in (*native, *mapped.values())}
    proposal: dict[str, str] = {}
    numbers = {column for column, values in free.items() if _are_numbers(values)}
    about = _plain(aspect or "")
    for match in (_named, _compound):
        for name, words in _NAMES.items():
            untaken = [column for column in free if column not in proposal.values() and _plain(column) != about]
            usable = [column for column in untaken if name not in _TEXTS or column not in numbers]
            if name not in native and name not in proposal and (column := match(usable, words.split())):
                proposal[name] = column
    if "output" not in proposal and "output" not in native and (column := _longest(free, proposal)):
        proposal["output"] = column
    output = proposal.get("output") or mapped.get("output", "output")
    if output not in cells and len(form_columns(cells)) > 1:
        return {}
    proposal |= _rating_columns(free, cells.get(output, ()), {*proposal.values(), *native})
    left = {column: values for column, values in free.items() if column not in proposal.values()}
    worded, usual = _levels(left, aspect)
    found = numbers - {column for column in numbers if _are_measured(column, free[column], aspect)} | worded
    scored = {column: values for column, values in left.items() if column in (found & left.keys() or usual)}
    is_scored = any(column.startswith((f"scores.{aspect}", f"annotations.{aspect}")) for column in native)
    others = rated_aspects(rows, proposal.get("aspect") or mapped.get("aspect", "aspect"))
    if aspect and not is_scored and (not others or about in map(_plain, others)):
        proposal |= dict(_scores(scored, aspect))
    return proposal


def _rating_columns(free: Mapping[str, Sequence[Any]], outputs: Sequence[Any], taken: set[str]) -> dict[str, str]:
    """Return the columns of the aspects and, if texts repeat, of the raters of a table with a row for each rating."""
    found: dict[str, str] = {}
    repeat = len(set(map(str, outputs))) < len(outputs)
    for name, words in _RATING_NAMES.items():
        untaken = {column: values for column, values in free.items() if column not in (*taken, *found.values())}
        few = [column for column, values in untaken.items() if 1 < len(set(map(str, values))) <= len(values) / 2]
        column = _named(few, words.split())
        if name not in taken and column and (repeat if name == "rater" else not _are_numbers(free[column])):
            found[name] = column
    return found


def rated_aspects(rows: Sequence[Mapping[str, Any]], column: str) -> list[str]:
    """Return the aspects that a table with a row for each rating names in a column."""
    named = dict.fromkeys(row.get(column) for row in rows)
    return [name.strip() for name in named if isinstance(name, str) and name.strip()]


def form_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns of a form that asks one question for each of several texts: `How good? [The text]`."""
    asked = {column: match[1] for column in columns if (match := _FORM.fullmatch(column))}
    return [column for column, question in asked.items() if list(asked.values()).count(question) > 1]


def output_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of long texts that are named like an output and a number, letter or name: `Answer A`."""
    names = _NAMES["output"].split()
    cells = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    long = [column for column, values in cells.items() if _mean_length(values) >= _TEXT]
    return [column for column in long if _plain(column).split("-")[0] in names and "-" in _plain(column)]


def is_score_name(column: str) -> bool:
    """Return whether a column is named like one of scores: `score`, `rating`, `Bewertung`."""
    return _named([column], _SCORE_NAMES) is not None


def closest_column(name: str, columns: Sequence[str]) -> str | None:
    """Return the column with the name most similar to a misspelt one; `None` if none is similar."""
    from rapidfuzz import fuzz, process

    match = process.extractOne(name, list(columns), scorer=fuzz.ratio, processor=_plain, score_cutoff=70)
    return match[0] if match else None


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(column) for row in rows for column in row))


def _plain(name: str) -> str:
    """Return a name in lower case without accents, its words joined by hyphens."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[^a-z0-9]+", "-", "".join(c for c in letters if not unicodedata.combining(c))).strip("-")


def _named(columns: Sequence[str], names: Sequence[str]) -> str | None:
    from rapidfuzz import fuzz

    scored = [
        (fuzz.ratio(_plain(column), name) >= _SAME, -place, column)
        for place, name in enumerate(names)
        for column in columns
    ]
    same, _, column = max(scored, default=(False, 0, ""))
    return column if same else None


def _compound(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the first column whose last word is one of `names`, as in `customer question` or `Kundenfrage`."""
    heads = [name for name in names if len(name) >= _SHORTEST_HEAD and name not in _GENERIC]
    return next((column for column in columns if _plain(column).endswith(tuple(heads))), None) if heads else None


def _longest(cells: Mapping[str, Sequence[Any]], mapped: Mapping[str, str]) -> str | None:
    lengths = {
        column: _mean_length(values)
        for column, values in cells.items()
        if column not in mapped.values() and _are_wordy(values)
    }
    column = max(lengths, key=lambda name: lengths[name], default=None)
    return column if column is not None and lengths[column] >= _TEXT else None


def _are_wordy(cells: Sequence[Any]) -> bool:
    """Return whether texts are mostly of letters, unlike dates and numbers."""
    characters = "".join("".join(cell.split()) for cell in cells if isinstance(cell, str))
    return sum(map(str.isalpha, characters)) > len(characters) / 2


def _mean_length(cells: Sequence[Any]) -> float:
    return sum(len(cell) for cell in cells if isinstance(cell, str)) / max(len(cells), 1)


def _levels(cells: Mapping[str, Sequence[Any]], aspect: str | None) -> tuple[set[str], set[str]]:
    """Return the columns of a few short words that are scores by their names or another such column, or by their words.

    The names are those of scores or of the aspect; the words are those of another column of the first kind, or, for the
    second set, usual ones for levels.
    """
    texts = {
        column: [str(cell).strip().casefold() for cell in values if isinstance(cell, str | bool)]
        for column, values in cells.items()
    }
    words = {column: {text for text in found if 0 < len(text) < _TEXT} for column, found in texts.items()}
    named = {column for column in cells if is_score_name(column) or (aspect and _is_similar(column, aspect))}
    few = {column: found for column, found in words.items() if (column not in named) < len(found) <= MOST_WORDS}
    many = [column for column in few if len(cells[column]) > MOST_WORDS]
    pairs = [(one, two) for one in many for two in many if one != two]
    alike = {one for one, two in pairs if 2 * len(few[one] & few[two]) >= len(few[one] | few[two])}
    usual = {column for column, found in few.items() if all(w in VERDICT_WORDS or is_level_word(w) for w in found)}
    return alike | (named & few.keys()), usual


def _are_numbers(cells: Sequence[Any]) -> bool:
    present = [cell for cell in cells if not _RULES[0].is_missing(cell)]
    return len(present) > 0 and len(_numbers(present)) >= 0.8 * len(present)


def _are_measured(column: str, cells: Sequence[Any], aspect: str | None) -> bool:
    """Return whether numbers look like identifiers or measurements, and their name says no score.

    They mostly differ, lie beyond 0 to 10, or have the name of a usual measurement.
    """
    if aspect is not None and _is_similar(column, aspect):
        return False
    if any(map(_MEASURED.fullmatch, _plain(column).split("-"))):
        return True
    numbers = _numbers(cells)
    differ = len(numbers) > MOST_RATED and len(set(numbers)) > len(numbers) / 2
    beyond = sum(not 0 <= number <= MOST_RATED for number in numbers) > 0.1 * len(numbers)
    return (differ or beyond) and not is_score_name(column)


def _is_similar(column: str, aspect: str) -> bool:
    from rapidfuzz import fuzz

    return bool(fuzz.partial_ratio(_plain(aspect), _plain(column)) >= _SAME)


def _numbers(cells: Iterable[Any]) -> list[float]:
    """Return the cells that are numbers; decimal commas are read as such."""
    read = [
        next((number for rule in _RULES if (number := rule.number(cell)) is not None), None)
        if isinstance(cell, str)
        else cell
        for cell in cells
    ]
    return [number for number in read if isinstance(number, int | float) and not isinstance(number, bool)]


def _scores(cells: Mapping[str, Sequence[Any]], aspect: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of the columns that hold scores of `aspect`."""
    columns, plain_aspect = list(cells), _plain(aspect)
    same = [column for column in columns if _plain(column) == plain_aspect]
    similar = same if len(same) == 1 else [column for column in columns if _is_similar(column, aspect)]
    raters = similar if len(similar) > 1 else [column for column in columns if _RATER.fullmatch(_plain(column))]
    first = {_plain(column).partition("-")[0] for column in columns}
    if len(similar) == 1:
        yield f"scores.{aspect}", similar[0]
    elif len(raters) > 1:
        yield from ((f"annotations.{aspect}.{_rater(column, plain_aspect)}", column) for column in raters)
    elif len(first) == 1 < len(columns):
        yield from ((f"annotations.{aspect}.{_rater(column, *first)}", column) for column in columns)
    elif column := _named(columns, _SCORE_NAMES) or (columns[0] if len(columns) == 1 else None):
        yield f"scores.{aspect}", column
    elif len(columns) > 1:
        yield from ((f"annotations.{aspect}.{_plain(column)}", column) for column in columns)


def _rater(column: str, aspect: str) -> str:
    return _plain(column).replace(aspect, "").strip("-") or _plain(column)
