"""Several processes on one store, and a store that may only be read."""

from __future__ import annotations

import pytest
from commands import HELDOUT, Commands
from server import RunningServer

SCORE = ("score", "some.jsonl", "--rubric", "news")


@pytest.fixture
def scoring(learned: Commands) -> Commands:
    """The command line with a learned rubric, and texts that nothing was asked about."""
    (learned.folder / "some.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:6]))
    return learned


def test_two_processes_at_once_have_the_same_scores_and_the_first_answers_stay(
    provider: RunningServer, scoring: Commands
) -> None:
    provider.latency = 0.15
    command = (*SCORE, "--judge", "openai/fake")
    first, second = [each.wait() for each in [scoring.start(*command) for _ in range(2)]]
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.rows == second.rows
    assert len(first.rows) == 6
    asked = provider.requests.total()
    assert scoring(*command).rows == first.rows
    assert provider.requests.total() == asked
