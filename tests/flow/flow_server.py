"""What whole flows against the local server share: each method in little, a run to compare with, a brain that kills."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scripted_model
from commands import HELDOUT, LABELLED, Commands, Done, Started
from scripted_judge import checklist
from server import Brain, RunningServer, Unavailable

KEY = "sk-nobody-may-ever-see-this"
MODEL = "openai/fake"
TASK = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "news")
# `direct` stands for `few_shot` and `analyze_rate`, which differ from it in what the judge is shown alone; `joint` for
# several methods as one rubric.
METHODS = ("hypoeval", "checkeval", "seeval", "seal", "dcr", "direct", "geval", "joint")
LEARNED_FROM, SCORED = 12, 6
RECORDING = "recording.jsonl"

# By these words the server knows that the good answer is no.
FAULT = {"text": "Does it start afresh anywhere?", "better": "no"}
CHECKLIST = checklist((2, 1), changes={"a2": FAULT})
# Claims that facts of the source must bear out, and what the judge weighs: SEAL with all that it asks.
CLAIMS = {"kind": "fact", "beside": ["source"], "weights": "judge"}
UNITS = checklist((1, 2), changes={"a1": {"support": "source"}, "b2": FAULT}, units=CLAIMS)
COMPARISON = checklist((2, 1), units={"kind": "sentence", "beside": ["source"]})
PACKS = {"checkeval": CHECKLIST, "seal": UNITS, "dcr": COMPARISON, "joint": CHECKLIST}
SETTINGS = {
    # Some ninety requests for twelve texts, through every step.
    "hypoeval": (
        *("k=3", "bank_size=6", "initial_examples=3", "initial_hypotheses=3"),
        *("wrong_bank=4", "new_hypotheses=3", "refine_rounds=2", "selected=3"),
    ),
    "checkeval": ("diversified=2", "elaborated_most=3"),
    "seeval": ("explanations=2",),
    "seal": ("proposed=1",),
    "dcr": ("verdict=converted",),
}
LITTLE = tuple(f"--set=hypoeval.{setting}" for setting in SETTINGS["hypoeval"])
HYPOEVAL = (*TASK, "--method", "hypoeval")
# One round of proposals: from labels, and from findings alone.
ONE_ROUND = tuple(
    f"--set=hypoeval.{setting}"
    for setting in ("bank_size=2", "initial_hypotheses=2", "k=1", "selected=1", "wrong_bank=100", "refine_rounds=0")
)


def texts(folder: Path, count: int) -> str:
    """Write the first `count` labelled texts of the sample, and return the file's name."""
    lines = LABELLED.read_bytes().splitlines(keepends=True)[:count]
    (folder / f"labelled-{count}.jsonl").write_bytes(b"".join(lines))
    return f"labelled-{count}.jsonl"


def some_texts(count: int = SCORED) -> bytes:
    """Return that many rows that nothing was learned from."""
    return b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:count])


def commands_at(server: RunningServer, folder: Path) -> Commands:
    """Return the command line with the environment in which `openai/fake` is asked at `server`."""
    address: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": KEY}
    return Commands(folder, RUBRICLAB_STORE="store.db", RUBRICLAB_JUDGE=MODEL, **address)


def learning(commands: Commands, method: str, *more: object) -> tuple[object, ...]:
    """Return the command that learns from twelve texts by `method`, in little."""
    names = ["hypoeval", "checkeval", "seeval"] if method == "joint" else [method]
    own = [] if method == "joint" else ["--method", method]
    own += [f"--set={name}.{setting}" for name in names for setting in SETTINGS.get(name, ())]
    if method in PACKS:
        (commands.folder / "checklist.json").write_text(PACKS[method].model_dump_json())
        own += ["--checklist", "checklist.json"]
    return ("learn", texts(commands.folder, LEARNED_FROM), *TASK, *own, "--json", *more)


def learn_little(commands: Commands, *more: object, **environment: Any) -> Done:
    """Return how learning from twelve texts by HypoEval ended; its first note is that these are of two groups only."""
    return commands(*learning(commands, "hypoeval", *more), **environment)


@dataclass(frozen=True)
class Run:
    """What a method came to when nothing disturbed it.

    Attributes:
        folder: with its store, also as it was before scoring (`learned.db`), and a recording of all replies.
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
        return str(self.result["digest"])


def undisturbed(method: str, commands: Commands, server: RunningServer) -> Run:
    done = commands(*learning(commands, method, "--record", RECORDING))
    assert done.code == 0, done.err
    learned = server.requests.total()
    shutil.copy(commands.folder / "store.db", commands.folder / "learned.db")
    scored = commands("score", "-", "--rubric", "news", "--record", RECORDING, stdin=some_texts())
    assert scored.code == 0, scored.err
    scoring = server.requests.total() - learned
    pack = commands("export", "news").out
    return Run(method, commands.folder, done.json, learned, scoring, server.repeated, scored.rows, pack)


class Killing:
    """A brain that sends its asker a signal instead of the reply of a given number, and answers nobody after that."""

    def __init__(self, at: int, brain: Brain = scripted_model.reply) -> None:
        self.left = at
        self.brain = brain
        self.victim: Started | None = None

    def __call__(self, messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        self.left -= 1
        if self.left > 0:
            return self.brain(messages, body)
        if self.left == 0 and self.victim:
            os.kill(self.victim.pid, signal.SIGKILL)
        raise Unavailable


def kill(commands: Commands, server: RunningServer, command: tuple[object, ...], at: int, stdin: bytes = b"") -> None:
    """Run a command that is killed instead of getting the reply of a given number."""
    server.brain = killing = Killing(at)
    killing.victim = commands.start(*command, stdin=stdin)
    assert killing.victim.wait().code == -signal.SIGKILL
    server.brain = scripted_model.reply
