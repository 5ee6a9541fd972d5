"""`rubriclab store`: size and prune, with answers of a real server."""

from __future__ import annotations

from typing import Any

from commands import LABELLED_ROWS, Commands
from server import RunningServer

from rubriclab import Lab

TASK: Any = {"task": "summarization", "aspect": "coherence", "scale": "1:5", "methods": "direct", "name": "direct"}
ROWS = LABELLED_ROWS[:12]


def answers(lab: Lab) -> int:
    return sum(kind.rows for kind in lab.store_size().kinds if kind.kind == "cached answers")


def test_removed_answers_are_asked_again_and_versions_stay(rubriclab: Commands, server: RunningServer) -> None:
    lab = Lab(rubriclab.folder / "store.db", judge="openai/fake", progress=None)
    lab.learn(ROWS, **TASK)
    assert rubriclab("store", "prune", "--older-than", "0d").code == 0
    assert answers(lab) == 0
    assert lab.verify().problems == ()
    lab.learn(ROWS, **TASK)
    assert answers(lab) == len(ROWS)
