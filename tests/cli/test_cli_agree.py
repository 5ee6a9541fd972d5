"""`rubriclab agree`: which recordings it refuses."""

from __future__ import annotations

import shutil

from commands import Commands

STRICT, MILD = "openai/strict", "openai/mild"
TWO = ("--judge", STRICT, "--judge", MILD)
AGREE = ("agree", "texts.jsonl", "--rubric", "news@1")


def test_a_recording_of_several_judges_needs_the_name_of_one_that_is_not_named_twice(asking: Commands) -> None:
    assert asking(*AGREE, *TWO, "--record", "recorded.jsonl").code == 0
    shutil.copy(asking.folder / "recorded.jsonl", asking.folder / "copy.jsonl")
    one, same = (f"recorded:{file}.jsonl#{STRICT}" for file in ("recorded", "copy"))
    for judges, complaint in (
        (("embedded", "recorded:recorded.jsonl"), "The recording recorded.jsonl has more than one judge;"),
        (("embedded", "recorded:recorded.jsonl#me"), "The recording recorded.jsonl has no judge me;"),
        ((one, "embedded", same), f"{one} and {same} are the same judge;"),
    ):
        done = asking(*AGREE, *(part for judge in judges for part in ("--judge", judge)))
        assert (done.code, done.out) == (2, "")
        assert done.error.startswith(complaint)
