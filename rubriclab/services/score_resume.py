"""Continuing a file of scores that an interrupted run left behind.

`NAME.resume.json` says by what version, judge and options the rows are scored. Its complete rows are kept if they
begin with the columns of the texts in the same places.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data import Example
from rubriclab.data.raw_rows import RawRows, raw_rows
from rubriclab.data.readers import parsed_row, rest_of
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.row import RowError
from rubriclab.data.tables import json_line, table_kind
from rubriclab.descriptions import preview
from rubriclab.errors import DataError, SettingsError
from rubriclab.judges.recording import recorded_name
from rubriclab.option_names import by_reader
from rubriclab.scoring.score import Score, limits_of
from rubriclab.services.score import Scoring
from rubriclab.services.scores import ScoredRow, same_name

# Bytes read at once from the end of a file.
BLOCK = 2**16
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


def write_record(scoring: Scoring, output: str) -> None:
    """Write the record of scoring that begins, if it can be continued.

    Raises:
        DataError: if it cannot be written.
    """
    with suppress(SettingsError):
        check_resumable(scoring, output)
        try:
            record_of(output).write_bytes(json_line(_record(scoring)))
        except OSError as error:
            raise DataError(f"{record_of(output)} cannot be written: {error.strerror}.") from None


def prepare_resuming(scoring: Scoring, output: str) -> int:
    """Return where the complete rows of a file of scores end, in bytes; write the record if there are none.

    A finished run has no record: `keep_scores` makes sure that it is whole.

    Raises:
        DataError: if there are rows, and the record says that they are not scored as `scoring` does.
    """
    path, record = Path(output), record_of(output)
    end = _end_of_rows(path) if path.exists() else 0
    if not end:
        write_record(scoring, output)
        return 0
    if not record.exists():
        return end
    found: Any = None
    with suppress(OSError, orjson.JSONDecodeError):
        found = orjson.loads(record.read_bytes())
    if not isinstance(found, dict):
        raise _unknown(output)
    for name, wanted in _record(scoring).items():
        if (got := found.get(name)) != wanted:
            raise DataError(
                f"{record}: got the {name} {preview(str(got))}, expected {preview(str(wanted))}: another run wrote "
                f"{output}.",
                _ANEW,
            )
    return end


def _record(scoring: Scoring) -> dict[str, Any]:
    assert scoring.version
    options = scoring.options.model_dump(mode="json", include=set(ReadingOptions.model_fields))
    return {
        "rubric": scoring.name,
        "digest": scoring.version.digest,
        "judge": scoring.choice.spec,
        **options,
    }


def record_of(output: str) -> Path:
    """Return the file beside a file of scores that says by what they are scored."""
    return Path(f"{output}.resume.json")


def _unknown(output: str) -> DataError:
    return DataError(f"{record_of(output)} does not say by what the rows of {output} are scored.", _ANEW)


def keep_scores(scoring: Scoring, texts: str, output: str, end: int) -> None:
    """Count the rows of a file of scores up to `end` bytes, and let `scoring` continue after the last.

    Raises:
        DataError: if a row of the file is no score, or is of another text; if there is no record, and a row is by
            another rubric or judge or a text has none.
    """
    is_finished = not record_of(output).exists()
    raw = raw_rows(texts, scoring.options)
    with Path(output).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if end <= 0:
                break
            end -= len(line)
            place = f"{output}:{number}"
            try:
                written = orjson.loads(line)
                scored = _scored(written, _next_example(written, raw, scoring, place))
                answers, missing = _answers(written["criteria"])
            except DataError:
                raise
            except (ValueError, KeyError, TypeError, AttributeError):
                got = preview(line.decode(errors="replace"))
                raise DataError(f"{place}: got {got}, expected a row of scores.", _ANEW) from None
            if is_finished and not _is_by(scored.score, scoring):
                raise _unknown(output)
            scoring.count(scored)
            scoring.counts.answers += answers
            scoring.counts.answers_missing += missing
    scoring.rest = rest_of(raw, scoring.options)
    if is_finished and any(True for _ in scoring.rest):
        raise _unknown(output)
    if note := raw.source.note():
        scoring.workspace.notify(note)


def _is_by(score: Score, scoring: Scoring) -> bool:
    return score.rubric == scoring.name and recorded_name(score.judge) == recorded_name(scoring.choice.spec)


def _end_of_rows(path: Path) -> int:
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


def _scored(written: Mapping[str, Any], example: Example | None) -> ScoredRow:
    names = ("id", "aspect", "score", "unscored", "rubric", "judge")
    score = Score(**{name: written[name] for name in names}, criteria=())
    return ScoredRow(score, written, example, written["addresses_judge"])


def _answers(criteria: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many answers a complete score would rest on, and how many are missing; see `Score.answers`."""
    answers = missing = 0
    for criterion in criteria:
        if units := criterion.get("units"):
            answers += len(units)
            missing += sum(unit["value"] is None for unit in units)
        elif criterion["applies"]:
            answers += 1
            missing += criterion["score"] is None
    return answers, missing


def _next_example(written: Mapping[str, Any], raw: RawRows, scoring: Scoring, place: str) -> Example | None:
    """Take the next row of the texts that is scored, which has to be the one that `written` is of; return its text."""
    where, options = raw.source.where, scoring.options
    for line, row in raw.numbered:
        parsed = parsed_row(row, where, line, options.mapping, raw.rules)
        if _is_of(written, row, line):
            return parsed if isinstance(parsed, Example) else None
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
