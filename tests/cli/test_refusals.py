"""What the commands refuse: the exit code and the words that a user acts on."""

from __future__ import annotations

import pytest
from commands import HELDOUT, Commands

REFUSALS: list[tuple[str, int, str]] = [
    (
        f"score {HELDOUT} --rubric news --judge openai/fake",
        2,
        "the API key is missing. Set OPENAI_API_KEY",
    ),
    (
        f"score {HELDOUT} --rubric news --judge anthropic/claude-3-haiku-20240307 --attempts 1",
        2,
        "Set ANTHROPIC_API_KEY",
    ),
    ("list --store none.db", 2, "The store none.db does not exist. Learn a rubric first: rubriclab learn"),
]


@pytest.mark.parametrize(("line", "code", "words"), REFUSALS, ids=[line for line, *_ in REFUSALS])
def test_a_command_that_cannot_work_says_what_to_do(learned: Commands, line: str, code: int, words: str) -> None:
    done = learned(*line.split())
    assert (done.code, done.out) == (code, "")
    assert words in done.error
