"""`rubriclab drift`: two versions offline, two models on a local server, limits as exit codes, and what is refused."""

from __future__ import annotations

import json
import os
from functools import partial

import pytest
import scripted_model
from commands import HELDOUT, HELDOUT_ROWS, LABELLED, TASK, Commands, Done
from privileges import limit_files
from server import RunningServer

TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:12]
VERSIONS = ("drift", "news@1", "news@2", "texts.jsonl")
JUDGES = ("drift", "whole@1", "texts.jsonl", "--judge", "openai/strict", "--judge", "openai/mild")


@pytest.fixture
def asking(asking: Commands) -> Commands:
    """The same with a rubric that takes one request for each text."""
    succeeded(asking("learn", LABELLED, *TASK, "--method", "direct", "--judge", "embedded", "--name", "whole"))
    return asking


def succeeded(done: Done) -> Done:
    assert done.code == 0, done.err
    return done


def test_what_cannot_be_told_is_exit_code_3(offline: Commands) -> None:
    (offline.folder / "texts.jsonl").write_bytes(TEXTS[1])
    done = offline("drift", "news@1", "relevance", "texts.jsonl", "--min-rank", 0.5)
    assert done.code == 3
    assert "INCONCLUSIVE" in done.out


def test_two_judges_are_compared_by_one_version(asking: Commands) -> None:
    done = asking(*JUDGES, "--flip-at", 4, "--max-flips", 0, "-o", "flips.jsonl")
    assert done.code == 1, done.err
    assert "whole@1 with openai/strict to whole@1 with openai/mild" in done.out
    assert done.err.count('whole@1 is calibrated for "embedded"') == 1
    rows = asking.read("flips.jsonl")
    assert rows
    assert all(row["before"] < 4 <= row["after"] and row["flips"] for row in rows)
    first = rows[0]["criteria"][0]
    assert (first["state"], first["score_after"] - first["score_before"], first["change"]) == ("kept", 2, 0.5)
    assert first["reason_before"]
    assert first["reason_after"]
    again = asking(*JUDGES, "--flip-at", 4, "--json")
    assert (again.json["calls"]["made"], again.json["flips"]["up"]) == (0, len(rows))


def test_faulty_rows_are_left_out_and_said(offline: Commands) -> None:
    (offline.folder / "texts.jsonl").write_bytes(b"".join([TEXTS[0], b"{broken\n", TEXTS[1], TEXTS[1]]))
    done = succeeded(offline(*VERSIONS, "--json"))
    assert done.json["before"]["texts"] == 3
    assert "left out: texts.jsonl:2" in done.err
    odd = offline.write("odd.jsonl", [{"output": "x", "scores": {"q": "odd"}}] * 3)
    assert f"left out: {odd}: 'odd': 3 cells in column 'scores.q', the first in" in offline(*VERSIONS[:-1], odd).err


def test_looks_at_an_anchor_ask_the_judge_again_find_that_it_changed_and_are_of_one_judge(
    asking: Commands, models: RunningServer
) -> None:
    # One text of each of the twelve held-out groups, which have six each.
    anchor = asking.write("anchor.jsonl", HELDOUT_ROWS[::6])
    look = ("drift", "whole@1", "--anchor", anchor, "--judge", "openai/strict", "--json")
    first = succeeded(asking(*look)).json
    assert (first["looks"], first["texts"], first["groups"], first["outcome"]) == (1, 12, 12, "within")
    assert first["bias_change"] == {"value": None, "low": None, "high": None}
    second = succeeded(asking(*look)).json
    assert (second["looks"], second["bias"], second["calls"]["made"]) == (2, first["bias"], first["calls"]["made"])
    most = round(4 * (1 - 0.025 ** (1 / 12)), 6)  # the rule of three, on a scale from 1 to 5
    assert second["bias_change"] == {"value": 0, "low": -most, "high": most}
    # From now on the provider answers with its mild model under the same name.
    models.brain = lambda messages, body: scripted_model.two_minds(messages, {**body, "model": "mild"})
    changed = [asking(*look) for _ in range(2)]
    assert changed[0].json["bias"] > first["bias"]
    assert (changed[-1].code, changed[-1].json["outcome"]) == (1, "beyond")
    other = asking(*look[:4], "--judge", "openai/mild")
    assert other.code == 2
    assert "anchor.jsonl.looks.json is not of whole@1 and openai/mild, but of another rubric or judge" in other.error
    (asking.folder / "anchor.jsonl.looks.json").write_text("{")
    assert asking(*look).code == 2


def test_looks_survive_a_full_disk_and_looks_at_the_same_time(offline: Commands) -> None:
    look = ("drift", "news@1", "--anchor", offline.write("anchor.jsonl", HELDOUT_ROWS[::6]))
    kept = offline.folder / "anchor.jsonl.looks.json"
    assert [done.wait().code for done in [offline.start(*look) for _ in range(4)]] == [0] * 4
    before = kept.read_bytes()
    assert len(json.loads(before)["looks"]) == 4
    (offline.folder / "store.db").chmod(0o400)  # a store that can only be read needs no space
    little = Commands(offline.folder, before=partial(limit_files, len(before)), **offline.environment)
    done = little(*look)
    assert (done.code, done.error) == (2, "anchor.jsonl.looks.json cannot be written: File too large.")
    assert kept.read_bytes() == before
    assert not [name for name in os.listdir(offline.folder) if name.endswith(".rubriclab")]
