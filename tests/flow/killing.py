"""Commands that are killed at a random moment and run again: nothing that was kept may change, or be paid for twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import Commands, Done
from flow_server import HYPOEVAL, LITTLE, commands_at
from server import RunningServer

# Seconds before a kill from which on an answer has to be there when the command is run again.
GRACE = 1.0


@dataclass(frozen=True)
class Operation:
    """A command to kill, how its outcome is read off, and the store it works on."""

    name: str
    command: tuple[object, ...]
    outcome: Callable[[Done], Any]
    store: str = "store.db"


@dataclass(frozen=True)
class Undisturbed:
    """An operation with the folder that it starts from, and its outcome and seconds when nothing disturbs it."""

    operation: Operation
    start: Path
    outcome: Any
    seconds: float


@dataclass(frozen=True)
class Killed:
    """What came of one kill. `faults` says what was not as it has to be."""

    operation: str
    moment: float
    in_time: bool
    repeated: int
    faults: tuple[str, ...]


def saved(done: Done) -> Any:
    return done.json["rubric"], done.json["digest"]


IMPORT = ("import", "pack.json", "--as", "imported", "--json")
OPERATIONS = (
    Operation("learn", ("learn", "labelled-12.jsonl", *HYPOEVAL, *LITTLE, "--name", "again", "--json"), saved),
    Operation("score", ("score", "heldout.jsonl", "--rubric", "news"), lambda done: done.rows),
    Operation("evaluate", ("evaluate", "heldout.jsonl", "--rubric", "news", "--json"), lambda done: done.json),
    Operation("import", IMPORT, saved),
    Operation("tag", ("tag", "news@1", "best"), lambda done: done.out),
    Operation("create", (*IMPORT, "--store", "new.db"), saved, store="new.db"),
)


def undisturbed(server: RunningServer, operation: Operation, start: Path, folder: Path) -> Undisturbed:
    """Return what comes of an operation that starts from a copy of `start`, made at `folder`."""
    commands = _fresh(server, start, folder)
    begun = time.monotonic()
    done = commands(*operation.command)
    seconds = time.monotonic() - begun
    assert done.code == 0, done.err
    return Undisturbed(operation, start, operation.outcome(done), seconds)


def kill_once(server: RunningServer, expected: Undisturbed, folder: Path, draw: random.Random) -> Killed:
    """Kill the operation at a random moment, run it again, and return what was not as it has to be."""
    commands, operation = _fresh(server, expected.start, folder), expected.operation
    moment = draw.uniform(0, expected.seconds)
    running = commands.start(*operation.command)
    time.sleep(moment)
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGKILL)
    killed = time.monotonic()
    in_time = running.wait().code == -signal.SIGKILL
    done, faults = commands(*operation.command), []
    if done.code != 0:
        faults.append(f"exit code {done.code}: {done.err}")
    elif (outcome := operation.outcome(done)) != expected.outcome:
        faults.append(f"another outcome: {outcome}")
    if late := [killed - answered for answered in server.repeats if killed - answered > GRACE]:
        faults.append(f"asked again though answered {max(late):.1f} s before the kill")
    verified = commands("verify", "--store", operation.store)
    if verified.code != 0:
        faults.append(f"the store does not verify: {verified.out}{verified.err}")
    shutil.rmtree(folder)
    return Killed(operation.name, moment, in_time, len(server.repeats), tuple(faults))


def _fresh(server: RunningServer, start: Path, folder: Path) -> Commands:
    shutil.copytree(start, folder, ignore=shutil.ignore_patterns(".*"))
    server.reset()
    server.latency = 0.02
    return commands_at(server, folder)
