"""`rubriclab agree`: two models on a local server, one judge offline beside a recording, and what is refused."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
import scripted_model
from commands import HELDOUT, Commands
from server import RunningServer

TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:12]
STRICT, MILD = "openai/strict", "openai/mild"
TWO = ("--judge", STRICT, "--judge", MILD)
AGREE = ("agree", "texts.jsonl", "--rubric", "news@1")


@pytest.fixture
def recorded(asking: Commands) -> Commands:
    """The command line with two recordings of both models, one a copy of the other."""
    assert asking(*AGREE, *TWO, "--record", "recorded.jsonl").code == 0
    shutil.copy(asking.folder / "recorded.jsonl", asking.folder / "copy.jsonl")
    return asking


def test_a_reply_that_cannot_be_used_is_missing_and_counted(asking: Commands, models: RunningServer) -> None:
    hard = json.loads(TEXTS[1])["output"]

    def unwilling(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if body["model"] == "mild" and hard in messages[1]["content"]:
            return "I would rather not."
        return scripted_model.two_minds(messages, body)

    models.brain = unwilling
    done = asking(*AGREE, *TWO)
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    assert "1 score and 5 answers are missing; the figures rest on the others." in words
    found = asking(*AGREE, *TWO, "--json").json
    assert [judge["unscored"] for judge in found["judges"]] == [0, 1]
    assert found["pairs"][0]["n"] == 11
    assert [(row["answers"], row["missing"]) for row in found["criteria"]] == [(11, 1)] * 5


def test_a_recording_of_several_judges_needs_the_name_of_one_that_is_not_named_twice(recorded: Commands) -> None:
    one, same = (f"recorded:{file}.jsonl#{STRICT}" for file in ("recorded", "copy"))
    for judges, complaint in (
        (("embedded", "recorded:recorded.jsonl"), "The recording recorded.jsonl has more than one judge;"),
        (("embedded", "recorded:recorded.jsonl#me"), "The recording recorded.jsonl has no judge me;"),
        ((one, "embedded", same), f"{one} and {same} are the same judge;"),
    ):
        done = recorded(*AGREE, *(part for judge in judges for part in ("--judge", judge)))
        assert (done.code, done.out) == (2, "")
        assert done.error.startswith(complaint)
