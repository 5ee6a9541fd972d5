"""`--csv` of commands whose result is a list: the rows of `--json`, a line each."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from commands import Commands

from rubriclab.data.write import flatten

LISTS = {"list": "versions", "log news": "versions", "store size": "kinds", "literature list --included": "findings"}


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def shown(value: Any) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("command", LISTS)
def test_a_list_is_written_with_a_line_for_each_row(own: Commands, command: str) -> None:
    done = own(*command.split(), "--json", "--csv", "rows.csv")
    assert (done.code, done.err) == (0, "rows.csv written\n")
    rows = [flatten(row) for row in done.json[LISTS[command]]]
    columns, *lines = read(own.folder / "rows.csv")
    assert rows
    assert lines == [[shown(row.get(name)) for name in columns] for row in rows]
    assert {name for row in rows for name in row} == set(columns)
