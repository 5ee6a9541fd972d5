"""A rubric of several methods that is asked about in one call: through the command line, counted at a server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import HELDOUT, Commands
from server import RunningServer
from single_call_scripts import IDS, answer, combined, rating

from rubriclab.provenance import Effort, Provenance
from rubriclab.store import open_store

MADE = {"judge": "openai/fake", "generator": "openai/fake", "prompts": "p", "data": "d", "seed": 42, "version": "0"}
TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:4]
HARD = json.loads(TEXTS[1])["output"]
SAID = {
    "ratings": [rating("h1", 4), rating("h2", 2)],
    "answers": [answer("q1"), answer("q2", "no"), answer("q3", "n/a")],
    "whole": [rating("e1", 3), rating("direct", 5), rating("geval", 4)],
}


def reply(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Rate every text alike; of one of them leave out the scores of the whole, and answer nothing of another kind."""
    question = messages[1]["content"]
    assert all(f"\n[{name}] " in question for name in IDS)
    said = {**SAID, "whole": []} if HARD in question else SAID
    return f"Here you are:\n```json\n{json.dumps(said)}\n```"


@pytest.fixture
def jointly(asking: Commands, provider: RunningServer) -> Commands:
    """The command line with a rubric of five methods in its store, and that server."""
    provider.brain = reply
    made = Provenance(**MADE, examples=("t1",), groups=("g",))
    with open_store(asking.folder / "store.db") as store:
        store.save("both", combined("in one call"), made, Effort())
    return asking


def test_a_text_takes_one_request_whatever_the_number_of_methods(jointly: Commands, provider: RunningServer) -> None:
    command = ("score", "-", "--rubric", "both")
    most = jointly(*command, "--dry-run", "--json", stdin=b"".join(TEXTS)).json["estimate"]
    assert [row["calls"] for row in most.values()] == [len(TEXTS)]
    assert provider.requests.total() == 0
    done = jointly(*command, stdin=b"".join(TEXTS))
    assert done.code == 0, done.err
    # One more for the text of which some scores are left out; the rest of that reply counts.
    assert (provider.requests.total(), provider.repeated) == (len(TEXTS) + 1, 0)
    first, hard, *others = done.rows
    assert [each["id"] for each in first["criteria"]] == [*IDS]
    assert [each["score"] for each in first["criteria"]] == [4, 2, 1, 0, None, 3, 5, 4]
    assert {row["score"] for row in others} == {first["score"]}
    assert first["score"] == pytest.approx(3 + sum((1, -1, -2, -3, 0, 0, 2, 1)) / 8)
    assert [each["score"] for each in hard["criteria"]] == [4, 2, 1, 0, None, None, None, None]
    assert "`whole` needs one entry each for e1, direct, geval; got none" in hard["criteria"][-1]["reason"]
    assert hard["score"] == pytest.approx(3 + sum((1, -1, -2, -3)) / 8)
    assert jointly(*command, stdin=b"".join(TEXTS)).rows == done.rows
    assert provider.requests.total() == len(TEXTS) + 1
