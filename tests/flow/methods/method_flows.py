"""What the flows of all methods but HypoEval share: each in little, and a run to compare with."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from commands import HELDOUT, Commands
from flow_server import TASK, texts
from server import RunningServer

Turns = list[dict[str, str]]

# `direct` stands for `few_shot` and `analyze_rate`, which differ from it in what the judge is shown alone.
METHODS = ("checkeval", "seeval", "seal", "dcr", "direct", "geval")
every_method = pytest.mark.parametrize("method", METHODS)
# Where it is about replies and not about words: `seeval` and `dcr` ask for one score or one list a text as these do.
every_kind = pytest.mark.parametrize("method", ["checkeval", "seal", "direct", "geval"])
LEARNED_FROM, SCORED = 12, 6
RECORDING = "recording.jsonl"
# Two failures after which the server is asked again at once.
MENDED = ("server_error", None, "overloaded")

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
# Claims that facts of the source must bear out, and what the judge weighs: SEAL with all that it asks.
UNITS = {
    **CHECKLIST,
    "units": {"kind": "fact", "beside": ["source"], "weights": "judge"},
    "sub_dimensions": [
        {
            "name": "ground",
            "definition": "What is told can be looked up.",
            "questions": [{"id": "stated", "text": "Does the source state what the fact states?", "support": "source"}],
        },
        {
            "name": "thread",
            "definition": "All facts belong to one account.",
            "questions": [
                {"id": "one-account", "text": "Does the fact add to the same account as those before it?"},
                {"id": "restart", "text": "Does the summary start afresh with the fact?", "better": "no"},
            ],
        },
    ],
}
COMPARISON = {**CHECKLIST, "units": {"kind": "sentence", "beside": ["source"]}}
PACKS = {"checkeval": CHECKLIST, "seal": UNITS, "dcr": COMPARISON}
SETTINGS = {
    "checkeval": ("diversified=2", "elaborated_most=3"),
    "seeval": ("explanations=2",),
    "seal": ("proposed=1",),
    "dcr": ("verdict=converted",),
}
# Requests that one text takes by SEAL: its facts, the weights, the verdicts, and what bears them out.
BY_FACTS = 4
# Requests that scoring takes. The facts of the source that all these texts have are asked for once.
SCORING = {
    **dict.fromkeys(METHODS, SCORED),
    "checkeval": len(CHECKLIST["sub_dimensions"]) * SCORED,
    "seal": BY_FACTS * SCORED + 1,
    "dcr": 2 * SCORED,
}


def learning(commands: Commands, method: str, *more: object) -> tuple[object, ...]:
    """Return the command that learns from twelve texts by `method`, in little."""
    own: tuple[object, ...] = tuple(f"--set={method}.{setting}" for setting in SETTINGS.get(method, ()))
    if method in PACKS:
        (commands.folder / "checklist.json").write_text(json.dumps(PACKS[method]))
        own += ("--checklist", "checklist.json")
    return ("learn", texts(commands.folder, LEARNED_FROM), *TASK, "--method", method, *own, "--json", *more)


def some_texts(count: int = SCORED, after: int = 0) -> bytes:
    """Return that many rows that nothing was learned from."""
    return b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[after : after + count])


def unusable_at_first(messages: Turns, body: dict[str, Any]) -> str:
    """Answer the repair only; what comes first is spoilt in one of several ways."""
    said = scripted_model.reply(messages, body)
    if scripted_model.is_repair(messages):
        return said
    return random.Random(said).choice(["", "I would rather not.", said[: len(said) // 2], "{}"])


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
