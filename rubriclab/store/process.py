"""The identity of a process across machines, and whether it is still there."""

from __future__ import annotations

import os
import re
import secrets
import socket
from functools import cache
from pathlib import Path

from rubriclab.digest import digest

# A process that has ended but whose parent has not noticed yet.
ENDED = ("Z", "X", "x")
_PROCESS = re.compile(r"([^:]*):([0-9]{1,10}):([^:]*):[^:]*")


def this_process() -> str:
    """Return `MACHINE:PID:STARTED:RANDOM`, which no other process has, on any machine and at any time."""
    return f"{_machine()}:{os.getpid()}:{_started(os.getpid())}:{secrets.token_hex(4)}"


def is_gone(process: object) -> bool:
    """Return whether `process` is known to have ended, or is no process; nothing is known of other machines'."""
    found = _PROCESS.fullmatch(process) if isinstance(process, str) else None
    if found is None:
        return True
    machine, pid, started = found.groups()
    return machine == _machine() and _started(int(pid)) != started


@cache
def _machine() -> str:
    """Return a digest of what process ids are unique in: the machine since it was started, and its container."""
    return digest([socket.gethostname(), _text("/proc/sys/kernel/random/boot_id"), _link("/proc/self/ns/pid")])[7:23]


def _started(pid: int) -> str:
    """Return when the process started, in the system's ticks; `""` if there is none, `?` where that is not told."""
    if not Path("/proc/self/stat").exists():
        return "?"
    # The name of the program, in brackets, may hold anything.
    state, *fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split() or [ENDED[0]]
    return "" if state in ENDED else fields[18]


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
