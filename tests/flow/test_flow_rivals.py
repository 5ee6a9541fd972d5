"""Texts of one group rated in one call: through the command line, counted at a server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from commands import HELDOUT_ROWS as ROWS, Commands
from scripted_judge import DIRECT, HYPOTHESES, combined, scored
from server import RunningServer

from rubriclab.models.version import Effort, Provenance
from rubriclab.store.store import open_store

MADE = {"judge": "openai/fake", "generator": "openai/fake", "prompts": "p", "data": "d", "seed": 42, "version": "0"}
GROUPS = list(dict.fromkeys(row["group"] for row in ROWS))[:2]
# Two groups of six texts, alternating.
MIXED = [
    row
    for pair in zip(*([row for row in ROWS if row["group"] == name] for name in GROUPS), strict=True)
    for row in pair
]
LOST = MIXED[4]["output"]
COMMAND = ("score", "-", "--rubric", "both", "--rivals", "together")
STDIN = "\n".join(map(json.dumps, MIXED)).encode()


def score_of(output: str) -> int:
    return 1 + len(output) % 5


def reply(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    """Rate every text of a call by its length; leave out one of them."""
    question = messages[1]["content"]
    texts = re.findall(r"<<<text (\d+) (\w+)>>>\n(.*?)\n<<<end of text \1 \2>>>", question, re.DOTALL)
    if not texts:
        return json.dumps(dict.fromkeys(("h1", "h2", "direct"), scored(3)))
    entries = {
        f"text {number}": dict.fromkeys(("h1", "h2", "direct"), scored(score_of(text)))
        for number, _, text in texts
        if text != LOST
    }
    return json.dumps(entries)


@pytest.fixture
def jointly(asking: Commands, provider: RunningServer) -> Commands:
    """The command line with a rubric that asks in one call in its store, and that server."""
    provider.brain = reply
    made = Provenance(**MADE, examples=("t1",), groups=("g",))
    with open_store(asking.folder / "store.db") as store:
        store.save("both", combined("in one call", (HYPOTHESES, DIRECT)), made, Effort())
    return asking


def test_a_group_takes_one_request_and_a_missing_entry_costs_only_its_text(
    jointly: Commands, provider: RunningServer
) -> None:
    most = jointly(*COMMAND, "--dry-run", "--json", stdin=STDIN).json["estimate"]
    assert [row["calls"] for row in most.values()] == [2]
    assert provider.requests.total() == 0
    done = jointly(*COMMAND, stdin=STDIN)
    assert done.code == 0, done.err
    # One more for the group of the text that is left out.
    assert (provider.requests.total(), provider.repeated) == (3, 0)
    assert [row["id"] for row in done.rows] == [row["id"] for row in MIXED]
    for row, text in zip(done.rows, MIXED, strict=True):
        assert row["rivals"] == "together"
        if text["output"] == LOST:
            assert row["score"] is None
            assert "also after one repair" in row["unscored"]
        else:
            assert row["score"] == score_of(text["output"])
    assert "12 texts rated together with their rivals in 2 calls" in done.err
    assert "had no rival" not in done.err
    assert "agreement and intervals hold for such scores, not for texts rated together" in done.err
    # A second run asks for nothing.
    assert jointly(*COMMAND, stdin=STDIN).rows == done.rows
    assert provider.requests.total() == 3


def test_scores_of_texts_rated_together_are_not_compared_to_others(jointly: Commands, provider: RunningServer) -> None:
    (jointly.folder / "together.jsonl").write_text("\n".join(map(json.dumps, jointly(*COMMAND, stdin=STDIN).rows)))
    (jointly.folder / "new.jsonl").write_bytes(STDIN)
    asked = provider.requests.total()
    refused = jointly("compare", "together.jsonl", "new.jsonl", "--rubric", "both")
    assert refused.code == 2
    assert "11 of 24 outputs are rated together with their group" in refused.err
    assert provider.requests.total() == asked
    # The text without a score would be scored by itself.
    scored = [
        row for row in map(json.loads, (jointly.folder / "together.jsonl").read_text().splitlines()) if row["score"]
    ]
    (jointly.folder / "together.jsonl").write_text("\n".join(map(json.dumps, scored)))
    same = jointly("compare", "together.jsonl", "together.jsonl", "--rubric", "both", "--json")
    assert same.code in (0, 3), same.err
    assert provider.requests.total() == asked


def test_evaluate_measures_scores_of_texts_rated_together(jointly: Commands, provider: RunningServer) -> None:
    (jointly.folder / "labelled.jsonl").write_bytes(STDIN)
    done = jointly("evaluate", "labelled.jsonl", "--rubric", "both", "--rivals", "together")
    assert done.code == 0, done.err
    assert "both@1: 12 texts rated together with their rivals in 2 calls" in done.err
    assert provider.requests.total() == 3
