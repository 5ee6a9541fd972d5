"""Stored baselines: the outputs of an earlier run with their scores, one file each, in a folder under version control.

A file holds rows as `rubriclab score` writes them, so `rubriclab compare` reads it too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rubriclab.data import Example, read
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.tables import json_line
from rubriclab.digest import digest
from rubriclab.errors import DataError, SettingsError
from rubriclab.integrations.pytest.settings import UPDATE
from rubriclab.judges.recording import recorded_name
from rubriclab.services.scores import ScoredRow, Scores

NAME = re.compile(r"[\w.-]{1,150}", re.ASCII)
FIELDS = ("id", "group", "system", "source", "context", "reference", "output")
# Characters of a test's name that are kept in the name of its baseline.
KEPT = 120


def check_name(name: str) -> str:
    """Return the name of a baseline.

    Raises:
        SettingsError: if it is not a file name.
    """
    if not NAME.fullmatch(name) or name.startswith("."):
        raise SettingsError(
            f"{name!r} cannot name a baseline.", "Use letters, digits, '-', '_' and '.', 150 characters at most."
        )
    return name


def name_of_test(node: str, number: int) -> str:
    """Return the name of the baseline of a test's comparison number `number`, from the test's node id."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", node).strip("-.")
    if len(name) > KEPT:
        name = f"{name[:KEPT]}-{digest(node).removeprefix('sha256:')[:12]}"
    return name if number == 1 else f"{name}-{number}"


def rows_of(scores: Scores) -> list[dict[str, Any]]:
    """Return texts with their scores, as `rubriclab score` writes them.

    Raises:
        DataError: if a row is faulty.
    """
    faulty = [scored.score for scored in scores.scored if scored.example is None]
    if faulty:
        number = f"{len(faulty)} of {len(scores)} rows cannot be used"
        raise DataError(f"{number}; the first: {faulty[0].unscored}", faults=[str(score.unscored) for score in faulty])
    return [_row(scored) for scored in scores.scored]


def _row(scored: ScoredRow) -> dict[str, Any]:
    fields: Mapping[str, Any] = {name: getattr(scored.example, name) for name in FIELDS}
    score = scored.score.to_row()
    return {
        **{name: value for name, value in fields.items() if value is not None},
        **score,
        "judge": recorded_name(score["judge"]),
    }


def check_baseline(path: Path) -> None:
    """Check that there is a baseline, and that every row of it can be used.

    Raises:
        DataError: if there is none, or a row is faulty.
    """
    for row in read(path, ReadingOptions()):
        if not isinstance(row, Example):
            raise DataError(
                f"The baseline is damaged: {row}.",
                f"Restore it from version control, or run pytest with {UPDATE} to store it again.",
            )


def store_baseline(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a baseline; an interrupted run leaves the former one.

    Raises:
        DataError: if it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(b"".join(map(json_line, rows)))
        unfinished.replace(path)
    except OSError as error:
        raise DataError(f"The baseline {path} cannot be written: {error.strerror}.") from None
