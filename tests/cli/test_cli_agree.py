"""`rubriclab agree`: two models on a local server, one judge offline beside a recording, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import scripted_model
from commands import HELDOUT, Commands
from server import RunningServer

TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:12]
STRICT, MILD = "openai/strict", "openai/mild"
TWO = ("--judge", STRICT, "--judge", MILD)
AGREE = ("agree", "texts.jsonl", "--rubric", "news@1")


@pytest.fixture(scope="session")
def recording(
    _running_server: RunningServer, learned: Commands, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What two models on the server came to, and the folder that holds the texts and a recording of both."""
    _running_server.reset()
    _running_server.brain = scripted_model.two_minds
    folder = tmp_path_factory.mktemp("recording")
    (folder / "texts.jsonl").write_bytes(b"".join(TEXTS))
    (folder / "store.db").write_bytes((learned.folder / "store.db").read_bytes())
    asking = Commands(folder, RUBRICLAB_STORE="store.db", OPENAI_API_BASE=_running_server.url, OPENAI_API_KEY="none")
    done = asking(*AGREE, *TWO, "--record", "recorded.jsonl", "--json")
    assert done.code == 0, done.err
    return {"folder": folder, "found": done.json}


@pytest.fixture
def recorded(offline: Commands, recording: dict[str, Any]) -> Commands:
    """The command line with a store of rubrics, twelve texts and the recording, and no server."""
    (offline.folder / "recorded.jsonl").write_bytes((recording["folder"] / "recorded.jsonl").read_bytes())
    return offline


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


@pytest.mark.parametrize(
    ("judges", "complaint"),
    [
        (("embedded", "recorded:recorded.jsonl"), "The recording recorded.jsonl has more than one judge;"),
        (("embedded", "recorded:recorded.jsonl#me"), "The recording recorded.jsonl has no judge me;"),
    ],
    ids=["which", "who"],
)
def test_a_recording_of_several_judges_needs_the_name_of_one(
    recorded: Commands, judges: tuple[str, ...], complaint: str
) -> None:
    done = recorded(*AGREE, *(part for judge in judges for part in ("--judge", judge)))
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(complaint)


def test_one_judge_under_two_names_is_refused(recorded: Commands) -> None:
    (recorded.folder / "copy.jsonl").write_bytes((recorded.folder / "recorded.jsonl").read_bytes())
    names = [f"recorded:{file}.jsonl#{STRICT}" for file in ("recorded", "copy")]
    done = recorded(*AGREE, "--judge", names[0], "--judge", "embedded", "--judge", names[1])
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(f"{names[0]} and {names[1]} are the same judge;")
