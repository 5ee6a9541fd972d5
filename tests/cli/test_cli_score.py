"""`rubriclab score`: one row for each row, in order, whatever it is given."""

from __future__ import annotations

import numpy as np
import pytest
from commands import HELDOUT, HELDOUT_ROWS, Commands

TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:12]
ROWS = HELDOUT_ROWS[:12]


def test_faulty_rows_become_unscored_rows_in_their_place(learned: Commands) -> None:
    lines = [TEXTS[0], b'{"id": "broken", "output"\n', TEXTS[1], b'{"id": "blank", "output": " "}\n', b"7\n", TEXTS[2]]
    done = learned("score", "-", "--rubric", "news@1", stdin=b"".join(lines))
    first, broken, second, blank, seven, third = done.rows
    assert [first, second, third] == learned("score", "-", "--rubric", "news@1", stdin=b"".join(TEXTS[:3])).rows
    assert broken["id"] == "stdin:2"
    assert broken["unscored"].startswith("stdin:2: got text that is not JSON")
    assert blank["id"] == "blank"
    assert blank["unscored"] == "stdin:4: field 'output': got only white space, expected a non-empty text"
    assert seven["unscored"] == "stdin:5: got 7, expected an object with a field 'output'"
    for row in (broken, blank, seven):
        assert (row["score"], row["criteria"], row["rubric"], row["judge"]) == (None, [], "news@1", "embedded")
        assert row["aspect"] == "coherence"
    assert done.code == 0
    assert done.err.splitlines()[-1] == "3 texts scored by news@1, 3 unscored"
    without_texts = learned("score", "-", "--rubric", "news@1", stdin=b"".join(lines[3:5]))
    assert (without_texts.code, len(without_texts.rows)) == (2, 2)
    assert without_texts.error.startswith("None of the 2 rows can be scored; the first: stdin:1: field 'output': got")
    odd = b'{"output": "x", "scores": {"q": "odd"}}'
    assert "level_scores" not in learned("score", "-", "--rubric", "news@1", stdin=odd).err


def test_labels_in_the_scored_file_correct_the_mean_of_the_whole_and_of_each_slice_also_resumed(
    learned: Commands,
) -> None:
    rows = [{**row} for row in HELDOUT_ROWS]
    true = np.mean([row["scores"]["coherence"] for row in rows])
    groups = sorted({row["group"] for row in rows})[:6]
    for number, row in enumerate(rows):  # labels of six of twelve groups, one of which cannot be read
        label = row["scores"]["coherence"] if row["group"] in groups else None
        row.update(human={"quality": 9 if row["group"] == groups[0] else label}, half=f"half {number % 2}")
    score = ("score", learned.write("partly.jsonl", rows), "--rubric", "news", "--labels-in", "human.quality")
    done = learned(*score, "--by", "half", "-o", "scores.jsonl", "--json")
    assert done.code == 0
    assert (done.json["labels"], done.json["labels_of"]) == (30, "texts")
    assert "left out of --labels-in human.quality: 6 cells; expected scores from 1 (lowest) to 5" in done.err
    assert [(row["name"], row["labels"]) for row in done.json["slices"]] == [("half 0", 15), ("half 1", 15)]
    assert done.json["human_mean"]["low"] < true < done.json["human_mean"]["high"]
    resumed = learned(*score, "--by", "half", "-o", "scores.jsonl", "--json", "--resume").json
    assert (resumed["slices"], resumed["human_mean"]) == (done.json["slices"], done.json["human_mean"])
    shown = learned(*score, "--by", "half", "-o", "shown.jsonl").err
    assert "by 30 labels of these texts" in shown
    assert "half 1" in shown
    repeated = learned("score", learned.write("twice.jsonl", rows * 2), "--rubric", "news", "-o", "shown.jsonl").err
    assert f"\n{len(rows)} texts scored by" in repeated
    assert f"({2 * len(rows)} rows, as some texts have several)" in repeated
    assert repeated.split("mean ")[1].split(";")[0] in shown


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (("--labels-in", "group"), "--labels-in group: got labels of 0 groups"),
        (("--labels-in", "scores.nope"), "--labels-in scores.nope: no row has a value in this column. The columns are"),
        (("--by", "nope"), "--by nope: no row has a value in this column. The columns"),
    ],
)
def test_a_column_without_labels_or_slices_is_an_error_after_all_rows_are_written(
    learned: Commands, option: tuple[str, str], problem: str
) -> None:
    done = learned("score", HELDOUT, "--rubric", "news", "-o", "few.jsonl", *option)
    assert done.code == 2
    assert problem in done.error
    assert len((learned.folder / "few.jsonl").read_bytes().splitlines()) == 72


def test_equal_labels_of_some_texts_decide_no_threshold(learned: Commands) -> None:
    rows = [{**row} for row in HELDOUT_ROWS]
    rows = [{**row, "q": 5 if number % 2 else None} for number, row in enumerate(rows)]
    score = ("score", learned.write("equal.jsonl", rows), "--rubric", "news", "--labels-in", "q", "-o", "e.jsonl")
    done = learned(*score, "--fail-under", "4.9")
    assert done.code == 3, done.err


PRIOR = ("--task", "summarization", "--aspect", "coherence")


def test_texts_without_labels_are_scored_offline_and_said_to_be_unvalidated(rubriclab: Commands) -> None:
    bare = [{key: value for key, value in row.items() if key != "scores"} for row in ROWS]
    done = rubriclab("score", rubriclab.write("texts.jsonl", bare), *PRIOR, "--scale", "0:10:any")
    assert [row["id"] for row in done.rows] == [row["id"] for row in ROWS]
    assert all(0 <= row["score"] <= 10 and row["rubric"] == "unvalidated" for row in done.rows)
    assert len({row["score"] for row in done.rows}) > 6
    assert "unvalidated: no label says how far these scores agree with people's" in done.err
    assert "rubriclab learn LABELLED --task summarization --aspect coherence" in done.err
