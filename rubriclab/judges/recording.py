"""Recordings: every request's digest and its reply in one portable file, and a judge that answers from it.

A recording is JSON Lines without times, addresses' passwords or keys. Its first line says what it is; a `judge` line
stands before the first reply of each judge, with the identity that its requests' digests cover; each reply stands under
its request's digest::

    {"format": "rubriclab-recording", "version": 1}
    {"judge": "gpt-4o-mini", "identity": {"model": "gpt-4o-mini", ...}}
    {"request": "sha256:...", "template": "hypoeval/rate", "reply": {"text": "...", "model": "...", ...}}
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rubriclab.errors import DataError, ReplayMiss, SettingsError
from rubriclab.judges.judge import Judge, Reply
from rubriclab.judges.request import read_back, request_digest, written
from rubriclab.prompts import Prompt

HEADER = {"format": "rubriclab-recording", "version": 1}
PREFIX = "recorded:"

_log = logging.getLogger(__name__)

# Far above a reply of the largest size that is received, with its log-probabilities.
LONGEST_LINE = 64_000_000


@dataclass(slots=True)
class Tape:
    """What a recording holds: identities by judge's name, and replies by request; `end` is where its last line ends."""

    judges: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    end: int = 0


def read_tape(path: Path) -> Tape:
    """Return what the recording at `path` holds.

    A last line without its end is what a killed run leaves: it is left out, and logged as a warning.

    Raises:
        DataError: if the file cannot be read, is no recording, or is damaged elsewhere.
    """
    tape = Tape()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                _read_line(tape, path, number, line)
    except OSError as error:
        raise DataError(f"The recording {path} cannot be read: {error.strerror}.") from None
    return tape


def _read_line(tape: Tape, path: Path, number: int, line: bytes) -> None:
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"{path}, line {number} has more than {LONGEST_LINE:,} bytes, which no recorded reply has.",
            "Record again with --record PATH, to a new file.",
        )
    if not line.endswith(b"\n"):
        if number == 1 and not orjson.dumps(HEADER).startswith(line):
            raise _damaged(path, 1, line)
        _log.warning("%s ends in a half-written line, which is left out.", path)
        return
    try:
        _take(tape, orjson.loads(line), first=number == 1)
    except (ValueError, KeyError, TypeError):
        raise _damaged(path, number, line) from None
    tape.end += len(line)


def _damaged(path: Path, number: int, line: bytes) -> DataError:
    expected = "the header of a recording" if number == 1 else "a judge or a reply"
    return DataError(
        f"{path}, line {number}: expected {expected}, got {line[:80].decode('utf-8', 'replace')!r}.",
        "Record again with --record PATH, to a new file.",
    )


def _take(tape: Tape, row: dict[str, Any], *, first: bool) -> None:
    if first:
        if row != HEADER:
            raise ValueError(row)
    elif "judge" in row:
        tape.judges[row["judge"]] = dict(row["identity"])
    else:
        tape.replies.setdefault(str(row["request"]), read_back(row["reply"]))


class Recording:
    """A judge whose replies are also written to the recording at `path`, one line each, the moment they arrive.

    A file that is there is continued, a half-written last line mended, and no request written twice.

    Raises:
        DataError: if `path` cannot be written, is there and is no recording, or holds this judge under other settings.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        self._judge = judge
        self._path = path
        self._held = self._open()

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, once it is written down."""
        reply = await self._judge.reply(prompt)
        digest = request_digest(self._judge.identity, prompt)
        if digest not in self._held:
            self._held.add(digest)
            self._append({"request": digest, "template": prompt.name, "reply": written(reply)})
        return reply

    def _open(self) -> set[str]:
        if not self._path.exists():
            self._append(HEADER)
        tape = read_tape(self._path)
        if tape.end < self._path.stat().st_size:
            with self._naming(), self._path.open("r+b") as file:
                file.truncate(tape.end)
        if tape.end == 0:
            self._append(HEADER)
        if self.name not in tape.judges:
            self._append({"judge": self.name, "identity": dict(self.identity)})
        elif tape.judges[self.name] != self.identity:
            raise DataError(
                f"The recording {self._path} holds {self.name} at another address or with other settings: "
                f"{tape.judges[self.name]} there, {self.identity} here.",
                "Record to a new file.",
            )
        return set(tape.replies)

    def _append(self, row: Mapping[str, Any]) -> None:
        # Opened for each line: nothing to close, and two judges of one command may share the file.
        with self._naming(), self._path.open("ab") as file:
            file.write(orjson.dumps(row) + b"\n")

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"The recording {self._path} cannot be written: {error.strerror}.") from None


class Replay:
    """A judge that answers from a recording, with the replies of the judge recorded there.

    Attributes:
        recorded_name: the judge that gave the replies.
    """

    def __init__(self, path: Path, judge: str | None = None) -> None:
        """Open the recording at `path` for `judge`, which need not be named where only one was recorded.

        Raises:
            DataError: if the file is no recording.
            SettingsError: if it holds no such judge, or several and none is named.
        """
        tape = read_tape(path)
        self.recorded_name = _chosen(tape, path, judge)
        self.name = f"{PREFIX}{path}" + (f"#{judge}" if judge else "")
        self.identity: Mapping[str, Any] = tape.judges[self.recorded_name]
        self._replies = tape.replies
        self._path = path

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the recorded reply, marked as kept earlier.

        Raises:
            ReplayMiss: if the recording does not hold the request.
        """
        digest = request_digest(self.identity, prompt)
        if digest not in self._replies:
            raise ReplayMiss(
                f"The recording {self._path} holds no reply of {self.recorded_name} to this {prompt.name} prompt "
                f"({digest[:19]}…): data, settings or the prompt's wording differ from when it was recorded.",
                f"Record it with --judge {self.recorded_name} --record {self._path}.",
            )
        return self._replies[digest]


def open_replay(spec: str) -> Replay:
    """Return the judge named `recorded:PATH` or `recorded:PATH#JUDGE`."""
    whole = spec.removeprefix(PREFIX)
    path, mark, judge = whole.rpartition("#")
    return Replay(Path(path), judge) if mark and not Path(whole).exists() else Replay(Path(whole))


def _chosen(tape: Tape, path: Path, judge: str | None) -> str:
    names = sorted(tape.judges)
    if judge is None and len(names) == 1:
        return names[0]
    if judge in tape.judges:
        return str(judge)
    found = f"it holds {', '.join(names)}" if names else "it holds none"
    asked = "which judge is meant is not said" if judge is None else f"there is no judge {judge!r}"
    raise SettingsError(
        f"The recording {path}: {asked}; {found}.", f"Name one, as in {PREFIX}{path}#{names[0] if names else 'JUDGE'}."
    )
