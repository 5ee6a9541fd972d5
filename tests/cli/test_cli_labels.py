"""`rubriclab labels`."""

from __future__ import annotations

import json

import pytest
from commands import Commands
from edit_samples import ASPECT, examples

FIRST, SECOND, THIRD = (text.id for text in examples()[:3])


def test_corrections_are_shown_with_who_and_why_and_written_as_rows_for_learn(planted: Commands) -> None:
    changes = ("--correct", f"{FIRST}=4.5", "--rubric-right", SECOND, "--misses", f"{THIRD}=it repeats the date")
    done = planted("labels", "planted", *changes, "--by", "anna", "--because", "misread")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "24 labelled texts, 1 corrected and 1 withdrawn since it was made" in shown
    assert "anna" in shown
    assert "misses: it repeats the date; misread" in shown
    assert planted("labels", "planted", "-o", "corrected.jsonl").code == 0
    rows = [json.loads(line) for line in (planted.folder / "corrected.jsonl").read_text("utf-8").splitlines()]
    assert SECOND not in {row["id"] for row in rows}
    assert next(row for row in rows if row["id"] == FIRST)["scores"] == {ASPECT: 4.5}
    learned = planted(
        "learn", "corrected.jsonl", "--task", "summarization", "--aspect", ASPECT, "--scale", "1:5",
        "--method", "direct", "--name", "again", "--json",
    )  # fmt: skip
    assert learned.code == 0, learned.err
    # Rows on standard output stand alone.
    assert [row["id"] for row in planted("labels", "planted", "-o", "-").rows] == [row["id"] for row in rows]


def test_one_raters_score_is_corrected_and_all_is_in_the_json(planted: Commands) -> None:
    row = planted("labels", "planted", "--correct", f"{FIRST}=1", "--rater", "ben", "--by", "ben", "--json").json
    (made,) = row["corrections"]
    assert (made["rater"], made["new"], made["by"]) == ("ben", 1, "ben")
    text = next(each for each in row["texts"] if each["id"] == FIRST)
    assert text["annotations"][ASPECT]["ben"] == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--correct", f"{FIRST}=4"), "A correction records who made it. Give --by NAME."),
        (("--correct", f"{FIRST}=high", "--by", "anna"), "expected a number"),
        (("--correct", f"{FIRST}=2.5", "--rater", "ben", "--by", "anna"), "Give a whole number from 1 to 5."),
        (("--correct", FIRST, "--by", "anna"), "--correct: expected ID=SCORE, got"),
        (
            ("--correct", f"{FIRST}=4", "--rubric-right", FIRST, "--by", "anna"),
            "Give it to --correct or to --rubric-right",
        ),
    ],
)
def test_bad_input_gives_one_line_and_stores_nothing(planted: Commands, options: tuple[str, ...], error: str) -> None:
    done = planted("labels", "planted", *options)
    assert done.code == 2
    assert error in done.error
    assert planted("labels", "planted", "--json").json["corrections"] == []
