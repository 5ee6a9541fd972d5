"""Without labels a language model is asked for one score of the whole aspect, and its answers are kept."""

from __future__ import annotations

import json

import methods_brain
from commands import HELDOUT, Commands
from server import RunningServer

SCORE = ("score", "some.jsonl", "--task", "summarization", "--aspect", "coherence", "--scale", "1:5")


def test_one_call_a_text_is_asked_and_nothing_twice(provider: RunningServer, asking: Commands) -> None:
    provider.brain = methods_brain.reply
    (asking.folder / "some.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:4]))
    assert json.loads(asking(*SCORE, "--dry-run", "--json").out)["estimate"]["judge"]["calls"] == 4
    first, second = asking(*SCORE), asking(*SCORE)
    assert (first.code, len(first.rows), provider.requests.total()) == (0, 4, 4)
    assert first.rows == second.rows
    assert all(1 <= row["score"] <= 5 and row["criteria"][0]["reason"] for row in first.rows)
    assert "unvalidated" in first.err
