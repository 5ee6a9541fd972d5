"""Every score of a table decides about the decimal mark, wherever its row is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import xlsxwriter

from rubriclab.data.readers import Rows, read
from rubriclab.errors import DataError
from rubriclab.models.text import Example

INTEGERS = [str(number % 5 + 1) for number in range(1200)]


def write(path: Path, header: str, scores: list[str], mark: str = ";") -> Path:
    rows = [mark.join((header, "output")), *(f'"{score}"{mark}text {n}' for n, score in enumerate(scores))]
    path.write_text("\n".join(rows) + "\n")
    return path


def examples(rows: Rows) -> list[Example]:
    return [row for row in rows if isinstance(row, Example)]


@pytest.mark.parametrize("place", [0, 600, 1200])
@pytest.mark.parametrize("mark", [";", ","])
def test_a_score_like_a_thousand_is_read_alike_in_every_row(tmp_path: Path, place: int, mark: str) -> None:
    rows = read(write(tmp_path / "a.csv", "scores.x", [*INTEGERS[:place], "1,250", *INTEGERS[place:]], mark))
    assert examples(rows)[place].scores == {"x": 1.25}
    assert f"'1,250' in line {place + 2} as 1.25, not 1250" in str(rows.source.note())


@pytest.mark.parametrize("place", [0, 1200])
def test_a_decimal_comma_in_a_column_of_annotations_is_one_score_in_every_row(tmp_path: Path, place: int) -> None:
    rows = read(write(tmp_path / "a.csv", "annotations.x", [*INTEGERS[:place], "3,5", *INTEGERS[place:]]))
    assert examples(rows)[place].annotations == {"x": (3.5,)}
    assert rows.source.decimal == "comma"


@pytest.mark.parametrize("place", [0, 1200])
def test_a_score_that_can_be_read_in_one_way_decides_in_every_row_of_a_workbook(tmp_path: Path, place: int) -> None:
    scores = ["1,250"] * 1200
    scores.insert(place, "800,5")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        for row, score in enumerate(["scores.x", *scores]):
            sheet.write_row(row, 0, [score, f"text {row}" if row else "output"])
    rows = examples(read(tmp_path / "a.xlsx"))
    assert {row.scores["x"] for row in rows} == {1.25, 800.5}


def test_a_table_in_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="a pipe only once"):
        read(tmp_path / "pipe.csv")


def test_a_table_without_scores_is_not_read_to_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.csv", "group", INTEGERS)
    monkeypatch.setattr("rubriclab.data.readers._readings", pytest.fail)
    assert len(examples(read(path))) == len(INTEGERS)
