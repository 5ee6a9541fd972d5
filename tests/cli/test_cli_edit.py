"""`rubriclab edit` and `rubriclab labels`."""

from __future__ import annotations

import json

import pytest
from commands import Commands
from edit_samples import ASPECT, examples

WHO = ("--by", "anna", "--because", "it repeats")


def test_an_edit_is_shown_saved_and_recorded_in_show_and_diff(planted: Commands) -> None:
    done = planted("edit", "planted", "--drop", "links", "--pin", "order=0.25", *WHO, "--html", "edit.html")
    assert done.code == 0, done.err
    assert "saved as planted@2, whose parent is planted@1" in done.out
    assert "Held-out Pearson changes by" in done.out
    assert "The edit itself is the same in every fold" in " ".join(done.out.split())
    (row,) = (line for line in done.out.splitlines() if line.startswith("order "))
    assert row.split()[3:5] == ["25", "%"]
    assert "Held-out agreement" in (planted.folder / "edit.html").read_text("utf-8")
    shown = " ".join(planted("show", "planted@2").out.split())
    assert "edited by anna" in shown
    assert "because it repeats" in shown
    assert "dropped links" in shown
    assert "weight pinned order: 0.25" in shown
    diff = planted("diff", "planted@1", "planted@2")
    assert "links" in diff.out


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--drop", "link"), "planted@1 has no criterion 'link'. Did you mean 'links'?"),
        (("--drop", "links", "--by", "anna"), "Give --by NAME and --because REASON, or --preview to save nothing."),
        ((), "No change was asked for. Give at least one of --drop"),
        (("--bound", "links=0.4"), "links=0.4: expected LOW:HIGH, such as 0:0.2, or free"),
        (("--pin", "links"), "--pin: expected ID=WEIGHT, got 'links'"),
        (("--merge", "links=All linked."), "--merge joins two criteria or more, got one. See --reword."),
    ],
)
def test_bad_input_gives_one_line_that_says_what_to_do(planted: Commands, options: tuple[str, ...], error: str) -> None:
    done = planted("edit", "planted", *options)
    assert done.code == 2
    assert error in done.error


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
