"""Proposals of a mapping: which column of a table probably holds which field, by the columns' names and cells.

The file column_names.toml has usual names of each field. Names are compared as slugs: in lower case, without accents,
their words joined by hyphens.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rubriclab.data.cells import CSV_RULES, DECIMAL_COMMA, LEVEL_RANKS, MAX_COLUMN_LEVELS, VERDICT_WORDS, chat_messages
from rubriclab.data.mapping import ABSENT, ASPECT_FIELDS, FIELDS, TEXT_FIELDS, FieldMap, look_up, mapping_text
from rubriclab.models.base import load_patterns

_FILE = Path(__file__).with_name("column_names.toml")
_COLUMN_NAMES = tomllib.loads(_FILE.read_text("utf-8"))
_PATTERNS = load_patterns(_FILE)
# Minimum similarity (0 to 100) of two names that are taken for the same.
_MIN_SIMILARITY = 88
# Minimum similarity (0 to 100) of a mistyped name and the name of the column that is meant.
_MIN_TYPO_SIMILARITY = 70
# A usual name of at least this length also matches the end of a longer name of a column, unless it is a generic word.
_MIN_LAST_WORD_LENGTH = 5
_GENERIC_WORDS = ("input", "number", "passage", "original", "group", "model")
# Texts to judge have at least this length on average; shorter ones are names.
_MIN_TEXT_LENGTH = 25
# Higher numbers are not ratings, unless the name of their column says so.
MAX_RATING = 10
# A column holds numbers if at least this share of its cells do; the other cells may hold words for missing values.
_MIN_NUMBER_SHARE = 0.8
# Maximum number of rows that are kept to describe columns and propose a mapping.
MAX_SAMPLED = 200
SampledRows = Sequence[Mapping[str, Any]]
CellsByColumn = Mapping[str, Sequence[Any]]


def complete_mapping(rows: SampledRows, mapping: Mapping[str, str], aspect: str | None) -> dict[str, str]:
    """Return `mapping` with proposed columns for other fields; `ASPECT` stands for an aspect that is not known."""
    fields_and_columns = [*mapping, *_cells_by_column(rows)]
    score_fields = {name for name in fields_and_columns if name.startswith("scores.")}
    if aspect or len(score_fields) == 1:
        return {**mapping, **propose_mapping(rows, aspect or score_fields.pop().removeprefix("scores."), mapping)}
    proposal = propose_mapping(rows, mapped=mapping)
    if aspects := _rated_aspects(rows, proposal.get("aspect") or mapping.get("aspect", "aspect")):
        completed = dict(mapping)
        for rated_aspect in aspects:
            completed |= propose_mapping(rows, rated_aspect, mapping)
        return completed
    has_scores = any(name.partition(".")[0] in ASPECT_FIELDS for name in fields_and_columns)
    with_placeholder = {} if has_scores else propose_mapping(rows, "ASPECT", mapping)
    return {**mapping, **with_placeholder, **proposal}


def propose_mapping(
    rows: SampledRows, aspect: str | None = None, mapped: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return proposed columns by field, for fields that are neither `mapped` nor names of columns.

    Columns of numbers become scores of `aspect`, or annotations if several columns are named after the aspect or after
    raters, or hold numbers of one small range. If no column holds numbers, columns of usual words for levels are taken.
    """
    cells = _cells_by_column(rows)
    # Fields that have a column already: one of the same name, or a mapped one.
    assigned_fields = {column for column in cells if column.partition(".")[0] in FIELDS} | mapped.keys()
    aspect_slug = _slug(aspect or "")
    used_columns = {*assigned_fields, *mapped.values()}
    unmapped = {column: values for column, values in cells.items() if column not in used_columns}
    proposal: dict[str, str] = {}
    # First whole names are compared, for all fields, and then the last words of longer names.
    for find_column in (_find_named, _find_compound):
        for field, names in _COLUMN_NAMES["fields"].items():
            if field in assigned_fields or field in proposal:
                continue
            free = [column for column in unmapped if column not in proposal.values() and _slug(column) != aspect_slug]
            usable = [column for column in free if _can_hold(field, column, unmapped[column])]
            if column := find_column(usable, names.split()):
                proposal[field] = column
    lacks_output = "output" not in proposal and "output" not in assigned_fields
    if lacks_output and (column := _find_output(unmapped, proposal)):
        proposal["output"] = column
    output_column = proposal.get("output") or mapped.get("output", "output")
    if output_column not in cells and len(form_columns(cells)) > 1:
        return {}  # a form has the texts in the names of its columns
    remaining = {column: values for column, values in unmapped.items() if column not in proposal.values()}
    proposal |= _find_rater_and_aspect(remaining, cells.get(output_column, ()), assigned_fields)
    remaining = {column: values for column, values in unmapped.items() if column not in proposal.values()}
    if "system" not in assigned_fields and "system" not in proposal:
        columns = _columns_of_repeated_values(remaining)
        names = _COLUMN_NAMES["system_versions"].split()
        if column := _find_named(columns, names) or _find_compound(columns, names):
            proposal["system"] = column
            del remaining[column]
    score_columns = _likely_scores(remaining, aspect)
    is_scored = any(name.startswith((f"scores.{aspect}", f"annotations.{aspect}")) for name in assigned_fields)
    aspects = _rated_aspects(rows, proposal.get("aspect") or mapped.get("aspect", "aspect"))
    if aspect and not is_scored and (not aspects or aspect_slug in map(_slug, aspects)):
        proposal |= dict(_assign_scores(score_columns, aspect))
    label_column = {**mapped, **proposal}.get(f"scores.{aspect}", f"scores.{aspect}")
    if label_column in cells and not any(name.startswith("annotations") for name in (*assigned_fields, *proposal)):
        rater_columns = _numbered_raters(score_columns, cells[label_column])
        proposal |= {f"annotations.{aspect}.{_slug(column)}": column for column in rater_columns}
    return proposal


def propose_scores(rows: SampledRows, aspect: str, mapped: Mapping[str, str]) -> str | None:
    """Return `mapped` as a user writes it, with `aspect` spelled right and likely scores added; `None` if unchanged."""
    aspects = sorted({name.split(".")[1] for name in mapped if "." in name})
    mapped_spelling = _find_named(aspects, [_slug(aspect)]) or aspect
    corrected = {name.replace(f".{mapped_spelling}", f".{aspect}", 1): column for name, column in mapped.items()}
    proposed = propose_mapping(rows, aspect, corrected)
    is_changed = corrected != mapped or any(name.partition(".")[0] in ASPECT_FIELDS for name in proposed)
    return mapping_text({**corrected, **proposed}) if is_changed else None


def _can_hold(field: str, column: str, cells: Sequence[Any]) -> bool:
    """Return whether a column can hold a field: numbers and ids are not texts, and repeated values are not ids."""
    if field in ("output", *TEXT_FIELDS):
        return not (_are_numbers(cells) or _slug(column).endswith("-id"))
    if field == "group" and _slug(column) == "doc":
        return _mean_length(cells) < _MIN_TEXT_LENGTH  # longer cells hold documents
    present = [str(cell) for cell in cells if not CSV_RULES.is_missing(cell)]
    return field != "id" or len(set(present)) == len(present)


def _find_rater_and_aspect(cells: CellsByColumn, outputs: Sequence[Any], assigned_fields: set[str]) -> dict[str, str]:
    proposal: dict[str, str] = {}
    outputs_repeat = len(set(map(str, outputs))) < len(outputs)
    for field, names in _COLUMN_NAMES["ratings"].items():
        columns = [column for column in _columns_of_repeated_values(cells) if column not in proposal.values()]
        column = _find_named(columns, names.split())
        if field in assigned_fields or not column:
            continue
        # Several raters rate the same texts, so outputs are repeated; names of aspects are not numbers.
        has_such_values = outputs_repeat if field == "rater" else not _are_numbers(cells[column])
        if has_such_values:
            proposal[field] = column
    return proposal


def _columns_of_repeated_values(cells: CellsByColumn) -> list[str]:
    return [column for column, values in cells.items() if 1 < len(set(map(str, values))) <= len(values) / 2]


def _rated_aspects(rows: SampledRows, column: str) -> list[str]:
    names = (name.strip() for row in rows if isinstance(name := row.get(column), str))
    return [name for name in dict.fromkeys(names) if name]


def form_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns of a form that asks one question for each of several texts: `How good? [The text]`."""
    questions = {column: match[1] for column in columns if (match := _PATTERNS["form"].fullmatch(column))}
    counts = Counter(questions.values())
    return [column for column, question in questions.items() if counts[question] > 1]


def output_columns(rows: SampledRows) -> list[str]:
    """Return the columns of long texts whose names begin with a usual name of the output, such as `Answer A`."""
    cells = _cells_by_column(rows)
    texts = [column for column, values in cells.items() if _mean_length(values) >= _MIN_TEXT_LENGTH]
    beginnings = tuple(f"{name}-" for name in _COLUMN_NAMES["fields"]["output"].split())
    return [column for column in texts if _slug(column).startswith(beginnings)]


def name_says_lowest_is_best(column: str) -> bool:
    return any(map(_PATTERNS["lowest_is_best"].fullmatch, _slug(column).split("-")))


def is_score_name(column: str) -> bool:
    return _find_named([column], _COLUMN_NAMES["scores"].split()) is not None


def corrected_columns(row: Mapping[str, Any], mapping: FieldMap) -> dict[str, str]:
    """Return the mapped columns; the most similar unmapped column replaces a column that the row does not have."""
    from rapidfuzz import fuzz
    from rapidfuzz.process import extractOne

    corrected: dict[str, str] = {}
    unmapped = [column for column in map(str, row) if column not in mapping.columns.values()]
    for name, column in mapping.columns.items():
        if look_up(row, column) is not ABSENT:
            corrected[name] = column
            continue
        match = extractOne(column, unmapped, scorer=fuzz.ratio, processor=_slug, score_cutoff=_MIN_TYPO_SIMILARITY)
        if match:
            corrected[name] = match[0]
            unmapped.remove(match[0])
    return corrected


def _cells_by_column(rows: SampledRows) -> dict[str, list[Any]]:
    columns = dict.fromkeys(str(column) for row in rows for column in row)
    return {column: [row.get(column) for row in rows] for column in columns}


def _slug(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[^a-z0-9]+", "-", "".join(c for c in letters if not unicodedata.combining(c))).strip("-")


def _find_named(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return a column whose name is like one of `names` (earlier ones are preferred), `None` if there is none."""
    from rapidfuzz import fuzz

    for name in names:
        similar = [column for column in columns if fuzz.ratio(_slug(column), name) >= _MIN_SIMILARITY]
        if similar:
            return max(similar)  # the same for any order of the columns
    return None


def _find_compound(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the first column whose last word is one of `names`, as in `customer question` or `Kundenfrage`."""
    last_words = tuple(name for name in names if len(name) >= _MIN_LAST_WORD_LENGTH and name not in _GENERIC_WORDS)
    return next((column for column in columns if _slug(column).endswith(last_words)), None)


def _find_output(cells: CellsByColumn, proposal: Mapping[str, str]) -> str | None:
    """Return the column of chats, else the column of the longest texts outside `proposal`, unless these are short."""
    lengths: dict[str, float] = {}
    for column, values in cells.items():
        if any(map(chat_messages, values)):
            return column
        characters = "".join("".join(cell.split()) for cell in values if isinstance(cell, str))
        if column not in proposal.values() and sum(map(str.isalpha, characters)) > len(characters) / 2:
            lengths[column] = _mean_length(values)
    longest = max(lengths, key=lambda column: lengths[column], default=None)
    return longest if longest is not None and lengths[longest] >= _MIN_TEXT_LENGTH else None


def _mean_length(cells: Sequence[Any]) -> float:
    return sum(len(cell) for cell in cells if isinstance(cell, str)) / max(len(cells), 1)


def _likely_scores(cells: CellsByColumn, aspect: str | None) -> CellsByColumn:
    """Return the columns of numbers or few short words that are likely scores, else columns of usual level words."""
    likely_columns = set[str]()
    words_by_column: dict[str, set[str]] = {}
    for column, values in cells.items():
        if _are_numbers(values) and not _are_measurements(column, values, aspect):
            likely_columns.add(column)
        words = _short_words(values)
        # If all cells have the same word, it is a score only if the name of the column says so.
        is_named_as_score = is_score_name(column) or (aspect is not None and _is_similar(column, aspect))
        min_words = 1 if is_named_as_score else 2
        if min_words <= len(words) <= MAX_COLUMN_LEVELS:
            words_by_column[column] = words
            if is_named_as_score:
                likely_columns.add(column)
    # Two columns with a cell in many rows hold two raters' scores if they share at least half of their distinct words.
    long_columns = [column for column in words_by_column if len(cells[column]) > MAX_COLUMN_LEVELS]
    for column, other_column in combinations(long_columns, 2):
        if _are_half_in_common(words_by_column[column], words_by_column[other_column]):
            likely_columns |= {column, other_column}
    usual_words = VERDICT_WORDS.keys() | LEVEL_RANKS.keys()
    columns_of_levels = {column for column, words in words_by_column.items() if words <= usual_words}
    chosen_columns = likely_columns or columns_of_levels
    return {column: values for column, values in cells.items() if column in chosen_columns}


def _short_words(cells: Sequence[Any]) -> set[str]:
    texts = {str(cell).strip().casefold() for cell in cells if isinstance(cell, str | bool)}
    return {text for text in texts if 0 < len(text) < _MIN_TEXT_LENGTH and not _numbers([text])}


def _are_half_in_common(words: set[str], other_words: set[str]) -> bool:
    return 0 < len(words | other_words) <= 2 * len(words & other_words)


def _are_numbers(cells: Sequence[Any]) -> bool:
    filled_cells = [cell for cell in cells if not CSV_RULES.is_missing(cell)]
    return len(filled_cells) > 0 and len(_numbers(filled_cells)) >= _MIN_NUMBER_SHARE * len(filled_cells)


def _are_measurements(column: str, cells: Sequence[Any], aspect: str | None) -> bool:
    """Return whether the numbers of a column are probably lengths, times or metrics rather than ratings."""
    if aspect is not None and _is_similar(column, aspect):
        return False
    if any(map(_PATTERNS["measured"].fullmatch, _slug(column).split("-"))):
        return True
    numbers = _numbers(cells)
    mostly_differ = len(numbers) > MAX_RATING and len(set(numbers)) > len(numbers) / 2  # ten ratings may all differ
    # One number in ten may be a typing error or a code for a missing score.
    many_exceed_ratings = sum(not 0 <= number <= MAX_RATING for number in numbers) > 0.1 * len(numbers)
    return (mostly_differ or many_exceed_ratings) and not is_score_name(column)


def _is_similar(column: str, aspect: str) -> bool:
    from rapidfuzz import fuzz

    return bool(fuzz.partial_ratio(_slug(aspect), _slug(column)) >= _MIN_SIMILARITY)


def _numbers(cells: Iterable[Any]) -> list[float]:
    numbers = []
    for cell in cells:
        number = cell
        if isinstance(cell, str):
            with_point, with_comma = CSV_RULES.parse_number(cell), DECIMAL_COMMA.parse_number(cell)
            number = with_comma if with_point is None else with_point
        if isinstance(number, int | float) and not isinstance(number, bool):
            numbers.append(number)
    return numbers


def _assign_scores(cells: CellsByColumn, aspect: str) -> Iterator[tuple[str, str]]:
    """Yield fields of `aspect`, each with its column: one column of scores, columns of single raters, or both."""
    slugs = {column: _slug(column) for column in cells}
    aspect_slug = _slug(aspect)
    named_for_aspect = [column for column in slugs if slugs[column] == aspect_slug]
    if len(named_for_aspect) != 1:
        named_for_aspect = [column for column in slugs if _is_similar(column, aspect)]
    named_for_raters = [column for column in slugs if _PATTERNS["rater"].fullmatch(slugs[column])]
    rater_columns = named_for_aspect if len(named_for_aspect) > 1 else named_for_raters
    first_words = {slug.partition("-")[0] for slug in slugs.values()}
    numbered_columns = _numbered_raters(cells)
    unnumbered_columns = [column for column in slugs if column not in numbered_columns]
    score_column = _find_named(unnumbered_columns, _COLUMN_NAMES["scores"].split())
    if score_column is None and len(unnumbered_columns) == 1:
        score_column = unnumbered_columns[0]
    if len(named_for_aspect) == 1:
        yield f"scores.{aspect}", named_for_aspect[0]
    elif len(rater_columns) > 1:
        yield from ((f"annotations.{aspect}.{_rater_name(column, aspect_slug)}", column) for column in rater_columns)
    elif len(first_words) == 1 and len(slugs) > 1:
        shared_word = first_words.pop()
        yield from ((f"annotations.{aspect}.{_rater_name(column, shared_word)}", column) for column in slugs)
    elif score_column:
        yield f"scores.{aspect}", score_column
        # Another column holds the scores of one rater if it and `score_column` share at least half of their words.
        words = _short_words(cells[score_column])
        for column in slugs:
            if column != score_column and _are_half_in_common(_short_words(cells[column]), words):
                yield f"annotations.{aspect}.{_rater_name(column, aspect_slug)}", column
    elif len(slugs) > 1:
        yield from ((f"annotations.{aspect}.{slug}", column) for column, slug in slugs.items())


def _numbered_raters(cells: CellsByColumn, labels: Sequence[Any] = ()) -> list[str]:
    """Return columns such as `a1` and `a2` if the numbers in their cells, and `labels`, are on one small scale."""
    stems = {column: match[1] for column in cells if (match := _PATTERNS["numbered"].fullmatch(_slug(column)))}
    values = {number for column in stems for number in _numbers(cells[column])}
    have_one_stem = len(stems) > 1 and len(set(stems.values())) == 1
    if not have_one_stem or not 1 < len(values) <= MAX_COLUMN_LEVELS:
        return []
    return list(stems) if all(min(values) <= label <= max(values) for label in _numbers(labels)) else []


def _rater_name(column: str, removed_words: str) -> str:
    return _slug(column).replace(removed_words, "").strip("-") or _slug(column)
