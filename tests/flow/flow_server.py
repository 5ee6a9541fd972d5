"""What whole flows against the local server share: what is learned there, and a brain that kills."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scripted_model
from commands import LABELLED, Commands, Done, Started
from server import Brain, RunningServer, Unavailable

KEY = "sk-nobody-may-ever-see-this"
MODEL = "openai/fake"
TASK = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "news")
HYPOEVAL = (*TASK, "--method", "hypoeval")
# HypoEval in little: some ninety requests for twelve texts, through every one of its steps.
LITTLE = tuple(
    f"--set=hypoeval.{setting}"
    for setting in (
        "k=3",
        "bank_size=6",
        "initial_examples=3",
        "initial_hypotheses=3",
        "wrong_bank=4",
        "new_hypotheses=3",
        "refine_rounds=2",
        "selected=3",
    )
)


def texts(folder: Path, count: int) -> str:
    """Write the first `count` labelled texts of the sample, and return the file's name."""
    lines = LABELLED.read_bytes().splitlines(keepends=True)[:count]
    (folder / f"labelled-{count}.jsonl").write_bytes(b"".join(lines))
    return f"labelled-{count}.jsonl"


def commands_at(server: RunningServer, folder: Path) -> Commands:
    """Return the command line with the environment in which `openai/fake` is asked at `server`."""
    address: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": KEY}
    return Commands(folder, RUBRICLAB_STORE="store.db", RUBRICLAB_JUDGE=MODEL, **address)


def learn_little(commands: Commands, *more: object, **environment: Any) -> Done:
    """Return how learning from twelve texts ended."""
    return commands("learn", texts(commands.folder, 12), *HYPOEVAL, *LITTLE, "--json", *more, **environment)


@dataclass(frozen=True)
class Little:
    """What HypoEval in little came to: its store, and the printed result."""

    store: Path
    result: dict[str, Any]

    @property
    def asked(self) -> int:
        """Requests that it took."""
        return int(self.result["calls"]["made"])

    @property
    def digest(self) -> str:
        """The rubric's."""
        return str(self.result["digest"])


class Killing:
    """A brain that sends its asker a signal instead of the reply of a given number, and answers nobody after that."""

    def __init__(self, at: int, number: signal.Signals = signal.SIGKILL, brain: Brain = scripted_model.reply) -> None:
        self.left = at
        self.number = number
        self.brain = brain
        self.victim: Started | None = None

    def __call__(self, messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        """Return a sensible reply, as long as there is one left."""
        self.left -= 1
        if self.left > 0:
            return self.brain(messages, body)
        if self.left == 0 and self.victim:
            os.kill(self.victim.pid, self.number)
        raise Unavailable
