"""A mapping of fields to columns, proposed from the names and cells of a table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rubriclab.data.cells import CellRules
from rubriclab.data.mapping import FIELDS, TABLES

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
_SCORE_NAMES = ("score", "rating", "label", "grade", "mean", "human", "bewertung", "note", "punkte", "wertung")
_RATER = re.compile(r"(?:rater|annotator|judge|coder|reviewer|person|bewerter|gutachter)[-]?\w+")
_TEXTS = ("output", "source", "context", "reference")
# Minimum similarity (0 to 100) of two names that are considered the same.
_SAME = 88
# Minimum characters of the last word of a compound, and words that say too little as one.
_SHORTEST_HEAD = 5
_GENERIC = ("input", "number", "passage", "original", "group", "model")
# Minimum characters of texts that are considered more than names.
_TEXT = 25


def proposed_mapping(rows: Sequence[Mapping[str, Any]], aspect: str | None = None) -> dict[str, str]:
    """Return proposed columns by field, for the fields without a column of their name; empty if nothing is similar.

    Columns are matched by usual names; without a match, the column with the longest texts is the output. Columns of
    numbers become scores of `aspect`, or annotations if several columns are named after the aspect or after raters.
    """
    cells = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    native = {column for column in cells if column.partition(".")[0] in (*FIELDS, *TABLES)}
    free = {column: values for column, values in cells.items() if column not in native}
    proposal: dict[str, str] = {}
    numbers = {column for column, values in free.items() if _are_numbers(values)}
    for match in (_named, _compound):
        for field, names in _NAMES.items():
            usable = [c for c in free if c not in proposal.values() and (c not in numbers if field in _TEXTS else True)]
            if field not in native and field not in proposal and (column := match(usable, names.split())):
                proposal[field] = column
    if "output" not in proposal and "output" not in native and (column := _longest(free, proposal)):
        proposal["output"] = column
    scored = [column for column in free if column in numbers and column not in proposal.values()]
    if aspect and not any(column.startswith((f"scores.{aspect}", f"annotations.{aspect}")) for column in native):
        proposal |= dict(_scores(scored, aspect))
    return proposal


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
        column: sum(len(cell) for cell in values if isinstance(cell, str)) / max(len(values), 1)
        for column, values in cells.items()
        if column not in mapped.values()
    }
    column = max(lengths, key=lambda name: lengths[name], default=None)
    return column if column is not None and lengths[column] >= _TEXT else None


def _are_numbers(cells: Sequence[Any]) -> bool:
    rules = (CellRules(typed=False), CellRules(typed=False, decimal_comma=True))
    present = [cell for cell in cells if not rules[0].is_missing(cell)]
    numbers = [
        isinstance(cell, int | float)
        or (isinstance(cell, str) and any(rule.number(cell) is not None for rule in rules))
        for cell in present
    ]
    return len(present) > 0 and sum(numbers) >= 0.8 * len(present)


def _scores(columns: Sequence[str], aspect: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of the columns that hold scores of `aspect`."""
    from rapidfuzz import fuzz

    plain_aspect = _plain(aspect)
    similar = [column for column in columns if fuzz.partial_ratio(plain_aspect, _plain(column)) >= _SAME]
    raters = similar if len(similar) > 1 else [column for column in columns if _RATER.fullmatch(_plain(column))]
    if len(similar) == 1:
        yield f"scores.{aspect}", similar[0]
    elif len(raters) > 1:
        yield from ((f"annotations.{aspect}.{_rater(column, plain_aspect)}", column) for column in raters)
    elif shared := _shared_first_word(columns):
        yield from ((f"annotations.{aspect}.{_rater(column, shared)}", column) for column in columns)
    elif column := _named(columns, _SCORE_NAMES) or (columns[0] if len(columns) == 1 else None):
        yield f"scores.{aspect}", column


def _shared_first_word(columns: Sequence[str]) -> str | None:
    """Return the first word of several columns if it is the same for all."""
    first = {_plain(column).partition("-")[0] for column in columns}
    return first.pop() if len(columns) > 1 and len(first) == 1 else None


def _rater(column: str, aspect: str) -> str:
    return _plain(column).replace(aspect, "").strip("-") or _plain(column)
