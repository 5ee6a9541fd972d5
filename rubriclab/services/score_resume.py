"""Continuing a file of scores that an interrupted run left behind.

Its complete rows are kept; texts are scored from the first row without a score on. Every kept row has to be of the row
of the texts in the same place, by the same version, judge and width. The record of progress shows this for the rows up
to its last checkpoint. The others are compared as they were read, without parsing them into texts, which would take
five times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data.raw_rows import RawRows, raw_rows
from rubriclab.data.readers import parsed_row, rest_of
from rubriclab.data.row import RowError
from rubriclab.data.tables import json_line, table_kind
from rubriclab.descriptions import describe, preview
from rubriclab.errors import DataError, SettingsError
from rubriclab.methods.method import UnitVerdict
from rubriclab.option_names import by_reader, option
from rubriclab.scoring.score import CriterionScore, Score, limits_of
from rubriclab.services.score import Scoring, is_abstained
from rubriclab.services.score_progress import Checkpoint
from rubriclab.services.scores import ScoredRow, same_name

# Bytes read at once from the end of a file.
BLOCK = 2**16
# Fields of a score that a row holds as they are.
_PLAIN = tuple(each.name for each in fields(Score) if each.name not in ("criteria", "interval"))
_RESUME = by_reader(python="continuing a file", command_line="--resume")
_ANEW = by_reader(
    python="Score into another file.",
    command_line="Leave --resume out to begin again, or give another --output.",
)


def check_resumable(scoring: Scoring, output: str) -> None:
    """Check that the scores can be continued once they have been interrupted.

    Raises:
        SettingsError: if they are no JSON Lines in a file, the rubric is no version, or texts are rated together.
    """
    if scoring.version is None:
        raise SettingsError(f"{_RESUME}: expected a rubric that is stored as a version.", _ANEW)
    if limits_of(scoring.rubric, scoring.rivals):
        raise SettingsError(f"{_RESUME}: a group of texts that are rated together cannot be continued.", _ANEW)
    if output == "-" or table_kind(output):
        place = "standard output" if output == "-" else f"{output}, a table, which is written at the end"
        raise SettingsError(f"{_RESUME}: got {place}; expected a file of JSON Lines.", "Name one that ends in .jsonl.")


def keep_scores(scoring: Scoring, path: Path, texts: str, last: Checkpoint | None = None) -> Iterator[ScoredRow]:
    """Yield each complete row of a file of scores, and let `scoring` continue after the last.

    The file is not changed; what follows `end_of_rows(path)` is an incomplete row.

    Args:
        texts: the path of the texts, or `-`.
        last: the checkpoint after which rows are yielded; those before it are not checked again.

    Raises:
        DataError: if a row of the file is no score, or is of another row, version, judge or width.
    """
    raw = raw_rows(texts, scoring.options, last.line if last else 0)
    kept, end = (last.rows, last.end) if last else (0, 0)
    for number, line in enumerate(_complete_rows(path, end), start=kept + 1):
        place = f"{path}:{number}"
        written = _read_row(line, place)
        _check_source(written, scoring, place)
        row = _row_of(written, raw, scoring, place)
        scored = ScoredRow(_score_of(written, place), row)
        if scored.score.rivals:
            raise DataError(
                f"{place}: got a score of a text rated together with its rivals, expected texts rated apart.", _ANEW
            )
        above = scoring.options.abstain_above
        abstained = None if above is None else is_abstained(scored.score, above)
        if written.get("abstained") != abstained:
            raise DataError(
                f"{place}: got abstained {describe(written.get('abstained'))}, expected {describe(abstained)} with "
                f"{option('abstain_above')} as it is now.",
                _ANEW,
            )
        yield ScoredRow(scored.score, row, abstained, addresses_judge=written.get("addresses_judge") is True)
    scoring.rest = rest_of(raw, scoring.options)
    if note := raw.source.note():
        scoring.workspace.notify(note)


def end_of_rows(path: Path) -> int:
    """Return where the last complete row of a file ends, in bytes: an interrupted write may leave half a row."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        while end:
            begin = max(end - BLOCK, 0)
            file.seek(begin)
            last = file.read(end - begin).rfind(b"\n")
            if last >= 0:
                return begin + last + 1
            end = begin
    return 0


def _complete_rows(path: Path, after: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(after)
        yield from (line for line in file if line.endswith(b"\n"))


def _read_row(line: bytes, place: str) -> dict[str, Any]:
    with suppress(orjson.JSONDecodeError):
        row = orjson.loads(line)
        if isinstance(row, dict):
            return row
    raise DataError(f"{place}: got {preview(line.decode(errors='replace'))}, expected a row of scores.", _ANEW)


def _check_source(written: Mapping[str, Any], scoring: Scoring, place: str) -> None:
    for name, expected in (("rubric", scoring.name), ("judge", scoring.choice.spec)):
        if written.get(name) != expected:
            raise DataError(
                f"{place}: got the {name} {preview(str(written.get(name)))}, expected {preview(expected)}: another run "
                "wrote this row.",
                _ANEW,
            )


def _score_of(written: Mapping[str, Any], place: str) -> Score:
    """Return the score in a row."""
    try:
        criteria = tuple([_criterion_of(each) for each in written["criteria"]])
        interval = written.get("interval")
        return Score(
            **{name: written[name] for name in _PLAIN if name in written},
            criteria=criteria,
            interval=tuple(interval) if interval else None,
        )
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{place}: expected a row of scores, as this version of rubriclab writes it.", _ANEW) from None


def _criterion_of(row: dict[str, Any]) -> CriterionScore:
    if "units" in row:
        row = {**row, "units": tuple(UnitVerdict(**unit) for unit in row["units"])}
    return CriterionScore(**row)


def _row_of(written: Mapping[str, Any], raw: RawRows, scoring: Scoring, place: str) -> Any:
    """Return the next row of the texts that is scored, which has to be the one that `written` is of."""
    where, options = raw.source.where, scoring.options
    for line, row in raw.numbered:
        if _is_of(written, row, line):
            return row
        parsed = parsed_row(row, where, line, options.mapping, raw.rules)
        left_out = isinstance(parsed, RowError) and options.skip_faulty and parsed.usable is None
        if not left_out and not isinstance(parsed, tuple):
            raise DataError(
                f"{place}: this score, of the text {preview(str(written.get('id')))}, is not of the row in the same "
                f"place, {where}:{line}: the texts have changed.",
                _ANEW,
            )
    raise DataError(f"{place}: there are more scores than rows in {where}: the texts have changed.", _ANEW)


def _is_of(written: Mapping[str, Any], row: Any, line: int) -> bool:
    """Return whether a row of scores begins with the columns of a row of the texts, as `with_columns` writes them."""
    if not isinstance(row, Mapping):
        return str(written.get("id")).endswith(f":{line}")
    cells = iter(written.items())
    for name, cell in row.items():
        if name == "id" and same_name(cell, written.get("id")):
            continue
        key, found = next(cells, (None, None))
        if key not in (str(name), f"input.{name}"):
            return False
        if found != cell and found != orjson.loads(json_line({"cell": cell}))["cell"]:
            return False
    return True
