"""Proposals of a mapping from the names and cells of the columns."""

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

from rubriclab.data.cells import MAX_LEVEL_WORDS, VERDICT_WORDS, CellRules, chat_messages, is_level_word
from rubriclab.data.mapping import FIELDS, TABLES, mapping_text

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
