from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, strategies as st
from joint_samples import joint_record
from kinds_samples import QUESTIONS

from rubriclab.report import matrix
from rubriclab.training_record import Candidate, Cell, RecordedText, TrainingRecord


def record_of(reason: str, name: str = "a") -> TrainingRecord:
    """Return a record of one cell."""
    return TrainingRecord(
        texts=(RecordedText(id=name, group=name, output="A.", label=-2.0),),
        candidates=(Candidate(method="checkeval", criterion=QUESTIONS[0], kept=True),),
        cells=((Cell(score=1.0, reason=reason),),),
    )


def test_there_is_a_row_for_each_text_and_criterion() -> None:
    record = joint_record()
    rows = list(matrix.rows(record))
    assert len(rows) == 30 * 12
    assert [row["criterion"] for row in rows[:12]][-3:] == ["h04", "q04", "q05"]
    assert len({(row["text"], row["criterion"]) for row in rows}) == len(rows)


def test_each_row_says_what_was_found_or_why_nothing_was() -> None:
    rows = {(row["text"], row["criterion"]): row for row in matrix.rows(joint_record())}
    missing, inapplicable = rows["school-1", "h02"], rows["harbour-0", "q01"]
    assert (missing["state"], missing["score"], missing["reason"]) == ("missing", None, "The reply was cut off.")
    assert (inapplicable["state"], inapplicable["reason"]) == ("does not apply", "It has no pronoun.")
    assert rows["harbour-0", "h01"]["state"] == "scored"
    assert rows["harbour-0", "h04"]["kept"] is False


def test_csv_and_json_lines_hold_the_same_rows() -> None:
    record = joint_record()
    lines = [json.loads(line) for line in matrix.json_lines(record).splitlines()]
    assert lines == list(matrix.rows(record))
    table = list(csv.DictReader(io.StringIO(matrix.csv_table(record).decode())))
    assert table == [{name: "" if value is None else str(value) for name, value in row.items()} for row in lines]


@pytest.mark.parametrize("words", ["=1+1", "+cmd|x", "-1+cmd|x", "@SUM(A1)", "\t=1", "\n=1", " =1", "\uff1dcmd()"])
def test_no_words_begin_as_a_formula(words: str) -> None:
    (row,) = csv.DictReader(io.StringIO(matrix.csv_table(record_of(words, words)).decode()))
    for column in ("text", "group", "reason"):
        assert row[column].startswith("'")
    assert row["label"] == "-2.0"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_cell_of_csv_keeps_to_its_place_whatever_it_says(words: str) -> None:
    table = list(csv.reader(io.StringIO(matrix.csv_table(record_of(words)).decode(), newline="")))
    assert [len(row) for row in table] == [15, 15]
    assert not table[1][-1].lstrip(" ").startswith(("=", "@", "\t", "\n", "\uff1d"))
    assert "\x00" not in table[1][-1]
    (line,) = matrix.json_lines(record_of(words)).splitlines()
    assert json.loads(line)["reason"] == words
