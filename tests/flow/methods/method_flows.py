"""What the flows of CheckEval, SEEval and the baselines share: each in little, and a run to compare with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, Commands
from flow_server import TASK, texts
from server import RunningServer

METHODS = ("checkeval", "seeval", "direct", "few_shot", "geval", "analyze_rate")
every_method = pytest.mark.parametrize("method", METHODS)
LEARNED_FROM, SCORED = 12, 6
RECORDING = "recording.jsonl"

CHECKLIST = {
    "format": "rubriclab-checklist/1",
    "task": "summarization",
    "aspect": "coherence",
    "definition": "How well the sentences of the summary make one piece.",
    "sub_dimensions": [
        {
            "name": "thread",
            "definition": "All sentences belong to one account.",
            "questions": [
                {"id": "one-account", "text": "Does every sentence add to one and the same account?"},
                {"id": "restart", "text": "Does the summary start afresh anywhere?", "better": "no"},
            ],
        },
        {
            "name": "links",
            "definition": "Neighbouring sentences are connected.",
            "questions": [{"id": "takes-up", "text": "Does each later sentence take up what an earlier one mentions?"}],
        },
    ],
}
SETTINGS = {
    "checkeval": ("diversified=2", "elaborated_fewest=2", "elaborated_most=3"),
    "seeval": ("explanations=2", "shown=3"),
}
# Requests that scoring one text takes.
PER_TEXT = {method: len(CHECKLIST["sub_dimensions"]) if method == "checkeval" else 1 for method in METHODS}


def learning(commands: Commands, method: str, *more: object) -> tuple[object, ...]:
    """Return the command that learns from twelve texts by `method`, in little."""
    own: tuple[object, ...] = tuple(f"--set={method}.{setting}" for setting in SETTINGS.get(method, ()))
    if method == "checkeval":
        (commands.folder / "checklist.json").write_text(json.dumps(CHECKLIST))
        own += ("--checklist", "checklist.json")
    return ("learn", texts(commands.folder, LEARNED_FROM), *TASK, "--method", method, *own, "--json", *more)


def some_texts(count: int = SCORED, after: int = 0) -> bytes:
    """Return that many rows that nothing was learned from."""
    return b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[after : after + count])


@dataclass(frozen=True)
class Run:
    """What a method came to when nothing disturbed it.

    Attributes:
        folder: where its store and a recording of all replies are.
        result: what learning printed.
        learning, scoring: requests that the server counted, for learning and for six texts.
        repeated: requests that came again although they had been answered.
        scores: these texts' rows.
        pack: the rubric as it is exported.
    """

    method: str
    folder: Path
    result: dict[str, Any]
    learning: int
    scoring: int
    repeated: int
    scores: list[Any]
    pack: str

    @property
    def digest(self) -> str:
        """The rubric's."""
        return str(self.result["digest"])

    @property
    def criteria(self) -> list[Any]:
        """What it kept."""
        kept: list[Any] = json.loads(self.pack)["rubric"]["parts"][0]["criteria"]
        return kept


def undisturbed(method: str, commands: Commands, server: RunningServer) -> Run:
    """Learn and score once, and return what it came to."""
    done = commands(*learning(commands, method, "--record", RECORDING))
    assert done.code == 0, done.err
    learned = server.requests.total()
    scored = commands("score", "-", "--rubric", "news", "--record", RECORDING, stdin=some_texts())
    assert scored.code == 0, scored.err
    scoring = server.requests.total() - learned
    pack = commands("export", "news").out
    return Run(method, commands.folder, done.json, learned, scoring, server.repeated, scored.rows, pack)
